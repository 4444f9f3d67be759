/*
 * report-csv.c - every figure of a run as a row of comma-separated values: see report.h. The
 * columns are in docs/report.md.
 */
#include "csv.h"
#include "dig.h"
#include "report-words.h"
#include "metered-marks.h"
#include "report.h"
#include "slowdown.h"

#include <math.h>
#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char *const columns[] = {"run",  "started", "scenario", "kind", "layer",
                                      "name", "figure",  "index",    "unit", "value"};

/* What the rows of one thing have in common. */
struct subject {
    struct nl_csv *csv;
    const json_t *document;
    const char *kind;
    const char *layer; /* NULL: the whole run's */
    const char *name;
};

/* A member of a JSON object, and the figure it becomes. UNIT NULL: the benchmark's own. */
struct figure {
    const char *path;
    const char *name;
    const char *unit;
};

static const struct figure run_figures[] = {
    {"run.seconds", "seconds", "s"},
    {"run.host.cpus", "cpus", ""},
    {"run.host.memory_mib", "memory", "MiB"},
};

static const struct figure phase_figures[] = {{"start_s", "start", "s"},
                                              {"seconds", "seconds", "s"}};

static const struct figure layer_figures[] = {
    {"domain.vcpus", "vcpus", ""},
    {"domain.memory_mib", "memory", "MiB"},
};

static const struct figure slowdown_figures[] = {
    {"n", "samples", ""},
    {"median", "median", NULL},
    {"mad", "mad", NULL},
    {"low", "low", NULL},
    {"high", "high", NULL},
    {"lag1", "lag1", ""},
    {"drift", "drift", ""},
    {"to_l0.ratio", "to_l0", ""},
    {"to_l0.low", "to_l0_low", ""},
    {"to_l0.high", "to_l0_high", ""},
    {"to_below.ratio", "to_below", ""},
    {"to_below.low", "to_below_low", ""},
    {"to_below.high", "to_below_high", ""},
};

static const struct figure benchmark_figures[] = {
    {"batch", "batch", ""},
    {"batch_ns", "batch_time", "ns"},
    {"warmup", "warmup", ""},
    {"operations", "operations", ""},
    {"seconds", "seconds", "s"},
    {"clock_resolution_ns", "clock_resolution", "ns"},
    {"involuntary_switches", "involuntary_switches", ""},
};

static const struct figure metered_figures[] = {
    {"operations", "operations", ""}, {"undisturbed", "undisturbed", ""},
    {"agreeing", "agreeing", ""},     {"total", "total", "instructions"},
    {"low", "low", "instructions"},   {"high", "high", "instructions"},
};

static const struct figure command_figures[] = {{"exit", "exit", ""}, {"seconds", "seconds", "s"}};

/* All of a row but its value. INDEX below 0: it has none. */
static void begin_row(const struct subject *of, const char *figure, double index, const char *unit)
{
    nl_csv_text(of->csv, nl_dig_string(of->document, "run.id", NULL));
    nl_csv_text(of->csv, nl_dig_string(of->document, "run.started", NULL));
    nl_csv_text(of->csv, nl_dig_string(of->document, "scenario.name", NULL));
    nl_csv_word(of->csv, of->kind);
    nl_csv_text(of->csv, of->layer);
    nl_csv_text(of->csv, of->name);
    nl_csv_text(of->csv, figure);
    nl_csv_number(of->csv, index < 0 ? NAN : index);
    nl_csv_text(of->csv, unit);
}

static void write_row(const struct subject *of, const char *figure, double index, const char *unit,
                      const json_t *value)
{
    if (!json_is_number(value))
        return;
    begin_row(of, figure, index, unit);
    nl_csv_number(of->csv, json_number_value(value));
    nl_csv_line(of->csv);
}

static void write_figures(const struct subject *of, const struct figure *figures, size_t n,
                          double index, const char *unit, const json_t *object)
{
    for (size_t i = 0; i < n; i++)
        write_row(of, figures[i].name, index, figures[i].unit ? figures[i].unit : unit,
                  nl_dig(object, figures[i].path));
}

static void write_array(const struct subject *of, const char *figure, const char *unit,
                        const json_t *array)
{
    size_t i;
    json_t *value;

    json_array_foreach(array, i, value) write_row(of, figure, (double)i, unit, value);
}

static struct subject about(const struct subject *of, const char *kind, const json_t *thing)
{
    struct subject subject = *of;

    subject.kind = kind;
    subject.name = nl_dig_string(thing, "name", NULL);
    return subject;
}

static void write_phases(const struct subject *of)
{
    size_t i;
    json_t *phase;

    json_array_foreach(json_object_get(of->document, "phases"), i, phase)
    {
        struct subject subject = about(of, "phase", phase);

        subject.layer = nl_dig_string(phase, "layer", NULL);
        write_figures(&subject, phase_figures, N_OF(phase_figures), (double)i, "", phase);
    }
}

/* What KVM counted while the benchmark ran: "L1.exits". */
static void write_benchmark_exits(const struct subject *of, const json_t *exits)
{
    size_t i;
    json_t *of_layer, *times;
    const char *counter;

    json_array_foreach(exits, i, of_layer)
    {
        json_object_foreach(of_layer, counter, times)
        {
            cleanup_free char *figure = NULL;

            if (asprintf(&figure, "%s.%s", nl_dig_string(of_layer, "layer", "?"), counter) < 0)
                figure = NULL;
            write_row(of, figure, -1, "", times);
        }
    }
}

/* "L1.cpuid", and "L1.inside.cpuid" of its own guests. */
static void write_exit_count(const struct subject *of, const json_t *count)
{
    const char *inside = nl_dig_true(count, "inside") ? "inside." : "";
    size_t i;
    json_t *reason;

    json_array_foreach(json_object_get(count, "reasons"), i, reason)
    {
        cleanup_free char *figure = NULL;

        if (asprintf(&figure, "%s.%s%s", nl_dig_string(count, "layer", "?"), inside,
                     nl_dig_string(reason, "reason", "?")) < 0)
            figure = NULL;
        write_row(of, figure, -1, "", json_object_get(reason, "times"));
    }
}

static void write_exit_reasons(const struct subject *of, const json_t *benchmark)
{
    const json_t *reasons = json_object_get(benchmark, "exit_reasons");
    struct subject subject = about(of, "exit-reasons", benchmark);
    size_t i;
    json_t *count;

    if (nl_dig_number(reasons, "operations", 0) > 0)
        write_row(&subject, "operations", -1, "", json_object_get(reasons, "operations"));
    json_array_foreach(json_object_get(reasons, "counts"), i, count)
    {
        write_exit_count(&subject, count);
    }
}

static void write_benchmarks(const struct subject *of, const json_t *layer)
{
    size_t i;
    json_t *benchmark;

    json_array_foreach(json_object_get(layer, "benchmarks"), i, benchmark)
    {
        struct subject subject = about(of, "benchmark", benchmark);

        write_figures(&subject, benchmark_figures, N_OF(benchmark_figures), -1, "", benchmark);
        write_benchmark_exits(&subject, json_object_get(benchmark, "exits"));
        write_array(&subject, "sample", nl_dig_string(benchmark, "unit", NULL),
                    json_object_get(benchmark, "samples"));
        write_exit_reasons(of, benchmark);
    }
}

/* From the samples, whatever the document says of them. */
static void write_slowdown(const struct subject *of)
{
    cleanup_json json_t *slowdown = nl_slowdown(of->document);
    size_t i, k;
    json_t *entry, *layer;

    json_array_foreach(slowdown, i, entry)
    {
        struct subject subject = about(of, "benchmark", NULL);

        subject.name = nl_dig_string(entry, "benchmark", NULL);
        json_array_foreach(json_object_get(entry, "layers"), k, layer)
        {
            subject.layer = nl_dig_string(layer, "layer", NULL);
            write_figures(&subject, slowdown_figures, N_OF(slowdown_figures), -1,
                          nl_dig_string(entry, "unit", NULL), layer);
        }
    }
}

static void write_operations(const struct subject *of, const json_t *samples)
{
    size_t i;
    json_t *sample;

    json_array_foreach(samples, i, sample)
    {
        cleanup_json json_t *total = json_real(nl_dig_sum(json_object_get(sample, "instructions")));

        write_row(of, "sample", (double)i, "instructions", total);
    }
}

/* MARKS are those of the document's metered benchmarks; LAYER has index AT. */
static void write_metered(const struct subject *of, const json_t *layer, size_t at,
                          const json_t *marks)
{
    size_t i, k;
    json_t *metered, *exit;

    json_array_foreach(json_object_get(layer, "metered"), i, metered)
    {
        struct subject subject = about(of, "metered", metered);
        cleanup_json json_t *marked = json_integer(nl_metered_mark(marks, at, metered) != 0);

        write_figures(&subject, metered_figures, N_OF(metered_figures), -1, "", metered);
        if (nl_metered_counted(metered))
            write_row(&subject, "marked", -1, "", marked);
        write_array(&subject, "instructions", "instructions",
                    json_object_get(metered, "instructions"));
        write_array(&subject, "vmruns", "", json_object_get(metered, "vmruns"));
        write_array(&subject, "returns", "", json_object_get(metered, "returns"));
        json_array_foreach(json_object_get(metered, "exits"), k, exit)
        {
            char figure[80];

            snprintf(figure, sizeof(figure),
                     "exits_L%" JSON_INTEGER_FORMAT "_L%" JSON_INTEGER_FORMAT,
                     nl_dig_integer(exit, "of", 0), nl_dig_integer(exit, "reached", 0));
            write_row(&subject, figure, -1, "", json_object_get(exit, "times"));
        }
        write_operations(&subject, json_object_get(metered, "samples"));
    }
}

/* KVM's counters are texts, since they may be greater than a double holds: they are left as they
   are if they are nothing but digits. */
static void write_counters(const struct subject *of, const json_t *layer)
{
    size_t i;
    json_t *moment, *value;
    const char *name;

    json_array_foreach(json_object_get(layer, "exits"), i, moment)
    {
        json_object_foreach(json_object_get(moment, "counters"), name, value)
        {
            const char *digits = json_string_value(value);
            struct subject subject = *of;

            if (!digits || !*digits || strspn(digits, "0123456789") != strlen(digits))
                continue;
            subject.kind = "counter";
            subject.name = name;
            begin_row(&subject, nl_dig_string(moment, "when", NULL), -1, "");
            nl_csv_word(subject.csv, digits);
            nl_csv_line(subject.csv);
        }
    }
}

static void write_layers(const struct subject *of)
{
    cleanup_json json_t *marks = nl_metered_marks(of->document);
    size_t i;
    json_t *layer;

    json_array_foreach(json_object_get(of->document, "layers"), i, layer)
    {
        struct subject subject = *of;

        subject.layer = nl_dig_string(layer, "name", NULL);
        subject.kind = "layer";
        write_figures(&subject, layer_figures, N_OF(layer_figures), -1, "", layer);
        write_counters(&subject, layer);
        write_benchmarks(&subject, layer);
        write_metered(&subject, layer, i, marks);
    }
}

static void write_commands(const struct subject *of)
{
    size_t i;
    json_t *command;

    json_array_foreach(json_object_get(of->document, "commands"), i, command)
    {
        struct subject subject = about(of, "command", command);

        subject.layer = nl_dig_string(command, "layer", NULL);
        write_figures(&subject, command_figures, N_OF(command_figures), -1, "", command);
    }
}

char *nl_report_csv_text(const json_t *document)
{
    struct nl_csv csv;
    struct subject run = {.csv = &csv, .document = document, .kind = "run"};

    nl_csv_start(&csv, columns, N_OF(columns));
    write_figures(&run, run_figures, N_OF(run_figures), -1, "", document);
    write_phases(&run);
    write_layers(&run);
    write_slowdown(&run);
    write_commands(&run);
    return nl_csv_finish(&csv);
}
