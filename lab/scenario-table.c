/*
 * scenario-table.c - every key of a scenario: type, range, allowed values, default. The published
 * schema (scenarios/scenario.schema.json) says the same; a unit test compares them.
 */
#include "scenario-table.h"
#include "protocol.h"
#include "kernel-files.h"

#include <stddef.h>

#define FIELD(structure, member) .offset = offsetof(struct structure, member)
#define COUNT(structure, member) .count_offset = offsetof(struct structure, member)

/* Names become parts of file names, of JUnit names and of kernel arguments. */
#define NAME_PATTERN "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
#define NAME_ALLOWED "up to 64 letters, digits, '.', '_' and '-', a letter or digit first"
#define RECIPE_PATTERN "^[a-z0-9][a-z0-9._-]{0,63}$"
#define MODEL_PATTERN "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
#define LAYER_PATTERN "^(L[0-9]{1,2}|innermost)$"
#define LAYER_ALLOWED "\"L0\", \"L1\", ... or \"innermost\""
/* Each argument is a line's part: control characters would end the line or fool a terminal. */
#define LINE_PATTERN "^[^[:cntrl:]]+$"
#define LINE_ALLOWED "text without control characters, not empty"

#define DAY_S (24 * 3600)

static const char *const l0_choices[] = {"auto", "emulated", "local", NULL};

static const struct nl_field kernel_fields[] = {
    {"image", NL_FIELD_TEXT, FIELD(nl_kernel_spec, image), .path = NL_PATH_FILE,
     .inspect = nl_kernel_check},
    {"modules", NL_FIELD_TEXT, FIELD(nl_kernel_spec, modules), .path = NL_PATH_FOLDER},
    {"deb", NL_FIELD_TEXT, FIELD(nl_kernel_spec, deb), .path = NL_PATH_DEB},
    {.key = NULL},
};

const struct nl_record nl_kernel_record = {"a kernel", sizeof(struct nl_kernel_spec),
                                           kernel_fields};

static const struct nl_field layer_fields[] = {
    {"image", NL_FIELD_TEXT, FIELD(nl_layer_spec, image), .required = true,
     .pattern = RECIPE_PATTERN, .allowed = "a recipe's name, such as \"hypervisor\" or \"leaf\""},
    {"vcpus", NL_FIELD_INT, FIELD(nl_layer_spec, vcpus), .low = 1, .high = 64, .fallback = "1"},
    /* The default depends on the position: nl_scenario_memory(). */
    {"memory_mib", NL_FIELD_INT, FIELD(nl_layer_spec, memory_mib), .low = 64, .high = 4194304},
    {"cpu", NL_FIELD_TEXT, FIELD(nl_layer_spec, cpu), .pattern = MODEL_PATTERN,
     .allowed = "\"host-passthrough\", \"host-model\", \"maximum\" or a CPU model's name"},
    {"cpu_features", NL_FIELD_TEXTS, FIELD(nl_layer_spec, cpu_features),
     .pattern = "^[+-][a-z0-9][a-z0-9._-]{0,63}$", .unique = true,
     .allowed = "\"+NAME\" or \"-NAME\" with the name of a CPU feature, such as \"-npt\""},
    {"virtualization", NL_FIELD_BOOL, FIELD(nl_layer_spec, virtualization), .fallback = "true"},
    {"nested", NL_FIELD_BOOL, FIELD(nl_layer_spec, nested), .fallback = "true"},
    {"modules", NL_FIELD_PARAMETERS, FIELD(nl_layer_spec, modules),
     .pattern = "^[A-Za-z0-9_]{1,64}$", .allowed = "letters, digits and '_'"},
    {"kernel_args", NL_FIELD_TEXTS, FIELD(nl_layer_spec, kernel_args), .pattern = LINE_PATTERN,
     .allowed = LINE_ALLOWED},
    {"kernel", NL_FIELD_RECORD, FIELD(nl_layer_spec, kernel), .record = &nl_kernel_record},
    {"debs", NL_FIELD_TEXTS, FIELD(nl_layer_spec, debs), .path = NL_PATH_DEB},
    {"disks", NL_FIELD_TEXTS, FIELD(nl_layer_spec, disks), .path = NL_PATH_FILE,
     .max_count = NL_LAYER_DISKS_MAX},
    {"emulator", NL_FIELD_TEXT, FIELD(nl_layer_spec, emulator), .pattern = "^/[^[:cntrl:]]+$",
     .allowed = "an absolute path"},
    {"machine", NL_FIELD_TEXT, FIELD(nl_layer_spec, machine), .pattern = MODEL_PATTERN,
     .allowed = "a machine type's name, such as \"pc\" or \"q35\""},
    {.key = NULL},
};

const struct nl_record nl_layer_record = {"a layer", sizeof(struct nl_layer_spec), layer_fields};

static const struct nl_field command_fields[] = {
    {"name", NL_FIELD_TEXT, FIELD(nl_command_spec, name), .required = true, .pattern = NAME_PATTERN,
     .allowed = NAME_ALLOWED},
    {"layer", NL_FIELD_TEXT, FIELD(nl_command_spec, layer), .required = true,
     .pattern = LAYER_PATTERN, .allowed = LAYER_ALLOWED},
    {"argv", NL_FIELD_TEXTS, FIELD(nl_command_spec, argv), .required = true, .min_count = 1,
     .max_length = 65536},
    {"files", NL_FIELD_TEXTS, FIELD(nl_command_spec, files), .path = NL_PATH_FILE},
    {"skip_codes", NL_FIELD_INTS, FIELD(nl_command_spec, skip_codes),
     COUNT(nl_command_spec, n_skip_codes), .low = 1, .high = 255},
    {"timeout_s", NL_FIELD_NUMBER, FIELD(nl_command_spec, timeout_s), .low = 1, .high = DAY_S,
     .fallback = "60"},
    {.key = NULL},
};

static const struct nl_record command_record = {"a command", sizeof(struct nl_command_spec),
                                                command_fields};

static const struct nl_field fault_fields[] = {
    {"layer", NL_FIELD_TEXT, FIELD(nl_fault_spec, layer), .required = true,
     .pattern = LAYER_PATTERN, .allowed = LAYER_ALLOWED},
    {"fault", NL_FIELD_TEXT, FIELD(nl_fault_spec, fault), .required = true, .pattern = NAME_PATTERN,
     .allowed = NAME_ALLOWED},
    {.key = NULL},
};

static const struct nl_record fault_record = {"a fault", sizeof(struct nl_fault_spec),
                                              fault_fields};

static const struct nl_field check_fields[] = {
    {"name", NL_FIELD_TEXT, FIELD(nl_check_spec, name), .required = true, .pattern = NAME_PATTERN,
     .allowed = NAME_ALLOWED},
    {"layer", NL_FIELD_TEXT, FIELD(nl_check_spec, layer), .pattern = LAYER_PATTERN,
     .allowed = LAYER_ALLOWED},
    {"program", NL_FIELD_TEXT, FIELD(nl_check_spec, program), .required = true,
     .max_length = 65536},
    {"explanation", NL_FIELD_TEXT, FIELD(nl_check_spec, explanation), .max_length = 4096,
     .fallback = "\"\""},
    {.key = NULL},
};

static const struct nl_record check_record = {"a check", sizeof(struct nl_check_spec),
                                              check_fields};

static const struct nl_field benchmark_fields[] = {
    {"names", NL_FIELD_TEXTS, FIELD(nl_benchmark_spec, names), .required = true, .unique = true,
     .pattern = NAME_PATTERN, .allowed = "names of benchmarks", .word = "all"},
    {"layers", NL_FIELD_TEXTS, FIELD(nl_benchmark_spec, layers), .unique = true,
     .pattern = LAYER_PATTERN, .allowed = LAYER_ALLOWED},
    {"samples", NL_FIELD_INT, FIELD(nl_benchmark_spec, samples), .low = NL_PROTOCOL_SAMPLES_MIN,
     .high = NL_PROTOCOL_SAMPLES_MAX, .fallback = "20"},
    {"precision", NL_FIELD_NUMBER, FIELD(nl_benchmark_spec, precision), .low = 0, .high = 1,
     .fallback = "0.02"},
    {"budget_s", NL_FIELD_NUMBER, FIELD(nl_benchmark_spec, budget_s), .low = 0.1, .high = 3600,
     .fallback = "5"},
    {"extra_exits", NL_FIELD_INT, FIELD(nl_benchmark_spec, extra_exits), .low = 0, .high = 1000,
     .fallback = "0"},
    {"exit_reasons", NL_FIELD_BOOL, FIELD(nl_benchmark_spec, exit_reasons), .fallback = "false"},
    {.key = NULL},
};

static const struct nl_record benchmark_record = {
    "the benchmarks", sizeof(struct nl_benchmark_spec), benchmark_fields};

static const struct nl_field meter_fields[] = {
    {"benchmarks", NL_FIELD_TEXTS, FIELD(nl_meter_spec, benchmarks), .required = true,
     .unique = true, .pattern = NAME_PATTERN, .allowed = "names of benchmarks", .word = "all"},
    {"layers", NL_FIELD_TEXTS, FIELD(nl_meter_spec, layers), .unique = true,
     .pattern = LAYER_PATTERN, .allowed = LAYER_ALLOWED},
    {"samples", NL_FIELD_INT, FIELD(nl_meter_spec, samples), .low = 11, .high = 1000,
     .fallback = "101"},
    {"budget_s", NL_FIELD_NUMBER, FIELD(nl_meter_spec, budget_s), .low = 0.1, .high = 600,
     .fallback = "20"},
    {"profile", NL_FIELD_BOOL, FIELD(nl_meter_spec, profile), .fallback = "false"},
    {"extra_exits", NL_FIELD_INT, FIELD(nl_meter_spec, extra_exits), .low = 0, .high = 1000,
     .fallback = "0"},
    {.key = NULL},
};

static const struct nl_record meter_record = {"the meter", sizeof(struct nl_meter_spec),
                                              meter_fields};

static const struct nl_field expect_fields[] = {
    {"diagnosis", NL_FIELD_TEXT, FIELD(nl_expect_spec, diagnosis), .required = true,
     .pattern = NAME_PATTERN, .allowed = NAME_ALLOWED},
    {"layer", NL_FIELD_TEXT, FIELD(nl_expect_spec, layer), .pattern = LAYER_PATTERN,
     .allowed = LAYER_ALLOWED},
    {.key = NULL},
};

static const struct nl_record expect_record = {"an expectation", sizeof(struct nl_expect_spec),
                                               expect_fields};

static const struct nl_field timeout_fields[] = {
    {"boot_s", NL_FIELD_NUMBER, FIELD(nl_timeouts, boot_s), .low = 1, .high = DAY_S,
     .fallback = "240"},
    {"services_s", NL_FIELD_NUMBER, FIELD(nl_timeouts, services_s), .low = 1, .high = DAY_S,
     .fallback = "180"},
    {"agent_s", NL_FIELD_NUMBER, FIELD(nl_timeouts, agent_s), .low = 1, .high = DAY_S,
     .fallback = "60"},
    {"benchmark_s", NL_FIELD_NUMBER, FIELD(nl_timeouts, benchmark_s), .low = 1, .high = DAY_S,
     .fallback = "180"},
    {"total_s", NL_FIELD_NUMBER, FIELD(nl_timeouts, total_s), .low = 1, .high = 7 * DAY_S,
     .fallback = "1800"},
    {.key = NULL},
};

static const struct nl_record timeout_record = {"the timeouts", sizeof(struct nl_timeouts),
                                                timeout_fields};

static const struct nl_field scenario_fields[] = {
    {.key = "$schema", .type = NL_FIELD_IGNORED},
    {"name", NL_FIELD_TEXT, FIELD(nl_scenario, name), .required = true, .pattern = NAME_PATTERN,
     .allowed = NAME_ALLOWED},
    {"description", NL_FIELD_TEXT, FIELD(nl_scenario, description), .max_length = 4096,
     .fallback = "\"\""},
    {"l0", NL_FIELD_TEXT, FIELD(nl_scenario, l0), .choices = l0_choices, .fallback = "\"auto\""},
    /* One letter of a disk's name (vdb..) per layer, and one PCI device each: 16 fit. */
    {"layers", NL_FIELD_RECORDS, FIELD(nl_scenario, layers), COUNT(nl_scenario, n_layers),
     .required = true, .min_count = 1, .max_count = NL_LAYERS_MAX, .record = &nl_layer_record},
    {"default_checks", NL_FIELD_BOOL, FIELD(nl_scenario, default_checks), .fallback = "true"},
    {"without_checks", NL_FIELD_TEXTS, FIELD(nl_scenario, without_checks), .unique = true,
     .pattern = NAME_PATTERN, .allowed = "names of checks"},
    {"checks", NL_FIELD_RECORDS, FIELD(nl_scenario, checks), COUNT(nl_scenario, n_checks),
     .record = &check_record},
    {"benchmarks", NL_FIELD_RECORD, FIELD(nl_scenario, benchmarks), .record = &benchmark_record},
    {"meter", NL_FIELD_RECORD, FIELD(nl_scenario, meter), .record = &meter_record},
    {"commands", NL_FIELD_RECORDS, FIELD(nl_scenario, commands), COUNT(nl_scenario, n_commands),
     .record = &command_record},
    {"faults", NL_FIELD_RECORDS, FIELD(nl_scenario, faults), COUNT(nl_scenario, n_faults),
     .record = &fault_record},
    {"expect", NL_FIELD_RECORD, FIELD(nl_scenario, expect), .record = &expect_record},
    {"timeouts", NL_FIELD_RECORD, FIELD(nl_scenario, timeouts), .record = &timeout_record},
    {.key = NULL},
};

const struct nl_record nl_scenario_record = {"a scenario", sizeof(struct nl_scenario),
                                             scenario_fields};
