/*
 * test-csv.c - comma-separated values: they come back as they went in, and hold every figure of a
 * document.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cleanup.h"
#include "csv.h"
#include "report.h"

#include <math.h>
#include <string.h>

#define FIELDS 10
#define LINES_MAX 5000

/* What a program that knows nothing but RFC 4180 reads. */
struct parsed {
    char *text;
    char *fields[LINES_MAX][FIELDS];
    size_t lines;
};

/* One field from AT, unquoted in place; its end. */
static char *read_field(char *at, char **field)
{
    char *to = at;

    *field = at;
    if (*at != '"') {
        at += strcspn(at, ",\r\"");
        return at;
    }
    for (at++; *at; at++) {
        if (*at == '"' && *++at != '"')
            break;
        *to++ = *at;
    }
    assert_true(to < at);
    *to = '\0';
    return at;
}

/* TEXT is consumed. */
static struct parsed *parse(char *text, size_t fields)
{
    struct parsed *parsed = calloc(1, sizeof(*parsed));
    char *at = text;

    assert_non_null(text);
    parsed->text = text;
    while (*at) {
        assert_true(parsed->lines < LINES_MAX);
        for (size_t i = 0; i < fields; i++) {
            char end;

            at = read_field(at, &parsed->fields[parsed->lines][i]);
            end = *at;
            assert_int_equal(end, i + 1 < fields ? ',' : '\r');
            *at++ = '\0';
        }
        assert_int_equal(*at++, '\n');
        parsed->lines++;
    }
    return parsed;
}

static void free_parsed(struct parsed **parsed)
{
    free((*parsed)->text);
    free(*parsed);
}
#define cleanup_parsed NL_CLEANUP(free_parsed)

static void test_there_and_back(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    static const struct {
        const char *text;
        const char *back;
    } known[] = {
        {"plain", "plain"},
        {"a \"quote\", a comma", "a \"quote\", a comma"},
        {"two\r\nlines", "two\r\nlines"},
        {"=1+1", "'=1+1"},
        {"@SUM(A1)", "'@SUM(A1)"},
        {"-1", "'-1"},
        {"\t=1", "'\t=1"},
        {"1-1", "1-1"},
        {"", ""},
        {NULL, ""},
        {"\"", "\""},
    };
    static const double numbers[] = {0, 1, -2.5, 0.1, 1e300, 1.0 / 3, 123456789.123456789};
    enum { N = sizeof(known) / sizeof(known[0]), M = sizeof(numbers) / sizeof(numbers[0]) };
    struct nl_csv csv;
    cleanup_parsed struct parsed *parsed = NULL;

    (void)state;
    nl_csv_start(&csv, names, 3);
    for (size_t i = 0; i < N; i++) {
        nl_csv_text(&csv, known[i].text);
        nl_csv_word(&csv, "word");
        nl_csv_number(&csv, i < M ? numbers[i] : i % 2 ? NAN : INFINITY);
        nl_csv_line(&csv);
    }
    parsed = parse(nl_csv_finish(&csv), 3);
    assert_int_equal(parsed->lines, N + 1);
    assert_string_equal(parsed->fields[0][2], "c");
    for (size_t i = 0; i < N; i++) {
        assert_string_equal(parsed->fields[i + 1][0], known[i].back);
        assert_string_equal(parsed->fields[i + 1][1], "word");
        if (i < M)
            assert_true(strtod(parsed->fields[i + 1][2], NULL) == numbers[i]);
        else
            assert_string_equal(parsed->fields[i + 1][2], "");
    }
    assert_string_equal(parsed->fields[4][2], "0.1");
}

static struct parsed *figures(const json_t *document)
{
    return parse(nl_report_csv_text(document), FIELDS);
}

/* The value of the only row with these fields; NULL: any. */
static const char *value(const struct parsed *parsed, const char *kind, const char *layer,
                         const char *name, const char *figure, const char *index)
{
    const char *const wanted[] = {kind, layer, name, figure, index};
    const char *found = NULL;

    for (size_t line = 1; line < parsed->lines; line++) {
        bool same = true;

        for (size_t i = 0; i < 5; i++)
            same &= !wanted[i] || strcmp(parsed->fields[line][3 + i], wanted[i]) == 0;
        if (!same)
            continue;
        if (found)
            fail_msg("%s %s %s %s is there twice", kind, layer, name, figure);
        found = parsed->fields[line][9];
    }
    if (!found)
        fail_msg("there is no %s %s %s %s", kind, layer, name, figure);
    return found;
}

static json_t *load(const char *name)
{
    cleanup_free char *path = NULL;
    json_t *json;

    assert_true(asprintf(&path, NL_SOURCE "/tests/fixtures/%s", name) > 0);
    json = json_load_file(path, 0, NULL);
    assert_non_null(json);
    return json;
}

static void test_figures(void **state)
{
    cleanup_json json_t *document = load("passed.json");
    json_t *layer = json_array_get(json_object_get(document, "layers"), 1);
    cleanup_parsed struct parsed *parsed = NULL;

    (void)state;
    json_object_set_new(layer, "benchmarks",
                        json_pack("[{s:s, s:s, s:[i,i,i,i,i,i,f], s:i, s:[{s:s, s:i}]}]", "name",
                                  "cpuid", "unit", "ns", "samples", 4, 2, 3, 1, 5, 6, 7.5,
                                  "operations", 70, "exits", "layer", "L1", "exits", 71));
    json_object_set_new(json_array_get(json_object_get(layer, "benchmarks"), 0), "exit_reasons",
                        json_loads("{\"operations\": 9, \"skipped\": null, \"counts\": ["
                                   " {\"layer\": \"L1\", \"inside\": false,"
                                   "  \"reasons\": [{\"reason\": \"vmrun\", \"times\": 18}]},"
                                   " {\"layer\": \"L1\", \"inside\": true,"
                                   "  \"reasons\": [{\"reason\": \"UD excp\", \"times\": 3}]}]}",
                                   0, NULL));
    json_object_set_new(layer, "metered",
                        json_pack("[{s:s, s:i, s:[i,i], s:[i,i], s:[{s:i, s:i, s:i}], "
                                  "s:[{s:[i,i]}, {s:[i,i]}]}]",
                                  "name", "cpuid", "total", 30, "instructions", 20, 10, "vmruns", 2,
                                  0, "exits", "of", 1, "reached", 0, "times", 2, "samples",
                                  "instructions", 20, 10, "instructions", 21, 10));
    json_object_set_new(layer, "exits",
                        json_pack("[{s:s, s:{s:s, s:s}}]", "when", "end", "counters", "big",
                                  "18446744073709551615", "odd", "=1"));
    parsed = figures(document);
    assert_string_equal(value(parsed, "benchmark", "L1", "cpuid", "sample", "6"), "7.5");
    assert_string_equal(value(parsed, "benchmark", "L1", "cpuid", "median", ""), "4");
    assert_string_equal(value(parsed, "benchmark", "L1", "cpuid", "samples", ""), "7");
    assert_string_equal(value(parsed, "benchmark", "L1", "cpuid", "L1.exits", ""), "71");
    assert_string_equal(value(parsed, "exit-reasons", "L1", "cpuid", "operations", ""), "9");
    assert_string_equal(value(parsed, "exit-reasons", "L1", "cpuid", "L1.vmrun", ""), "18");
    assert_string_equal(value(parsed, "exit-reasons", "L1", "cpuid", "L1.inside.UD excp", ""), "3");
    assert_string_equal(value(parsed, "metered", "L1", "cpuid", "total", ""), "30");
    assert_string_equal(value(parsed, "metered", "L1", "cpuid", "instructions", "1"), "10");
    assert_string_equal(value(parsed, "metered", "L1", "cpuid", "vmruns", "0"), "2");
    assert_string_equal(value(parsed, "metered", "L1", "cpuid", "exits_L1_L0", ""), "2");
    assert_string_equal(value(parsed, "metered", "L1", "cpuid", "sample", "1"), "31");
    assert_string_equal(value(parsed, "counter", "L1", "big", "end", ""), "18446744073709551615");
    assert_true(strtod(value(parsed, "phase", "L1", "create", "seconds", NULL), NULL) > 0);
    assert_true(strtod(value(parsed, "run", "", "", "seconds", ""), NULL) > 0);
    for (size_t line = 1; line < parsed->lines; line++)
        assert_string_not_equal(parsed->fields[line][5], "odd");
}

/* A row for each member of each kind, and for nothing else, whatever the document. */
static void test_any_document(void **state)
{
    static const char *const names[] = {"hostile.json", "no-l0.json", "panic.json",
                                        "nested-off.json"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cleanup_json json_t *document = load(names[i]);
        cleanup_parsed struct parsed *parsed = figures(document);

        for (size_t line = 1; line < parsed->lines; line++) {
            char *end;

            strtod(parsed->fields[line][9], &end);
            assert_int_equal(*end, '\0');
            assert_true(end > parsed->fields[line][9]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_any_document),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
