/*
 * run-findings.h - what the rules of `nestlab diagnose` find in a run's logs, put into its
 * document.
 */
#ifndef NL_RUN_FINDINGS_H
#define NL_RUN_FINDINGS_H

#include "document.h"
#include "rundir.h"
#include "scenario.h"

/* Rules on their way: a thread of their own compiles them while the stack boots, so that the run
   does not wait for it. */
struct nl_rules_ahead;

struct nl_rules_ahead *nl_rules_ahead(void); /* NULL: no thread; findings then load them */
void nl_rules_ahead_free(struct nl_rules_ahead **ahead);

/* Keep the logs of libvirt and of the outermost guest's QEMU, which are in RUNDIR, in the folder
   OUT: libvirt.log and LN-qemu.log. FIRST is the outermost layer that is a guest. To be done before
   the stack is taken down: what libvirt says of an end that we bring about is no finding. Best
   effort. */
void nl_run_keep_logs(struct nl_document *document, const char *out, const struct nl_rundir *rundir,
                      size_t first);

/* Put "findings" into DOCUMENT: from its own logs and messages, and from the consoles and logs in
   the folder OUT. Fails if there are no rules; the document then has no findings. */
int nl_run_findings(struct nl_rules_ahead *ahead, struct nl_document *document, const char *out,
                    size_t first, struct nl_error **err);

#endif
