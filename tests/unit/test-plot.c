/*
 * test-plot.c - plots: what gnuplot gets, that no text of a document is in it, and what comes into
 * the page of what it draws.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "assert-text.h"
#include "plot-svg.h"
#include "plot.h"

#include "folder.h"

#include <libxml/parser.h>
#include <string.h>
#include <sys/stat.h>

#define HOSTILE                                                                                    \
    "\"\nsystem('touch hacked')\n</text><script>alert(1)</script>`touch hacked`%s$d0~x0~@{}^_\\"

static const struct nl_plot_tick hostile_ticks[] = {{1, HOSTILE}, {2, "~y0~"}};

static struct nl_plot plot_of(const struct nl_plot_series *series, size_t n)
{
    return (struct nl_plot){
        .title = "A plot",
        .description = "of something",
        .width = 340,
        .height = 200,
        .left = 100,
        .right = 10,
        .top = 10,
        .bottom = 30,
        .x = {.low = NAN, .high = NAN, .grid = true, .suffix = "\u00d7"},
        .y = {.low = 0, .high = 3, .ticks = hostile_ticks, .n_ticks = 2},
        .series = series,
        .n_series = n,
    };
}

/* The page with the one picture that gnuplot draws of PLOT. */
static char *page_of(const struct nl_plot *plot)
{
    cleanup_plots struct nl_plot_pictures *pictures = NULL;
    cleanup_error struct nl_error *err = NULL;
    struct nl_html *html = nl_html_new("t");
    char *page;

    if (nl_plots_draw(plot, 1, &pictures, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    nl_plots_write(html, pictures, 0);
    page = nl_html_finish(html);
    assert_non_null(page);
    /* Without the style sheet, which has names of everything. */
    memmove(page, strstr(page, "<body"), strlen(strstr(page, "<body")) + 1);
    return page;
}

static void test_script_has_no_text(void **state)
{
    double values[] = {1, 1, 10, 2};
    struct nl_plot_series series = {
        .kind = NL_PLOT_POINTS, .colour = 3, .name = HOSTILE, .values = values, .n = 2};
    struct nl_plot plot = plot_of(&series, 1);
    cleanup_free char *script = NULL;

    (void)state;
    plot.title = plot.description = plot.class = plot.x.suffix = HOSTILE;
    plot.beside = hostile_ticks;
    plot.n_beside = 2;
    script = nl_plots_script(&plot, 1);
    assert_non_null(script);
    assert_has_not(script, "system");
    assert_has_not(script, "hacked");
    assert_has_not(script, "script>");
    assert_has(script, "$d0 << END\n1 1\n10 2\nEND\n");
    assert_has(script, "(\"~y0~\" 1, \"~y1~\" 2)");
    assert_has(script, "plot $d0 using 1:2 with points pt 7 lc rgb \"#010703\"");
}

static void test_script_leaves_out(void **state)
{
    double values[] = {1, 1, NAN, 1, INFINITY, 1, 0, 1, -1, 1, 1e308, 1};
    struct nl_plot_series series = {.kind = NL_PLOT_LINE, .values = values, .n = 6};
    struct nl_plot plot = plot_of(&series, 1);
    cleanup_free char *script = NULL;

    (void)state;
    plot.x.log = true;
    script = nl_plots_script(&plot, 1);
    assert_has(script, "set logscale x\n");
    assert_has(script, "$d0 << END\n1 1\nEND\n");
}

static size_t count(const char *text, const char *wanted)
{
    size_t n = 0;

    for (const char *s = text; (s = strstr(s, wanted)); s++)
        n++;
    return n;
}

/* On an axis from 1 to 100 that is 230 pixels long and begins at 100, 10 is at 215. */
static void test_log_axis(void **state)
{
    double dots[] = {10, 1.5};
    double lines[] = {1, 100, 1.5};
    struct nl_plot_series series[] = {
        {.kind = NL_PLOT_INTERVALS_X, .colour = 4, .values = lines, .n = 1},
        {.kind = NL_PLOT_POINTS, .colour = 3, .values = dots, .n = 1},
        {.kind = NL_PLOT_HOLLOW, .colour = 5, .size = 6, .values = dots, .n = 1},
    };
    struct nl_plot plot = plot_of(series, 3);
    cleanup_free char *page = NULL;

    (void)state;
    plot.x.low = 1;
    plot.x.high = 100;
    plot.x.log = true;
    page = page_of(&plot);
    assert_has(page, "viewBox=\"0 0 340 200\"");
    assert_has(page, "role=\"img\"");
    assert_has(page, ">A plot</title>");
    assert_has(page, "<circle class=\"colour-3\" color=\"#1c5cb8\" cx=\"214.99\" cy=\"9");
    assert_has(page, "r=\"3.5");
    assert_has(page, "<circle class=\"colour-5 hollow\"");
    assert_has(page, "<path class=\"colour-4\" color=\"#b25600\" d=\"M99.99,9");
    assert_has(page, ">1\u00d7</text>");
    assert_has(page, ">100\u00d7</text>");
}

static void test_kinds(void **state)
{
    double points[] = {1, 1, 2, 2, 3, 1};
    double intervals[] = {1, 0.5, 2.5, 2, 1, 2};
    double boxes[] = {1, 2, 0.5, 1.5, 2, 3, 0.5, 1.5};
    struct nl_plot_series series[] = {
        {.kind = NL_PLOT_LINE, .colour = 3, .values = points, .n = 3, .name = "<line>"},
        {.kind = NL_PLOT_STEPS, .colour = 4, .values = points, .n = 3},
        {.kind = NL_PLOT_INTERVALS_Y, .colour = 5, .values = intervals, .n = 2},
        {.kind = NL_PLOT_BOXES, .colour = 6, .values = boxes, .n = 2},
    };
    struct nl_plot plot = plot_of(series, 4);
    cleanup_free char *page = page_of(&plot);

    (void)state;
    assert_has(page, "<title>&lt;line&gt;</title>");
    assert_int_equal(count(page, "<path class=\"colour-3\""), 1);
    assert_int_equal(count(page, "<path class=\"colour-4\""), 1);
    assert_int_equal(count(page, "<path class=\"colour-5\""), 1);
    assert_int_equal(count(page, "<polygon class=\"colour-6\""), 2);
}

/* Nothing of the labels is alive, and nothing of gnuplot's own file is there. */
static void test_hostile_labels(void **state)
{
    double values[] = {1, 1, 10, 2};
    struct nl_plot_series series = {
        .kind = NL_PLOT_POINTS, .colour = 3, .name = HOSTILE, .values = values, .n = 2};
    struct nl_plot plot = plot_of(&series, 1);
    cleanup_free char *page = NULL;

    (void)state;
    plot.beside = hostile_ticks;
    plot.n_beside = 2;
    page = page_of(&plot);
    assert_int_not_equal(access("hacked", F_OK), 0);
    assert_has_not(page, "<script");
    assert_has(page, "&lt;/text...</text>");
    assert_has(page, "&lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
    assert_int_equal(count(page, "</text>"), count(page, "<text"));
    assert_has_not(page, "href");
    assert_has_not(page, "style=");
    assert_has_not(page, "id=\"gp");
    assert_has_not(page, "GNUPLOT");
    assert_has_not(page, "<defs");
}

/* A file that is not gnuplot's: nothing unknown comes through. */
static void test_foreign_svg(void **state)
{
    static const char svg[] =
        "<svg xmlns='http://www.w3.org/2000/svg' onload='x()'><script>evil()</script>"
        "<style>evil</style><image href='http://evil/'/><g stroke='rgb(1,7,3)'>"
        "<path d='M0,0 L1,1 url(evil)'/><path d='M0,0 L1,1' onclick='evil()'/>"
        "<polygon fill='url(http://evil)' points='0,0'/>"
        "<use href='http://evil' transform='evil'/><text>evil</text><text>~y7~</text>"
        "<text>~y-1~</text><text>~z0~</text></g><path d='M0,0 L2,2' stroke='red'/></svg>";
    xmlDocPtr xml = xmlReadMemory(svg, (int)strlen(svg), "x", NULL, XML_PARSE_NONET);
    struct nl_plot plot = plot_of(NULL, 0);
    struct nl_html *html = nl_html_new("t");
    cleanup_free char *page = NULL;

    (void)state;
    nl_plot_svg_write(html, &plot, xmlDocGetRootElement(xml));
    xmlFreeDoc(xml);
    page = nl_html_finish(html);
    assert_has(page, "d=\"M0,0 L1,1\"");
    assert_has_not(page, "evil");
    assert_has_not(page, "L2,2");
    assert_has_not(page, "<text");
}

/* Nothing to show is no error: axes alone, with ranges and without. */
static void test_empty(void **state)
{
    double none[] = {NAN, 1};
    struct nl_plot_series series = {.kind = NL_PLOT_POINTS, .values = none, .n = 1};
    struct nl_plot plot = plot_of(&series, 1);
    cleanup_free char *page = page_of(&plot);
    cleanup_free char *log_page = NULL;

    (void)state;
    assert_has(page, "<svg");
    assert_has_not(page, "<circle");
    plot.x.log = true;
    plot.n_series = 0;
    log_page = page_of(&plot);
    assert_has(log_page, "<svg");
}

/* As one value for all, and a range that is none. */
static void test_one_value(void **state)
{
    double values[] = {5, 1};
    struct nl_plot_series series = {.kind = NL_PLOT_POINTS, .values = values, .n = 1};
    struct nl_plot plot = plot_of(&series, 1);
    cleanup_free char *page = NULL;

    (void)state;
    plot.x.low = plot.x.high = 5;
    page = page_of(&plot);
    assert_int_equal(count(page, "<circle"), 1);
}

static void test_several(void **state)
{
    double values[] = {1, 1};
    struct nl_plot_series series[] = {
        {.kind = NL_PLOT_POINTS, .colour = 3, .values = values, .n = 1},
        {.kind = NL_PLOT_POINTS, .colour = 4, .values = values, .n = 1}};
    struct nl_plot plots[] = {plot_of(&series[0], 1), plot_of(&series[1], 1)};
    cleanup_plots struct nl_plot_pictures *pictures = NULL;
    struct nl_html *html = nl_html_new("t");
    cleanup_free char *page = NULL;

    (void)state;
    plots[0].x.log = true;
    assert_int_equal(nl_plots_draw(plots, 2, &pictures, NULL), 0);
    nl_plots_write(html, pictures, 1);
    page = nl_html_finish(html);
    assert_has(page, "<circle class=\"colour-4\"");
    assert_has_not(page, "<circle class=\"colour-3\"");
}

/* Without gnuplot, and with one that fails or prints something else, the page says so. */
static void test_no_gnuplot(void **state)
{
    static const char *const programs[] = {
        NULL,
        "#!/bin/sh\necho 'gnuplot </p> broke' >&2; exit 1\n",
        "#!/bin/sh\necho '<?xml version=\"1.0\"?><svg'\n",
    };
    struct nl_plot plot = plot_of(NULL, 0);
    const char *old = getenv("PATH");
    cleanup_free char *path = strdup(old ? old : "");

    (void)state;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        cleanup_plots struct nl_plot_pictures *pictures = NULL;
        cleanup_error struct nl_error *err = NULL;
        struct nl_html *html = nl_html_new("t");
        cleanup_free char *page = NULL;
        cleanup_free char *program = in_base("gnuplot");

        if (programs[i]) {
            FILE *file = fopen(program, "w");

            fputs(programs[i], file);
            fclose(file);
            assert_int_equal(chmod(program, 0755), 0);
        }
        setenv("PATH", base, 1);
        assert_int_equal(nl_plots_draw(&plot, 1, &pictures, &err), -1);
        setenv("PATH", path, 1);
        assert_null(pictures);
        nl_plots_missing(html, err);
        page = nl_html_finish(html);
        assert_has(page, "<p class=\"note\">No picture: ");
        assert_has_not(page, "</p> broke");
    }
}

static void test_round_up(void **state)
{
    (void)state;
    assert_float_equal(nl_plot_round_up(0.3), 0.5, 1e-9);
    assert_float_equal(nl_plot_round_up(17), 20, 1e-9);
    assert_float_equal(nl_plot_round_up(100), 100, 1e-9);
    assert_float_equal(nl_plot_round_up(101), 200, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_script_has_no_text),
        cmocka_unit_test(test_script_leaves_out),
        cmocka_unit_test(test_log_axis),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_hostile_labels),
        cmocka_unit_test(test_foreign_svg),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_one_value),
        cmocka_unit_test(test_several),
        IN_FOLDER(test_no_gnuplot),
        cmocka_unit_test(test_round_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
