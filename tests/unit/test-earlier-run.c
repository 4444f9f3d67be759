/*
 * test-earlier-run.c - which files of an output folder are an earlier run's, and go.
 */
#include "earlier-run.h"
#include "folders.h"

#include "folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#define FIXTURE NL_SOURCE "/tests/fixtures/passed.json"

/* What a run writes. */
static const char *const of_run[] = {
    "report.html",   "junit.xml",      "libvirt.log",  "L0-qemu.log",
    "L0-kernel.log", "L2-console.log", "L12-hang.txt", "profile-page-touch-L1.folded",
};

/* What somebody else may have put there. */
static const char *const others[] = {
    "notes.txt",       "L2-kernel.log.old", "L123-kernel.log", "xL2-kernel.log",  "L-kernel.log",
    "report.html.bak", "document.json~",    "profile-.txt",    "L2-kernel.log\n",
};

static void put(const char *name, const char *text)
{
    cleanup_free char *path = in_base(name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static bool is_there(const char *name)
{
    cleanup_free char *path = in_base(name);
    struct stat st;

    return lstat(path, &st) == 0;
}

static void fill(void)
{
    for (size_t i = 0; i < sizeof(of_run) / sizeof(of_run[0]); i++)
        put(of_run[i], "old\n");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        put(others[i], "mine\n");
}

static void put_document(void)
{
    cleanup_free char *path = in_base("document.json");

    assert_int_equal(nl_place_file(FIXTURE, path, NULL), 0);
}

static void assert_there(bool document, bool run)
{
    assert_int_equal(is_there("document.json"), document);
    for (size_t i = 0; i < sizeof(of_run) / sizeof(of_run[0]); i++)
        if (is_there(of_run[i]) != run)
            fail_msg("%s", of_run[i]);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (!is_there(others[i]))
            fail_msg("%s", others[i]);
}

static void test_an_earlier_run_goes(void **state)
{
    cleanup_free char *id = NULL;

    (void)state;
    fill();
    put_document();
    assert_int_equal(nl_earlier_run_remove(base, &id, NULL), 0);
    assert_non_null(id);
    assert_there(false, false);
}

static void test_what_is_no_document_proves_no_run(void **state)
{
    static const char *const texts[] = {"", "{}", "[1]", "{\"nestlab\": 1}"};

    (void)state;
    fill();
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *id = NULL;

        put("document.json", texts[i]);
        assert_int_equal(nl_earlier_run_remove(base, &id, NULL), 0);
        assert_null(id);
        assert_there(true, true);
    }
}

static void test_an_empty_folder_and_none(void **state)
{
    cleanup_free char *nowhere = in_base("nowhere");
    char *id = NULL;

    (void)state;
    assert_int_equal(nl_earlier_run_remove(base, &id, NULL), 0);
    assert_null(id);
    assert_int_equal(nl_earlier_run_remove(nowhere, &id, NULL), 0);
    assert_null(id);
}

/* Neither is what it leads to. */
static void test_links_and_folders_stay(void **state)
{
    cleanup_free char *link = in_base("L0-console.log");
    cleanup_free char *folder = in_base("L1-console.log");
    cleanup_free char *inside = in_base("L1-console.log/L2-kernel.log");
    cleanup_free char *id = NULL;

    (void)state;
    put("target", "mine\n");
    put_document();
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(mkdir(folder, 0755), 0);
    put("L1-console.log/L2-kernel.log", "mine\n");
    assert_int_equal(nl_earlier_run_remove(base, &id, NULL), 0);
    assert_true(is_there("target") && is_there("L0-console.log"));
    assert_int_equal(access(inside, F_OK), 0);
    assert_false(is_there("document.json"));
}

/* A pipe in the document's place is not waited for, and a link to a document is somebody's. */
static void test_a_document_that_is_no_file(void **state)
{
    cleanup_free char *path = in_base("document.json");
    char *id = NULL;

    (void)state;
    fill();
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(nl_earlier_run_remove(base, &id, NULL), 0);
    assert_null(id);
    assert_there(true, true);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(FIXTURE, path), 0);
    assert_int_equal(nl_earlier_run_remove(base, &id, NULL), 0);
    assert_null(id);
    assert_there(true, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_an_earlier_run_goes),
        IN_FOLDER(test_what_is_no_document_proves_no_run),
        IN_FOLDER(test_an_empty_folder_and_none),
        IN_FOLDER(test_links_and_folders_stay),
        IN_FOLDER(test_a_document_that_is_no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
