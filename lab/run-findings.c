/*
 * run-findings.c - a run's logs through the rules: see run-findings.h.
 */
#include "run-findings.h"
#include "dig.h"
#include "evidence-kind.h"
#include "inquiry.h"
#include "save.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define LIBVIRT_LOG "libvirt.log"
#define LOG_MAX (16UL << 20)

struct nl_rules_ahead {
    pthread_t thread;
    struct nl_rules *rules;
    struct nl_error *err;
    bool joined;
};

static void *load(void *context)
{
    struct nl_rules_ahead *ahead = context;

    nl_rules_load(NULL, &ahead->rules, &ahead->err);
    return NULL;
}

struct nl_rules_ahead *nl_rules_ahead(void)
{
    struct nl_rules_ahead *ahead = calloc(1, sizeof(*ahead));
    sigset_t all, old;
    int rc;

    if (!ahead)
        return NULL;
    /* Signals are for the main thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    rc = pthread_create(&ahead->thread, NULL, load, ahead);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0)
        free(ahead);
    return rc == 0 ? ahead : NULL;
}

static void join(struct nl_rules_ahead *ahead)
{
    if (!ahead->joined)
        pthread_join(ahead->thread, NULL);
    ahead->joined = true;
}

void nl_rules_ahead_free(struct nl_rules_ahead **ahead)
{
    if (!*ahead)
        return;
    join(*ahead);
    nl_rules_free(&(*ahead)->rules);
    nl_error_free(&(*ahead)->err);
    free(*ahead);
    *ahead = NULL;
}

static void read_consoles(struct nl_inquiry *inquiry, const json_t *document, const char *out)
{
    size_t i;
    json_t *layer;

    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        const char *name = nl_dig_string(layer, "files.console", NULL);
        cleanup_free char *path = NULL;

        if (!name || asprintf(&path, "%s/%s", out, name) < 0)
            path = NULL;
        if (path)
            nl_inquiry_file(inquiry, path, name, (int)i);
    }
}

/* The first megabytes of FROM as OUT/NAME; false: there is nothing to keep, or it cannot be kept.
 */
static bool keep_file(const char *from, const char *out, const char *name)
{
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_fclose FILE *in = from ? fopen(from, "re") : NULL;
    cleanup_free char *bytes = in ? malloc(LOG_MAX) : NULL;
    cleanup_free char *path = NULL;
    size_t length = bytes ? fread(bytes, 1, LOG_MAX, in) : 0;

    if (length == 0 || asprintf(&path, "%s/%s", out, name) < 0)
        return false;
    return nl_save(path, bytes, length, &ignored) == 0;
}

void nl_run_keep_logs(struct nl_document *document, const char *out, const struct nl_rundir *rundir,
                      size_t first)
{
    cleanup_free char *libvirt = nl_rundir_file(rundir, "libvirt.log");
    const json_t *layers = nl_dig(nl_document_json(document), "layers");
    const char *name = nl_dig_string(json_array_get(layers, first), "name", NULL);
    cleanup_free char *qemu = NULL, *kept = NULL;

    keep_file(libvirt, out, LIBVIRT_LOG);
    if (!name || asprintf(&kept, "%s-qemu.log", name) < 0)
        return;
    qemu = nl_rundir_file(rundir, NL_RUNDIR_LIBVIRT "/log/qemu/nl-%s.log", name);
    if (keep_file(qemu, out, kept))
        nl_document_layer_file(document, first, "qemu", kept);
}

/* A log in OUT that tells of the layer TELLER; -1: the machine below L0. */
static void read_kept(struct nl_inquiry *inquiry, const char *out, const char *name, int teller)
{
    cleanup_free char *path = NULL;

    if (name && asprintf(&path, "%s/%s", out, name) < 0)
        path = NULL;
    if (path && access(path, R_OK) == 0)
        nl_inquiry_file(inquiry, path, name, teller);
}

/* What a layer's libvirt said when it was asked from here comes into this machine's log, too, by
   the function that hands it on. It is no word of this machine's; the failure has it. */
static void blank_remote(char *text)
{
    static const char remote[] = " virNetClientProgramDispatchError:";

    for (char *line = text; *line;) {
        size_t length = strcspn(line, "\n");

        if (memmem(line, length, remote, strlen(remote)))
            memset(line, ' ', length);
        line += length + (line[length] == '\n');
    }
}

/* The log of libvirt in this very process. */
static void read_libvirt_log(struct nl_inquiry *inquiry, const char *out, int teller)
{
    cleanup_free char *path = NULL, *text = NULL;
    cleanup_fclose FILE *file = NULL;

    if (asprintf(&path, "%s/" LIBVIRT_LOG, out) < 0)
        return;
    file = fopen(path, "re");
    text = file ? calloc(1, LOG_MAX + 1) : NULL;
    if (!text || fread(text, 1, LOG_MAX, file) == 0)
        return;
    blank_remote(text);
    nl_inquiry_text(inquiry, LIBVIRT_LOG, "libvirt's log", NL_KIND_VIRT_LOGS, teller, text);
}

/* The log of a layer's QEMU tells of the layer that it ran in. */
static void read_host_logs(struct nl_inquiry *inquiry, const json_t *document, const char *out,
                           size_t first)
{
    size_t i;
    json_t *layer;

    read_libvirt_log(inquiry, out, (int)first - 1);
    json_array_foreach(nl_dig(document, "layers"), i, layer)
        read_kept(inquiry, out, nl_dig_string(layer, "files.qemu", NULL), (int)i - 1);
}

/* Nothing can be known of a layer that was not reached: what seems to tell of it is a guess at who
   said it. */
static bool is_of_unreached(const json_t *document, const json_t *finding)
{
    const json_t *layer = nl_dig_layer(document, nl_dig_string(finding, "layer", NULL));

    return nl_dig_is(layer, "state", "not reached");
}

/* A look at a guest that hangs makes its kernel say where it is, and ends it so (hang.h). What it
   says then is the failure's evidence, and no trouble that anybody else made. */
static bool is_caused_by_look(const json_t *document, const json_t *finding)
{
    const char *line = nl_dig_string(finding, "line", "");
    size_t i;
    json_t *said;

    if (!*line ||
        !nl_dig_is(finding, "evidence_layer", nl_dig_string(document, "failure.layer", "")))
        return false;
    json_array_foreach(nl_dig(document, "failure.evidence.backtrace"), i, said)
    {
        if (json_is_string(said) && strstr(json_string_value(said), line))
            return true;
    }
    return false;
}

/* FINDINGS is consumed. */
static json_t *without_false(const json_t *document, json_t *findings)
{
    for (size_t i = json_array_size(findings); i-- > 0;) {
        const json_t *finding = json_array_get(findings, i);

        if (is_of_unreached(document, finding) || is_caused_by_look(document, finding))
            json_array_remove(findings, i);
    }
    return findings;
}

static int find(struct nl_rules *rules, struct nl_document *document, const char *out, size_t first,
                struct nl_error **err)
{
    cleanup_inquiry struct nl_inquiry *inquiry = nl_inquiry_new(rules);

    if (!inquiry)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    /* Before the document, whose failure quotes them: a finding's first place is to be the log. */
    read_host_logs(inquiry, nl_document_json(document), out, first);
    nl_inquiry_document(inquiry, "document.json", nl_document_json(document));
    read_consoles(inquiry, nl_document_json(document), out);
    nl_inquiry_conclude(inquiry);
    nl_document_findings(document, without_false(nl_document_json(document),
                                                 nl_inquiry_findings(inquiry, NL_SEVERITY_OK)));
    return 0;
}

int nl_run_findings(struct nl_rules_ahead *ahead, struct nl_document *document, const char *out,
                    size_t first, struct nl_error **err)
{
    cleanup_rules struct nl_rules *late = NULL;

    if (ahead) {
        join(ahead);
        if (ahead->rules)
            return find(ahead->rules, document, out, first, err);
    }
    if (nl_rules_load(NULL, &late, err) < 0)
        return nl_wrap(err, "no findings");
    return find(late, document, out, first, err);
}
