/*
 * test-cmd-run.c - what `nestlab run`, `up` and `profile` refuse before anything boots.
 */
#include "cmd.h"
#include "folder.h"
#include "store.h"

#include "command.h"

#include <sys/stat.h>

static const char scenario[] =
    "{\"name\": \"t\", \"layers\": [{\"image\": \"hypervisor\"}, {\"image\": \"leaf\"}]}";

/* What a run that begins says here, where it can have no run folder. */
static const char begun[] = "NESTLAB_RUNS is not usable";

static void write_scenario(const char *name)
{
    cleanup_free char *path = in_base(name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(scenario, file);
    fclose(file);
}

/* The exit status of COMMAND with words from LINE, in the test's folder; TEXT gets all it said.
   What the child has of this is not on the heap: argp's exit would leak it. */
static int call(int (*command)(int, char **), const char *line, char **text)
{
    cleanup_free char *output = in_base("output");
    char words[200];
    const char *args[12] = {NULL};
    int n = 0, status;

    assert_int_equal(chdir(base), 0);
    setenv("NESTLAB_RUNS", "runs", 1); /* must be absolute */
    snprintf(words, sizeof(words), "%s", line);
    for (char *word = strtok(words, " "); word && n < 11; word = strtok(NULL, " "))
        args[n++] = word;
    status =
        call_command(&(struct command_call){command, "nestlab x", NULL, output, false}, args, 11);
    free(*text);
    *text = read_text(output);
    return status;
}

static void assert_said(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in \"%s\"", part, text);
}

static void assert_not_said(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" in \"%s\"", part, text);
}

static bool has_agent(void)
{
    cleanup_free char *agent = NULL;

    return nl_store_find_program("nestlab-agent", &agent, NULL) == 0;
}

/* Not after the first one has run for minutes. */
static void test_all_are_read_first(void **state)
{
    static const char *const wrong[][2] = {
        {"a.json missing.json", "missing.json: No such file"},
        {"a.json . b.json", ".: is not a regular file"},
        {"--kernel L7=x a.json", "L7"},
        {"--out output a.json", "output is no folder"},
        {"--out= a.json", "a folder needs a name"},
        {"--out= a.json b.json", "a folder needs a name"},
        {"--out output/x a.json b.json", "cannot make the folder output/x/1-a: Not a directory"},
    };
    cleanup_free char *text = NULL;

    (void)state;
    write_scenario("a.json");
    write_scenario("b.json");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(call(nl_cmd_run, wrong[i][0], &text), NL_EXIT_REQUEST);
        assert_said(text, wrong[i][1]);
        assert_not_said(text, begun);
    }
    /* All that is wrong, not the first only. */
    assert_int_equal(call(nl_cmd_run, "x.json a.json y.json", &text), NL_EXIT_REQUEST);
    assert_said(text, "x.json");
    assert_said(text, "y.json");
}

static void test_what_is_right_begins(void **state)
{
    cleanup_free char *text = NULL;
    cleanup_free char *out = NULL;
    struct stat st;

    (void)state;
    /* A run begins with the store, which has the agent; a build with sanitizers has none. */
    if (!has_agent())
        skip();
    out = in_base("out");
    setenv("XDG_CACHE_HOME", base, 1);
    write_scenario("a.json");
    write_scenario("b.json");
    assert_int_equal(call(nl_cmd_run, "--out out/deep a.json", &text), NL_EXIT_REQUEST);
    assert_said(text, begun);
    assert_not_said(text, "exit status");
    assert_int_equal(stat(out, &st), -1);
    assert_int_equal(call(nl_cmd_run, "a.json b.json", &text), NL_EXIT_REQUEST);
    assert_said(text, "exit status 2, the request was wrong: a.json, b.json; 0 of 2 passed");
    assert_int_equal(call(nl_cmd_up, "a.json", &text), NL_EXIT_REQUEST);
    assert_said(text, begun);
}

/* A space where an = must be. */
static void test_names_after_meter(void **state)
{
    cleanup_free char *text = NULL;

    (void)state;
    if (!has_agent())
        skip();
    write_scenario("a.json");
    assert_int_equal(call(nl_cmd_run, "--meter cpuid a.json", &text), NL_EXIT_REQUEST);
    assert_said(text, "did you mean --meter=cpuid?");
    assert_not_said(text, begun);
    assert_int_equal(call(nl_cmd_validate, "--meter all a.json", &text), NL_EXIT_REQUEST);
    assert_said(text, "did you mean --meter=all?");
    assert_int_equal(call(nl_cmd_run, "--meter cpuid,syscall a.json", &text), NL_EXIT_REQUEST);
    assert_said(text, "did you mean --meter=cpuid,syscall?");
    assert_int_equal(call(nl_cmd_run, "--meter cpuid.json a.json", &text), NL_EXIT_REQUEST);
    assert_not_said(text, "did you mean");
    assert_int_equal(call(nl_cmd_run, "--meter= a.json", &text), NL_EXIT_REQUEST);
    assert_said(text, "--meter=: names no benchmark; allowed: --meter alone, names as in");
    assert_not_said(text, begun);
    assert_int_equal(call(nl_cmd_run, "--meter=cpuid syscall a.json", &text), NL_EXIT_REQUEST);
    assert_not_said(text, "did you mean");
}

/* Operands in another order, or of another kind. */
static void test_hints_of_profile(void **state)
{
    static const char *const said[][2] = {
        {"cpuid syscall", "it profiles one benchmark at a time"},
        {"a.json cpuid", "did you mean `nestlab profile cpuid a.json`?"},
        {"none.json cpuid", "did you mean `nestlab profile cpuid none.json`?"},
        {"a.json all", "first comes one benchmark"},
        {"cpuid a.json --at l1", "did you mean L1?"},
        {"cpuid a.json --at inermost", "did you mean innermost?"},
    };
    cleanup_free char *text = NULL;

    (void)state;
    /* The agent has the list of benchmarks. */
    if (!has_agent())
        skip();
    write_scenario("a.json");
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        assert_int_equal(call(nl_cmd_profile, said[i][0], &text), NL_EXIT_REQUEST);
        assert_said(text, said[i][1]);
        assert_not_said(text, begun);
    }
    assert_int_equal(call(nl_cmd_profile, "cpuid a.json --at L9", &text), NL_EXIT_REQUEST);
    assert_not_said(text, "did you mean");
}

/* A command does not take what it would have to ignore, and says why. */
static void test_options_of_others(void **state)
{
    static const char *const wrong[] = {"--meter", "--meter=cpuid", "--exit-reasons",
                                        "--no-benchmarks"};
    cleanup_free char *text = NULL;

    (void)state;
    write_scenario("a.json");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char profile[80], up[80];

        snprintf(profile, sizeof(profile), "%s cpuid a.json", wrong[i]);
        snprintf(up, sizeof(up), "%s a.json", wrong[i]);
        assert_int_equal(call(nl_cmd_profile, profile, &text), NL_EXIT_REQUEST);
        assert_said(text, "is not for this command: it meters the one benchmark");
        assert_int_equal(call(nl_cmd_up, up, &text), NL_EXIT_REQUEST);
        assert_said(text, "is not for this command: it measures nothing");
    }
    assert_int_equal(call(nl_cmd_profile, "--l0=local cpuid a.json", &text), NL_EXIT_REQUEST);
    assert_said(text, "--l0 is not for this command");
    assert_int_equal(call(nl_cmd_profile, "--help", &text), 0);
    assert_said(text, "--depth");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_not_said(text, wrong[i]);
    assert_not_said(text, "--l0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_all_are_read_first), IN_FOLDER(test_what_is_right_begins),
        IN_FOLDER(test_names_after_meter),  IN_FOLDER(test_options_of_others),
        IN_FOLDER(test_hints_of_profile),
    };

    return cmocka_run_group_tests_name("cmd-run", tests, NULL, NULL);
}
