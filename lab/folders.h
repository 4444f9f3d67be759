/*
 * folders.h - folders and the files in them: make, fill, remove.
 */
#ifndef NL_FOLDERS_H
#define NL_FOLDERS_H

#include "error.h"

/* mkdir -p. STATUS is what a failure leads to. */
int nl_make_folders(const char *path, enum nl_exit status, struct nl_error **err);

/* Would that succeed, and could files be put there? Only looks: another process may be faster. */
int nl_check_folders(const char *path, enum nl_exit status, struct nl_error **err);

/* Put the file SOURCE at TARGET, which must not exist: a hard link to the file itself (not to a
   symbolic link that SOURCE may be) where the file system allows it, else a copy. */
int nl_place_file(const char *source, const char *target, struct nl_error **err);

/* nl_place_file() for every file in FROM whose name does not start with a dot. */
int nl_place_files(const char *from, const char *to, struct nl_error **err);

/* Remove the files in FOLDER, and FOLDER; no deeper. Best effort. */
void nl_remove_folder(const char *folder);

#endif
