/*
 * work-profile.h - have a layer do marked operations once more, and find out which functions they
 * spend their instructions in.
 */
#ifndef NL_WORK_PROFILE_H
#define NL_WORK_PROFILE_H

#include "stack.h"

/* Adds "profile" to METERED, what was metered of the benchmark NAME at LAYER, and writes it as
   profile-NAME-LAYER.folded beside the document. */
int nl_work_profile(struct nl_layer *layer, const char *name, json_t *metered,
                    struct nl_error **err);

#endif
