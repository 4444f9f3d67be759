/*
 * tiny-guest.h - what a guest of a few instructions needs: 64-bit mode, and page tables that map
 * its first 2 MiB onto themselves.
 *
 * In 64-bit mode as kernels are: some KVMs run one mode and interpret another, and on QEMU's TCG a
 * KVM without nested paging cannot run a guest whose paging is off.
 */
#ifndef AGENT_TINY_GUEST_H
#define AGENT_TINY_GUEST_H

#include <stdint.h>

/* The page tables are below this; the rest of the first 2 MiB is the guest's own. */
#define AGENT_TINY_CODE 0x4000u

/* MEMORY is the guest's from address 0, at least AGENT_TINY_CODE bytes. */
void agent_tiny_map(void *memory);

/* Map the page at 2 MiB by an entry in a table of its own, which is at address TABLE of the guest,
   to the page at TO. */
void agent_tiny_map_page(void *memory, uint32_t table, uint32_t to);
#define AGENT_TINY_PAGE 0x200000u

/* Begin at RIP with a stack below RSP; interrupts are off. 0, or -1 with errno. */
int agent_tiny_enter(int vcpu, uint64_t rip, uint64_t rsp);

#endif
