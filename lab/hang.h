/*
 * hang.h - evidence about a guest that does not get on: what a kernel developer would ask for
 * first.
 */
#ifndef NL_HANG_H
#define NL_HANG_H

#include "watch.h"

/* What SIGHT's looks saw of its layer, as the document's failure.evidence has it
   (docs/document.md); where it hangs also its QEMU's process, its stack, functions by name, VM
   exits by reason, and last of all a backtrace by NMI, which ends a kernel that can give one. All
   at length goes into LN-hang.txt beside the document. Takes at most 40 s, less when the run's time
   ends or it is interrupted, and 5 s more where exits are being counted in the layer below just
   then: that is ended in any case. New reference. */
json_t *nl_hang_evidence(const struct nl_sight *sight);

#endif
