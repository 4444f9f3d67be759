/*
 * test-folders.c - folders that are made, that are there, and that cannot be.
 */
#include "folders.h"

#include "folder.h"

#include <fcntl.h>
#include <sys/stat.h>

static void test_new_and_old(void **state)
{
    cleanup_free char *deep = in_base("a/b/c");
    cleanup_error struct nl_error *err = NULL;
    struct stat st;

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(nl_make_folders(deep, NL_EXIT_REQUEST, &err), 0);
    assert_int_equal(stat(deep, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
}

static void test_a_link_to_a_folder_is_one(void **state)
{
    cleanup_free char *link = in_base("link");
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    assert_int_equal(symlink(base, link), 0);
    assert_int_equal(nl_make_folders(link, NL_EXIT_REQUEST, &err), 0);
}

/* Taken for a folder, a file in the way is only noticed by whoever writes beneath it. */
static void test_file_in_the_way(void **state)
{
    cleanup_free char *file = in_base("file");
    cleanup_free char *below = in_base("file/x");
    cleanup_error struct nl_error *err = NULL;
    int fd = open(file, O_WRONLY | O_CREAT, 0600);

    (void)state;
    close(fd);
    assert_int_equal(nl_make_folders(file, NL_EXIT_REQUEST, &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    assert_non_null(strstr(nl_error_message(err), file));
    nl_error_free(&err);
    assert_int_equal(nl_make_folders(below, NL_EXIT_LAB, &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_LAB);
}

static void test_no_name(void **state)
{
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    assert_int_equal(nl_make_folders("", NL_EXIT_REQUEST, &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
}

static int check(const char *name)
{
    cleanup_free char *path = in_base(name);
    cleanup_error struct nl_error *err = NULL;
    int rc = nl_check_folders(path, NL_EXIT_REQUEST, &err);

    if (rc < 0)
        assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    return rc;
}

/* What could be made is told, and nothing is made. */
static void test_check(void **state)
{
    cleanup_free char *file = in_base("file");
    cleanup_free char *link = in_base("link");
    cleanup_free char *made = in_base("a");
    struct stat st;

    (void)state;
    close(open(file, O_WRONLY | O_CREAT, 0600));
    assert_int_equal(symlink("nowhere", link), 0);
    assert_int_equal(check(""), 0);
    assert_int_equal(check("a"), 0);
    assert_int_equal(check("a/b//c/"), 0);
    assert_int_equal(check("file"), -1);
    assert_int_equal(check("file/x"), -1);
    assert_int_equal(check("link"), -1);
    assert_int_equal(check("link/x"), -1);
    assert_int_equal(stat(made, &st), -1);
    assert_int_equal(chdir(base), 0);
    assert_int_equal(nl_check_folders("a", NL_EXIT_REQUEST, NULL), 0);
    assert_int_equal(nl_check_folders("a/b", NL_EXIT_REQUEST, NULL), 0);
    assert_int_equal(nl_check_folders("", NL_EXIT_REQUEST, NULL), -1);
    assert_int_equal(nl_check_folders("/sys/nestlab", NL_EXIT_REQUEST, NULL), access("/sys", W_OK));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_new_and_old),     IN_FOLDER(test_a_link_to_a_folder_is_one),
        IN_FOLDER(test_file_in_the_way), IN_FOLDER(test_no_name),
        IN_FOLDER(test_check),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
