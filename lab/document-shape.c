/*
 * document-shape.c - the shape of a document as tables: see document-shape.h. What the tables say
 * is what docs/document.schema.json says.
 */
#include "document-shape.h"
#include "document.h"

#include <string.h>

/* Types, a bit each. */
enum {
    OBJECT = 1 << 0,
    ARRAY = 1 << 1,
    STRING = 1 << 2,
    NUMBER = 1 << 3,
    BOOLEAN = 1 << 4,
    NONE = 1 << 5, /* null */
    NEEDED = 1 << 6,
};

/* One member of an object, or (KEY NULL in ITEMS) an array's element. */
struct shape {
    const char *key;
    int types;
    const struct shape *members; /* of an object; ends with an entry of no types */
    const struct shape *items;   /* of an array: one entry */
    const char *const *values;   /* allowed strings, or NULL: any */
};

static const struct {
    int type;
    const char *name;
} type_names[] = {
    {OBJECT, "an object"}, {ARRAY, "an array"},    {STRING, "a string"},
    {NUMBER, "a number"},  {BOOLEAN, "a boolean"}, {NONE, "null"},
};

static const char *const states[] = {NL_LAYER_UP, NL_LAYER_FAILED, NL_LAYER_NOT_REACHED,
                                     NL_LAYER_GONE, NULL};
static const char *const verdicts[] = {"pass", "fail", "error", "skip", NULL};
static const char *const statuses[] = {"passed", "failed", "error", "interrupted", NULL};
static const char *const estimates[] = {"mode", "median", "median of all", NULL};
static const char *const severities[] = {"ok", "harmless", "warning", "error", NULL};
static const char *const moments[] = {"created", "ready", "end", NULL};

static const struct shape text = {NULL, STRING, NULL, NULL, NULL};
static const struct shape number = {NULL, NUMBER, NULL, NULL, NULL};

static const struct shape nestlab[] = {
    {"document", NUMBER | NEEDED, NULL, NULL, NULL},
    {"version", STRING, NULL, NULL, NULL},
    {0},
};

static const struct shape l0[] = {
    {"asked", STRING | NONE, NULL, NULL, NULL},
    {"taken", STRING | NONE, NULL, NULL, NULL},
    {"why", STRING | NONE, NULL, NULL, NULL},
    {0},
};

static const struct shape run[] = {
    {"id", STRING | NEEDED, NULL, NULL, NULL},    {"started", STRING, NULL, NULL, NULL},
    {"seconds", NUMBER | NONE, NULL, NULL, NULL}, {"command", ARRAY, NULL, &text, NULL},
    {"interrupted", BOOLEAN, NULL, NULL, NULL},   {"l0", OBJECT | NONE, l0, NULL, NULL},
    {"host", OBJECT, NULL, NULL, NULL},           {0},
};

static const struct shape phase_members[] = {
    {"layer", STRING | NONE, NULL, NULL, NULL},     {"name", STRING | NEEDED, NULL, NULL, NULL},
    {"start_s", NUMBER | NEEDED, NULL, NULL, NULL}, {"seconds", NUMBER | NONE, NULL, NULL, NULL},
    {"cut_short", BOOLEAN, NULL, NULL, NULL},       {0},
};
static const struct shape phase = {NULL, OBJECT, phase_members, NULL, NULL};

static const struct shape record_members[] = {
    {"seq", NUMBER | NEEDED, NULL, NULL, NULL},
    {"level", NUMBER | NEEDED, NULL, NULL, NULL},
    {"time_us", NUMBER | NEEDED, NULL, NULL, NULL},
    {"text", STRING | NEEDED, NULL, NULL, NULL},
    {0},
};
static const struct shape record = {NULL, OBJECT, record_members, NULL, NULL};

static const struct shape log_members[] = {
    {"records", ARRAY | NEEDED, NULL, &record, NULL},
    {"lost", NUMBER | NEEDED, NULL, NULL, NULL},
    {0},
};

static const struct shape exit_members[] = {
    {"when", STRING | NEEDED, NULL, NULL, moments},
    {"at_s", NUMBER | NEEDED, NULL, NULL, NULL},
    {"counters", OBJECT | NEEDED, NULL, NULL, NULL},
    {0},
};
static const struct shape exits = {NULL, OBJECT, exit_members, NULL, NULL};

static const struct shape benchmark_exit_members[] = {
    {"layer", STRING | NEEDED, NULL, NULL, NULL},
    {"exits", NUMBER | NEEDED, NULL, NULL, NULL},
    {"irq_exits", NUMBER, NULL, NULL, NULL},
    {"io_exits", NUMBER, NULL, NULL, NULL},
    {"mmio_exits", NUMBER, NULL, NULL, NULL},
    {"halt_exits", NUMBER, NULL, NULL, NULL},
    {"hypercalls", NUMBER, NULL, NULL, NULL},
    {"nested_run", NUMBER, NULL, NULL, NULL},
    {0},
};
static const struct shape benchmark_exit = {NULL, OBJECT, benchmark_exit_members, NULL, NULL};

static const struct shape exit_reason_members[] = {
    {"reason", STRING | NEEDED, NULL, NULL, NULL},
    {"times", NUMBER | NEEDED, NULL, NULL, NULL},
    {0},
};
static const struct shape exit_reason = {NULL, OBJECT, exit_reason_members, NULL, NULL};

static const struct shape exit_count_members[] = {
    {"layer", STRING | NEEDED, NULL, NULL, NULL},
    {"inside", BOOLEAN | NEEDED, NULL, NULL, NULL},
    {"reasons", ARRAY | NEEDED, NULL, &exit_reason, NULL},
    {0},
};
static const struct shape exit_count = {NULL, OBJECT, exit_count_members, NULL, NULL};

static const struct shape exit_reasons_members[] = {
    {"operations", NUMBER | NEEDED, NULL, NULL, NULL},
    {"skipped", STRING | NONE | NEEDED, NULL, NULL, NULL},
    {"counts", ARRAY | NEEDED, NULL, &exit_count, NULL},
    {0},
};

static const struct shape benchmark_members[] = {
    {"name", STRING | NEEDED, NULL, NULL, NULL},
    {"unit", STRING | NEEDED, NULL, NULL, NULL},
    {"samples", ARRAY | NEEDED, NULL, &number, NULL},
    {"skipped", STRING | NONE, NULL, NULL, NULL},
    {"operations", NUMBER, NULL, NULL, NULL},
    {"extra_exits", NUMBER, NULL, NULL, NULL},
    {"exits", ARRAY, NULL, &benchmark_exit, NULL},
    {"exit_reasons", OBJECT, exit_reasons_members, NULL, NULL},
    {0},
};
static const struct shape benchmark = {NULL, OBJECT, benchmark_members, NULL, NULL};

static const struct shape metered_exit_members[] = {
    {"of", NUMBER | NEEDED, NULL, NULL, NULL},
    {"reached", NUMBER | NEEDED, NULL, NULL, NULL},
    {"times", NUMBER | NEEDED, NULL, NULL, NULL},
    {0},
};
static const struct shape metered_exit = {NULL, OBJECT, metered_exit_members, NULL, NULL};

static const struct shape metered_sample_members[] = {
    {"instructions", ARRAY | NEEDED, NULL, &number, NULL},
    {"vmruns", ARRAY | NEEDED, NULL, &number, NULL},
    {"returns", ARRAY | NEEDED, NULL, &number, NULL},
    {0},
};
static const struct shape metered_sample = {NULL, OBJECT, metered_sample_members, NULL, NULL};

static const struct shape function_members[] = {
    {"layer", STRING | NEEDED, NULL, NULL, NULL},
    {"module", STRING | NONE, NULL, NULL, NULL},
    {"function", STRING | NONE, NULL, NULL, NULL},
    {"instructions", NUMBER | NEEDED, NULL, NULL, NULL},
    {0},
};
static const struct shape function = {NULL, OBJECT, function_members, NULL, NULL};

static const struct shape profile[] = {
    {"operations", NUMBER | NEEDED, NULL, NULL, NULL},
    {"functions", ARRAY | NEEDED, NULL, &function, NULL},
    {0},
};

static const struct shape metered_members[] = {
    {"name", STRING | NEEDED, NULL, NULL, NULL},
    {"operations", NUMBER | NEEDED, NULL, NULL, NULL},
    {"extra_exits", NUMBER, NULL, NULL, NULL},
    {"repeats", NUMBER | NONE, NULL, NULL, NULL},
    {"skipped", STRING | NONE, NULL, NULL, NULL},
    {"estimate", STRING, NULL, NULL, estimates},
    {"undisturbed", NUMBER, NULL, NULL, NULL},
    {"agreeing", NUMBER, NULL, NULL, NULL},
    {"total", NUMBER, NULL, NULL, NULL},
    {"low", NUMBER, NULL, NULL, NULL},
    {"high", NUMBER, NULL, NULL, NULL},
    {"instructions", ARRAY, NULL, &number, NULL},
    {"vmruns", ARRAY, NULL, &number, NULL},
    {"returns", ARRAY, NULL, &number, NULL},
    {"exits", ARRAY, NULL, &metered_exit, NULL},
    {"profile", OBJECT, profile, NULL, NULL},
    {"samples", ARRAY | NEEDED, NULL, &metered_sample, NULL},
    {0},
};
static const struct shape metered = {NULL, OBJECT, metered_members, NULL, NULL};

static const struct shape rate[] = {
    {"ppm", NUMBER | NEEDED, NULL, NULL, NULL},
    {"uncertainty_ppm", NUMBER | NEEDED, NULL, NULL, NULL},
    {0},
};

static const struct shape frequency[] = {
    {"hz", NUMBER | NEEDED, NULL, NULL, NULL},
    {"uncertainty_ppm", NUMBER | NEEDED, NULL, NULL, NULL},
    {0},
};

static const struct shape clocks_below[] = {
    {"clock", OBJECT | NONE, rate, NULL, NULL},
    {"tsc", OBJECT | NONE, rate, NULL, NULL},
    {"clock_by_tsc", OBJECT | NONE, rate, NULL, NULL},
    {0},
};

static const struct shape clocks[] = {
    {"source", STRING | NONE, NULL, NULL, NULL},
    {"seconds", NUMBER | NEEDED, NULL, NULL, NULL},
    {"tsc", OBJECT | NONE, frequency, NULL, NULL},
    {"kernel_tsc_hz", NUMBER | NONE, NULL, NULL, NULL},
    {"tsc_to_clock", OBJECT | NONE, rate, NULL, NULL},
    {"to_below", OBJECT | NONE, clocks_below, NULL, NULL},
    {0},
};

static const struct shape layer_members[] = {
    {"name", STRING | NEEDED, NULL, NULL, NULL},
    {"index", NUMBER | NEEDED, NULL, NULL, NULL},
    {"state", STRING | NEEDED, NULL, NULL, states},
    {"image", OBJECT | NONE, NULL, NULL, NULL},
    {"domain", OBJECT | NONE, NULL, NULL, NULL},
    {"facts", OBJECT | NONE, NULL, NULL, NULL},
    {"facts_after", OBJECT | NONE, NULL, NULL, NULL},
    {"log", OBJECT | NONE, log_members, NULL, NULL},
    {"exits", ARRAY, NULL, &exits, NULL},
    {"clocks", OBJECT | NONE, clocks, NULL, NULL},
    {"benchmarks", ARRAY, NULL, &benchmark, NULL},
    {"metered", ARRAY, NULL, &metered, NULL},
    {"files", OBJECT, NULL, NULL, NULL},
    {0},
};
static const struct shape layer = {NULL, OBJECT, layer_members, NULL, NULL};

static const struct shape command_members[] = {
    {"name", STRING | NEEDED, NULL, NULL, NULL},
    {"layer", STRING | NONE, NULL, NULL, NULL},
    {"argv", ARRAY, NULL, &text, NULL},
    {"exit", NUMBER | NONE, NULL, NULL, NULL},
    {"signal", NUMBER | NONE, NULL, NULL, NULL},
    {"timed_out", BOOLEAN, NULL, NULL, NULL},
    {"seconds", NUMBER, NULL, NULL, NULL},
    {"stdout", STRING, NULL, NULL, NULL},
    {"stderr", STRING, NULL, NULL, NULL},
    {"truncated", BOOLEAN, NULL, NULL, NULL},
    {"verdict", STRING | NEEDED, NULL, NULL, verdicts},
    {"message", STRING | NONE, NULL, NULL, NULL},
    {0},
};
static const struct shape command = {NULL, OBJECT, command_members, NULL, NULL};

static const struct shape check_members[] = {
    {"name", STRING | NEEDED, NULL, NULL, NULL},
    {"layer", STRING | NONE, NULL, NULL, NULL},
    {"verdict", STRING | NEEDED, NULL, NULL, verdicts},
    {"explanation", STRING | NONE, NULL, NULL, NULL},
    {"hint", STRING | NONE, NULL, NULL, NULL},
    {"message", STRING | NONE, NULL, NULL, NULL},
    {0},
};
static const struct shape check = {NULL, OBJECT, check_members, NULL, NULL};

static const struct shape slowdown_members[] = {
    {"benchmark", STRING | NEEDED, NULL, NULL, NULL},
    {"unit", STRING | NEEDED, NULL, NULL, NULL},
    {"layers", ARRAY | NEEDED, NULL, NULL, NULL},
    {0},
};
static const struct shape slowdown = {NULL, OBJECT, slowdown_members, NULL, NULL};

static const struct shape seen_vcpu_members[] = {
    {"rip", STRING | NEEDED, NULL, NULL, NULL}, {"symbol", STRING | NONE, NULL, NULL, NULL},
    {"interrupts", BOOLEAN, NULL, NULL, NULL},  {"halted", BOOLEAN, NULL, NULL, NULL},
    {"cpl", NUMBER, NULL, NULL, NULL},          {0},
};
static const struct shape seen_vcpu = {NULL, OBJECT, seen_vcpu_members, NULL, NULL};

static const struct shape look_members[] = {
    {"after_s", NUMBER | NEEDED, NULL, NULL, NULL},
    {"console_bytes", STRING | NONE, NULL, NULL, NULL},
    {"exits", STRING | NONE, NULL, NULL, NULL},
    {"disk_bytes", STRING | NONE, NULL, NULL, NULL},
    {"vcpus", ARRAY, NULL, &seen_vcpu, NULL},
    {0},
};
static const struct shape look = {NULL, OBJECT, look_members, NULL, NULL};

static const struct shape evidence[] = {
    {"looks", ARRAY | NEEDED, NULL, &look, NULL}, {"process", STRING, NULL, NULL, NULL},
    {"stack", ARRAY, NULL, &text, NULL},          {"exit_reasons", OBJECT, NULL, NULL, NULL},
    {"backtrace", ARRAY, NULL, &text, NULL},      {0},
};

static const struct shape failure[] = {
    {"layer", STRING | NONE, NULL, NULL, NULL},  {"phase", STRING | NONE, NULL, NULL, NULL},
    {"kind", STRING | NEEDED, NULL, NULL, NULL}, {"message", STRING | NEEDED, NULL, NULL, NULL},
    {"hint", STRING | NONE, NULL, NULL, NULL},   {"seen", STRING | NONE, NULL, NULL, NULL},
    {"service", STRING, NULL, NULL, NULL},       {"evidence", OBJECT, evidence, NULL, NULL},
    {"console_tail", ARRAY, NULL, &text, NULL},  {0},
};

static const struct shape diagnosis[] = {
    {"name", STRING | NEEDED, NULL, NULL, NULL},
    {"layer", STRING | NONE, NULL, NULL, NULL},
    {"summary", STRING | NEEDED, NULL, NULL, NULL},
    {"explanation", STRING | NONE, NULL, NULL, NULL},
    {"evidence", ARRAY, NULL, &text, NULL},
    {"remedy", STRING | NONE, NULL, NULL, NULL},
    {0},
};

static const struct shape verdict[] = {
    {"status", STRING | NEEDED, NULL, NULL, statuses},
    {"exit", NUMBER | NEEDED, NULL, NULL, NULL},
    {"summary", STRING | NEEDED, NULL, NULL, NULL},
    {"next", STRING | NONE, NULL, NULL, NULL},
    {0},
};

static const struct shape place_members[] = {
    {"file", STRING | NEEDED, NULL, NULL, NULL},
    {"line", NUMBER | NEEDED, NULL, NULL, NULL},
    {"last", NUMBER, NULL, NULL, NULL},
    {"count", NUMBER, NULL, NULL, NULL},
    {0},
};
static const struct shape finding_place = {NULL, OBJECT, place_members, NULL, NULL};

static const struct shape finding_members[] = {
    {"rule", STRING | NEEDED, NULL, NULL, NULL},
    {"severity", STRING | NEEDED, NULL, NULL, severities},
    {"layer", STRING | NEEDED, NULL, NULL, NULL},
    {"evidence_layer", STRING, NULL, NULL, NULL},
    {"about", STRING, NULL, NULL, NULL},
    {"line", STRING | NEEDED, NULL, NULL, NULL},
    {"places", ARRAY | NEEDED, NULL, &finding_place, NULL},
    {"more_places", NUMBER, NULL, NULL, NULL},
    {"count", NUMBER, NULL, NULL, NULL},
    {"meaning", STRING | NEEDED, NULL, NULL, NULL},
    {"values", STRING, NULL, NULL, NULL},
    {"remedy", STRING | NEEDED, NULL, NULL, NULL},
    {"source", STRING, NULL, NULL, NULL},
    {"note", STRING | NONE, NULL, NULL, NULL},
    {0},
};
static const struct shape finding = {NULL, OBJECT, finding_members, NULL, NULL};

static const struct shape document_members[] = {
    {"nestlab", OBJECT | NEEDED, nestlab, NULL, NULL},
    {"run", OBJECT | NEEDED, run, NULL, NULL},
    {"scenario", OBJECT | NEEDED, NULL, NULL, NULL},
    {"phases", ARRAY | NEEDED, NULL, &phase, NULL},
    {"layers", ARRAY | NEEDED, NULL, &layer, NULL},
    {"commands", ARRAY | NEEDED, NULL, &command, NULL},
    {"checks", ARRAY | NEEDED, NULL, &check, NULL},
    {"slowdown", ARRAY | NEEDED, NULL, &slowdown, NULL},
    {"findings", ARRAY, NULL, &finding, NULL},
    {"failure", OBJECT | NONE | NEEDED, failure, NULL, NULL},
    {"diagnosis", OBJECT | NONE, diagnosis, NULL, NULL},
    {"verdict", OBJECT | NONE | NEEDED, verdict, NULL, NULL},
    {0},
};
static const struct shape whole = {NULL, OBJECT, document_members, NULL, NULL};

static int type_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return OBJECT;
    case JSON_ARRAY:
        return ARRAY;
    case JSON_STRING:
        return STRING;
    case JSON_INTEGER:
    case JSON_REAL:
        return NUMBER;
    case JSON_TRUE:
    case JSON_FALSE:
        return BOOLEAN;
    default:
        return NONE;
    }
}

static int fail_type(const struct nl_json_place *at, int types, int found, struct nl_error **err)
{
    const char *found_name = "";
    char allowed[128] = "";
    int used = 0;

    for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
        if (type_names[i].type == found)
            found_name = type_names[i].name;
        if (!(types & type_names[i].type))
            continue;
        used += snprintf(allowed + used, sizeof(allowed) - (size_t)used, "%s%s", used ? " or " : "",
                         type_names[i].name);
    }
    return nl_fail_at(err, at, "must be %s, not %s", allowed, found_name);
}

static int fail_value(const struct nl_json_place *at, const struct shape *shape, const char *found,
                      struct nl_error **err)
{
    cleanup_free char *quoted = nl_quote(found);

    nl_fail_at(err, at, "cannot be %s", quoted ? quoted : "this");
    return nl_hint(err, "allowed: %s, %s, %s%s%s", shape->values[0], shape->values[1],
                   shape->values[2], shape->values[3] ? ", " : "",
                   shape->values[3] ? shape->values[3] : "");
}

static int match(const json_t *value, const struct shape *shape, const struct nl_json_place *at,
                 struct nl_error **err);

static int match_members(const json_t *object, const struct shape *members,
                         const struct nl_json_place *at, struct nl_error **err)
{
    for (; members->types; members++) {
        const json_t *value = json_object_get(object, members->key);
        struct nl_json_place place = nl_json_key(at, members->key);

        if (!value && members->types & NEEDED)
            return nl_fail_at(err, at, "has no \"%s\"", members->key);
        if (value && match(value, members, &place, err) < 0)
            return -1;
    }
    return 0;
}

static int match(const json_t *value, const struct shape *shape, const struct nl_json_place *at,
                 struct nl_error **err)
{
    size_t i;
    json_t *item;

    if (!(shape->types & type_of(value)))
        return fail_type(at, shape->types, type_of(value), err);
    if (shape->members && json_is_object(value))
        return match_members(value, shape->members, at, err);
    if (shape->values && json_is_string(value)) {
        for (const char *const *v = shape->values; *v; v++)
            if (strcmp(*v, json_string_value(value)) == 0)
                return 0;
        return fail_value(at, shape, json_string_value(value), err);
    }
    if (!shape->items)
        return 0;
    json_array_foreach(value, i, item)
    {
        struct nl_json_place place = nl_json_index(at, i);

        if (match(item, shape->items, &place, err) < 0)
            return -1;
    }
    return 0;
}

int nl_document_shape(const json_t *document, const struct nl_json_source *source,
                      struct nl_error **err)
{
    struct nl_json_place root = nl_json_root(source);
    const json_t *version = json_object_get(json_object_get(document, "nestlab"), "document");

    /* First: another version is allowed another shape. */
    if (json_is_number(version) && json_number_value(version) != NL_DOCUMENT_VERSION)
        return nl_fail(err, NL_EXIT_REQUEST, "%s: document version %g; this nestlab reads %d",
                       source->name, json_number_value(version), NL_DOCUMENT_VERSION);
    return match(document, &whole, &root, err);
}

int nl_document_layer_names(const json_t *document, const struct nl_json_source *source,
                            struct nl_error **err)
{
    struct nl_json_place root = nl_json_root(source);
    struct nl_json_place layers = nl_json_key(&root, "layers");
    size_t i;
    json_t *one;

    json_array_foreach(json_object_get(document, "layers"), i, one)
    {
        struct nl_json_place at = nl_json_index(&layers, i);
        struct nl_json_place name = nl_json_key(&at, "name");
        struct nl_json_place index = nl_json_key(&at, "index");
        const json_t *given = json_object_get(one, "index");
        char wanted[32];

        snprintf(wanted, sizeof(wanted), "L%zu", i);
        if (strcmp(json_string_value(json_object_get(one, "name")), wanted) != 0)
            return nl_fail_at(err, &name, "must be \"%s\"", wanted);
        if (given && json_number_value(given) != (double)i)
            return nl_fail_at(err, &index, "must be %zu", i);
    }
    return 0;
}
