/*
 * test-error.c - errors and progress as they reach the user: what a guest said must not steer the
 * terminal.
 */
#include "error.h"
#include "progress.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

/* ESC, the same as a single C1 character, an override of the direction, and a broken byte. */
#define HOSTILE "a\033[2Jb\xc2\x9b\x31mc\xe2\x80\xae\xff"

static int kept_stderr;

/* Standard error goes into a file, which what_was_said() reads. */
static void listen_in(void)
{
    int fd = memfd_create("stderr", MFD_CLOEXEC);

    fflush(stderr);
    kept_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    assert_true(fd >= 0 && kept_stderr >= 0);
    dup2(fd, STDERR_FILENO);
    close(fd);
}

static char *what_was_said(void)
{
    static char text[8192];
    ssize_t n;

    fflush(stderr);
    n = pread(STDERR_FILENO, text, sizeof(text) - 1, 0);
    dup2(kept_stderr, STDERR_FILENO);
    close(kept_stderr);
    assert_true(n >= 0);
    text[n] = '\0';
    return text;
}

static void assert_tame(const char *text)
{
    for (const char *c = text; *c; c++)
        assert_true((unsigned char)*c >= 0x20 || *c == '\n');
    assert_null(strstr(text, "\xc2\x9b"));
    assert_null(strstr(text, "\xe2\x80\xae"));
    assert_null(strchr(text, '\xff'));
}

static void test_chain_hint_and_status(void **state)
{
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    assert_int_equal(nl_fail_errno(&err, NL_EXIT_REQUEST, 2, "open %s", "x"), -1);
    assert_int_equal(nl_wrap(&err, "first"), -1);
    nl_hint(&err, "inner");
    nl_hint(&err, "outer");
    assert_string_equal(nl_error_message(err), "first: open x: No such file or directory");
    assert_string_equal(nl_error_hint(err), "inner");
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    /* Without an object to put it in nothing is lost but the message. */
    assert_int_equal(nl_fail(NULL, NL_EXIT_LAB, "unseen"), -1);
}

static void test_errors_are_printed_tame(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    char *said;

    (void)state;
    nl_fail(&err, NL_EXIT_LAB, "the guest says %s\nnestlab: forged", HOSTILE);
    nl_hint(&err, "read %s", HOSTILE);
    listen_in();
    nl_error_print(err);
    said = what_was_said();
    assert_tame(said);
    assert_non_null(strstr(said, "nestlab: the guest says a\\x1b[2Jb"));
    assert_non_null(strstr(said, "nestlab: hint: read a"));
    assert_null(strstr(said, "\nnestlab: forged"));
}

static void test_progress_is_printed_tame(void **state)
{
    char *said;

    (void)state;
    listen_in();
    nl_progress_begin("L1 %s", HOSTILE);
    nl_progress_note("note %s", HOSTILE);
    nl_progress_end("%s", HOSTILE);
    said = what_was_said();
    assert_tame(said);
    assert_non_null(strstr(said, "note a\\x1b[2Jb"));
}

/* A note carries errors, whose end says what to do. */
static void test_a_note_is_not_cut_but_a_step_is(void **state)
{
    char text[2001];
    char *said;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    listen_in();
    nl_progress_note("%s!", text);
    said = what_was_said();
    assert_int_equal(strlen(said), 2002);
    listen_in();
    nl_progress_begin("%s!", text);
    said = what_was_said();
    assert_true(strlen(said) < 300);
    listen_in();
    nl_progress_end("done");
    what_was_said();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain_hint_and_status),
        cmocka_unit_test(test_errors_are_printed_tame),
        cmocka_unit_test(test_progress_is_printed_tame),
        cmocka_unit_test(test_a_note_is_not_cut_but_a_step_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
