/*
 * test-scenario-override.c - what the command line changes in a scenario, and the options for it.
 */
#include "args-overrides.h"
#include "bzimage.h"
#include "folders.h"
#include "store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

static char folder[] = "/tmp/nl-test-override-XXXXXX";
static char home[4096];

/* The working directory is what relative paths on the command line are relative to. */
static int set_up(void **state)
{
    const char *const names[] = {"linux.deb", "qemu.deb"};

    (void)state;
    assert_non_null(getcwd(home, sizeof(home)));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cleanup_fclose FILE *file = fopen(names[i], "w");
        assert_non_null(file);
    }
    put_bzimage("bzImage", "6.6.6", 'x');
    put_bzimage("own.bin", "6.6.6", 'y');
    assert_int_equal(mkdir("scenarios", 0700), 0);
    return nl_make_folders("modules/lib/modules/6.6.6", NL_EXIT_LAB, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(chdir(home), 0);
    return nl_remove_tree(folder, NULL);
}

static const char three[] =
    "{\"name\": \"t\", \"layers\": [{\"image\": \"hypervisor\", \"cpu\": \"EPYC\","
    " \"machine\": \"q35\"}, {\"image\": \"hypervisor\", \"memory_mib\": 600, \"vcpus\": 2,"
    " \"kernel\": {\"image\": \"../bzImage\", \"modules\": \"../modules\"}}, {\"image\": "
    "\"leaf\"}],"
    " \"benchmarks\": {\"names\": \"all\", \"layers\": [\"innermost\"]}}";

static const char two[] = "{\"name\": \"t\", \"layers\": [{\"image\": \"hypervisor\", \"cpu\":"
                          " \"EPYC\", \"nested\": false}, {\"image\": \"leaf\"}]}";

static int parse(const char *text, const struct nl_overrides *overrides,
                 struct nl_scenario **scenario, struct nl_error **err)
{
    return nl_scenario_parse(text, strlen(text), "scenarios/s.json", overrides, scenario, err);
}

static struct nl_scenario *parse_good(const char *text, const struct nl_overrides *overrides)
{
    cleanup_error struct nl_error *err = NULL;
    struct nl_scenario *scenario = NULL;

    if (parse(text, overrides, &scenario, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    return scenario;
}

static struct nl_scenario *assign(char **assignments)
{
    const struct nl_overrides overrides = {.depth = -1, .assignments = assignments};

    return parse_good(three, &overrides);
}

static void test_nothing(void **state)
{
    const struct nl_overrides overrides = {.depth = -1};
    cleanup_scenario struct nl_scenario *s = parse_good(three, &overrides);
    cleanup_scenario struct nl_scenario *plain = parse_good(three, NULL);
    cleanup_json json_t *changed = nl_scenario_to_json(s);
    cleanup_json json_t *unchanged = nl_scenario_to_json(plain);

    (void)state;
    assert_true(json_equal(changed, unchanged));
}

static void test_whole(void **state)
{
    const struct nl_overrides overrides = {
        .depth = -1, .l0 = "emulated", .timeout_s = 12.5, .no_benchmarks = true};
    cleanup_scenario struct nl_scenario *s = parse_good(three, &overrides);

    (void)state;
    assert_string_equal(s->l0, "emulated");
    assert_true(s->timeouts.total_s == 12.5);
    assert_true(s->timeouts.boot_s == 240);
    assert_null(s->benchmarks.names);
}

static void test_deeper(void **state)
{
    const struct nl_overrides overrides = {.depth = 5};
    cleanup_scenario struct nl_scenario *s = parse_good(three, &overrides);

    (void)state;
    assert_int_equal(s->n_layers, 6);
    for (int i = 1; i < 5; i++) {
        assert_string_equal(s->layers[i].image, "hypervisor");
        assert_int_equal(s->layers[i].vcpus, 2);
        assert_non_null(strstr(s->layers[i].kernel.image, "/bzImage"));
        assert_true(s->layers[i].memory_mib >= s->layers[i + 1].memory_mib + 256);
    }
    assert_true(s->layers[0].memory_mib >= s->layers[1].memory_mib + 256);
    assert_int_equal(s->layers[0].vcpus, 1);
    assert_string_equal(s->layers[5].image, "leaf");
    assert_string_equal(s->layers[5].name, "L5");
    assert_string_equal(s->layers[3].name, "L3");
    assert_string_equal(s->benchmarks.layers[0], "L5");
}

/* What is chosen for TCG at L0 does not fit a copy of it that runs under KVM. */
static void test_deeper_from_l0(void **state)
{
    const struct nl_overrides overrides = {.depth = 2};
    cleanup_scenario struct nl_scenario *s = parse_good(two, &overrides);

    (void)state;
    assert_int_equal(s->n_layers, 3);
    assert_string_equal(s->layers[0].cpu, "EPYC");
    assert_null(s->layers[1].cpu);
    assert_false(s->layers[1].nested);
    assert_string_equal(s->layers[2].image, "leaf");
    assert_true(s->layers[2].nested);
}

static void test_shallower(void **state)
{
    const struct nl_overrides one = {.depth = 1}, zero = {.depth = 0}, same = {.depth = 2};
    cleanup_scenario struct nl_scenario *s = parse_good(three, &one);
    cleanup_scenario struct nl_scenario *bare = parse_good(three, &zero);
    cleanup_scenario struct nl_scenario *unchanged = parse_good(three, &same);

    (void)state;
    assert_int_equal(s->n_layers, 2);
    assert_string_equal(s->layers[0].cpu, "EPYC");
    assert_string_equal(s->layers[1].image, "leaf");
    assert_string_equal(s->layers[1].name, "L1");
    assert_string_equal(s->benchmarks.layers[0], "L1");
    assert_int_equal(bare->n_layers, 1);
    assert_string_equal(bare->layers[0].image, "hypervisor");
    assert_int_equal(unchanged->n_layers, 3);
    assert_int_equal(unchanged->layers[1].memory_mib, 600);
}

static void test_assignments(void **state)
{
    char *assignments[] = {"modules:L0=modules",    "kernel:L0=own.bin",   "kernel:L1=linux.deb",
                           "kernel-arg:L1=a=b c=d", "kernel-arg:L1=quiet", "deb:L0=qemu.deb",
                           "deb:L0=linux.deb",      "qemu:L1=/opt/qemu",   "machine:L1=q35",
                           "cpu:L1=host-model",     "memory:L0=2G",        "memory:L1=1024M",
                           "memory:L2=300",         "vcpus:innermost=3",   NULL};
    cleanup_scenario struct nl_scenario *s = assign(assignments);
    cleanup_free char *own = NULL;

    (void)state;
    assert_true(asprintf(&own, "%s/own.bin", folder) > 0);
    assert_string_equal(s->layers[0].kernel.image, own);
    assert_non_null(strstr(s->layers[0].kernel.modules, "/modules"));
    assert_non_null(strstr(s->layers[1].kernel.deb, "/linux.deb"));
    /* The scenario's own kernel and its modules are gone. */
    assert_null(s->layers[1].kernel.image);
    assert_null(s->layers[1].kernel.modules);
    assert_string_equal(s->layers[1].kernel_args[0], "a=b c=d");
    assert_string_equal(s->layers[1].kernel_args[1], "quiet");
    assert_null(s->layers[1].kernel_args[2]);
    assert_non_null(strstr(s->layers[0].debs[1], "/linux.deb"));
    assert_string_equal(s->layers[1].emulator, "/opt/qemu");
    assert_string_equal(s->layers[1].machine, "q35");
    assert_string_equal(s->layers[1].cpu, "host-model");
    assert_int_equal(s->layers[0].memory_mib, 2048);
    assert_int_equal(s->layers[1].memory_mib, 1024);
    assert_int_equal(s->layers[2].memory_mib, 300);
    assert_int_equal(s->layers[2].vcpus, 3);
}

static const struct {
    const char *assignment, *message;
} bad[] = {
    {"kernel:L1", "--kernel L1: names no layer; allowed: --kernel LAYER=PATH"},
    {"kernel:L3=bzImage",
     "--kernel L3=bzImage: there is no layer \"L3\"; allowed: L0 to L2, innermost"},
    {"kernel:=bzImage", "there is no layer \"\""},
    {"kernel:L1=none", "--kernel L1=none: /"},
    {"kernel:L1=modules", "is not a regular file"},
    {"kernel:L1=", "--kernel L1=: is empty"},
    {"kernel:L1=/etc/passwd", "--kernel L1=/etc/passwd: /etc/passwd is not a bzImage"},
    {"modules:L0=modules", "--modules L0=modules: L0 has no bzImage of your own"},
    {"modules:L1=scenarios", "layers[1].kernel.modules: /"},
    {"deb:L1=none.deb", "--deb L1=none.deb: /"},
    {"deb:L1=bzImage", "allowed: a file named *.deb"},
    {"kernel-arg:L1=a\nb", "is not allowed; allowed: text without control characters"},
    {"kernel-arg:L1=\xff", "is not UTF-8 text"},
    {"qemu:L1=qemu", "\"qemu\" is not allowed; allowed: an absolute path"},
    {"qemu:L0=/no/qemu", "layers[0].emulator: /no/qemu: No such file"},
    {"cpu:L0=host-passthrough", "layers[0].cpu: \"host-passthrough\" needs KVM"},
    {"cpu:L1=a b", "--cpu L1=a b: \"a b\" is not allowed"},
    {"memory:L1=lots", "--memory L1=lots: is not a size; allowed: MiB"},
    {"memory:L1=2T", "is not a size"},
    {"memory:L1=", "is not a size"},
    {"memory:L1=99999999999999999999", "is not a size"},
    {"memory:L1=9223372036854775807G", "is not a size"},
    {"memory:L1=63", "63 is out of range; allowed: 64 to 4194304"},
    {"memory:L2=599", "layers[1].memory_mib: L1 has 600 MiB, too little for L2 with 599"},
    {"vcpus:L1=0", "--vcpus L1=0: 0 is out of range; allowed: 1 to 64"},
    {"vcpus:L1=two", "--vcpus L1=two: must be a whole number"},
    {"colour:L1=red", "is no assignment"},
    {"", "is no assignment"},
};

static void test_bad_assignments(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cleanup_free char *copy = strdup(bad[i].assignment);
        char *assignments[] = {copy, NULL};
        const struct nl_overrides overrides = {.depth = -1, .assignments = assignments};
        cleanup_scenario struct nl_scenario *s = NULL;
        cleanup_error struct nl_error *err = NULL;
        if (parse(three, &overrides, &s, &err) == 0)
            fail_msg("accepted: %s", bad[i].assignment);
        assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
        if (!strstr(nl_error_message(err), bad[i].message))
            fail_msg("%s\ninstead of %s\nfor %s", nl_error_message(err), bad[i].message,
                     bad[i].assignment);
    }
}

static void test_bad_wholes(void **state)
{
    const struct {
        const char *text;
        struct nl_overrides overrides;
        const char *message;
    } cases[] = {
        {three, {.depth = 16}, "--depth 16: is too deep; allowed: 0 to 15"},
        {three,
         {.depth = -1, .l0 = "remote"},
         "--l0: \"remote\" is not allowed; allowed: \"auto\""},
        {three, {.depth = -1, .l0 = "local"}, "layers[0].cpu: cannot be changed"},
        {three, {.depth = -1, .timeout_s = 0.5}, "--timeout: 0.5 is out of range"},
        {"{\"name\": \"t\", \"layers\": [{\"image\": \"leaf\"}]}",
         {.depth = 1},
         "has only L0, nothing to make copies of"},
        {"{\"name\": \"t\", \"layers\": [{\"image\": \"hypervisor\"}, {\"image\": \"leaf\"}],"
         " \"commands\": [{\"name\": \"c\", \"layer\": \"L1\", \"argv\": [\"x\"]}]}",
         {.depth = 0},
         "s.json (as the options change it): commands[0].layer: there is no layer \"L1\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_scenario struct nl_scenario *s = NULL;
        cleanup_error struct nl_error *err = NULL;
        assert_int_equal(parse(cases[i].text, &cases[i].overrides, &s, &err), -1);
        if (!strstr(nl_error_message(err), cases[i].message))
            fail_msg("%s\ninstead of %s", nl_error_message(err), cases[i].message);
    }
}

static error_t parse_parent(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

static error_t parse_options(int argc, char **argv, struct nl_override_args *args)
{
    static const struct argp_child children[] = {{.argp = &nl_overrides_argp}, {0}};
    static const struct argp argp = {.parser = parse_parent, .children = children};

    return argp_parse(&argp, argc, argv, ARGP_SILENT, NULL, args);
}

static struct nl_scenario *metered(const char *text, const char *names, bool no_benchmarks)
{
    const struct nl_overrides overrides = {
        .depth = -1, .meter = names, .no_benchmarks = no_benchmarks};

    return parse_good(text, &overrides);
}

static void test_meter(void **state)
{
    static const char benchmarked[] =
        "{\"name\": \"t\", \"layers\": [{\"image\": \"hypervisor\"}, {\"image\": \"leaf\"}],"
        " \"benchmarks\": {\"names\": [\"rdtsc\", \"cpuid\"]}}";
    static const char own[] =
        "{\"name\": \"t\", \"layers\": [{\"image\": \"hypervisor\"}, {\"image\": \"leaf\"}],"
        " \"meter\": {\"benchmarks\": [\"ipi\"], \"samples\": 33, \"layers\": [\"innermost\"]}}";
    cleanup_scenario struct nl_scenario *all = metered(two, "", false);
    cleanup_scenario struct nl_scenario *same = metered(benchmarked, "", true);
    cleanup_scenario struct nl_scenario *named = metered(benchmarked, "syscall,exec", false);
    cleanup_scenario struct nl_scenario *kept = metered(own, "", false);
    cleanup_scenario struct nl_scenario *changed = metered(own, "all", false);
    cleanup_scenario struct nl_scenario *dropped = metered(own, NULL, true);

    (void)state;
    assert_string_equal(all->meter.benchmarks[0], "all");
    assert_int_equal(all->meter.samples, 101);
    assert_string_equal(same->meter.benchmarks[0], "rdtsc");
    assert_string_equal(same->meter.benchmarks[1], "cpuid");
    assert_null(same->meter.benchmarks[2]);
    assert_null(same->benchmarks.names);
    assert_string_equal(named->meter.benchmarks[0], "syscall");
    assert_string_equal(named->meter.benchmarks[1], "exec");
    assert_string_equal(named->benchmarks.names[0], "rdtsc");
    assert_string_equal(kept->meter.benchmarks[0], "ipi");
    assert_string_equal(changed->meter.benchmarks[0], "all");
    assert_int_equal(changed->meter.samples, 33);
    assert_string_equal(changed->meter.layers[0], "L1");
    assert_null(dropped->meter.benchmarks);
}

static void test_bad_meter(void **state)
{
    const struct nl_overrides two_vcpus = {.depth = -1, .meter = ""};
    const struct nl_overrides no_name = {.depth = -1, .meter = "a b"};
    cleanup_error struct nl_error *vcpus = NULL;
    cleanup_error struct nl_error *name = NULL;
    struct nl_scenario *s = NULL;

    (void)state;
    assert_int_equal(parse(three, &two_vcpus, &s, &vcpus), -1);
    assert_non_null(strstr(nl_error_message(vcpus), "L1 has 2 vCPUs"));
    assert_int_equal(parse(two, &no_name, &s, &name), -1);
    assert_non_null(strstr(nl_error_message(name), "--meter"));
}

/* All the way from the options to the scenario: the keys of both sides have to agree. */
static void test_options(void **state)
{
    char *argv[] = {"t",
                    "--l0=emulated",
                    "--depth",
                    "3",
                    "--timeout=99.5",
                    "--no-benchmarks",
                    "--kernel",
                    "L1=bzImage",
                    "--modules=L1=modules",
                    "--kernel-arg=L0=a",
                    "--kernel-arg=L0=b",
                    "--deb=L0=qemu.deb",
                    "--qemu=L2=/q",
                    "--machine=L2=pc",
                    "--cpu=L2=EPYC",
                    "--memory=L0=9G",
                    "--vcpus=L3=4"};
    cleanup_override_args struct nl_override_args args = NL_OVERRIDE_ARGS_INIT;

    (void)state;
    assert_int_equal(parse_options(sizeof(argv) / sizeof(argv[0]), argv, &args), 0);
    cleanup_scenario struct nl_scenario *s = parse_good(three, &args.overrides);
    assert_string_equal(s->l0, "emulated");
    assert_int_equal(s->n_layers, 4);
    assert_true(s->timeouts.total_s == 99.5);
    assert_null(s->benchmarks.names);
    assert_non_null(s->layers[1].kernel.image);
    assert_non_null(s->layers[1].kernel.modules);
    assert_string_equal(s->layers[0].kernel_args[1], "b");
    assert_non_null(s->layers[0].debs[0]);
    assert_string_equal(s->layers[2].emulator, "/q");
    assert_string_equal(s->layers[2].machine, "pc");
    assert_string_equal(s->layers[2].cpu, "EPYC");
    assert_int_equal(s->layers[0].memory_mib, 9216);
    assert_int_equal(s->layers[3].vcpus, 4);
}

/* What is wrong with --exit-reasons for a stack of LAYERS with REST; the hint has HINT. */
static void assert_no_exit_reasons(const char *rest, bool no_benchmarks, const char *hint)
{
    const struct nl_overrides overrides = {
        .depth = -1, .exit_reasons = true, .no_benchmarks = no_benchmarks};
    cleanup_scenario struct nl_scenario *s = NULL;
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *text = NULL;

    assert_true(asprintf(&text, "{\"name\": \"t\", %s}", rest) > 0);
    assert_int_equal(parse(text, &overrides, &s, &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    if (!strstr(nl_error_message(err), "--exit-reasons: nothing would be counted") ||
        !nl_error_hint(err) || !strstr(nl_error_hint(err), hint))
        fail_msg("%s (hint: %s)", nl_error_message(err), nl_error_hint(err));
}

static void test_exit_reasons(void **state)
{
    static const char one[] = "\"layers\": [{\"image\": \"leaf\"}]";
    static const char inside[] =
        "\"layers\": [{\"image\": \"hypervisor\"}, {\"image\": \"leaf\"}], "
        "\"benchmarks\": {\"names\": \"all\", \"layers\": [\"innermost\"]}";
    char *argv[] = {"t", "--exit-reasons"};
    cleanup_override_args struct nl_override_args args = NL_OVERRIDE_ARGS_INIT;
    cleanup_free char *text = NULL, *all = NULL, *outermost = NULL;
    cleanup_scenario struct nl_scenario *s = NULL;

    (void)state;
    assert_int_equal(parse_options(2, argv, &args), 0);
    assert_true(asprintf(&text, "{\"name\": \"t\", %s}", inside) > 0);
    assert_int_equal(parse(text, &args.overrides, &s, NULL), 0);
    assert_true(s->benchmarks.exit_reasons);
    assert_no_exit_reasons(one, false, "\"benchmarks\"");
    assert_no_exit_reasons(inside, true, "--no-benchmarks");
    /* L0 is nobody's guest. */
    assert_true(asprintf(&all, "%s, \"benchmarks\": {\"names\": \"all\"}", one) > 0);
    assert_no_exit_reasons(all, false, "L1");
    assert_true(asprintf(&outermost, "\"layers\": [{\"image\": \"hypervisor\"}, {\"image\": "
                                     "\"leaf\"}], \"benchmarks\": {\"names\": \"all\", "
                                     "\"layers\": [\"L0\"]}") > 0);
    assert_no_exit_reasons(outermost, false, "L1");
}

static void test_bad_options(void **state)
{
    char *const cases[] = {
        "--depth=-1",    "--depth=two",   "--depth=",     "--depth=16",     "--timeout=0",
        "--timeout=nan", "--timeout=inf", "--timeout=5s", "--colour=L1=red"};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *argv[] = {"t", cases[i]};
        cleanup_override_args struct nl_override_args args = NL_OVERRIDE_ARGS_INIT;
        if (parse_options(2, argv, &args) == 0)
            fail_msg("accepted: %s", cases[i]);
    }
}

static void test_no_options(void **state)
{
    char *argv[] = {"t"};
    cleanup_override_args struct nl_override_args args = NL_OVERRIDE_ARGS_INIT;

    (void)state;
    assert_int_equal(parse_options(1, argv, &args), 0);
    assert_int_equal(args.overrides.depth, -1);
    assert_null(args.overrides.assignments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),         cmocka_unit_test(test_whole),
        cmocka_unit_test(test_deeper),          cmocka_unit_test(test_deeper_from_l0),
        cmocka_unit_test(test_shallower),       cmocka_unit_test(test_assignments),
        cmocka_unit_test(test_bad_assignments), cmocka_unit_test(test_bad_wholes),
        cmocka_unit_test(test_options),         cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_no_options),      cmocka_unit_test(test_meter),
        cmocka_unit_test(test_bad_meter),       cmocka_unit_test(test_exit_reasons),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
