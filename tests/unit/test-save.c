/*
 * test-save.c - files that are there whole or not at all, and what a user may name instead of one.
 */
#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/nl-test-save-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"file", "real", "link", "pipe"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(names[i]);
    /* Nothing else was left behind. */
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void assert_content(const char *path, const char *wanted)
{
    char content[64] = "";
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_true(read(fd, content, sizeof(content) - 1) >= 0);
    assert_string_equal(content, wanted);
}

static int save(const char *text, const char *path)
{
    cleanup_error struct nl_error *err = NULL;

    return nl_save_text(strdup(text), path, &err);
}

static void test_a_file_keeps_its_mode(void **state)
{
    struct stat status;

    (void)state;
    assert_int_equal(save("first\n", "file"), 0);
    assert_content("file", "first\n");
    assert_int_equal(chmod("file", 0600), 0);
    assert_int_equal(save("second", "file"), 0);
    assert_content("file", "second\n");
    assert_int_equal(stat("file", &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
}

static void test_a_link_stays(void **state)
{
    struct stat status;

    (void)state;
    assert_int_equal(save("before\n", "real"), 0);
    assert_int_equal(symlink("real", "link"), 0);
    assert_int_equal(save("after\n", "link"), 0);
    assert_int_equal(lstat("link", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_content("real", "after\n");
}

static void test_a_pipe_is_written_to(void **state)
{
    char content[64] = "";
    struct stat status;
    cleanup_close int fd = -1;

    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    fd = open("pipe", O_RDWR | O_CLOEXEC);
    assert_int_equal(save("through\n", "pipe"), 0);
    assert_int_equal(stat("pipe", &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    assert_int_equal(read(fd, content, sizeof(content) - 1), 8);
    assert_string_equal(content, "through\n");
}

static void refuse(char *text, const char *path, const char *why)
{
    cleanup_error struct nl_error *err = NULL;

    assert_int_equal(nl_save_text(text, path, &err), -1);
    assert_non_null(strstr(nl_error_message(err), why));
}

static void test_refused(void **state)
{
    (void)state;
    refuse(strdup("x"), "/no/such/folder/file", "No such file");
    refuse(strdup("x"), ".", "it is a folder");
    refuse(NULL, "file", "out of memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_keeps_its_mode),
        cmocka_unit_test(test_a_link_stays),
        cmocka_unit_test(test_a_pipe_is_written_to),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
