/*
 * folder.h - for tests: a folder of the test's own, with RUNS in it, and small helpers.
 */
#ifndef NL_TEST_FOLDER_H
#define NL_TEST_FOLDER_H

#include "rundir-guests.h"

#include <errno.h>
#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static char base[64]; /* the folder */
static char runs[80]; /* $NESTLAB_RUNS: base/runs, not made */

static inline int set_up(void **state)
{
    (void)state;
    strcpy(base, "/tmp/nlt-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    snprintf(runs, sizeof(runs), "%s/runs", base);
    setenv("NESTLAB_RUNS", runs, 1);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    return nl_rundir_tree(base, true, NULL) < 0 ? -1 : 0;
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static inline char *in_base(const char *name)
{
    char *path = NULL;

    assert_true(asprintf(&path, "%s/%s", base, name) > 0);
    return path;
}

static inline char *read_text(const char *path)
{
    char text[4096];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

    if (file)
        fclose(file);
    text[n] = '\0';
    return strdup(text);
}

/* The exit status of a child that ends by itself. */
static inline int end_of(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#endif
