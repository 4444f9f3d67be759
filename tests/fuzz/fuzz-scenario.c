/*
 * fuzz-scenario.c - libFuzzer target: any bytes as a scenario, and as options that change it.
 *
 * The input is the scenario's text; a byte 0xff, which no UTF-8 text has, separates it from lines
 * of options: "depth:N", "l0:WHERE" and assignments such as "cpu:L1=x". What is accepted must come
 * out of a round trip through JSON unchanged.
 */
#include "scenario.h"

#include <stdint.h>
#include <string.h>

#define MAX_LINES 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_options(char *line, struct nl_overrides *overrides)
{
    size_t n = 0;
    char *rest = NULL;

    for (line = strtok_r(line, "\n", &rest); line && n < MAX_LINES;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "depth:", 6) == 0)
            overrides->depth = atoi(line + 6);
        else if (strncmp(line, "l0:", 3) == 0)
            overrides->l0 = line + 3;
        else
            overrides->assignments[n++] = line;
    }
}

static void check_round_trip(const struct nl_scenario *scenario)
{
    cleanup_json json_t *json = nl_scenario_to_json(scenario);
    cleanup_free char *text = json_dumps(json, 0);
    cleanup_scenario struct nl_scenario *again = NULL;
    cleanup_error struct nl_error *err = NULL;

    if (!text || nl_scenario_parse(text, strlen(text), "fuzz.json", NULL, &again, &err) < 0) {
        nl_error_print(err);
        abort();
    }
    cleanup_json json_t *json_again = nl_scenario_to_json(again);
    if (!json_equal(json, json_again))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *mark = size ? memchr(data, 0xff, size) : NULL;
    size_t length = mark ? (size_t)(mark - data) : size;
    cleanup_free char *options = mark ? strndup((const char *)mark + 1, size - length - 1) : NULL;
    char *assignments[MAX_LINES + 1] = {NULL};
    struct nl_overrides overrides = {.depth = -1, .assignments = assignments};
    cleanup_scenario struct nl_scenario *scenario = NULL;
    cleanup_error struct nl_error *err = NULL;

    if (options)
        read_options(options, &overrides);
    int result = nl_scenario_parse((const char *)data, length, "fuzz.json",
                                   mark ? &overrides : NULL, &scenario, &err);
    if ((result == 0) != (scenario != NULL) || (result == 0) == (err != NULL))
        abort();
    if (scenario)
        check_round_trip(scenario);
    return 0;
}
