/*
 * outputs.h - the outputs of a command, by option, and whether each can be written without a loss.
 */
#ifndef NL_OUTPUTS_H
#define NL_OUTPUTS_H

#include "error.h"

#include <stdbool.h>

/* Of an array whose last has no option. */
struct nl_output {
    const char *option; /* "--csv" */
    const char *file;   /* as the user named it; "-": standard output; NULL: not asked for */
    bool twice;
};

/* OPTION was given with FILE, which must live as long. nl_outputs_check() refuses a second one. */
void nl_output_name(struct nl_output *output, const char *file);

/* Does one of OUTPUTS go to standard output? */
bool nl_outputs_print(const struct nl_output *outputs);

/* Each has one name, and none the file of another (NL_EXIT_REQUEST). Only looks at files. */
int nl_outputs_check(const struct nl_output *outputs, struct nl_error **err);

/* Likewise none is the file PATH ("-": standard input), which the command reads. Links and other
   names of one file count, and so does a file that both would be if it were there. */
int nl_outputs_spare(const struct nl_output *outputs, const char *path, struct nl_error **err);

/* nl_outputs_spare() for what each of OPERANDS stands for, see nl_document_paths(). One that cannot
   be looked into is not judged: who reads it tells. */
int nl_outputs_spare_documents(const struct nl_output *outputs, char *const *operands,
                               struct nl_error **err);

#endif
