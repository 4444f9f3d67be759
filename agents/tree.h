/*
 * tree.h - copy a tree of files over another.
 */
#ifndef AGENT_TREE_H
#define AGENT_TREE_H

#include "util.h"

/* Copy everything below FROM into TO ("" for /): files, folders, symbolic links, with modes, owners
   and times; what is there is replaced, but folders that are there stay as they are and are filled.
   Goes on after a failure; the first one is reported. A missing FROM is no failure. */
int agent_tree_copy(const char *from, const char *to, struct agent_error *error);

#endif
