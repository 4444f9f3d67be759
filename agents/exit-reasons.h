/*
 * exit-reasons.h - VM exits of a guest by reason, counted by this kernel's tracepoints kvm_exit and
 * kvm_nested_vmexit (arch/x86/kvm/trace.h).
 *
 * Counting is by histograms in the kernel, in a tracing instance of their own: no trace is written,
 * and what others trace is left alone. The instance of a process that is gone goes on
 * counting until another one begins, or cleans up.
 */
#ifndef AGENT_EXIT_REASONS_H
#define AGENT_EXIT_REASONS_H

#include "util.h"

/* Begin to count; what was counted before is forgotten. MAY_MOUNT: mount tracefs if nobody has. */
int agent_exit_reasons_begin(bool may_mount, struct agent_error *error);

/* Stop, and give what was counted for the QEMU that was started with "-uuid UUID": {"exits": [...],
   "inside": [...]}, each [{"isa": "svm" | "vmx", "code": N, "reason": "cpuid", "times": N}].
   "inside" are those of "exits" that the guest's own guests caused, null where the kernel cannot
   tell. A reason without a name is its code in hexadecimal. */
int agent_exit_reasons_end(const char *uuid, json_t **result, struct agent_error *error);

/* Stop, if begun. */
void agent_exit_reasons_forget(void);

/* Before anything is counted: end what processes that are gone have left. */
void agent_exit_reasons_clean(void);

/* For tests. Remove from the folder INSTANCES those of processes that are gone. */
void agent_exit_remove_stale(const char *instances);

/* For tests. The threads of the process under PROC that was started with "-uuid UUID": their
   folder, malloc'd, or NULL. */
char *agent_exit_tasks(const char *proc, const char *uuid);

/* For tests. The array of reasons from a histogram, as the kernel prints it, and the tracepoint's
   format: of threads that are in the folder TASKS. */
int agent_exit_histogram(const char *histogram, const char *format, const char *tasks,
                         json_t **reasons, struct agent_error *error);

#endif
