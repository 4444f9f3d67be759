/*
 * test-choose.c - which stack and which layer a command is about.
 */
#include "choose.h"
#include "dig.h"
#include "rundirs.h"

static void save(struct nl_rundir *rundir, const char *state)
{
    json_t *json = json_loads(state, 0, NULL);

    assert_non_null(json);
    assert_int_equal(nl_rundir_save_state(rundir, json, NULL), 0);
}

static void assert_refused(const char *id, const char *message, const char *hint)
{
    cleanup_error struct nl_error *err = NULL;
    json_t *run = NULL;

    assert_int_equal(nl_choose_run(id, &run, &err), -1);
    assert_null(run);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    if (!strstr(nl_error_message(err), message))
        fail_msg("%s", nl_error_message(err));
    assert_non_null(nl_error_hint(err));
    if (!strstr(nl_error_hint(err), hint))
        fail_msg("%s", nl_error_hint(err));
}

static void assert_chosen(const char *id, const char *expected)
{
    cleanup_json json_t *run = NULL;

    assert_int_equal(nl_choose_run(id, &run, NULL), 0);
    assert_string_equal(nl_dig_string(run, "id", ""), expected);
}

static void test_stack(void **state)
{
    struct nl_rundir *one, *two;
    cleanup_free char *first = NULL;
    cleanup_free char *second = NULL;

    (void)state;
    assert_refused(NULL, "no stack is up", "nestlab up");
    assert_refused("x", "no stack is up", "nestlab up");

    one = create("alpha");
    first = strdup(nl_rundir_id(one));
    assert_chosen(NULL, first);
    assert_chosen("al", first);
    assert_chosen(first, first);
    assert_chosen("", first);
    assert_refused("beta", "\"beta\"", first);
    assert_refused("alphabet", "\"alphabet\"", first);

    two = create("alpha");
    second = strdup(nl_rundir_id(two));
    assert_refused(NULL, first, "say which");
    assert_refused("alpha-", second, "say which");
    assert_chosen(second, second);
    assert_int_equal(nl_rundir_remove(&one, NULL), 0);
    assert_chosen(NULL, second);
    assert_int_equal(nl_rundir_remove(&two, NULL), 0);

    /* A folder that was left behind is no stack. */
    {
        char left[128];

        snprintf(left, sizeof(left), "%s/left-0000", runs);
        assert_int_equal(mkdir(left, 0700), 0);
        assert_refused(NULL, "no stack is up", "nestlab gc");
        assert_refused("left", "no stack is up", "nestlab gc");
    }
}

static void test_layer(void **state)
{
    static const struct {
        const char *state, *name;
        const char *message, *hint; /* NULL: found */
    } cases[] = {
        {"{\"layers\":[{\"name\":\"L0\"},{\"name\":\"L1\"}]}", "L1", NULL, NULL},
        {"{\"layers\":[{\"name\":\"L0\"},{\"name\":\"L1\"}]}", "l1", NULL, NULL},
        {"{\"layers\":[{\"name\":\"L0\"},{\"name\":\"L1\"}]}", "L2", "no layer L2", "L0, L1"},
        {"{\"layers\":[7,{},{\"name\":[]},\"L1\",{\"name\":\"a\\u001b\"}]}", "L1", "no layer L1",
         "a\\x1b"},
        {"{\"layers\":{\"L1\":{}}}", "L1", "no layers yet", "nestlab list"},
        {"{\"layers\":7}", "L1", "no layers yet", "nestlab list"},
        {"{}", "L1", "no layers yet", "nestlab list"},
    };
    struct nl_rundir *rundir = create("x");

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_error struct nl_error *err = NULL;
        cleanup_json json_t *run = NULL;
        const json_t *layer = NULL;
        int rc;

        save(rundir, cases[i].state);
        assert_int_equal(nl_choose_run(NULL, &run, NULL), 0);
        rc = nl_choose_layer(run, cases[i].name, &layer, &err);
        if (!cases[i].message) {
            assert_int_equal(rc, 0);
            assert_string_equal(nl_dig_string(layer, "name", ""), "L1");
            continue;
        }
        assert_int_equal(rc, -1);
        assert_non_null(strstr(nl_error_message(err), cases[i].message));
        assert_non_null(strstr(nl_error_hint(err), cases[i].hint));
    }
    assert_int_equal(nl_rundir_remove(&rundir, NULL), 0);
}

static void test_text(void **state)
{
    cleanup_json json_t *value = json_pack("{s:s, s:i}", "a", "x\x1b[31my", "b", 7);
    cleanup_free char *a = nl_choose_text(value, "a", "?");
    cleanup_free char *b = nl_choose_text(value, "b", "?");
    cleanup_free char *c = nl_choose_text(NULL, "a", "?");

    (void)state;
    assert_null(strchr(a, '\x1b'));
    assert_string_equal(b, "?");
    assert_string_equal(c, "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_stack),
        IN_FOLDER(test_layer),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
