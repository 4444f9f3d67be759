/*
 * test-agent-exec.c - why a program cannot be run, told so that something can be done about it.
 */
#include "exec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/nl-test-exec-XXXXXX";

static void put(const char *name, const void *bytes, size_t length, int mode)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, (mode_t)mode), 0);
}

/* A real program, linked for a loader that is nowhere. */
static void put_foreign_program(void)
{
    static char bytes[4 << 20];
    FILE *file = fopen("/bin/true", "r");
    size_t n = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
    char *loader = n > 0 ? memmem(bytes, n, "/lib64/ld-", 10) : NULL;

    if (file)
        fclose(file);
    assert_non_null(loader);
    if (loader)
        memcpy(loader, "/lib64/no-", 10);
    put("dynamic", bytes, n, 0755);
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    put_foreign_program();
    put("script", "#!/no/such/shell -x\n", 20, 0755);
    put("plain", "#!/bin/sh\n", 10, 0644);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"dynamic", "script", "plain"};

    (void)state;
    if (chdir(folder) < 0)
        return -1;
    for (size_t i = 0; i < 3; i++)
        unlink(names[i]);
    return rmdir(folder);
}

static const struct {
    const char *program, *message, *hint;
} cases[] = {
    {"./dynamic", "cannot run ./dynamic: the file is there, but not the dynamic loader",
     "link it statically"},
    {"./script",
     "cannot run ./script: the file is there, but not its interpreter /no/such/shell -x",
     "#!/bin/sh"},
    {"./plain", "cannot run ./plain: Permission denied", "chmod +x"},
    {"./none", "cannot run ./none: there is no such file", "files"},
    /* busybox, where it is, has its own word for a name without a slash. */
};

static void test_why_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *request = json_pack("{s:[s], s:s}", "argv", cases[i].program, "directory", folder);
        struct agent_error error = {0};
        json_t *result = NULL;

        assert_int_equal(agent_exec(request, &result, &error), -1);
        if (!strstr(error.message, cases[i].message))
            fail_msg("%s instead of %s", error.message, cases[i].message);
        if (cases[i].hint ? !error.hint || !strstr(error.hint, cases[i].hint) : error.hint != NULL)
            fail_msg("%s: hint %s", cases[i].program, error.hint ? error.hint : "none");
        agent_error_clear(&error);
        json_decref(request);
    }
}

static void test_no_folder(void **state)
{
    json_t *request = json_pack("{s:[s], s:s}", "argv", "true", "directory", "/no/such");
    struct agent_error error = {0};
    json_t *result = NULL;

    (void)state;
    assert_int_equal(agent_exec(request, &result, &error), -1);
    assert_string_equal(error.message, "cannot run true: there is no folder /no/such");
    agent_error_clear(&error);
    json_decref(request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_why_not),
        cmocka_unit_test(test_no_folder),
    };

    return cmocka_run_group_tests_name("exec", tests, set_up, tear_down);
}
