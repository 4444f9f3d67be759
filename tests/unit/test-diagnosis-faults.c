/*
 * test-diagnosis-faults.c - the rules that tell injected faults from each other: what a layer,
 * libvirt and QEMU said in each case is in the table, in the words that were seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check.h"
#include "diagnosis.h"
#include "dig.h"
#include "document.h"

#include <string.h>

#define CREATING "L1, phase create: creating the domain: "
#define MONITOR "internal error: process exited while connecting to monitor: "

/* What is changed in the document of a run that passed. */
struct fault {
    const char *wanted;               /* the diagnosis and its layer */
    const char *says;                 /* part of its summary */
    const char *layer, *phase, *kind; /* of the failure; layer NULL: of the run; phase NULL: none */
    const char *message;
    const char *console;             /* last line of the failed layer's console */
    int at;                          /* the layer whose facts are changed */
    const char *place, *key, *value; /* in the facts of that layer, as JSON; NULL: no change */
    const char *log;                 /* one more line in that layer's kernel log */
};

static const struct fault faults[] = {
    {.wanted = "image-corrupt at L1",
     .says = "the disk image of L1 cannot be read",
     .layer = "L0",
     .phase = "create",
     .kind = "refused",
     .message = "L0, phase create: the disk image of L1 cannot be read: qemu-img: Could not open "
                "'/r/L1.qcow2': Image is not in qcow2 format: creating the domain: internal error"},
    {.wanted = "image-corrupt at L1",
     .says = "the root file system of L1 cannot be mounted",
     .layer = "L1",
     .phase = "services",
     .kind = "refused",
     .message = "L1, phase services: root disk: cannot mount /dev/vda: Invalid argument"},
    {.wanted = "kernel-corrupt at L1",
     .says = "the kernel that L1 is started with",
     .layer = "L1",
     .phase = "create",
     .kind = "refused",
     .message = CREATING MONITOR "qemu-system-x86_64: Error while loading elf kernel"},
    {.wanted = "kernel-corrupt at L2",
     .says = "the kernel that L2 is started with",
     .layer = "L2",
     .phase = "kernel",
     .kind = "hung",
     .message = "L2 is hung",
     .console = " -- System halted"},
    {.wanted = "kvm-module-missing at L1",
     .says = "L1 has svm, but neither",
     .layer = "L2",
     .phase = "create",
     .kind = "refused",
     .message = "L2, phase create: creating the domain: invalid argument: could not find "
                "capabilities for domaintype=kvm ",
     .at = 1,
     .place = "modules",
     .key = "kvm_amd",
     .value = "{\"loaded\": false}",
     .log = "nestlab-agent: trouble modules: ended with status 1; its last words: modprobe: FATAL: "
            "Module kvm_amd not found in directory /lib/modules/6.1.0"},
    {.wanted = "kvm-device-unusable at L1",
     .says = "/dev/kvm in L1 cannot be opened: Permission",
     .layer = "L2",
     .phase = "create",
     .kind = "refused",
     .message = CREATING MONITOR "Could not access KVM kernel module: Permission denied",
     .at = 1,
     .place = "kvm",
     .key = "device",
     .value = "{\"exists\": true, \"opens\": false, \"error\": \"Permission denied\"}"},
    {.wanted = "emulator-missing at L1",
     .says = "there is no QEMU in L1 to run L2",
     .layer = "L2",
     .phase = "create",
     .kind = "refused",
     .message =
         "L2, phase create: creating the domain: unsupported configuration: No emulator found "
         "for arch 'x86_64'"},
    {.wanted = "emulator-missing at L0",
     .says = "there is no QEMU in this machine to run L0",
     .layer = "L0",
     .phase = "create",
     .kind = "refused",
     .message =
         "L0, phase create: creating the domain: Cannot check QEMU binary /q: No such file or "
         "directory"},
    {.wanted = "cpu-model-refused at L1",
     .says = "cannot provide the processor that L1",
     .layer = "L1",
     .phase = "create",
     .kind = "refused",
     .message =
         CREATING "the CPU is incompatible with host CPU: Host CPU does not provide required "
                  "features: avx512f"},
    {.wanted = "memory-short at L1",
     .says = "L1 does not have the memory that L2",
     .layer = "L2",
     .phase = "create",
     .kind = "refused",
     .message = "L2, phase create: creating the domain: " MONITOR
                "qemu-system-x86_64: cannot set up guest memory 'pc.ram': Cannot allocate memory"},
    {.wanted = "memory-short at L1",
     .says = "L1 ran out of memory, and its kernel killed QEMU",
     .layer = "L2",
     .phase = "commands",
     .kind = "gone",
     .message = "L2 is gone",
     .at = 1,
     .log = "Out of memory: Killed process 113 (qemu-system-x86) total-vm:596412kB"},
    {.wanted = "memory-short at L0",
     .says = "L0 needs 3072 MiB of memory",
     .layer = "L0",
     .phase = "prepare",
     .kind = "error",
     .message = "L0 needs 3072 MiB of memory and this machine has 1000 MiB available"},
    {.wanted = "disk-full at L1",
     .says = "the disk of L1 is full",
     .layer = "L2",
     .phase = "create",
     .kind = "refused",
     .message = "L2, phase create: creating the domain: Unable to create directory "
                "'/var/cache/libvirt/qemu/capabilities': No space left on device"},
    {.wanted = "disk-full at L1",
     .says = "the disk of L1 is full",
     .layer = "L2",
     .phase = "create",
     .kind = "refused",
     .message = "L2, phase create: creating the domain: internal error",
     .at = 1,
     .key = "facts_after",
     .value = "{\"disk\": {\"total_kib\": 8000000, \"available_kib\": 0}}"},
    {.wanted = "layer-gone at L2",
     .says = "L2 ended",
     .layer = "L2",
     .phase = "commands",
     .kind = "gone",
     .message = "L2 is gone"},
};

static json_t *passed(void)
{
    json_t *document = NULL;

    assert_int_equal(nl_document_load(NL_SOURCE "/tests/fixtures/passed.json", &document, NULL), 0);
    return document;
}

static void break_it(json_t *document, const struct fault *fault)
{
    cleanup_json json_t *tail = json_array();

    if (fault->console)
        json_array_append_new(tail, json_string(fault->console));
    json_object_set_new(document, "failure",
                        json_pack("{s:s?, s:s, s:s, s:s, s:n, s:O}", "layer", fault->layer, "phase",
                                  fault->phase, "kind", fault->kind, "message", fault->message,
                                  "hint", "console_tail", tail));
}

static void change_layer(json_t *document, const struct fault *fault)
{
    json_t *layer = json_array_get(json_object_get(document, "layers"), (size_t)fault->at);
    json_t *facts = json_object_get(layer, "facts");
    json_t *target = fault->place ? json_object_get(facts, fault->place) : layer;

    assert_non_null(target);
    if (fault->value)
        json_object_set_new(target, fault->key, json_loads(fault->value, 0, NULL));
    if (fault->log)
        json_array_append_new(json_object_get(json_object_get(layer, "log"), "records"),
                              json_pack("{s:i, s:i, s:i, s:s}", "seq", 99999, "level", 6, "time_us",
                                        99999999, "text", fault->log));
}

static void diagnose(json_t *document)
{
    cleanup_error struct nl_error *err = NULL;

    if (nl_checks_run(document, &err) < 0 || nl_diagnosis_run(document, &err) < 0)
        fail_msg("%s", nl_error_message(err));
}

static void test_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        cleanup_json json_t *document = passed();
        cleanup_free char *title = NULL;
        const char *summary;

        break_it(document, &faults[i]);
        change_layer(document, &faults[i]);
        diagnose(document);
        title = nl_diagnosis_title(nl_dig(document, "diagnosis"));
        summary = nl_dig_string(document, "diagnosis.summary", "");
        if (strcmp(title, faults[i].wanted) != 0 || !strstr(summary, faults[i].says))
            fail_msg("%zu: %s (%s) instead of %s (%s)", i, title, summary, faults[i].wanted,
                     faults[i].says);
        assert_true(json_array_size(nl_dig(document, "diagnosis.evidence")) > 0);
    }
}

/* Each change alone, in a run that passed, is no trouble: a line that somebody logged, a disk that
   was full afterwards. Those that a check looks at are. */
static void test_without_a_failure(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        cleanup_json json_t *document = passed();

        if (!faults[i].key || strcmp(faults[i].key, "facts_after") != 0)
            continue;
        change_layer(document, &faults[i]);
        diagnose(document);
        assert_true(json_is_null(nl_dig(document, "diagnosis")) || !nl_dig(document, "diagnosis"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_without_a_failure),
    };

    setenv("NESTLAB_DATA", NL_SOURCE, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
