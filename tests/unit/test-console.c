/*
 * test-console.c - consoles and printable text.
 */
#include "console.h"
#include "guest-text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    char file[64];
    struct nl_console *console;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    int fd;

    strcpy(f->file, "/tmp/test-console-XXXXXX");
    fd = mkstemp(f->file);
    close(fd);
    *state = f;
    return nl_console_open_detached(f->file, &f->console, NULL);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    nl_console_close(&f->console);
    unlink(f->file);
    free(f);
    return 0;
}

static void feed(struct fixture *f, const char *text)
{
    nl_console_feed(f->console, text, strlen(text));
}

static void assert_tail(struct fixture *f, size_t n, const char *expected)
{
    cleanup_json json_t *tail = nl_console_tail(f->console, n);
    char text[4096] = "";
    json_t *line;
    size_t i;

    json_array_foreach(tail, i, line)
    {
        strcat(text, json_string_value(line));
        strcat(text, "|");
    }
    assert_string_equal(text, expected);
}

static void assert_last(struct fixture *f, const char *expected)
{
    cleanup_free char *line = nl_console_last_line(f->console);

    assert_string_equal(line, expected);
}

static void test_empty(void **state)
{
    struct fixture *f = *state;

    assert_tail(f, 10, "");
    assert_last(f, "");
    assert_null(nl_console_crash(f->console));
    assert_int_equal(nl_console_bytes(f->console), 0);
    assert_int_equal(nl_console_last_ms(f->console), 0);
    assert_false(nl_console_ended(f->console));
}

static void test_lines(void **state)
{
    struct fixture *f = *state;

    feed(f, "one\r\ntwo\n\n  \nthr");
    assert_tail(f, 10, "one|two||  |thr|");
    assert_last(f, "thr");
    feed(f, "ee\n");
    assert_tail(f, 2, "  |three|");
    assert_last(f, "three");
    feed(f, "\n \t\r\n");
    assert_last(f, "three");
    assert_tail(f, 0, "");
    assert_int_equal(nl_console_bytes(f->console), 24);
    assert_true(nl_now_ms() - nl_console_last_ms(f->console) < 10000);
}

static void test_ring_holds_the_last_lines(void **state)
{
    cleanup_json json_t *tail = NULL;
    struct fixture *f = *state;
    char text[32];

    for (int i = 0; i < 5 * NL_CONSOLE_LINES + 7; i++) {
        snprintf(text, sizeof(text), "line %d\n", i);
        feed(f, text);
    }
    tail = nl_console_tail(f->console, 100000);
    assert_int_equal(json_array_size(tail), NL_CONSOLE_LINES);
    snprintf(text, sizeof(text), "line %d", 4 * NL_CONSOLE_LINES + 7);
    assert_string_equal(json_string_value(json_array_get(tail, 0)), text);
    assert_last(f, "line 1006");
}

static void test_blank_lines_only_push_out_the_last_one(void **state)
{
    struct fixture *f = *state;

    feed(f, "said\n");
    for (int i = 0; i < NL_CONSOLE_LINES - 1; i++)
        feed(f, "\n");
    assert_last(f, "said");
    feed(f, "\n");
    assert_last(f, "");
}

static void test_long_line(void **state)
{
    struct fixture *f = *state;
    char *text = malloc(1000001);

    memset(text, 'x', 1000000);
    text[1000000] = '\0';
    feed(f, "before\n");
    feed(f, text);
    feed(f, "Kernel panic - not syncing: far out\nafter");
    free(text);
    assert_string_equal(nl_console_crash(f->console), "Kernel panic - not syncing");
    assert_last(f, "after");
    feed(f, "\n");
    {
        cleanup_json json_t *tail = nl_console_tail(f->console, 2);

        assert_int_equal(json_string_length(json_array_get(tail, 0)), 1024);
    }
}

static void test_mark_in_pieces(void **state)
{
    struct fixture *f = *state;
    const char *text = "[    1.0] Kernel panic - not syncing: VFS: Unable to mount root fs\n";

    feed(f, "Kernel panic - not sync\ning");
    assert_null(nl_console_crash(f->console));
    for (const char *c = text; *c; c++)
        nl_console_feed(f->console, c, 1);
    assert_string_equal(nl_console_crash(f->console), "Kernel panic - not syncing");
}

static void test_mark_across_two_big_pieces(void **state)
{
    struct fixture *f = *state;
    char first[300], second[300];

    memset(first, '.', sizeof(first));
    memset(second, '.', sizeof(second));
    memcpy(first + sizeof(first) - 7, "KVM int", 7);
    memcpy(second, "ernal error. Suberror: 1", 24);
    nl_console_feed(f->console, first, sizeof(first));
    assert_null(nl_console_crash(f->console));
    nl_console_feed(f->console, second, sizeof(second));
    assert_string_equal(nl_console_crash(f->console), "KVM internal error");
}

static void test_no_mark_in_ordinary_text(void **state)
{
    struct fixture *f = *state;

    feed(f, "Kernel command line: panic=-1 oops=panic\nWARNING: CPU: 0 PID: 1\n");
    assert_null(nl_console_crash(f->console));
}

static void test_split_character(void **state)
{
    struct fixture *f = *state;

    feed(f, "gr\xc3");
    assert_last(f, "gr\\xc3");
    feed(f, "\xbc\xc3\x9f");
    assert_last(f, "gr\xc3\xbc\xc3\x9f");
}

static void test_file_has_every_byte(void **state)
{
    struct fixture *f = *state;
    static const char bytes[] = "a\0b\xff\r\n\x1b[0m";
    char back[64];
    FILE *file;

    nl_console_feed(f->console, bytes, sizeof(bytes));
    file = fopen(f->file, "r");
    assert_int_equal(fread(back, 1, sizeof(back), file), sizeof(bytes));
    fclose(file);
    assert_memory_equal(back, bytes, sizeof(bytes));
    assert_last(f, "\\x00");
    assert_tail(f, 2, "a\\x00b\\xff|\\x00|");
}

static void test_end(void **state)
{
    struct fixture *f = *state;

    feed(f, "bye");
    nl_console_feed(f->console, "", 0);
    assert_true(nl_console_ended(f->console));
    assert_last(f, "bye");
}

static void test_no_input_when_detached(void **state)
{
    struct fixture *f = *state;
    cleanup_error struct nl_error *err = NULL;

    assert_int_equal(nl_console_write(f->console, "x", 1, &err), -1);
    assert_non_null(err);
}

static void test_bad_file(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    struct nl_console *console = NULL;

    (void)state;
    assert_int_equal(nl_console_open_detached("/nonexistent/x", &console, &err), -1);
    assert_null(console);
    assert_non_null(strstr(nl_error_message(err), "/nonexistent/x"));
}

static void test_printable(void **state)
{
    static const struct {
        const char *in;
        size_t length;
        const char *out;
    } cases[] = {
        {"plain", 5, "plain"},
        {"a\tb", 3, "a b"},
        {"x\r\r", 3, "x"},
        {"x\ry", 3, "x\\x0dy"},
        {"\x1b[1;31mred\x1b[0m.", 15, "red."},
        {"\x1b]0;title\ax", 11, "x"},
        {"\x1b]0;title\x1b\\x", 12, "x"},
        {"\x1b]nestlab;end\x1b[0mx", 18, "x"},
        {"\x1b"
         "c\x1b(Bx",
         6, "x"},
        {"a\x1b", 2, "a"},
        {"a\x1b[31", 5, "a"},
        {"\x1b\x01", 2, "\\x01"},
        {"\x7f", 1, "\\x7f"},
        {"\xe2\x82\xac", 3, "\xe2\x82\xac"},
        {"\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80"},
        {"\xe2\x82", 2, "\\xe2\\x82"},
        {"\xc2\x9b", 2, "\\xc2\\x9b"},
        {"\xc0\x80", 2, "\\xc0\\x80"},
        {"\xe0\x80\xaf", 3, "\\xe0\\x80\\xaf"},
        {"\xed\xa0\x80", 3, "\\xed\\xa0\\x80"},
        {"\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"},
        {"\xff\xfe", 2, "\\xff\\xfe"},
        {"", 0, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_free char *text = nl_guest_text(cases[i].in, cases[i].length);
        cleanup_json json_t *json = json_string(text);

        assert_string_equal(text, cases[i].out);
        assert_non_null(json);
    }
}

int main(void)
{
#define WITH_CONSOLE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_CONSOLE(test_empty),
        WITH_CONSOLE(test_lines),
        WITH_CONSOLE(test_ring_holds_the_last_lines),
        WITH_CONSOLE(test_blank_lines_only_push_out_the_last_one),
        WITH_CONSOLE(test_long_line),
        WITH_CONSOLE(test_mark_in_pieces),
        WITH_CONSOLE(test_mark_across_two_big_pieces),
        WITH_CONSOLE(test_no_mark_in_ordinary_text),
        WITH_CONSOLE(test_split_character),
        WITH_CONSOLE(test_file_has_every_byte),
        WITH_CONSOLE(test_end),
        WITH_CONSOLE(test_no_input_when_detached),
        cmocka_unit_test(test_bad_file),
        cmocka_unit_test(test_printable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
