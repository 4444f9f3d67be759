/*
 * comparable.c - what differs between two runs: see comparable.h.
 */
#include "comparable.h"
#include "cleanup.h"
#include "dig.h"
#include "scenario.h"

#include <stdbool.h>
#include <string.h>

enum needs {
    SUBJECT, /* may differ: perhaps it is what is compared */
    ALWAYS,  /* must be equal */
    TIMES,   /* must be equal where times are compared; counted instructions do not depend on it */
};

struct point {
    const char *path;
    const char *what;
    enum needs needs;
};

static const struct point run_points[] = {
    {"run.l0.taken", "kind of L0", ALWAYS},
    {"run.host.cpu", "this machine's processor", TIMES},
    {"run.host.kernel", "this machine's kernel", SUBJECT},
    {"run.host.qemu", "this machine's QEMU", SUBJECT},
    {"run.host.libvirt", "this machine's libvirt", SUBJECT},
    {"nestlab.version", "nestlab", SUBJECT},
    {"scenario.benchmarks.extra_exits", "extra exits of a timed operation", SUBJECT},
    {"scenario.meter.extra_exits", "extra exits of a metered operation", SUBJECT},
};

static const struct point layer_points[] = {
    {"domain.type", "kind of domain", ALWAYS},
    {"facts.vcpus", "vCPUs", ALWAYS},
    {"facts.cpuid.vendor", "processor vendor", ALWAYS},
    {"facts.cpuid.brand", "processor", ALWAYS},
    {"facts.cpuid.family", "processor family", ALWAYS},
    {"facts.cpuid.model", "processor model", ALWAYS},
    {"facts.cpuid.stepping", "processor stepping", ALWAYS},
    {"facts.clock_source.current", "clock source", TIMES},
    {"facts.agent", "agent", SUBJECT},
    {"facts.kernel.release", "kernel", SUBJECT},
    {"facts.kernel.version", "kernel build", SUBJECT},
    {"image.recipe", "image", SUBJECT},
    {"image.digest", "image digest", SUBJECT},
    {"domain.machine", "machine type", SUBJECT},
    {"domain.cpu", "CPU model", SUBJECT},
    {"domain.emulator", "emulator", SUBJECT},
    {"domain.memory_mib", "memory", SUBJECT},
};

static const struct point benchmark_points[] = {
    {"unit", "unit", ALWAYS},  {"version", "version", ALWAYS},
    {"clock", "clock", TIMES}, {"clock_source", "clock source", TIMES},
    {"vcpus", "vCPUs", TIMES},
};

/* A document that nobody vouches for may name any number of them. */
#define FAULTS_MAX 64

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

struct pair {
    const json_t *reference;
    const json_t *document;
    json_t *obstacles;
    json_t *differences;
    bool times;
};

static json_t *text_of(const json_t *value)
{
    char *text;
    json_t *string;

    if (!value || json_is_null(value))
        return json_null();
    if (json_is_string(value))
        return json_string(json_string_value(value));
    text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    string = text ? json_string(text) : json_null();
    free(text);
    return string;
}

static bool same_but_run(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"what", "layer", "reference", "other"};

    for (size_t i = 0; i < N_OF(keys); i++)
        if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i])))
            return false;
    return true;
}

static void say(const struct pair *pair, enum needs needs, const char *layer, const char *what,
                const json_t *reference, const json_t *other)
{
    json_t *to =
        needs == ALWAYS || (needs == TIMES && pair->times) ? pair->obstacles : pair->differences;
    json_t *entry;
    size_t i;
    json_t *said;

    if ((!reference && !other) || (reference && other && json_equal(reference, other)))
        return;
    entry = json_pack("{s:s, s:s?, s:o, s:o, s:s}", "what", what, "layer", layer, "reference",
                      text_of(reference), "other", text_of(other), "run",
                      nl_dig_string(pair->document, "run.id", "?"));
    json_array_foreach(to, i, said)
    {
        if (same_but_run(said, entry)) {
            json_decref(entry);
            return;
        }
    }
    json_array_append_new(to, entry);
}

/* UNFINISHED: one of the two did not get far enough for all to be known, which is no difference. */
static void compare_points(const struct pair *pair, const struct point *points, size_t n,
                           bool unfinished, const char *layer, const json_t *reference,
                           const json_t *other)
{
    for (size_t i = 0; i < n; i++) {
        const json_t *mine = nl_dig(reference, points[i].path);
        const json_t *theirs = nl_dig(other, points[i].path);

        if (!unfinished || (mine && theirs))
            say(pair, points[i].needs, layer, points[i].what, mine, theirs);
    }
}

static const json_t *parameters_of(const json_t *layer, const char *module)
{
    return nl_dig(json_object_get(nl_dig(layer, "facts.modules"), module), "parameters");
}

/* The parameters that REFERENCE has, or (MISSING) those that only OTHER has. */
static void compare_parameters(const struct pair *pair, const char *layer, const json_t *reference,
                               const json_t *other, bool missing)
{
    const json_t *one = missing ? other : reference;
    const char *module, *parameter;
    json_t *facts, *value;

    json_object_foreach((json_t *)nl_dig(one, "facts.modules"), module, facts)
    {
        const json_t *mine = parameters_of(reference, module);
        const json_t *theirs = parameters_of(other, module);

        json_object_foreach((json_t *)nl_dig(facts, "parameters"), parameter, value)
        {
            char name[128];

            if (missing && json_object_get(mine, parameter))
                continue;
            snprintf(name, sizeof(name), "%s.%s", module, parameter);
            say(pair, SUBJECT, layer, name, json_object_get(mine, parameter),
                json_object_get(theirs, parameter));
        }
    }
}

/* What of KVM's modules is switched on or off in a layer shows here; kernels differ in what there
   is to switch. */
static void compare_modules(const struct pair *pair, const char *layer, const json_t *reference,
                            const json_t *other)
{
    compare_parameters(pair, layer, reference, other, false);
    compare_parameters(pair, layer, reference, other, true);
}

/* The seed is a run's own, and its layer's name is the same anyway. */
static char *command_line(const json_t *layer)
{
    const char *rest = nl_dig_string(layer, "facts.command_line", NULL);
    cleanup_free char *copy = rest ? strdup(rest) : NULL;
    char *line = rest ? calloc(1, strlen(rest) + 2) : NULL;
    char *next = NULL;

    for (char *word = copy && line ? strtok_r(copy, " ", &next) : NULL; word;
         word = strtok_r(NULL, " ", &next)) {
        if (strncmp(word, "nestlab.", 8) == 0)
            continue;
        if (*line)
            strcat(line, " ");
        strcat(line, word);
    }
    return line;
}

static void compare_command_lines(const struct pair *pair, const char *layer,
                                  const json_t *reference, const json_t *other)
{
    cleanup_free char *mine = command_line(reference);
    cleanup_free char *theirs = command_line(other);
    cleanup_json json_t *a = mine ? json_string(mine) : NULL;
    cleanup_json json_t *b = theirs ? json_string(theirs) : NULL;

    say(pair, SUBJECT, layer, "kernel command line", a, b);
}

/* What was broken on purpose in LAYER: one fault after the other, or "none". */
static json_t *faults_at(const json_t *faults, const char *layer)
{
    json_t *said = NULL;
    size_t i;
    json_t *fault;

    json_array_foreach(faults, i, fault)
    {
        const char *name = nl_dig_string(fault, "fault", "?");
        json_t *longer;

        if (i >= FAULTS_MAX)
            break;
        if (!nl_dig_is(fault, "layer", layer))
            continue;
        longer = said ? json_sprintf("%s, %s", json_string_value(said), name) : json_string(name);
        json_decref(said);
        said = longer;
    }
    return said ? said : json_string("none");
}

/* The scenario says them, so that they are known of a run that did not get far, too; a document
   that does not name faults knows nothing of them. */
static void compare_faults(const struct pair *pair)
{
    const json_t *reference = nl_dig(pair->reference, "scenario.faults");
    const json_t *document = nl_dig(pair->document, "scenario.faults");

    for (size_t k = 0; reference && document && k < NL_LAYERS_MAX; k++) {
        char layer[8];
        cleanup_json json_t *mine = NULL;
        cleanup_json json_t *theirs = NULL;

        snprintf(layer, sizeof(layer), "L%zu", k);
        mine = faults_at(reference, layer);
        theirs = faults_at(document, layer);
        say(pair, SUBJECT, layer, "fault", mine, theirs);
    }
}

/* Benchmarks that both measured: KEY is "benchmarks" or "metered". */
static void compare_benchmarks(const struct pair *pair, const char *key, const char *layer,
                               const json_t *reference, const json_t *other)
{
    cleanup_json json_t *others = nl_dig_by_name(json_object_get(other, key));
    size_t i;
    json_t *benchmark;

    json_array_foreach(json_object_get(reference, key), i, benchmark)
    {
        const char *name = nl_dig_string(benchmark, "name", "");
        const json_t *theirs = json_object_get(others, name);

        if (!theirs || nl_dig(benchmark, "skipped") || nl_dig(theirs, "skipped"))
            continue;
        for (size_t k = 0; k < N_OF(benchmark_points); k++) {
            const struct point *point = &benchmark_points[k];
            char what[128];

            snprintf(what, sizeof(what), "%s of %s", point->what, name);
            say(pair, point->needs, layer, what, nl_dig(benchmark, point->path),
                nl_dig(theirs, point->path));
        }
    }
}

static bool has_times(const json_t *document)
{
    size_t i;
    json_t *layer;

    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        if (json_array_size(json_object_get(layer, "benchmarks")) > 0)
            return true;
    }
    return false;
}

static void compare_layers(const struct pair *pair, const json_t *reference, const json_t *other)
{
    const char *name = nl_dig_string(reference, "name", "?");
    bool unfinished = !nl_dig(reference, "facts") || !nl_dig(other, "facts");

    compare_points(pair, layer_points, N_OF(layer_points), unfinished, name, reference, other);
    if (!unfinished) {
        compare_modules(pair, name, reference, other);
        compare_command_lines(pair, name, reference, other);
    }
    compare_benchmarks(pair, "benchmarks", name, reference, other);
    compare_benchmarks(pair, "metered", name, reference, other);
}

void nl_comparable(const json_t *reference, const json_t *document, json_t *obstacles,
                   json_t *differences)
{
    struct pair pair = {reference, document, obstacles, differences,
                        has_times(reference) && has_times(document)};
    const json_t *layers = json_object_get(reference, "layers");
    const json_t *others = json_object_get(document, "layers");
    bool unfinished = nl_dig(reference, "failure") || nl_dig(document, "failure");
    cleanup_json json_t *n = json_integer((json_int_t)json_array_size(layers));
    cleanup_json json_t *m = json_integer((json_int_t)json_array_size(others));

    compare_points(&pair, run_points, N_OF(run_points), unfinished, NULL, reference, document);
    say(&pair, SUBJECT, NULL, "number of layers", n, m);
    compare_faults(&pair);
    for (size_t i = 0; i < json_array_size(layers) && i < json_array_size(others); i++)
        compare_layers(&pair, json_array_get(layers, i), json_array_get(others, i));
}

/* Put VALUE where PATH says, in objects that are made as needed. */
static void put(json_t *root, const char *path, const json_t *value)
{
    const char *dot;

    while (*(dot = strchrnul(path, '.'))) {
        json_t *inner = json_object_getn(root, path, (size_t)(dot - path));

        if (!inner) {
            inner = json_object();
            json_object_setn_new(root, path, (size_t)(dot - path), inner);
        }
        root = inner;
        path = dot + 1;
    }
    json_object_set_new(root, path, json_deep_copy(value));
}

static void copy_points(const struct point *points, size_t n, const json_t *from, json_t *to)
{
    for (size_t i = 0; i < n; i++) {
        const json_t *value = nl_dig(from, points[i].path);

        if (value)
            put(to, points[i].path, value);
    }
}

json_t *nl_comparable_excerpt(const json_t *document)
{
    static const struct point more[] = {
        {"name", "", SUBJECT}, {"facts.modules", "", SUBJECT}, {"facts.command_line", "", SUBJECT}};
    static const struct point faults = {"scenario.faults", "", SUBJECT};
    json_t *layers = json_array();
    json_t *excerpt = json_pack("{s:{s:s}}", "run", "id", nl_dig_string(document, "run.id", "?"));
    size_t i;
    json_t *layer;

    copy_points(run_points, N_OF(run_points), document, excerpt);
    copy_points(&faults, 1, document, excerpt);
    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        json_t *part = json_object();

        copy_points(layer_points, N_OF(layer_points), layer, part);
        copy_points(more, N_OF(more), layer, part);
        json_array_append_new(layers, part);
    }
    json_object_set_new(excerpt, "layers", layers);
    return excerpt;
}

static void add_terms(json_t *terms, const struct point *points, size_t n, bool times,
                      const char *layer, const json_t *of)
{
    for (size_t i = 0; i < n; i++) {
        if (points[i].needs == SUBJECT || (points[i].needs == TIMES && !times))
            continue;
        json_array_append_new(terms,
                              json_pack("{s:s, s:s?, s:o}", "what", points[i].what, "layer", layer,
                                        "value", text_of(nl_dig(of, points[i].path))));
    }
}

json_t *nl_comparable_terms(const json_t *document, bool times)
{
    json_t *terms = json_array();
    size_t i;
    json_t *layer;

    add_terms(terms, run_points, N_OF(run_points), times, NULL, document);
    json_array_foreach(json_object_get(document, "layers"), i, layer) add_terms(
        terms, layer_points, N_OF(layer_points), true, nl_dig_string(layer, "name", "?"), layer);
    return terms;
}

char *nl_comparable_benchmark(const json_t *benchmark)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (!out)
        return NULL;
    for (size_t i = 0; i < N_OF(benchmark_points); i++) {
        cleanup_json json_t *value = text_of(nl_dig(benchmark, benchmark_points[i].path));

        if (strcmp(benchmark_points[i].path, "unit") != 0 && json_is_string(value))
            fprintf(out, "%s%s %s", ftell(out) > 0 ? ", " : "", benchmark_points[i].what,
                    json_string_value(value));
    }
    return nl_close_text(out, &text);
}
