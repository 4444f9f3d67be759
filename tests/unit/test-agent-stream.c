/*
 * test-agent-stream.c - lines out of a stream, and lines on their way out over a connection that
 * may break.
 */
#include "lines.h"
#include "outbox.h"
#include "shell.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void feed(struct agent_lines *lines, const char *text)
{
    assert_int_equal(agent_lines_feed(lines, text, strlen(text)), 0);
}

static void expect_line(struct agent_lines *lines, const char *expected)
{
    size_t length;
    char *line;

    assert_int_equal(agent_lines_next(lines, &line, &length), AGENT_LINE);
    assert_string_equal(line, expected);
    assert_int_equal(length, strlen(expected));
}

static void expect(struct agent_lines *lines, enum agent_line kind)
{
    size_t length;
    char *line;

    assert_int_equal(agent_lines_next(lines, &line, &length), kind);
}

static void test_lines(void **state)
{
    struct agent_lines lines = {.max = 100};

    (void)state;
    expect(&lines, AGENT_LINE_NONE);
    feed(&lines, "one\n\ntw");
    expect_line(&lines, "one");
    expect_line(&lines, "");
    expect(&lines, AGENT_LINE_NONE);
    assert_true(agent_lines_partial(&lines));
    feed(&lines, "o\nthree\n");
    expect_line(&lines, "two");
    expect_line(&lines, "three");
    expect(&lines, AGENT_LINE_NONE);
    assert_false(agent_lines_partial(&lines));
    agent_lines_clear(&lines);
}

static void test_long_lines(void **state)
{
    struct agent_lines lines = {.max = 4};

    (void)state;
    feed(&lines, "1234\n12345\nok\n");
    expect_line(&lines, "1234");
    expect(&lines, AGENT_LINE_TOO_LONG);
    expect_line(&lines, "ok");
    /* It comes in pieces and is dropped as it comes: once reported, and what follows is whole. */
    for (int i = 0; i < 1000; i++) {
        feed(&lines, "xxxxxxxx");
        expect(&lines, AGENT_LINE_NONE);
    }
    assert_true(lines.size < 100);
    feed(&lines, "x\nok\n");
    expect(&lines, AGENT_LINE_TOO_LONG);
    expect_line(&lines, "ok");
    expect(&lines, AGENT_LINE_NONE);
    agent_lines_clear(&lines);
}

/* A pipe that takes only a few bytes at a time is stood in for by a small one that is drained. */
static void drain(int fd, char *text, size_t size)
{
    ssize_t n = read(fd, text, size - 1);

    text[n > 0 ? n : 0] = '\0';
}

static void test_outbox(void **state)
{
    struct agent_outbox outbox = {0};
    char text[100];
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
    assert_true(agent_outbox_empty(&outbox));
    agent_outbox_add(&outbox, "one\n", 4);
    agent_outbox_add(&outbox, "two\n", 4);
    assert_int_equal(agent_outbox_pending(&outbox), 8);
    assert_int_equal(agent_outbox_flush(&outbox, fds[1]), 0);
    assert_true(agent_outbox_empty(&outbox));
    drain(fds[0], text, sizeof(text));
    assert_string_equal(text, "one\ntwo\n");
    close(fds[0]);
    agent_outbox_add(&outbox, "three\n", 6);
    assert_int_equal(agent_outbox_flush(&outbox, fds[1]), -1);
    assert_int_equal(agent_outbox_pending(&outbox), 6);
    close(fds[1]);
    agent_outbox_clear(&outbox);
}

static void test_outbox_rewinds_to_the_line(void **state)
{
    struct agent_outbox outbox = {0};
    size_t filler = 200000, got = 0; /* a pipe takes 65536 */
    char *line = malloc(filler + 1), *text = malloc(2 * filler);
    int first[2], second[2];

    (void)state;
    memset(line, 'x', filler);
    line[filler] = '\n';
    assert_int_equal(pipe2(first, O_NONBLOCK), 0);
    assert_int_equal(pipe2(second, O_NONBLOCK), 0);
    agent_outbox_add(&outbox, "done\n", 5);
    agent_outbox_add(&outbox, line, filler + 1);
    agent_outbox_add(&outbox, "last\n", 5);
    assert_int_equal(agent_outbox_flush(&outbox, first[1]), 0); /* the pipe is full amid the line */
    assert_false(agent_outbox_empty(&outbox));
    agent_outbox_rewind(&outbox);
    agent_outbox_rewind(&outbox);
    for (ssize_t n = 1; n > 0; got += n > 0 ? (size_t)n : 0) {
        assert_int_equal(agent_outbox_flush(&outbox, second[1]), 0);
        n = read(second[0], text + got, 2 * filler - got);
    }
    assert_true(agent_outbox_empty(&outbox));
    assert_int_equal(got, 1 + filler + 1 + 5);
    assert_int_equal(text[0], '\n');
    assert_memory_equal(text + 1, line, filler + 1);
    assert_memory_equal(text + filler + 2, "last\n", 5);
    for (int i = 0; i < 2; i++) {
        close(first[i]);
        close(second[i]);
    }
    free(line);
    free(text);
    agent_outbox_clear(&outbox);
}

static void test_outbox_drops_by_prefix(void **state)
{
    struct agent_outbox outbox = {0};
    char text[100];
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
    agent_outbox_add(&outbox, "a1\n", 3);
    agent_outbox_add(&outbox, "b1\n", 3);
    agent_outbox_add(&outbox, "a2\n", 3);
    agent_outbox_add(&outbox, "b2\n", 3);
    agent_outbox_drop(&outbox, "a");
    agent_outbox_flush(&outbox, fds[1]);
    drain(fds[0], text, sizeof(text));
    assert_string_equal(text, "b1\nb2\n");
    agent_outbox_drop(&outbox, "a");
    close(fds[0]);
    close(fds[1]);
    agent_outbox_clear(&outbox);
}

static void test_shell_line(void **state)
{
    struct winsize window;
    char term[16];

    (void)state;
    static const char good[] = "{\"rows\": 50, \"columns\": 132, \"term\": \"xterm\"}";
    assert_int_equal(agent_shell_parse(good, strlen(good), &window, term, sizeof(term)), 0);
    assert_int_equal(window.ws_row, 50);
    assert_int_equal(window.ws_col, 132);
    assert_string_equal(term, "xterm");
    static const char odd[] =
        "{\"rows\": -1, \"columns\": 100000, \"term\": \"name-over-the-limit\"}";
    assert_int_equal(agent_shell_parse(odd, strlen(odd), &window, term, sizeof(term)), 0);
    assert_int_equal(window.ws_row, 24);
    assert_int_equal(window.ws_col, 80);
    assert_string_equal(term, "vt100");
    assert_int_equal(agent_shell_parse("[]", 2, &window, term, sizeof(term)), -1);
    assert_int_equal(agent_shell_parse("ls", 2, &window, term, sizeof(term)), -1);
    assert_int_equal(agent_shell_parse("", 0, &window, term, sizeof(term)), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_outbox),
        cmocka_unit_test(test_outbox_rewinds_to_the_line),
        cmocka_unit_test(test_outbox_drops_by_prefix),
        cmocka_unit_test(test_shell_line),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
