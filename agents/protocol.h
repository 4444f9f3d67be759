/*
 * protocol.h - what runner and agent say to each other: the only file they share.
 *
 * A link is a byte stream that carries one JSON object per line, UTF-8, no line over
 * NL_PROTOCOL_LINE_MAX bytes, in both directions.
 *
 *   request   {"id": 7, "op": "facts", ...arguments}
 *   reply     {"id": 7, "ok": true, "result": {...}}
 *             {"id": 7, "ok": false, "error": {"message": "...", "hint": "..."}}
 *   event     {"event": "phase", "name": "services", "uptime_s": 3.21}      (no id; unasked)
 *             {"event": "ready", "uptime_s": 6.02, "services": {"sshd": true, "libvirtd": true}}
 *             {"event": "trouble", "name": "libvirtd", "message": "..."}
 *             {"event": "trouble", "name": "agent", ...}: what answers died and was started again;
 *             the question under way will not be answered
 *             {"event": "heartbeat", "uptime_s": 12.0}                       (only when asked for)
 *
 * Requests are answered in order, one at a time; but a ping that follows one under way is answered
 * at once. A line that is not a request is answered with "id": null and an error. A reader skips
 * noise before a '{' at the start of a line. Events may come while a request is under way. When the
 * host end of a port goes away, the request under way is ended and replies not yet sent are
 * dropped, since the next host end may use the same ids; events are kept.
 *
 * Operations (arguments -> result):
 *   hello      {} -> {"agent": version, "protocol": 1, "layer": "L1", "pid": 1, "boot_id": "...",
 *              "uptime_s": 4.1, "ready": false, "services": {...}, "operations": [...],
 *              "disks": {"nl-boot": "/dev/vdb"}}      virtio-blk disks by serial
 *   facts      {"kvm_guest": bool} -> see docs/document.md, "facts"; false: no tiny guest
 *   machine    {"paths": [...]} -> see docs/doctor.md, "The document"; paths: further file systems
 *              to look at
 *   log        {"since": SEQ} -> {"records": [{"seq", "level" 0..7, "facility", "time_us",
 *              "text"}], "lost": N, "next": SEQ}     from /dev/kmsg; "lost" counts overwritten
 *              records; one reply is limited: go on from "next" until "records" is empty
 *   bench      {"name", "samples", "precision", "warmup", "budget_s", "deadline_s", "extra_exits",
 *              "guest": {"emulator", "firmware", "kernel", "initrd"}} -> see docs/document.md,
 *              "benchmarks"
 *              with "metered": true -> {"name", "version", "repeats", "operations", "warmup",
 *              "short", "skipped"}: single operations between marks (agents/mark.h), not timed
 *   benches    {} -> {"benchmarks": [{"name", "unit", "about", "needs_vcpus", "needs_hypervisor"}]}
 *   clock      {"rate": bool} -> {"source": "kvm-clock", "raw_ns": N, "tsc": N, "tsc_width": N,
 *              "kernel_tsc_khz": N | null}   CLOCK_MONOTONIC_RAW was read when the TSC was between
 *              "tsc" and "tsc" + "tsc_width"; with "rate" the rate that the kernel takes the TSC to
 *              have, by the last statement of its log; null where that is not known
 *   exec       {"argv": [...], "directory", "environment": {...}, "timeout_s", "output_limit",
 *              "input"} -> {"exit": N | null, "signal": N | null, "timed_out": bool,
 *              "seconds", "stdout", "stderr", "truncated": bool}   (what is not UTF-8, and zero,
 *              is escaped as \xNN; what is left running in the process group is killed)
 *   put        {"path", "mode": 420, "data": base64, "append": bool} -> {"size": N}
 *   get        {"path", "offset", "limit"} -> {"data": base64, "size": N, "eof": bool}
 *   heartbeat  {"interval_s": N | 0} -> {}
 *   ping       {} -> {"uptime_s": 4.1, "busy": "bench" | null, "busy_s": 12.3,
 *              "services": {...}}    "busy": the request under way, and for how long
 *   exit-reasons  {"count": true} -> {}    count the VM exits of this layer's guests
 *              {"count": false, "uuid": the guest's} -> {"exits": [{"isa": "svm", "code": 114,
 *              "reason": "cpuid", "times": N}], "inside": [...] | null}   stop; "inside": those of
 *              "exits" that the guest's own guests caused
 *   symbols    {"addresses": ["0xffffffff81000010", ...]} -> {"symbols": [["start_kernel", 16],
 *              ["vmx_handle_exit [kvm_intel]", 4], null, ...]}   functions of this kernel, and how
 *              far behind their start; as many as a line takes
 *   poweroff   {} -> {}         only as pid 1's child; a local agent refuses
 *   fault      {"name"} -> {}   likewise: injects a fault into the guest (docs/faults.md), some of
 *              them a moment after the reply
 */
#ifndef NL_PROTOCOL_H
#define NL_PROTOCOL_H

#define NL_PROTOCOL_VERSION 1
#define NL_PROTOCOL_LINE_MAX (16 * 1024 * 1024)

/* Of a benchmark, times or counted operations: fewer are too few to judge by. */
#define NL_PROTOCOL_SAMPLES_MIN 10
#define NL_PROTOCOL_SAMPLES_MAX 10000

/* Names of the virtio-serial ports: the link, and a terminal for `nestlab shell`. */
#define NL_PROTOCOL_PORT "org.nestlab.agent"
#define NL_PROTOCOL_SHELL_PORT "org.nestlab.shell"

/* On the shell port a connection starts with one line {"rows": N, "columns": N, "term": "..."};
   the rest is the raw terminal, with marks in it (agents/shell-mark.h): "size;ROWS;COLUMNS" to the
   guest when the window changes, "end;STATUS" from it when the shell has ended, with its exit
   status, or 128 and the signal that ended it. */
#define NL_PROTOCOL_SHELL_SIZE "size;%d;%d"
#define NL_PROTOCOL_SHELL_END "end;%d"

#endif
