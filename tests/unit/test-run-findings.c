/*
 * test-run-findings.c - a run's document, consoles and logs of this machine give findings, each of
 * the right layer.
 */
#include "folder.h"

#include "dig.h"
#include "folders.h"
#include "run-findings.h"

static void put(const char *folder, const char *name, const char *text)
{
    cleanup_free char *path = NULL;
    cleanup_fclose FILE *file = NULL;

    assert_int_equal(nl_make_folders(folder, NL_EXIT_LAB, NULL), 0);
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
}

static void test_findings(void **state)
{
    static const char harmless[] = "[    9.1] kvm [16]: vcpu0, guest rIP: 0xffffffff8103e2a4 "
                                   "Unhandled WRMSR(0xc0010007) = 0xffff\n";
    char *argv[] = {"nestlab", NULL};
    cleanup_json json_t *scenario = json_pack("{s:[{},{},{}]}", "layers");
    cleanup_document struct nl_document *document = NULL;
    struct nl_rules_ahead *ahead = nl_rules_ahead();
    struct nl_rundir *rundir = NULL;
    cleanup_free char *logs = NULL;
    const json_t *findings;
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    assert_int_equal(nl_document_new(argv, scenario, "x", &document, NULL), 0);
    assert_int_equal(nl_rundir_create("x", &rundir, NULL), 0);
    for (size_t i = 0; i < 3; i++)
        nl_document_layer_state(document, i, "up");
    put(base, "L1-console.log", harmless);
    nl_document_layer_file(document, 1, "console", "L1-console.log");
    logs = nl_rundir_file(rundir, NL_RUNDIR_LIBVIRT "/log/qemu");
    put(logs, "nl-L0.log", "KVM: entry failed, hardware error 0x80000021\n");
    nl_run_keep_logs(document, base, rundir, 0);
    assert_true(nl_dig_is(json_array_get(nl_dig(nl_document_json(document), "layers"), 0),
                          "files.qemu", "L0-qemu.log"));
    if (nl_run_findings(ahead, document, base, 0, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    findings = nl_dig(nl_document_json(document), "findings");
    assert_int_equal(json_array_size(findings), 2);
    assert_true(nl_dig_is(json_array_get(findings, 0), "evidence_layer", "the machine below L0"));
    assert_true(nl_dig_is(json_array_get(findings, 0), "severity", "error"));
    assert_true(nl_dig_is(json_array_get(findings, 1), "layer", "L2"));
    assert_true(nl_dig_is(json_array_get(findings, 1), "evidence_layer", "L1"));
    assert_true(nl_dig_is(json_array_get(findings, 1), "severity", "harmless"));
    nl_rules_ahead_free(&ahead);
    /* Without the thread, just the same. */
    assert_int_equal(nl_run_findings(NULL, document, base, 0, &err), 0);
    assert_int_equal(json_array_size(nl_dig(nl_document_json(document), "findings")), 2);
    assert_int_equal(nl_rundir_remove(&rundir, NULL), 0);
}

/* A document of three layers, L0 failed in PHASE with MESSAGE; new reference to its findings. */
static json_t *findings_of(const char *phase, const char *message, const char *console,
                           json_t *evidence)
{
    char *argv[] = {"nestlab", NULL};
    cleanup_json json_t *scenario = json_pack("{s:[{},{},{}]}", "layers");
    cleanup_document struct nl_document *document = NULL;
    cleanup_error struct nl_error *err = NULL;

    assert_int_equal(nl_document_new(argv, scenario, "x", &document, NULL), 0);
    nl_document_layer_state(document, 0, "failed");
    nl_fail(&err, NL_EXIT_LAB, "%s", message);
    nl_document_fail(document, "L0", phase, "hung", err, json_array());
    if (evidence)
        nl_document_failure_set(document, "evidence", evidence);
    put(base, "L0-console.log", console);
    nl_document_layer_file(document, 0, "console", "L0-console.log");
    nl_error_free(&err);
    if (nl_run_findings(NULL, document, base, 0, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    return json_deep_copy(nl_dig(nl_document_json(document), "findings"));
}

/* What keeps a domain from being made is told by the layer below, of that domain. */
static void test_a_failed_create_tells_of_its_layer(void **state)
{
    cleanup_json json_t *findings = findings_of(
        "create", "qemu-img: Could not open 'L0.qcow2': Image is not in qcow2 format", "", NULL);

    (void)state;
    assert_int_equal(json_array_size(findings), 1);
    assert_true(nl_dig_is(json_array_get(findings, 0), "rule", "image-not-qcow2"));
    assert_true(nl_dig_is(json_array_get(findings, 0), "layer", "L0"));
    assert_true(nl_dig_is(json_array_get(findings, 0), "evidence_layer", "the machine below L0"));
}

/* This machine's libvirt log also has what a layer's libvirt said; that is not of this machine. */
static void test_a_layers_libvirt_is_not_this_machines(void **state)
{
    static const char log[] =
        "2026-12-01 04:27:15.6+0000: 9: error : virNetClientProgramDispatchError:172 : internal "
        "error: process exited while connecting to monitor: Error while loading elf kernel\n"
        "2026-12-01 04:27:15.7+0000: 9: error : qemuProcessReportLogError:1971 : internal error: "
        "qemu-img: Could not open 'L0.qcow2': Image is not in qcow2 format\n";
    cleanup_json json_t *findings = NULL;

    (void)state;
    put(base, "libvirt.log", log);
    findings = findings_of("kernel", "it is silent", "", NULL);
    assert_int_equal(json_array_size(findings), 1);
    assert_true(nl_dig_is(json_array_get(findings, 0), "rule", "image-not-qcow2"));
    assert_true(nl_dig_is(json_array_get(nl_dig(json_array_get(findings, 0), "places"), 0), "file",
                          "libvirt.log"));
    assert_int_equal(
        nl_dig_integer(json_array_get(nl_dig(json_array_get(findings, 0), "places"), 0), "line", 0),
        2);
}

/* L1 was never there to have said, or to have been said, anything. */
static void test_layers_that_were_not_reached_have_none(void **state)
{
    cleanup_json json_t *findings =
        findings_of("kernel", "it is silent",
                    "[    9.1] kvm [16]: vcpu0, guest rIP: 0xffffffff8103e2a4 Unhandled "
                    "WRMSR(0xc0010007) = 0\n",
                    NULL);

    (void)state;
    assert_int_equal(json_array_size(findings), 0);
}

/* The look at a guest that hangs sends it an NMI, of which it dies: nobody else's doing. */
static void test_what_a_look_caused_is_no_finding(void **state)
{
    static const char console[] = "[   10.0] Uhhuh. NMI received for unknown reason 10 on CPU 0.\n"
                                  "[   10.1] Kernel panic - not syncing: NMI: Not continuing\n";
    cleanup_json json_t *with = NULL, *without = NULL;

    (void)state;
    with = findings_of("commands", "it is hung", console, NULL);
    assert_int_equal(json_array_size(with), 2);
    without = findings_of("commands", "it is hung", console,
                          json_pack("{s:[s, s]}", "backtrace",
                                    "[   10.0] Uhhuh. NMI received for unknown reason 10 on CPU 0.",
                                    "[   10.1] Kernel panic - not syncing: NMI: Not continuing"));
    assert_int_equal(json_array_size(without), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_findings),
        IN_FOLDER(test_a_failed_create_tells_of_its_layer),
        IN_FOLDER(test_a_layers_libvirt_is_not_this_machines),
        IN_FOLDER(test_layers_that_were_not_reached_have_none),
        IN_FOLDER(test_what_a_look_caused_is_no_finding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
