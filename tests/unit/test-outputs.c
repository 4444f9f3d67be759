/*
 * test-outputs.c - what commands write destroys neither what they read nor what else they write:
 * such a request is refused before anything is read or written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cmd.h"
#include "error.h"
#include "outputs.h"

#include <argp.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define FIXTURES NL_SOURCE "/tests/fixtures/"
#define ARGS_MAX 6
#define TEXT_MAX 100000
#define SECONDS_MAX 60 /* of a command: what waits for a pipe that nobody writes is killed */

typedef int command(int argc, char **argv);

struct request {
    command *command;
    const char *args[ARGS_MAX + 1];
    const char *said; /* begins what is on standard error */
};

/* In it are s.json, c1/document.json and h/history.db, names of them, and places for outputs. */
static char folder[] = "/tmp/nl-test-outputs-XXXXXX";

static char *read_text(const char *path)
{
    cleanup_fclose FILE *file = fopen(path, "r");
    char *text = calloc(1, TEXT_MAX);

    assert_non_null(file);
    assert_true(fread(text, 1, TEXT_MAX - 1, file) < TEXT_MAX - 1);
    return text;
}

/* In a child, since argp ends the process on a wrong request. Standard input is s.json; what is
   printed is in "printed" and "said". */
static int run(const struct request *request)
{
    char *argv[ARGS_MAX + 2] = {(char *)"nestlab"};
    int argc = 1;
    int status;
    pid_t pid;

    for (; request->args[argc - 1]; argc++)
        argv[argc] = (char *)request->args[argc - 1];
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        dup2(open("s.json", O_RDONLY | O_CLOEXEC), 0);
        dup2(open("printed", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), 1);
        dup2(open("said", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), 2);
        argp_err_exit_status = NL_EXIT_REQUEST; /* as main.c sets it */
        alarm(SECONDS_MAX);
        exit(request->command(argc, argv));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status))
        fail_msg("%s %s: signal %d", argv[1], argv[2], WTERMSIG(status));
    return WEXITSTATUS(status);
}

static ino_t inode(const char *path)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    return status.st_ino;
}

/* With a message and a hint, and nothing else is done: a file that is written has another inode. */
static void assert_refused(const struct request *requests, size_t n)
{
    static const char *const read[] = {"s.json", "c1/document.json", "h/history.db"};

    for (size_t i = 0; i < n; i++) {
        const struct request *request = &requests[i];
        ino_t before[3];
        cleanup_free char *said = NULL, *printed = NULL;
        int status;

        for (size_t k = 0; k < 3; k++)
            before[k] = inode(read[k]);
        status = run(request);
        said = read_text("said");
        printed = read_text("printed");
        if (status != NL_EXIT_REQUEST || strlen(said) < 9 ||
            strncmp(said + 9, request->said, strlen(request->said)) != 0 || !strstr(said, "hint: "))
            fail_msg("%zu, not \"%s\" but status %d and:\n%s", i, request->said, status, said);
        if (*printed)
            fail_msg("%zu printed:\n%s", i, printed);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(inode(read[k]), before[k]);
        assert_int_not_equal(access("two", F_OK), 0);
        assert_int_not_equal(access("new", F_OK), 0);
    }
}

#define ASSERT_REFUSED(requests) assert_refused(requests, sizeof(requests) / sizeof((requests)[0]))

static void test_read_too(void **state)
{
    static const struct request requests[] = {
        {nl_cmd_report, {"--csv", "s.json", "s.json"}, "--csv s.json: is read, too\n"},
        {nl_cmd_report, {"--html", "./s.json", "s.json"}, "--html ./s.json: is read, too\n"},
        {nl_cmd_report, {"--junit", "link.json", "s.json"}, "--junit link.json: is read"},
        {nl_cmd_report, {"--junit", "s.json", "hard.json"}, "--junit s.json: is read"},
        {nl_cmd_report, {"--csv", "c1/document.json", "c1"}, "--csv c1/document.json: is read"},
        {nl_cmd_report, {"--csv", "s.json", "-"}, "--csv s.json: is read, too"},
        {nl_cmd_compare, {"--csv", "s.json", "s.json", "c1"}, "--csv s.json: is read"},
        {nl_cmd_compare, {"--html", "s.json", "c1", "link.json"}, "--html s.json: is read"},
        {nl_cmd_compare, {"--html", "c1/document.json", "s.json", "."}, "--html c1/document.json"},
        {nl_cmd_history, {"--csv", "h/history.db", "h"}, "--csv h/history.db: is read, too"},
        {nl_cmd_history, {"--html", "h/history.db", "h"}, "--html h/history.db: is read, too"},
        {nl_cmd_history, {"--html", "h/history.db", "./h/", "c1"}, "--html h/history.db: is read"},
        {nl_cmd_history, {"--csv", "c1/document.json", "h", "c1"}, "--csv c1/document.json: is"},
        /* Not there yet, but it would be when the output is written. */
        {nl_cmd_history, {"--csv", "new/history.db", "new", "c1"}, "--csv new/history.db: is read"},
        {nl_cmd_history, {"--csv", "./later.db", "new", "c1"}, "--csv ./later.db: is read"},
    };

    (void)state;
    ASSERT_REFUSED(requests);
}

static void test_one_file(void **state)
{
    static const struct request requests[] = {
        {nl_cmd_report,
         {"--html", "two", "--junit", "two", "c1"},
         "--junit two and --html two are one file"},
        {nl_cmd_report, {"--html", "two", "--csv", "./two", "c1"}, "--html two and --csv ./two"},
        {nl_cmd_report, {"--html", "later", "--csv", "two", "c1"}, "--html later and --csv two"},
        {nl_cmd_report, {"--html", "old", "--csv", "c1/../old", "c1"}, "--html old and --csv c1"},
        {nl_cmd_report, {"--html", "printed", "--text", "c1"}, "--html printed and --text -"},
        {nl_cmd_compare, {"--html", "two", "--csv", "two", "c1", "s.json"}, "--html two and --csv"},
        {nl_cmd_compare, {"--json", "--csv", "printed", "c1", "s.json"}, "--json - and --csv"},
        {nl_cmd_history, {"--html", "two", "--csv", "./two", "h"}, "--html two and --csv ./two"},
        {nl_cmd_report, {"--text", "--csv=-", "c1"}, "--csv and --text: only one report can go"},
        {nl_cmd_report, {"--html=-", "--csv=-", "c1"}, "--html and --csv: only one report"},
        {nl_cmd_compare, {"--json", "--csv=-", "c1", "s.json"}, "--json and --csv: only one"},
        {nl_cmd_history, {"--html=-", "--csv=-", "h"}, "--html and --csv: only one report can go"},
    };

    (void)state;
    ASSERT_REFUSED(requests);
}

static void test_names(void **state)
{
    static const struct request requests[] = {
        {nl_cmd_report, {"--csv", "two", "--csv", "three", "c1"}, "--csv is there twice"},
        {nl_cmd_report, {"--html", "two", "--html", "two", "c1"}, "--html is there twice"},
        {nl_cmd_compare, {"--csv=two", "--csv=three", "c1", "s.json"}, "--csv is there twice"},
        {nl_cmd_history, {"--html=two", "--html=three", "h"}, "--html is there twice"},
        {nl_cmd_history, {"--document=a", "--document=b", "h"}, "--document is there twice"},
        {nl_cmd_report, {"--html", "", "c1"}, "--html: an empty name"},
        {nl_cmd_report, {"--junit=", "c1"}, "--junit: an empty name"},
        {nl_cmd_compare, {"--csv", "", "c1", "s.json"}, "--csv: an empty name"},
        {nl_cmd_history, {"--csv=", "h"}, "--csv: an empty name"},
    };

    (void)state;
    ASSERT_REFUSED(requests);
}

static void test_standard_input_twice(void **state)
{
    static const struct request requests[] = {
        {nl_cmd_report, {"-", "-"}, "- (standard input) is there twice"},
        {nl_cmd_report, {"-", "c1", "-"}, "- (standard input) is there twice"},
        {nl_cmd_compare, {"-", "-"}, "- (standard input) is there twice"},
        {nl_cmd_compare, {"-", "c1", "--with", "-"}, "- (standard input) is there twice"},
        {nl_cmd_history, {"new", "-", "-"}, "- (standard input) is there twice"},
        {nl_cmd_diagnose, {"-", "-"}, "- (standard input) is there twice"},
    };

    (void)state;
    ASSERT_REFUSED(requests);
}

/* What loses nothing goes on. */
static void test_allowed(void **state)
{
    static const struct request requests[] = {
        {nl_cmd_report, {"--html", "old", "--csv", "three", "c1"}, NULL},
        {nl_cmd_report, {"--html", "old", "--text", "c1"}, NULL},
        {nl_cmd_report, {"--html", "/dev/null", "--csv", "/dev/null", "c1"}, NULL},
        {nl_cmd_report, {"--csv", "old", "-"}, NULL},
        {nl_cmd_report, {"-", "c1"}, NULL},
        {nl_cmd_history, {"--html", "old", "--csv", "three", "h", "c1"}, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        int status = run(&requests[i]);
        cleanup_free char *said = read_text("said");

        if (status != NL_EXIT_PASSED)
            fail_msg("%zu: status %d\n%s", i, status, said);
    }
    unlink("three");
}

/* A pipe in a folder is no document, and nobody waits for it; one that the user names is read. */
static void test_pipe(void **state)
{
    static const struct request in_folder = {nl_cmd_report, {"pipes"}, NULL};
    static const struct request named = {nl_cmd_report, {"pipes/document.json"}, NULL};
    cleanup_free char *said = NULL, *document = read_text("s.json");
    pid_t writer;

    (void)state;
    assert_int_equal(run(&in_folder), NL_EXIT_REQUEST);
    said = read_text("said");
    assert_non_null(strstr(said, "pipes: a folder without a document.json"));
    writer = fork();
    if (writer == 0) {
        cleanup_fclose FILE *pipe = fopen("pipes/document.json", "w");

        alarm(SECONDS_MAX);
        _exit(fputs(document, pipe) == EOF || fflush(pipe) != 0);
    }
    assert_int_equal(run(&named), NL_EXIT_PASSED);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
}

static void test_print(void **state)
{
    struct nl_output outputs[] = {{.option = "--html"}, {.option = "--csv"}, {0}};

    (void)state;
    assert_false(nl_outputs_print(outputs));
    nl_output_name(&outputs[0], "file");
    assert_false(nl_outputs_print(outputs));
    nl_output_name(&outputs[1], "-");
    assert_true(nl_outputs_print(outputs));
}

static int copy(const char *from, const char *to)
{
    cleanup_json json_t *document = json_load_file(from, 0, NULL);

    return json_dump_file(document, to, 0);
}

static int set_up(void **state)
{
    static const struct request add = {nl_cmd_history, {"h", "s.json"}, NULL};

    (void)state;
    setenv("NESTLAB_DATA", NL_SOURCE, 1);
    if (!mkdtemp(folder) || chdir(folder) < 0 || mkdir("c1", 0700) < 0 || mkdir("pipes", 0700) < 0)
        return -1;
    if (copy(FIXTURES "passed.json", "s.json") < 0 || copy("s.json", "c1/document.json") < 0 ||
        mkfifo("pipes/document.json", 0600) < 0 || close(creat("old", 0600)) < 0 ||
        symlink("s.json", "link.json") < 0 || link("s.json", "hard.json") < 0 ||
        symlink("two", "later") < 0 || symlink("new/history.db", "later.db") < 0)
        return -1;
    return run(&add);
}

/* Fails if a test left a file behind. */
static int tear_down(void **state)
{
    static const char *const files[] = {
        "s.json",    "c1/document.json", "h/history.db", "pipes/document.json",
        "link.json", "hard.json",        "later",        "later.db",
        "old",       "printed",          "said",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        unlink(files[i]);
    return rmdir("c1") + rmdir("h") + rmdir("pipes") + chdir("/") + rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_too), cmocka_unit_test(test_one_file),
        cmocka_unit_test(test_names),    cmocka_unit_test(test_standard_input_twice),
        cmocka_unit_test(test_allowed),  cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_print),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
