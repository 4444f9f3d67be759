/*
 * test-scenario.c - reading, validating and writing scenarios.
 */
#include "bzimage.h"
#include "folders.h"
#include "request.h"
#include "store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#define SHIPPED "scenarios/"
#define TWO "{\"name\": \"t\", \"layers\": [{\"image\": \"hypervisor\"}, {\"image\": \"leaf\"}]"

#define FAULT(layer, fault)                                                                        \
    TWO ", \"faults\": [{\"layer\": \"" layer "\", \"fault\": \"" fault "\"}"

static char folder[] = "/tmp/nl-test-scenario-XXXXXX";

static void touch(const char *name)
{
    cleanup_free char *path = NULL;

    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    cleanup_fclose FILE *file = fopen(path, "w");
    assert_non_null(file);
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    touch("linux.deb");
    touch("qemu.deb");
    touch("test.sh");
    cleanup_free char *path = NULL, *modules = NULL;
    assert_true(asprintf(&path, "%s/bzImage", folder) > 0);
    put_bzimage(path, "6.6.6", 'x');
    assert_true(asprintf(&modules, "%s/modules/lib/modules/6.6.6", folder) > 0);
    return nl_make_folders(modules, NL_EXIT_LAB, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    return nl_remove_tree(folder, NULL);
}

/* Parse TEXT as if it were FOLDER/s.json. */
static int parse(const char *text, struct nl_scenario **scenario, struct nl_error **err)
{
    cleanup_free char *path = NULL;

    assert_true(asprintf(&path, "%s/s.json", folder) > 0);
    return nl_scenario_parse(text, strlen(text), path, NULL, scenario, err);
}

static struct nl_scenario *parse_good(const char *text)
{
    cleanup_error struct nl_error *err = NULL;
    struct nl_scenario *scenario = NULL;

    if (parse(text, &scenario, &err) < 0)
        fail_msg("%s\nin: %s", nl_error_message(err), text);
    return scenario;
}

static void assert_contains(const char *text, const char *part, const char *input)
{
    if (!text || !strstr(text, part))
        fail_msg("expected: %s\nin: %s\nfor: %s", part, text ? text : "(nothing)", input);
}

static void test_shipped_default(void **state)
{
    cleanup_scenario struct nl_scenario *s = NULL;
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    assert_int_equal(nl_request_load(SHIPPED "nested-boot.json", NULL, &s, &err), 0);
    assert_string_equal(s->name, "nested-boot");
    assert_string_equal(s->l0, "auto");
    assert_int_equal(s->n_layers, 3);
    assert_string_equal(s->layers[2].name, "L2");
    assert_string_equal(s->layers[2].image, "leaf");
    assert_int_equal(s->layers[0].memory_mib, 3072);
    assert_int_equal(s->layers[1].memory_mib, 1536);
    assert_int_equal(s->layers[2].memory_mib, 256);
    assert_int_equal(s->layers[1].vcpus, 1);
    assert_true(s->layers[1].virtualization);
    assert_true(s->layers[1].nested);
    assert_null(s->layers[1].cpu);
    assert_null(s->layers[1].kernel.image);
    assert_true(s->default_checks);
    assert_null(s->benchmarks.names);
    assert_int_equal(s->benchmarks.samples, 20);
    assert_true(s->timeouts.boot_s == 240 && s->timeouts.services_s == 180 &&
                s->timeouts.agent_s == 60 && s->timeouts.benchmark_s == 180 &&
                s->timeouts.total_s == 1800);
}

static const char full[] =
    "{\"$schema\": \"x\", \"name\": \"full\", \"description\": \"d\", \"l0\": \"emulated\",\n"
    " \"layers\": [\n"
    "  {\"image\": \"hypervisor\", \"vcpus\": 2, \"memory_mib\": 4096, \"cpu\": \"EPYC\",\n"
    "   \"cpu_features\": [\"+npt\", \"-avic\"], \"virtualization\": true, \"nested\": false,\n"
    "   \"modules\": {\"kvm\": {\"ignore_msrs\": \"1\"}}, \"kernel_args\": [\"quiet\", \"a=b "
    "c\"],\n"
    "   \"kernel\": {\"image\": \"bzImage\", \"modules\": \"modules\"}, \"debs\": [\"qemu.deb\"],\n"
    "   \"emulator\": \"/bin/sh\", \"machine\": \"q35\"},\n"
    "  {\"image\": \"hypervisor\", \"kernel\": {\"deb\": \"linux.deb\"}, \"memory_mib\": 1000},\n"
    "  {\"image\": \"leaf\", \"memory_mib\": 744}],\n"
    " \"default_checks\": true, \"without_checks\": [\"l2-flags\"],\n"
    " \"checks\": [{\"name\": \"c\", \"layer\": \"L1\", \"program\": \".\", \"explanation\": "
    "\"e\"}],\n"
    " \"benchmarks\": {\"names\": [\"cpuid\"], \"layers\": [\"L1\", \"innermost\"],\n"
    "  \"samples\": 30, \"precision\": 0.1, \"budget_s\": 0.5},\n"
    " \"commands\": [{\"name\": \"t\", \"layer\": \"innermost\", \"argv\": [\"./test.sh\", \"\"],\n"
    "  \"files\": [\"test.sh\"], \"skip_codes\": [77, 4], \"timeout_s\": 1.5}],\n"
    " \"faults\": [{\"layer\": \"innermost\", \"fault\": \"hang\"}],\n"
    " \"timeouts\": {\"boot_s\": 10, \"services_s\": 20, \"agent_s\": 30, \"benchmark_s\": 40,\n"
    "  \"total_s\": 50}}\n";

static void test_every_key(void **state)
{
    cleanup_scenario struct nl_scenario *s = parse_good(full);
    cleanup_free char *image = NULL;
    const struct nl_layer_spec *l0 = &s->layers[0];

    (void)state;
    assert_true(asprintf(&image, "%s/bzImage", folder) > 0);
    assert_string_equal(l0->kernel.image, image);
    assert_non_null(l0->kernel.modules);
    assert_int_equal(l0->vcpus, 2);
    assert_string_equal(l0->cpu, "EPYC");
    assert_string_equal(l0->cpu_features[1], "-avic");
    assert_null(l0->cpu_features[2]);
    assert_false(l0->nested);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(l0->modules, "kvm"), "ignore_msrs")),
        "1");
    assert_string_equal(l0->kernel_args[1], "a=b c");
    assert_string_equal(l0->emulator, "/bin/sh");
    assert_string_equal(l0->machine, "q35");
    assert_non_null(strstr(s->layers[1].kernel.deb, "/linux.deb"));
    assert_string_equal(s->without_checks[0], "l2-flags");
    assert_string_equal(s->checks[0].layer, "L1");
    assert_string_equal(s->benchmarks.layers[1], "L2");
    assert_true(s->benchmarks.precision == 0.1);
    assert_true(s->benchmarks.budget_s == 0.5);
    assert_string_equal(s->commands[0].layer, "L2");
    assert_string_equal(s->commands[0].argv[1], "");
    assert_int_equal(s->commands[0].n_skip_codes, 2);
    assert_int_equal(s->commands[0].skip_codes[1], 4);
    assert_true(s->commands[0].timeout_s == 1.5);
    assert_int_equal(s->n_faults, 1);
    assert_string_equal(s->faults[0].layer, "L2");
    assert_string_equal(s->faults[0].fault, "hang");
    assert_true(s->timeouts.total_s == 50);
}

static void assert_round_trip(const struct nl_scenario *s)
{
    cleanup_json json_t *json = nl_scenario_to_json(s);
    cleanup_free char *text = json_dumps(json, 0);
    cleanup_scenario struct nl_scenario *again = parse_good(text);
    cleanup_json json_t *json_again = nl_scenario_to_json(again);

    if (!json_equal(json, json_again))
        fail_msg("%s is not the same after a round trip", text);
    assert_int_equal(again->n_layers, s->n_layers);
    assert_int_equal(again->layers[0].memory_mib, s->layers[0].memory_mib);
}

static void test_round_trip(void **state)
{
    const char *const files[] = {SHIPPED "nested-boot.json", SHIPPED "nested-boot-l3.json",
                                 SHIPPED "slowdown.json", SHIPPED "single.json"};

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        cleanup_scenario struct nl_scenario *s = NULL;
        cleanup_error struct nl_error *err = NULL;
        if (nl_request_load(files[i], NULL, &s, &err) < 0)
            fail_msg("%s", nl_error_message(err));
        assert_round_trip(s);
    }
    cleanup_scenario struct nl_scenario *s = parse_good(full);
    assert_round_trip(s);
    cleanup_json json_t *json = nl_scenario_to_json(s);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(json_object_get(json, "commands"), 0), "layer")),
                        "L2");
    assert_int_equal(json_integer_value(json_object_get(
                         json_array_get(json_object_get(json, "layers"), 2), "memory_mib")),
                     744);
}

/* Memory that nobody set makes room for what is inside. */
static void test_default_memory_grows(void **state)
{
    cleanup_scenario struct nl_scenario *s =
        parse_good("{\"name\": \"t\", \"layers\": [{\"image\": \"hypervisor\"},"
                   "{\"image\": \"hypervisor\"}, {\"image\": \"leaf\", \"memory_mib\": 4000}]}");

    (void)state;
    assert_int_equal(s->layers[1].memory_mib, 4256);
    assert_int_equal(s->layers[0].memory_mib, 4512);
}

/* As JSON Schema has it: how a number is written does not matter. */
static void test_whole_numbers(void **state)
{
    cleanup_scenario struct nl_scenario *s =
        parse_good("{\"name\": \"t\", \"layers\": [{\"image\": \"leaf\", \"memory_mib\": 1e3,"
                   "\"vcpus\": 2.0}]}");

    (void)state;
    assert_int_equal(s->layers[0].memory_mib, 1000);
    assert_int_equal(s->layers[0].vcpus, 2);
}

static void test_all_benchmarks(void **state)
{
    cleanup_scenario struct nl_scenario *s =
        parse_good(TWO ", \"benchmarks\": {\"names\": \"all\"}}");
    cleanup_json json_t *json = nl_scenario_to_json(s);

    (void)state;
    assert_string_equal(s->benchmarks.names[0], "all");
    assert_null(s->benchmarks.names[1]);
    assert_null(s->benchmarks.layers);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(json, "benchmarks"), "names")), "all");
}

static void test_local_l0(void **state)
{
    cleanup_scenario struct nl_scenario *s =
        parse_good("{\"name\": \"t\", \"l0\": \"local\", \"layers\": [{\"image\": \"hypervisor\","
                   "\"memory_mib\": 64}, {\"image\": \"leaf\", \"memory_mib\": 9000}]}");
    cleanup_scenario struct nl_scenario *whole = parse_good(full);

    (void)state;
    assert_null(nl_layer_needs_guest(&s->layers[0]));
    assert_string_equal(nl_layer_needs_guest(&whole->layers[0]), "cpu");
    assert_string_equal(nl_layer_needs_guest(&whole->layers[1]), "kernel");
    assert_null(nl_scenario_needs_guest(s));
    assert_string_equal(nl_scenario_needs_guest(whole), "cpu");
    cleanup_scenario struct nl_scenario *broken = parse_good(FAULT("L0", "disk-full") "]}");
    assert_string_equal(nl_scenario_needs_guest(broken), "disk-full");
    cleanup_scenario struct nl_scenario *inner = parse_good(FAULT("L1", "hang") "]}");
    assert_null(nl_scenario_needs_guest(inner));
}

#define L0 "{\"image\": \"hypervisor\"}"
#define LEAF "{\"image\": \"leaf\"}"
/* A scenario whose L1 has MORE, on line 3. */
#define WITH_L1(more)                                                                              \
    "{\"name\": \"t\", \"layers\": [\n" L0 ",\n{\"image\": \"hypervisor\", " more "},\n" LEAF "]}"
#define COMMAND(more) TWO ", \"commands\": [{\"name\": \"a\", \"layer\": \"L1\", " more "}]}"

static const struct {
    const char *text, *message, *hint;
} bad[] = {
    {"", "s.json:1:0: ", "one JSON object"},
    {"{\"name\": \"t\",\n \"layers\": [}", "s.json:2:", NULL},
    {"[]", "s.json:1: must be an object, not an array", NULL},
    {"{\"name\": \"a\\u0000b\", \"layers\": []}", "\\u0000 is not allowed", NULL},
    {"{\"name\": \"a\", \"name\": \"b\"}", "s.json:1:", NULL},
    {"{}", "the key \"name\" is missing", NULL},
    {"{\"name\": \"t\"}", "the key \"layers\" is missing", NULL},
    {"{\"name\": \"\", \"layers\": []}", "name: \"\" is not allowed; allowed: up to 64", NULL},
    {"{\"name\": \"../x\", \"layers\": []}", "name: \"../x\" is not allowed", NULL},
    {"{\"name\": 7, \"layers\": []}", "name: must be a string, not a number", NULL},
    {"{\"name\": \"t\", \"layers\": []}", "layers: has 0 elements; allowed: at least 1", NULL},
    {"{\"name\": \"t\", \"layers\": {}}", "layers: must be an array of objects, not an object",
     NULL},
    {"{\"name\": \"t\", \"layers\": [1]}", "layers[0]: must be an object", NULL},
    {"{\"name\": \"t\", \"layers\": [{}]}", "layers[0]: the key \"image\" is missing", NULL},
    {TWO ", \"layer\": 1}", "layer: is no key of a scenario; did you mean \"layers\"?",
     "allowed keys: $schema, name,"},
    {TWO ", \"a b\\n\": 1}", "[\"a b\n\"]: is no key of a scenario", NULL},
    {TWO ", \"l0\": \"emulate\"}", "l0: \"emulate\" is not allowed; allowed: \"auto\", ",
     "did you mean \"emulated\"?"},
    {TWO ", \"meter\": {}}", "meter: the key \"benchmarks\" is missing", NULL},
    {TWO ", \"meter\": {\"benchmarks\": \"all\", \"layers\": [\"L2\"]}}",
     "meter.layers[0]: there is no layer \"L2\"", NULL},
    {TWO ", \"meter\": {\"benchmarks\": \"all\", \"samples\": 1001}}",
     "1001 is out of range; allowed: 11 to 1000", NULL},
    {TWO ", \"l0\": \"local\", \"meter\": {\"benchmarks\": \"all\"}}",
     "meter: cannot be: with l0 \"local\"", "leave the meter out"},
    {"{\"name\": \"t\", \"layers\": [" L0 ",\n{\"image\": \"leaf\", \"vcpus\": 2}],\n"
     "\"meter\": {\"benchmarks\": [\"cpuid\"]}}",
     "s.json:2: layers[1].vcpus: L1 has 2 vCPUs, and the meter follows one; allowed: 1",
     "--vcpus L1=1"},
    {WITH_L1("\"vcpus\": 0"), "s.json:3: layers[1].vcpus: 0 is out of range; allowed: 1 to 64",
     NULL},
    {WITH_L1("\"vcpus\": 65"), "layers[1].vcpus: 65 is out of range", NULL},
    {WITH_L1("\"vcpus\": 1.5"), "layers[1].vcpus: 1.5 is not a whole number", NULL},
    {WITH_L1("\"vcpus\": \"2\""), "must be a whole number, not a string", NULL},
    {TWO ", \"disks\": []}", "disks: is no key of a scenario",
     "a layer, in layers[]; here, allowed"},
    {TWO ", \"boot_s\": 9}", "boot_s: is no key",
     "it is a key of the timeouts, in timeouts; here,"},
    {WITH_L1("\"default_checks\": false"), "default_checks: is no key of a layer",
     "it is a key of a scenario, at the top; here, allowed keys: image"},
    {WITH_L1("\"deb\": \"a\""), "did you mean \"debs\"?", "a kernel, in layers[].kernel; here,"},
    {WITH_L1("\"vpcus\": 2"), "layers[1].vpcus: is no key of a layer; did you mean \"vcpus\"?",
     NULL},
    {WITH_L1("\"memory_mib\": 63"), "63 is out of range; allowed: 64 to 4194304", NULL},
    {WITH_L1("\"memory_mib\": 511"),
     "s.json:3: layers[1].memory_mib: L1 has 511 MiB, too little for L2 with 256 MiB inside it; "
     "allowed: at least 512",
     NULL},
    {WITH_L1("\"memory_mib\": 1e999"), "s.json:3:", NULL},
    {WITH_L1("\"cpu\": \"a,b\""), "cpu: \"a,b\" is not allowed", NULL},
    {WITH_L1("\"cpu_features\": [\"svm\"]"), "cpu_features[0]: \"svm\" is not allowed", NULL},
    {WITH_L1("\"cpu_features\": [\"+a\", \"+a\"]"), "cpu_features[1]: \"+a\" is there twice", NULL},
    {WITH_L1("\"nested\": 1"), "nested: must be true or false, not a number", NULL},
    {WITH_L1("\"nested\": null"), "nested: must be true or false, not null", NULL},
    {WITH_L1("\"modules\": {\"kvm-amd\": {}}"), "modules.kvm-amd: \"kvm-amd\" is not allowed",
     NULL},
    {WITH_L1("\"modules\": {\"kvm\": {\"a.b\": \"1\"}}"), "modules.kvm[\"a.b\"]:", NULL},
    {WITH_L1("\"modules\": {\"kvm\": {\"a\": 1}}"),
     "modules.kvm.a: must be a string such as \"1\", not a number", NULL},
    {WITH_L1("\"modules\": {\"kvm\": {\"a\": \"1 b=2\"}}"), "\"1 b=2\" is not allowed", NULL},
    {WITH_L1("\"modules\": {\"kvm_intel\": {\"nested\": \"0\"}}"),
     "modules.kvm_intel.nested: belongs elsewhere", NULL},
    {WITH_L1("\"kernel_args\": [\"a\\nb\"]"), "kernel_args[0]:", NULL},
    {WITH_L1("\"kernel_args\": [\"\"]"), "kernel_args[0]: \"\" is not allowed", NULL},
    {WITH_L1("\"kernel_args\": \"quiet\""), "must be an array of strings, not a string", NULL},
    {WITH_L1("\"kernel\": {\"image\": \"none\"}"), "kernel.image: ", NULL},
    {WITH_L1("\"kernel\": {\"image\": \"modules\"}"), "/modules is not a regular file", NULL},
    {WITH_L1("\"kernel\": {\"image\": \"\"}"), "kernel.image: is empty", NULL},
    {WITH_L1("\"kernel\": {\"image\": \"/etc/passwd\"}"),
     "layers[1].kernel.image: /etc/passwd is not a bzImage", "arch/x86/boot/bzImage"},
    {WITH_L1("\"kernel\": {\"image\": \"bzImage\", \"modules\": \".\"}"),
     "layers[1].kernel.modules: ", "modules_install"},
    {WITH_L1("\"kernel\": {\"deb\": \"bzImage\"}"), "allowed: a file named *.deb", NULL},
    {WITH_L1("\"kernel\": {\"image\": \"bzImage\", \"modules\": \"bzImage\"}"),
     "/bzImage is not a folder", NULL},
    {WITH_L1("\"kernel\": {\"image\": \"bzImage\", \"deb\": \"linux.deb\"}"),
     "kernel: \"deb\" excludes the others", NULL},
    {WITH_L1("\"kernel\": {\"modules\": \"modules\"}"), "kernel: \"modules\" are for", NULL},
    {WITH_L1("\"debs\": [\"none.deb\"]"), "debs[0]: ", NULL},
    {WITH_L1("\"emulator\": \"qemu\""), "\"qemu\" is not allowed; allowed: an absolute path", NULL},
    {"{\"name\": \"t\", \"layers\": [" LEAF ", " LEAF "]}",
     "layers[0].image: \"leaf\" cannot boot another layer; allowed: only for L1", NULL},
    {"{\"name\": \"t\", \"layers\": [{\"image\": \"hypervisor\", \"cpu\": \"host-model\"}]}",
     "layers[0].cpu: \"host-model\" needs KVM", NULL},
    {"{\"name\": \"t\", \"layers\": [{\"image\": \"hypervisor\", \"emulator\": \"/no/qemu\"}]}",
     "layers[0].emulator: /no/qemu: ", NULL},
    {"{\"name\": \"t\", \"l0\": \"local\", \"layers\": [{\"image\": \"hypervisor\","
     " \"nested\": false}]}",
     "layers[0].nested: cannot be changed", "emulated"},
    {TWO ", \"benchmarks\": {}}", "benchmarks: the key \"names\" is missing", NULL},
    {TWO ", \"benchmarks\": {\"names\": \"cpuid\"}}", "allowed: \"all\" or an array", NULL},
    {TWO ", \"benchmarks\": {\"names\": [\"cpuid\", \"cpuid\"]}}", "is there twice", NULL},
    {TWO ", \"benchmarks\": {\"names\": \"all\", \"samples\": 9}}", "9 is out of range", NULL},
    {TWO ", \"benchmarks\": {\"names\": \"all\", \"layers\": [\"L2\"]}}",
     "benchmarks.layers[0]: there is no layer \"L2\"; allowed: L0 to L1, innermost", "--depth"},
    {TWO ", \"benchmarks\": {\"names\": \"all\", \"layers\": [\"L1\", \"innermost\"]}}",
     "benchmarks.layers[1]: \"innermost\" is there twice", NULL},
    {TWO ", \"checks\": [{\"name\": \"a\", \"program\": \".\", \"layer\": \"L01\"}]}",
     "checks[0].layer: there is no layer \"L01\"", NULL},
    {TWO ", \"checks\": [{\"name\": \"a\", \"program\": \".\"}, {\"name\": \"a\","
         " \"program\": \".\"}]}",
     "checks[1].name: \"a\" is also the name", NULL},
    {TWO ", \"checks\": [{\"name\": \"a\", \"program\": \".\"}], \"commands\": [{\"name\": \"a\","
         " \"layer\": \"L0\", \"argv\": [\"x\"]}]}",
     "commands[0].name: \"a\" is also the name", NULL},
    {COMMAND("\"argv\": []"), "commands[0].argv: has 0 elements", NULL},
    {COMMAND("\"argv\": [\"\"]"), "commands[0].argv[0]: is empty", NULL},
    {COMMAND("\"argv\": \"ls\""), "commands[0].argv: must be an array", NULL},
    {COMMAND("\"argv\": [\"x\"], \"skip_codes\": [0]"), "skip_codes[0]: 0 is out of range", NULL},
    {COMMAND("\"argv\": [\"x\"], \"timeout_s\": 0"), "timeout_s: 0 is out of range", NULL},
    {COMMAND("\"argv\": [\"x\"], \"files\": [\"test.sh\", \"./test.sh\"]"),
     "commands[0].files[1]: two files of one command are called \"test.sh\"", NULL},
    {FAULT("L1", "kernel-panick") "]}",
     "faults[0].fault: there is no fault \"kernel-panick\"; did you mean \"kernel-panic\"?",
     "allowed: image-corrupt, "},
    {FAULT("L2", "hang") "]}", "faults[0].layer: there is no layer \"L2\"", "innermost"},
    {FAULT("L1", "disk-full") "]}", "faults[0].layer: L1 is a leaf, and has nothing for", NULL},
    {"{\"name\": \"t\", \"layers\": [" L0 "], \"faults\": [{\"layer\": \"L0\","
     " \"fault\": \"memory-eaten\"}]}",
     "faults[0].layer: L0 has no layer inside it", NULL},
    {FAULT("L1", "hang") ", {\"layer\": \"innermost\", \"fault\": \"hang\"}]}",
     "faults[1].fault: \"hang\" at L1 is there twice", NULL},
    {FAULT("L0", "disk-full") "], \"l0\": \"local\"}", "faults[0].layer: L0 is this machine",
     "emulated"},
    {TWO ", \"timeouts\": {\"total_s\": 1e9}}", "timeouts.total_s: 1000000000 is out of range",
     NULL},
    {TWO ", \"timeouts\": {\"boot\": 1}}", "did you mean \"boot_s\"?", NULL},
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cleanup_scenario struct nl_scenario *s = NULL;
        cleanup_error struct nl_error *err = NULL;
        if (parse(bad[i].text, &s, &err) == 0)
            fail_msg("accepted: %s", bad[i].text);
        assert_null(s);
        assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
        assert_contains(nl_error_message(err), bad[i].message, bad[i].text);
        if (bad[i].hint)
            assert_contains(nl_error_hint(err), bad[i].hint, bad[i].text);
    }
}

static void test_too_many_layers(void **state)
{
    cleanup_json json_t *json = json_pack("{s:s, s:[]}", "name", "t", "layers");
    json_t *layers = json_object_get(json, "layers");

    (void)state;
    for (size_t i = 0; i < NL_LAYERS_MAX + 1; i++)
        json_array_append_new(layers, json_pack("{s:s}", "image", "hypervisor"));
    cleanup_free char *text = json_dumps(json, 0);
    cleanup_scenario struct nl_scenario *s = NULL;
    cleanup_error struct nl_error *err = NULL;
    assert_int_equal(parse(text, &s, &err), -1);
    assert_contains(nl_error_message(err), "layers: has 17 elements; allowed: at most 16", text);
    json_array_remove(layers, 0);
    cleanup_free char *fits = json_dumps(json, 0);
    cleanup_scenario struct nl_scenario *deep = parse_good(fits);
    for (size_t i = 0; i + 1 < deep->n_layers; i++)
        assert_true(deep->layers[i].memory_mib >= deep->layers[i + 1].memory_mib + 256);
}

/* Whatever is cut off or changed, the parser answers. */
static void test_damaged(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof(full) - 2; length++) {
        cleanup_free char *cut = strndup(full, length);
        cleanup_scenario struct nl_scenario *s = NULL;
        cleanup_error struct nl_error *err = NULL;
        assert_int_equal(parse(cut, &s, &err), -1);
        assert_non_null(err);
    }
    for (size_t i = 0; i < sizeof(full) - 1; i++) {
        cleanup_free char *changed = strdup(full);
        cleanup_scenario struct nl_scenario *s = NULL;
        cleanup_error struct nl_error *err = NULL;
        changed[i] = (char)(changed[i] ^ 0x15);
        assert_true((parse(changed, &s, &err) == 0) == (err == NULL));
    }
}

static void test_files(void **state)
{
    cleanup_scenario struct nl_scenario *s = NULL;
    cleanup_error struct nl_error *missing = NULL, *directory = NULL;

    (void)state;
    assert_int_equal(nl_request_load(SHIPPED "no-such.json", NULL, &s, &missing), -1);
    assert_int_equal(nl_error_status(missing), NL_EXIT_REQUEST);
    assert_contains(nl_error_message(missing), "no-such.json: No such file", "");
    assert_int_equal(nl_request_load(SHIPPED, NULL, &s, &directory), -1);
    assert_contains(nl_error_message(directory), "is not a regular file", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped_default), cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_round_trip),      cmocka_unit_test(test_default_memory_grows),
        cmocka_unit_test(test_whole_numbers),   cmocka_unit_test(test_all_benchmarks),
        cmocka_unit_test(test_local_l0),        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_too_many_layers), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_files),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
