/*
 * doctor.c - the judgement: rows from tables, paths from rows. See doctor.h.
 */
#include "dig.h"
#include "doctor-row.h"
#include "l0.h"
#include "paths.h"
#include "printable.h"

#include <stdarg.h>
#include <string.h>

static const char *const verdict_words[] = {
    [NL_DOCTOR_OK] = "ok",
    [NL_DOCTOR_WARN] = "warn",
    [NL_DOCTOR_MISSING] = "missing",
    [NL_DOCTOR_UNKNOWN] = "unknown",
};

static const struct {
    const char *name;
    unsigned bit;
} paths[] = {{"local", NL_FOR_LOCAL}, {"emulated", NL_FOR_EMULATED}};

#define N_PATHS (sizeof(paths) / sizeof(paths[0]))

static void set_text(char **text, const char *format, va_list args)
{
    free(*text);
    if (vasprintf(text, format, args) < 0)
        *text = NULL;
}

void nl_row_says(struct nl_row *row, enum nl_doctor_verdict verdict, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set_text(&row->found, format, args);
    va_end(args);
    row->verdict = verdict;
    /* Reasons come from elsewhere, and may be empty. */
    if (row->found && !*row->found) {
        free(row->found);
        row->found = strdup("no reason was given");
    }
}

void nl_row_fix(struct nl_row *row, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set_text(&row->fix, format, args);
    va_end(args);
}

static bool distribution_is(const struct nl_look *look, const char *name)
{
    return nl_dig_is(look->machine, "os.id", name) ||
           strstr(nl_dig_string(look->machine, "os.like", ""), name);
}

void nl_row_install(const struct nl_look *look, struct nl_row *row, const char *debian,
                    const char *fedora)
{
    if (look->of == NL_OF_LAYER)
        nl_row_fix(row,
                   "give this layer the image hypervisor, or a package: --deb LN=FILE (Debian: "
                   "%s)",
                   debian);
    else if (distribution_is(look, "fedora") || distribution_is(look, "rhel"))
        nl_row_fix(row, "sudo dnf install %s", fedora);
    else if (distribution_is(look, "debian") || distribution_is(look, "ubuntu"))
        nl_row_fix(row, "sudo apt-get install %s", debian);
    else
        nl_row_fix(row, "install what Debian has in %s", debian);
}

const char *nl_look_module(const struct nl_look *look)
{
    if (nl_dig_true(look->facts, "cpuid.svm"))
        return "kvm_amd";
    return nl_dig_true(look->facts, "cpuid.vmx") ? "kvm_intel" : NULL;
}

bool nl_look_loaded(const struct nl_look *look, const char *module)
{
    const json_t *names = nl_dig(look->machine, "modules.loaded");
    char path[64];
    json_t *name;
    size_t i;

    snprintf(path, sizeof(path), "modules.%s.loaded", module);
    if (nl_dig_true(look->facts, path))
        return true;
    json_array_foreach(names, i, name)
    {
        if (json_is_string(name) && !strcmp(json_string_value(name), module))
            return true;
    }
    return false;
}

bool nl_look_in_guest(const struct nl_look *look)
{
    return nl_dig_true(look->facts, "cpuid.hypervisor.present");
}

bool nl_look_kvm_works(const struct nl_look *look)
{
    return nl_dig_true(look->facts, "kvm.guest.ran") && !nl_l0_interprets(look->facts);
}

const char *nl_look_log(const struct nl_look *look, const char *const *texts)
{
    const json_t *lines = nl_dig(look->machine, "log.lines");
    json_t *line;
    size_t i;

    json_array_foreach(lines, i, line)
    {
        const char *text = json_string_value(line);

        for (const char *const *wanted = texts; text && *wanted; wanted++)
            if (strstr(text, *wanted))
                return text;
    }
    return NULL;
}

long nl_version_number(const char *text)
{
    int major = 0, minor = 0, micro = 0;

    if (!text || sscanf(text, "%4d.%4d.%4d", &major, &minor, &micro) < 2)
        return 0;
    return major * 1000000L + minor * 1000L + micro;
}

/* Judge by KIND. What it needs and is not there is unknown, with the reason. */
static void judge_row(const struct nl_look *look, const struct nl_row_kind *kind,
                      struct nl_row *row)
{
    bool uri = look->of == NL_OF_URI;
    const char *source = uri ? "libvirt" : kind->source;
    const char *why;
    char path[32];

    if (uri && !kind->judge_uri) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "libvirt does not tell it");
        return;
    }
    if (source && !nl_dig(look->all, source)) {
        snprintf(path, sizeof(path), "unknown.%s", source);
        why = nl_dig_string(look->all, path, NULL);
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "could not look%s%s", why ? ": " : "", why ? why : "");
        return;
    }
    (uri ? kind->judge_uri : kind->judge)(look, row);
}

static json_t *names_of(unsigned mask)
{
    json_t *names = json_array();

    for (size_t i = 0; i < N_PATHS; i++)
        if (mask & paths[i].bit)
            json_array_append_new(names, json_string(paths[i].name));
    return names;
}

/* Untrusted text as a JSON string. */
static json_t *text_value(const char *text)
{
    cleanup_free char *printable = text ? nl_printable(text, 0) : NULL;

    return printable ? json_string(printable) : json_null();
}

/* The paths that are not possible because of this row. */
static unsigned blocked_by(const struct nl_row *row)
{
    return row->spoils | (row->verdict == NL_DOCTOR_MISSING ? row->blocks : 0);
}

static json_t *row_json(const struct nl_look *look, const struct nl_row_kind *kind,
                        const struct nl_row *row)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:o, s:o}", "name", kind->name, "verdict",
                     verdict_words[row->verdict], "found", text_value(row->found), "fix",
                     text_value(row->fix), "need", kind->need, "looked_at",
                     look->of == NL_OF_URI ? "libvirt" : kind->looked_at, "needed_by",
                     names_of(kind->needed_by), "blocks", names_of(blocked_by(row)));
}

/* What a path lacks, and what is not known of it. */
struct path_state {
    unsigned missing, unknown;
    json_t *blockers, *doubts; /* names of rows */
    const char *why;           /* the first blocker's finding, or the first doubt's; of a row */
};

static void note_paths(const struct nl_row_kind *kind, const struct nl_row *row, const json_t *json,
                       struct path_state *states)
{
    for (size_t i = 0; i < N_PATHS; i++) {
        struct path_state *state = &states[i];

        if (blocked_by(row) & paths[i].bit) {
            if (state->missing++ == 0)
                state->why = nl_dig_string(json, "found", "");
            json_array_append_new(state->blockers, json_string(kind->name));
        } else if (row->verdict == NL_DOCTOR_UNKNOWN && row->blocks & paths[i].bit) {
            if (state->unknown++ == 0 && state->missing == 0)
                state->why = nl_dig_string(json, "found", "");
            json_array_append_new(state->doubts, json_string(kind->name));
        }
    }
}

static void judge_table(const struct nl_look *look, const struct nl_row_kind *kinds, json_t *rows,
                        struct path_state *states)
{
    for (const struct nl_row_kind *kind = kinds; kind->name; kind++) {
        struct nl_row row = {.verdict = NL_DOCTOR_NO_ROW, .blocks = kind->needed_by};

        if (kind->of & look->of)
            judge_row(look, kind, &row);
        if (row.verdict != NL_DOCTOR_NO_ROW) {
            json_t *json = row_json(look, kind, &row);

            note_paths(kind, &row, json, states);
            json_array_append_new(rows, json);
        }
        free(row.found);
        free(row.fix);
    }
}

static json_t *path_json(size_t which, const struct path_state *state)
{
    static const char *const works[] = {
        "KVM runs guests here, and nesting is on",
        "QEMU emulates an AMD processor with SVM and nested paging",
    };
    cleanup_free char *why = NULL;
    json_t *possible = state->missing ? json_false() : state->unknown ? json_null() : json_true();

    if (state->missing || state->unknown) {
        const json_t *names = state->missing ? state->blockers : state->doubts;

        if (asprintf(&why, "%s: %s", json_string_value(json_array_get(names, 0)), state->why) < 0)
            why = NULL;
    }
    return json_pack("{s:o, s:s, s:O, s:O}", "possible", possible, "why", why ? why : works[which],
                     "missing", state->blockers, "unknown", state->doubts);
}

/* The fix of the first row that blocks the path NAME; NULL: none is known. */
static const char *first_fix(const json_t *judged, const char *name)
{
    const json_t *rows = nl_dig(judged, "rows");
    const json_t *path = nl_dig(nl_dig(judged, "paths"), name);
    json_t *blocker, *row;
    size_t i, j;

    json_array_foreach(nl_dig(path, "missing"), i, blocker)
    {
        json_array_foreach(rows, j, row)
        {
            if (nl_dig_is(row, "name", json_string_value(blocker)) && nl_dig(row, "fix"))
                return nl_dig_string(row, "fix", NULL);
        }
    }
    return NULL;
}

/* Where it is: who asks may be anywhere. */
static char *default_scenario(void)
{
    static const char relative[] = "scenarios/nested-boot.json";
    cleanup_error struct nl_error *ignored = NULL;
    char *path = NULL;

    return nl_data_path(relative, &path, &ignored) == 0 ? path : strdup(relative);
}

static char *next_of_machine(const json_t *judged, bool local, bool emulated)
{
    const char *fix = first_fix(judged, emulated ? "local" : "emulated");
    cleanup_free char *scenario = default_scenario();
    char *next = NULL;
    int n;

    if (local)
        n = asprintf(&next, "`nestlab run %s` takes this machine as L0", scenario);
    else if (emulated)
        n = asprintf(&next, "`nestlab run %s` emulates L0%s%s", scenario,
                     fix ? "; to have KVM instead: " : "", fix ? fix : "");
    else
        n = asprintf(&next, "%s", fix ? fix : "see the rows that are missing or unknown");
    return n < 0 ? NULL : next;
}

static char *next_of_other(const struct nl_look *look, const json_t *judged, bool possible,
                           bool impossible)
{
    const char *fix = first_fix(judged, "local");
    char *next = NULL;
    int n;

    if (possible && look->of == NL_OF_LAYER)
        n = asprintf(&next, "nothing to repair: this layer can boot another");
    else if (possible)
        n = asprintf(&next, "run nestlab on that host: there is no remote L0");
    else if (impossible)
        n = asprintf(&next, "%s", fix ? fix : "see the rows that are missing");
    else
        n = asprintf(&next, "run `nestlab doctor` on that host: libvirt does not tell enough");
    return n < 0 ? NULL : next;
}

static void conclude(const struct nl_look *look, json_t *judged)
{
    const json_t *local = nl_dig(judged, "paths.local.possible");
    const json_t *emulated = nl_dig(judged, "paths.emulated.possible");
    bool possible = json_is_true(local) || json_is_true(emulated);
    bool impossible = json_is_false(local) && json_is_false(emulated);
    cleanup_free char *next =
        look->of == NL_OF_MACHINE
            ? next_of_machine(judged, json_is_true(local), json_is_true(emulated))
            : next_of_other(look, judged, possible, impossible);

    json_object_set_new(judged, "possible",
                        possible     ? json_true()
                        : impossible ? json_false()
                                     : json_null());
    json_object_set_new(judged, "next", json_string(next ? next : ""));
}

json_t *nl_doctor_judge(const json_t *gathered)
{
    static const struct nl_row_kind *const tables[] = {nl_rows_cpu, nl_rows_kvm, nl_rows_software,
                                                       nl_rows_resources};
    struct nl_look look = {
        .all = gathered,
        .of = nl_dig_is(gathered, "subject.kind", "uri")     ? NL_OF_URI
              : nl_dig_is(gathered, "subject.kind", "layer") ? NL_OF_LAYER
                                                             : NL_OF_MACHINE,
        .facts = nl_dig(gathered, "facts"),
        .machine = nl_dig(gathered, "machine"),
        .libvirt = nl_dig(gathered, "libvirt"),
        .lab = nl_dig(gathered, "lab"),
    };
    struct path_state states[N_PATHS] = {0};
    json_t *rows = json_array();
    json_t *by_path = json_object();
    json_t *judged = json_pack("{s:o, s:o}", "rows", rows, "paths", by_path);

    for (size_t i = 0; i < N_PATHS; i++) {
        states[i].blockers = json_array();
        states[i].doubts = json_array();
    }
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        judge_table(&look, tables[i], rows, states);
    for (size_t i = 0; i < N_PATHS; i++) {
        json_object_set_new(by_path, paths[i].name, path_json(i, &states[i]));
        json_decref(states[i].blockers);
        json_decref(states[i].doubts);
    }
    conclude(&look, judged);
    return judged;
}

enum nl_exit nl_doctor_status(const json_t *judged)
{
    const json_t *possible = json_object_get(judged, "possible");

    if (json_is_true(possible))
        return NL_EXIT_PASSED;
    return json_is_false(possible) ? NL_EXIT_CHECK_FAILED : NL_EXIT_LAB;
}
