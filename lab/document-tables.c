/*
 * document-tables.c - what a document is made of: see document-tables.h.
 */
#include "document-tables.h"
#include "document.h"

static const char *const states[] = {NL_LAYER_UP,   NL_LAYER_FAILED,      NL_LAYER_NOT_REACHED,
                                     NL_LAYER_GONE, NL_LAYER_INTERRUPTED, NULL};
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
    {"batch", NUMBER, NULL, NULL, NULL},
    {"batch_ns", NUMBER, NULL, NULL, NULL},
    {"short_batch", STRING | NONE, NULL, NULL, NULL},
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
const struct shape nl_document_whole = {NULL, OBJECT, document_members, NULL, NULL};
