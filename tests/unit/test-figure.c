/*
 * test-figure.c - numbers as people read them.
 */
#include "figure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <float.h>
#include <math.h>
#include <cmocka.h>

static void test_figure(void **state)
{
    static const struct {
        double value;
        const char *text;
    } known[] = {
        {0, "0.000"},      {1.23456, "1.235"},     {12.3456, "12.35"},     {123.456, "123.5"},
        {1234.56, "1235"}, {12345678, "1.23e+07"}, {0.0001, "0.0001"},     {-12.3456, "-12.35"},
        {1e308, "1e+308"}, {INFINITY, ">1e308"},   {-INFINITY, "<-1e308"}, {NAN, "not known"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_string_equal(nl_figure(known[i].value).text, known[i].text);
}

static void test_fixed(void **state)
{
    static const struct {
        double value;
        int digits;
        const char *text;
    } known[] = {
        {0, 1, "0.0"},
        {0.00001, 1, "0.0"},
        {12.34, 1, "12.3"},
        {-999999999999999, 6, "-999999999999999.000000"},
        {1e15, 0, "1e+15"},
        {1e308, 2, "1e+308"},
        {-DBL_MAX, 6, "-1.8e+308"},
        {INFINITY, 1, ">1e308"},
        {-INFINITY, 1, "<-1e308"},
        {NAN, 1, "not known"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_string_equal(nl_figure_fixed(known[i].value, known[i].digits).text, known[i].text);
}

static void test_change(void **state)
{
    (void)state;
    assert_string_equal(nl_figure_change(0, 1).text, "+0.0");
    assert_string_equal(nl_figure_change(12.34, 1).text, "+12.3");
    assert_string_equal(nl_figure_change(-12.34, 0).text, "-12");
    assert_string_equal(nl_figure_change(1e308, 0).text, "+1e+308");
    assert_string_equal(nl_figure_change(INFINITY, 0).text, ">1e308");
    assert_string_equal(nl_figure_change(NAN, 0).text, "not known");
}

static void test_factor(void **state)
{
    (void)state;
    assert_string_equal(nl_figure_factor(0).text, "0.000");
    assert_string_equal(nl_figure_factor(1.0004).text, "1.000");
    assert_string_equal(nl_figure_factor(999999).text, "999999.000");
    assert_string_equal(nl_figure_factor(1234567).text, "1.23e+06");
    assert_string_equal(nl_figure_factor(0.00012345).text, "0.000123");
    assert_string_equal(nl_figure_factor(1e308).text, "1e+308");
}

static void test_per_operation(void **state)
{
    (void)state;
    assert_string_equal(nl_figure_per_operation(0.014).text, "0.01");
    assert_string_equal(nl_figure_per_operation(99.5).text, "99.50");
    assert_string_equal(nl_figure_per_operation(123.4).text, "123");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure),        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_change),        cmocka_unit_test(test_factor),
        cmocka_unit_test(test_per_operation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
