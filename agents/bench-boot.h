/*
 * bench-boot.h - the guest's side of the benchmark "guest-boot".
 */
#ifndef AGENT_BENCH_BOOT_H
#define AGENT_BENCH_BOOT_H

/* init calls this first: in a guest that "guest-boot" started it does not return, since it ends
   QEMU. In every other guest it does nothing. Needs /proc. */
void agent_bench_boot_leave(void);

#endif
