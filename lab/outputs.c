/*
 * outputs.c - the outputs of a command, by option: see outputs.h.
 */
#include "outputs.h"
#include "document-set.h"
#include "save.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

void nl_output_name(struct nl_output *output, const char *file)
{
    output->twice = output->file != NULL;
    output->file = file;
}

/* The first that is asked for, from OUTPUT on, or NULL. */
static const struct nl_output *asked_for(const struct nl_output *output)
{
    while (output->option && !output->file)
        output++;
    return output->option ? output : NULL;
}

bool nl_outputs_print(const struct nl_output *outputs)
{
    for (const struct nl_output *each = asked_for(outputs); each; each = asked_for(each + 1))
        if (nl_save_is_standard(each->file))
            return true;
    return false;
}

/* ---- Which file a name means ---- */

static char *place_of(const char *name);

/* NAME within the folder of FILE. */
static char *place_beside(const char *file, const char *name)
{
    cleanup_free char *copy = strdup(file);
    cleanup_free char *path = NULL;

    if (*name == '/')
        return place_of(name);
    if (!copy || asprintf(&path, "%s/%s", dirname(copy), name) < 0)
        return nl_steal(&path);
    return place_of(path);
}

/* Where NAME is, or would be if it were made; the caller's. NULL if it cannot be told. Links are
   followed also where they lead to nothing yet, since what is written first may be just that. */
static char *place_of(const char *name)
{
    char *place = realpath(name, NULL);
    cleanup_free char *head = NULL, *tail = NULL, *folder = NULL;
    char link[PATH_MAX] = "";
    const char *parent;

    if (place || errno != ENOENT)
        return place;
    if (readlink(name, link, sizeof(link) - 1) > 0)
        return place_beside(name, link);
    head = strdup(name);
    tail = strdup(name);
    parent = head ? dirname(head) : NULL;
    /* A working folder that was removed has no place, and is its own parent. */
    if (!parent || !tail || strcmp(parent, name) == 0 || !(folder = place_of(parent)) ||
        asprintf(&place, "%s/%s", folder, basename(tail)) < 0)
        return NULL;
    return place;
}

/* STANDARD: the descriptor that "-" stands for. */
static bool look(const char *name, int standard, struct stat *status)
{
    return (nl_save_is_standard(name) ? fstat(standard, status) : stat(name, status)) == 0;
}

/* Is OTHER, for which "-" is the descriptor STANDARD, the file of OUTPUT? Of a device, such as
   /dev/null or a terminal, nothing is lost when two use it. */
static bool is_file_of(const struct nl_output *output, const char *other, int standard)
{
    struct stat a, b;
    bool there = look(output->file, STDOUT_FILENO, &a);
    cleanup_free char *place = NULL, *other_place = NULL;

    if (there != look(other, standard, &b))
        return false;
    if (there)
        return (S_ISREG(a.st_mode) || S_ISFIFO(a.st_mode)) && a.st_dev == b.st_dev &&
               a.st_ino == b.st_ino;
    place = place_of(output->file);
    other_place = place_of(other);
    return place && other_place && strcmp(place, other_place) == 0;
}

/* ---- What is refused ---- */

static int check_name(const struct nl_output *output, struct nl_error **err)
{
    if (output->twice) {
        nl_fail(err, NL_EXIT_REQUEST, "%s is there twice", output->option);
        return nl_hint(err, "it is written once: leave one of them out");
    }
    if (*output->file)
        return 0;
    nl_fail(err, NL_EXIT_REQUEST, "%s: an empty name", output->option);
    return nl_hint(err, "name a file, or - for standard output");
}

static int check_pair(const struct nl_output *a, const struct nl_output *b, struct nl_error **err)
{
    if (nl_save_is_standard(a->file) && nl_save_is_standard(b->file)) {
        nl_fail(err, NL_EXIT_REQUEST, "%s and %s: only one report can go to standard output",
                a->option, b->option);
        return nl_hint(err, "let one of them go into a file");
    }
    if (!is_file_of(a, b->file, STDOUT_FILENO))
        return 0;
    nl_fail(err, NL_EXIT_REQUEST, "%s %s and %s %s are one file", a->option, a->file, b->option,
            b->file);
    return nl_hint(err, "name a file for each, or one of them would be lost");
}

int nl_outputs_check(const struct nl_output *outputs, struct nl_error **err)
{
    for (const struct nl_output *a = asked_for(outputs); a; a = asked_for(a + 1))
        if (check_name(a, err) < 0)
            return -1;
    for (const struct nl_output *a = asked_for(outputs); a; a = asked_for(a + 1))
        for (const struct nl_output *b = asked_for(a + 1); b; b = asked_for(b + 1))
            if (check_pair(a, b, err) < 0)
                return -1;
    return 0;
}

int nl_outputs_spare(const struct nl_output *outputs, const char *path, struct nl_error **err)
{
    for (const struct nl_output *each = asked_for(outputs); each; each = asked_for(each + 1)) {
        if (!is_file_of(each, path, STDIN_FILENO))
            continue;
        nl_fail(err, NL_EXIT_REQUEST, "%s %s: is read, too", each->option, each->file);
        return nl_hint(err, "what it holds would be lost: name another file");
    }
    return 0;
}

int nl_outputs_spare_documents(const struct nl_output *outputs, char *const *operands,
                               struct nl_error **err)
{
    if (!asked_for(outputs))
        return 0;
    for (; *operands; operands++) {
        cleanup_strv char **paths = NULL;

        if (nl_document_paths(*operands, &paths, NULL) < 0)
            continue;
        for (char **path = paths; *path; path++)
            if (nl_outputs_spare(outputs, *path, err) < 0)
                return -1;
    }
    return 0;
}
