/*
 * document-file.c - documents on disk: load and save, see document.h.
 */
#include "document-shape.h"
#include "document.h"
#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define SIZE_LIMIT (256UL * 1024 * 1024)

static int fail_size(const char *path, struct nl_error **err)
{
    return nl_fail(err, NL_EXIT_REQUEST, "%s is larger than %lu MiB", path, SIZE_LIMIT >> 20);
}

/* All of FILE, at most SIZE_LIMIT bytes; the caller's. */
static int read_all(FILE *file, const char *path, char **text, size_t *length,
                    struct nl_error **err)
{
    cleanup_free char *buffer = NULL;
    size_t size = 0;
    size_t used = 0;
    struct stat status;

    if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) &&
        (size_t)status.st_size > SIZE_LIMIT)
        return fail_size(path, err);

    do {
        char *bigger;

        size = size ? size * 2 : 1UL << 16;
        bigger = realloc(buffer, size);
        if (!bigger)
            return nl_fail(err, NL_EXIT_LAB, "%s: out of memory", path);
        buffer = bigger;
        used += fread(buffer + used, 1, size - used, file);
    } while (used == size && size <= SIZE_LIMIT);
    if (ferror(file))
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "cannot read %s", path);
    if (used > SIZE_LIMIT)
        return fail_size(path, err);
    *text = nl_steal(&buffer);
    *length = used;
    return 0;
}

static int open_input(const char *path, FILE **file, struct nl_error **err)
{
    if (strcmp(path, "-") == 0)
        *file = fdopen(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), "r");
    else
        *file = fopen(path, "re");
    if (!*file)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "cannot open %s", path);
    return 0;
}

int nl_document_load(const char *path, json_t **document, struct nl_error **err)
{
    cleanup_fclose FILE *file = NULL;
    cleanup_free char *text = NULL;
    cleanup_json json_t *root = NULL;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    struct nl_json_source source = {.name = name, .folder = "/"};
    json_error_t wrong;

    if (open_input(path, &file, err) < 0 || read_all(file, name, &text, &source.length, err) < 0)
        return -1;
    source.text = text;
    root = json_loadb(text, source.length, JSON_REJECT_DUPLICATES, &wrong);
    if (!root) {
        nl_fail(err, NL_EXIT_REQUEST, "%s:%d: not JSON: %s", name, wrong.line, wrong.text);
        return nl_hint(err, "a run writes its document to document.json in its output folder");
    }
    if (nl_document_shape(root, &source, err) < 0 ||
        nl_document_layer_names(root, &source, err) < 0)
        return nl_hint(err, "docs/document.schema.json says what a document looks like");
    *document = nl_steal(&root);
    return 0;
}

int nl_document_write(const json_t *document, const char *path, struct nl_error **err)
{
    /* Agents send 12 digits; with the 17 that tell all doubles apart 0.05 would not look like it.
     */
    cleanup_free char *text = json_dumps(document, JSON_INDENT(1) | JSON_REAL_PRECISION(15));

    if (!text)
        return nl_fail(err, NL_EXIT_LAB, "cannot write %s: out of memory", path);
    return nl_save(path, text, strlen(text), err);
}
