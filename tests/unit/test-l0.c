/*
 * test-l0.c - where L0 is, by what an agent says of this machine: a script in its place.
 */
#include "l0.h"
#include "folder.h"

#include <sys/stat.h>

static char *agent_that_prints(const char *text)
{
    char *path = in_base("agent");
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(file, "#!/bin/sh\ncat <<'END'\n%s\nEND\n", text);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

/* What says why not, in the order in which it is looked at. */
static void test_reasons(void **state)
{
    static const struct {
        const char *facts;
        const char *reason;
    } known[] = {
        {"{}", "no /dev/kvm"},
        {"[]", "no /dev/kvm"},
        {"{\"kvm\": {\"device\": {\"exists\": true, \"error\": \"EACCES\"}}}", "EACCES"},
        {"{\"kvm\": {\"device\": {\"exists\": true, \"opens\": true},"
         " \"guest\": {\"ran\": false, \"error\": \"too slow\"}}}",
         "too slow"},
        {"{\"kvm\": {\"device\": {\"exists\": true, \"opens\": true}, \"guest\": {\"ran\": true,"
         " \"loop_ns\": 160.0, \"loop_ns_outside\": 0.4}}, \"cpuid\": {\"svm\": true}}",
         "400 times as long"},
        {"{\"kvm\": {\"device\": {\"exists\": true, \"opens\": true}, \"guest\": {\"ran\": true}}}",
         "neither svm nor vmx"},
        {"{\"kvm\": {\"device\": {\"exists\": true, \"opens\": true}, \"guest\": {\"ran\": true}},"
         " \"cpuid\": {\"svm\": true}, \"modules\": {\"kvm_amd\": {\"parameters\":"
         " {\"nested\": \"0\"}}}}",
         "nesting is off"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        cleanup_free char *agent = agent_that_prints(known[i].facts);
        cleanup_error struct nl_error *err = NULL;
        cleanup_free char *why = NULL;
        bool local = true;

        assert_int_equal(nl_l0_choose("auto", agent, &local, &why, &err), 0);
        assert_false(local);
        assert_non_null(strstr(why, known[i].reason));
        assert_int_equal(nl_l0_choose("local", agent, &local, &why, &err), -1);
        assert_non_null(strstr(nl_error_message(err), known[i].reason));
        assert_non_null(nl_error_hint(err));
    }
}

static void test_local_where_all_is_there(void **state)
{
    cleanup_free char *agent = agent_that_prints(
        "{\"kvm\": {\"device\": {\"exists\": true, \"opens\": true}, \"guest\": {\"ran\": true}},"
        " \"cpuid\": {\"vmx\": true}, \"modules\": {\"kvm_intel\": {\"parameters\":"
        " {\"nested\": \"Y\"}}}}");
    cleanup_free char *why = NULL;
    bool local = false;

    (void)state;
    assert_int_equal(nl_l0_choose("auto", agent, &local, &why, NULL), 0);
    assert_true(local);
}

/* An emulated L0 needs nothing of this machine's KVM, not even that it can be looked at. */
static void test_auto_does_without_facts(void **state)
{
    cleanup_free char *agent = agent_that_prints("no JSON");
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *why = NULL;
    bool local = true;

    (void)state;
    assert_int_equal(nl_l0_choose("auto", agent, &local, &why, &err), 0);
    assert_false(local);
    assert_null(err);
    assert_non_null(strstr(why, "printed no JSON"));
    free(nl_steal(&why));
    assert_int_equal(nl_l0_choose("auto", agent, &local, &why, NULL), 0);
    assert_int_equal(nl_l0_choose("local", agent, &local, &why, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_reasons),
        IN_FOLDER(test_local_where_all_is_there),
        IN_FOLDER(test_auto_does_without_facts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
