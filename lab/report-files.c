/*
 * report-files.c - the files of a run: see report-files.h.
 */
#include "report-files.h"
#include "dig.h"
#include "report.h"

#include <errno.h>

/* As dmesg -x shows them: "kern  :warn  : [    1.234567] text", reduced to level and time. */
static int write_log(const json_t *records, const char *path, struct nl_error **err)
{
    static const char *const levels[] = {"emerg", "alert",  "crit", "err",
                                         "warn",  "notice", "info", "debug"};
    cleanup_fclose FILE *file = fopen(path, "we");
    json_t *record;
    size_t i;

    if (!file)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", path);
    json_array_foreach(records, i, record)
    {
        double seconds = nl_dig_number(record, "time_us", 0) / 1e6;
        double level = nl_dig_number(record, "level", 6);

        fprintf(file, "%-6s [%12.6f] %s\n", level >= 0 && level < 8 ? levels[(int)level] : "?",
                seconds, nl_dig_string(record, "text", ""));
    }
    if (fflush(file) != 0 || ferror(file))
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", path);
    return 0;
}

int nl_report_logs(struct nl_document *document, const char *out, struct nl_error **err)
{
    const json_t *layers = nl_dig(nl_document_json(document), "layers");

    for (size_t i = 0; i < json_array_size(layers); i++) {
        const json_t *layer = json_array_get(layers, i);
        const json_t *records = nl_dig(layer, "log.records");
        cleanup_free char *name = NULL;
        cleanup_free char *path = NULL;

        if (json_array_size(records) == 0)
            continue;
        if (asprintf(&name, "%s-kernel.log", nl_dig_string(layer, "name", "L")) < 0 ||
            asprintf(&path, "%s/%s", out, name) < 0)
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        if (write_log(records, path, err) < 0)
            return -1;
        nl_document_layer_file(document, i, "log", name);
    }
    return 0;
}

int nl_report_files(const struct nl_document *document, const char *out, struct nl_error **err)
{
    cleanup_free char *json = NULL;
    cleanup_free char *junit = NULL;

    if (asprintf(&json, "%s/document.json", out) < 0 || asprintf(&junit, "%s/junit.xml", out) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (nl_document_save(document, json, err) == 0)
        return nl_report_junit(nl_document_json(document), junit, err);
    /* One is better than none. */
    nl_report_junit(nl_document_json(document), junit, NULL);
    return -1;
}

int nl_report_page(const struct nl_document *document, const char *out, struct nl_error **err)
{
    cleanup_free char *path = NULL;

    if (asprintf(&path, "%s/report.html", out) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    return nl_report_html(nl_document_json(document), path, err);
}
