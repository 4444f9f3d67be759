/*
 * test-streams.c - standard descriptors that are closed, full, or read by nobody.
 */
#include "streams.h"
#include "error.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static char said[256]; /* on standard error, by the last child */

/* The exit status of WORK in a child whose standard error is read. */
static int in_child(int (*work)(void))
{
    int ends[2];
    size_t n = 0;
    ssize_t got;
    int status;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        signal(SIGPIPE, SIG_IGN);
        _exit(work());
    }
    close(ends[1]);
    while ((got = read(ends[0], said + n, sizeof(said) - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* 0: the next file after all three were closed gets none of their numbers. */
static int open_after_closing(void)
{
    for (int fd = 0; fd <= 2; fd++)
        close(fd);
    nl_streams_open();
    return open("/dev/zero", O_RDONLY) == 3 && write(1, "x", 1) < 0 && write(2, "x", 1) == 1 &&
                   read(0, said, 1) == 0
               ? 0
               : 1;
}

static int keep_open_ones(void)
{
    int before = fcntl(2, F_GETFL);

    close(1);
    nl_streams_open();
    return fcntl(2, F_GETFL) == before && write(2, "here", 4) == 4 ? 0 : 1;
}

static void test_closed_descriptors(void **state)
{
    (void)state;
    assert_int_equal(in_child(open_after_closing), 0);
    assert_int_equal(in_child(keep_open_ones), 0);
    assert_string_equal(said, "here");
}

static int print_to(int fd, int status)
{
    if (dup2(fd, 1) < 0)
        return 99;
    puts("a report");
    return nl_streams_finish(status);
}

static int full(void)
{
    return print_to(open("/dev/full", O_WRONLY), NL_EXIT_PASSED);
}

/* The failure is that of an earlier flush: nothing is left to write at the end. */
static int full_early(void)
{
    int fd = open("/dev/full", O_WRONLY);

    if (dup2(fd, 1) < 0)
        return 99;
    puts("a report");
    fflush(stdout);
    return nl_streams_finish(NL_EXIT_PASSED);
}

static int full_after_failure(void)
{
    return print_to(open("/dev/full", O_WRONLY), NL_EXIT_CHECK_FAILED);
}

static int nobody_reads(void)
{
    int ends[2];

    if (pipe(ends) < 0)
        return 99;
    close(ends[0]);
    return print_to(ends[1], NL_EXIT_PASSED);
}

static int all_well(void)
{
    return print_to(open("/dev/null", O_WRONLY), NL_EXIT_PASSED);
}

static void test_output_that_cannot_be_written(void **state)
{
    (void)state;
    assert_int_equal(in_child(full), NL_EXIT_LAB);
    assert_non_null(strstr(said, "standard output"));
    assert_int_equal(in_child(full_early), NL_EXIT_LAB);
    assert_int_equal(in_child(full_after_failure), NL_EXIT_CHECK_FAILED);
    assert_int_equal(in_child(nobody_reads), NL_EXIT_PASSED);
    assert_string_equal(said, "");
    assert_int_equal(in_child(all_well), NL_EXIT_PASSED);
    assert_string_equal(said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_descriptors),
        cmocka_unit_test(test_output_that_cannot_be_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
