/*
 * document.c - building the run's document up: see document.h.
 */
#include "document.h"
#include "check.h"
#include "diagnosis.h"
#include "deadline.h"
#include "dig.h"
#include "slowdown.h"

#include <string.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>

struct nl_document {
    json_t *root;
    int64_t started_ms;
    bool broken; /* a setter ran out of memory: the document is not what it should be */
};

static void put(struct nl_document *document, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) < 0)
        document->broken = true;
}

static void append(struct nl_document *document, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) < 0)
        document->broken = true;
}

/* OBJECT's array KEY, made if it is not there. */
static json_t *array_in(struct nl_document *document, json_t *object, const char *key)
{
    json_t *array = json_object_get(object, key);

    if (!json_is_array(array)) {
        put(document, object, key, json_array());
        array = json_object_get(object, key);
    }
    return array;
}

static json_t *layer_at(const struct nl_document *document, size_t layer)
{
    return json_array_get(json_object_get(document->root, "layers"), layer);
}

static json_t *name_or_null(const char *name)
{
    return name ? nl_document_text(name) : json_null();
}

static json_t *text_array(char *const *strv)
{
    json_t *array = json_array();

    for (; strv && *strv; strv++)
        json_array_append_new(array, nl_document_text(*strv));
    return array;
}

/* The length of the UTF-8 sequence at S, 0 if it is not one. As strict as jansson: no overlong
   forms, no surrogates, nothing above U+10FFFF. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = s[0] < 0x80                   ? 1
               : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
               : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
               : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                             : 0;

    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

json_t *nl_document_text(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    cleanup_free char *escaped = NULL;
    char *out;

    if (!text)
        return json_null();
    escaped = malloc(strlen(text) * 4 + 1);
    if (!escaped)
        return NULL;
    out = escaped;
    while (*s) {
        size_t n = utf8_length(s);

        if (n > 0)
            out = mempcpy(out, s, n);
        else
            out += sprintf(out, "\\x%02x", *s);
        s += n > 0 ? n : 1;
    }
    *out = '\0';
    return json_string(escaped);
}

/* "model name" of the first processor in /proc/cpuinfo. */
static json_t *cpu_model(void)
{
    cleanup_fclose FILE *file = fopen("/proc/cpuinfo", "re");
    cleanup_free char *line = NULL;
    size_t size = 0;

    while (file && getline(&line, &size, file) > 0) {
        const char *value = strstr(line, ": ");

        if (strncmp(line, "model name", 10) == 0 && value) {
            line[strcspn(line, "\n")] = '\0';
            return nl_document_text(value + 2);
        }
    }
    return json_null();
}

static json_t *host_facts(void)
{
    struct utsname name;
    struct sysinfo info;
    json_t *host = json_object();

    if (uname(&name) == 0)
        json_object_set_new(host, "kernel", nl_document_text(name.release));
    json_object_set_new(host, "cpu", cpu_model());
    json_object_set_new(host, "cpus", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    if (sysinfo(&info) == 0) {
        uint64_t bytes = (uint64_t)info.totalram * info.mem_unit;

        json_object_set_new(host, "memory_mib", json_integer((json_int_t)(bytes >> 20)));
    }
    return host;
}

static json_t *initial_layers(const json_t *scenario)
{
    size_t n = json_array_size(json_object_get(scenario, "layers"));
    json_t *layers = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *layer = json_pack("{s:o, s:I, s:s}", "name", json_sprintf("L%zu", i), "index",
                                  (json_int_t)i, "state", NL_LAYER_NOT_REACHED);

        json_array_append_new(layers, layer);
    }
    return layers;
}

int nl_document_new(char *const *argv, const json_t *scenario, const char *id,
                    struct nl_document **document, struct nl_error **err)
{
    struct nl_document *made = calloc(1, sizeof(*made));
    time_t now = time(NULL);
    char started[32];
    struct tm utc;

    if (!made)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    gmtime_r(&now, &utc);
    strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", &utc);
    made->started_ms = nl_now_ms();
    made->root =
        json_pack("{s:{s:i, s:s}, s:{s:s, s:s, s:n, s:o, s:o}, s:o, s:[], s:o, s:[], "
                  "s:[], s:[], s:n, s:n, s:n}",
                  "nestlab", "document", NL_DOCUMENT_VERSION, "version", NL_VERSION, "run", "id",
                  id, "started", started, "seconds", "command", text_array(argv), "host",
                  host_facts(), "scenario", scenario ? json_deep_copy(scenario) : json_object(),
                  "phases", "layers", initial_layers(scenario), "commands", "checks", "slowdown",
                  "failure", "diagnosis", "verdict");
    if (!made->root) {
        free(made);
        return nl_fail(err, NL_EXIT_LAB, "cannot start the document: out of memory");
    }
    *document = made;
    return 0;
}

void nl_document_free(struct nl_document **document)
{
    if (!*document)
        return;
    json_decref((*document)->root);
    free(*document);
    *document = NULL;
}

const json_t *nl_document_json(const struct nl_document *document)
{
    return document->root;
}

const char *nl_document_id(const struct nl_document *document)
{
    return nl_dig_string(document->root, "run.id", "");
}

double nl_document_seconds(const struct nl_document *document)
{
    return (double)(nl_now_ms() - document->started_ms) / 1000.0;
}

void nl_document_l0(struct nl_document *document, const char *asked, const char *taken,
                    const char *why)
{
    put(document, json_object_get(document->root, "run"), "l0",
        json_pack("{s:o, s:o, s:o}", "asked", name_or_null(asked), "taken", name_or_null(taken),
                  "why", name_or_null(why)));
}

void nl_document_host(struct nl_document *document, const char *key, json_t *value)
{
    if (value)
        put(document, json_object_get(json_object_get(document->root, "run"), "host"), key, value);
}

void nl_document_layer_state(struct nl_document *document, size_t layer, const char *state)
{
    put(document, layer_at(document, layer), "state", json_string(state));
}

void nl_document_layer_set(struct nl_document *document, size_t layer, const char *key,
                           json_t *value)
{
    if (value)
        put(document, layer_at(document, layer), key, value);
    else
        json_object_del(layer_at(document, layer), key);
}

void nl_document_layer_log(struct nl_document *document, size_t layer, const json_t *reply)
{
    json_t *log = json_object_get(layer_at(document, layer), "log");
    /* The guest's word: nonsense must not make a log look complete. */
    json_int_t lost = nl_dig_integer(reply, "lost", nl_dig(reply, "lost") ? INT64_MAX : 0);
    json_int_t before = 0;

    if (!log) {
        put(document, layer_at(document, layer), "log",
            json_pack("{s:[], s:i}", "records", "lost", 0));
        log = json_object_get(layer_at(document, layer), "log");
    }
    before = nl_dig_integer(log, "lost", 0);
    if (lost < 0 || lost > INT64_MAX - before)
        lost = INT64_MAX - before;
    if (json_is_array(json_object_get(reply, "records")) &&
        json_array_extend(json_object_get(log, "records"), json_object_get(reply, "records")) < 0)
        document->broken = true;
    put(document, log, "lost", json_integer(before + lost));
}

void nl_document_layer_exits(struct nl_document *document, size_t layer, const char *when,
                             json_t *counters)
{
    append(document, array_in(document, layer_at(document, layer), "exits"),
           json_pack("{s:s, s:f, s:o}", "when", when, "at_s", nl_document_seconds(document),
                     "counters", counters));
}

void nl_document_layer_benchmark(struct nl_document *document, size_t layer, json_t *result)
{
    append(document, array_in(document, layer_at(document, layer), "benchmarks"), result);
}

void nl_document_layer_metered(struct nl_document *document, size_t layer, json_t *result)
{
    append(document, array_in(document, layer_at(document, layer), "metered"), result);
}

void nl_document_layer_file(struct nl_document *document, size_t layer, const char *kind,
                            const char *file)
{
    json_t *object = layer_at(document, layer);

    if (!json_object_get(object, "files"))
        put(document, object, "files", json_object());
    put(document, json_object_get(object, "files"), kind, nl_document_text(file));
}

int nl_document_phase_begin(struct nl_document *document, const char *layer, const char *name)
{
    json_t *phases = json_object_get(document->root, "phases");

    append(document, phases,
           json_pack("{s:o, s:s, s:f, s:n}", "layer", name_or_null(layer), "name", name, "start_s",
                     nl_document_seconds(document), "seconds"));
    return (int)json_array_size(phases) - 1;
}

double nl_document_phase_end(struct nl_document *document, int phase)
{
    json_t *object = json_array_get(json_object_get(document->root, "phases"), (size_t)phase);
    double seconds = nl_document_seconds(document) - nl_dig_number(object, "start_s", 0);

    put(document, object, "seconds", json_real(seconds));
    return seconds;
}

void nl_document_phase_add(struct nl_document *document, const char *layer, const char *name,
                           double start_s, double seconds)
{
    append(document, json_object_get(document->root, "phases"),
           json_pack("{s:o, s:s, s:f, s:f}", "layer", name_or_null(layer), "name", name, "start_s",
                     start_s, "seconds", seconds));
}

static void close_phases(struct nl_document *document)
{
    size_t i;
    json_t *phase;

    json_array_foreach(json_object_get(document->root, "phases"), i, phase)
    {
        if (!json_is_null(json_object_get(phase, "seconds")))
            continue;
        nl_document_phase_end(document, (int)i);
        put(document, phase, "cut_short", json_true());
    }
}

/* Sets *MESSAGE to why, or leaves it NULL. */
static const char *command_verdict(const json_t *reply, const int *skip_codes, size_t n_skip_codes,
                                   const struct nl_error *err, json_t **message)
{
    const json_t *status = nl_dig(reply, "exit");
    json_int_t signal_number = nl_dig_integer(reply, "signal", 0);
    json_int_t code = json_integer_value(status);

    if (!reply) {
        *message = json_sprintf("could not be run: %s", err ? nl_error_message(err) : "no answer");
        return "error";
    }
    if (nl_dig_true(reply, "timed_out")) {
        *message = json_sprintf("did not end within its deadline (%.1f s)",
                                nl_dig_number(reply, "seconds", 0));
        return "fail";
    }
    if (!json_is_integer(status) && signal_number <= 0) {
        *message = json_string("could not be judged: the agent tells no exit status and no signal");
        return "error";
    }
    if (!json_is_integer(status)) {
        *message = json_sprintf("killed by signal %" JSON_INTEGER_FORMAT, signal_number);
        return "fail";
    }
    for (size_t i = 0; i < n_skip_codes; i++) {
        if (code == skip_codes[i]) {
            *message = json_sprintf("skipped itself with exit status %" JSON_INTEGER_FORMAT, code);
            return "skip";
        }
    }
    if (code != 0)
        *message = json_sprintf("exit status %" JSON_INTEGER_FORMAT, code);
    return code == 0 ? "pass" : "fail";
}

void nl_document_command(struct nl_document *document, const char *name, const char *layer,
                         char *const *argv, const int *skip_codes, size_t n_skip_codes,
                         const json_t *reply, const struct nl_error *err)
{
    static const char *const copied[] = {"exit",   "signal", "timed_out", "seconds",
                                         "stdout", "stderr", "truncated"};
    json_t *message = NULL;
    const char *verdict = command_verdict(reply, skip_codes, n_skip_codes, err, &message);
    json_t *command = json_pack("{s:o, s:o, s:o}", "name", nl_document_text(name), "layer",
                                name_or_null(layer), "argv", text_array(argv));

    for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++)
        if (json_object_get(reply, copied[i]))
            put(document, command, copied[i], json_incref(json_object_get(reply, copied[i])));
    put(document, command, "verdict", json_string(verdict));
    put(document, command, "message", message ? message : json_null());
    if (err && nl_error_hint(err))
        put(document, command, "hint", nl_document_text(nl_error_hint(err)));
    append(document, json_object_get(document->root, "commands"), command);
}

void nl_document_findings(struct nl_document *document, json_t *findings)
{
    put(document, document->root, "findings", findings);
}

void nl_document_interrupted(struct nl_document *document)
{
    put(document, json_object_get(document->root, "run"), "interrupted", json_true());
}

bool nl_document_fail(struct nl_document *document, const char *layer, const char *phase,
                      const char *kind, const struct nl_error *err, json_t *console_tail)
{
    json_t *failure;

    if (nl_error_status(err) == NL_EXIT_INTERRUPTED)
        nl_document_interrupted(document);
    if (nl_error_status(err) == NL_EXIT_INTERRUPTED || nl_dig(document->root, "failure")) {
        json_decref(console_tail);
        return false;
    }
    failure =
        json_pack("{s:o, s:o, s:s, s:o, s:o, s:o}", "layer", name_or_null(layer), "phase",
                  name_or_null(phase), "kind", kind, "message",
                  nl_document_text(nl_error_message(err)), "hint", name_or_null(nl_error_hint(err)),
                  "console_tail", console_tail ? console_tail : json_array());
    put(document, document->root, "failure", failure);
    return true;
}

void nl_document_failure_set(struct nl_document *document, const char *key, json_t *value)
{
    put(document, json_object_get(document->root, "failure"), key, value);
}

int nl_document_finish(struct nl_document *document, struct nl_error **err)
{
    json_t *run = json_object_get(document->root, "run");
    cleanup_error struct nl_error *checking = NULL;
    int rc;

    close_phases(document);
    put(document, run, "seconds", json_real(nl_document_seconds(document)));
    put(document, document->root, "slowdown", nl_slowdown(document->root));
    rc = nl_checks_run(document->root, &checking);
    /* Without its checks a run has proved nothing, even one that has no default checks. */
    if (rc == 0)
        rc = nl_diagnosis_run(document->root, &checking);
    if (rc < 0)
        nl_document_fail(document, NULL, "checks", "error", checking, NULL);
    nl_document_judge(document->root);
    if (rc < 0 && err)
        *err = nl_steal(&checking);
    return rc;
}

int nl_document_save(const struct nl_document *document, const char *path, struct nl_error **err)
{
    if (nl_document_write(document->root, path, err) < 0)
        return -1;
    if (document->broken)
        return nl_fail(err, NL_EXIT_LAB, "%s is incomplete: out of memory in the run", path);
    return 0;
}
