/*
 * test-doctor.c - what the doctor says of machines that others have: a good host, changed in one or
 * two places each time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dig.h"
#include "doctor-libvirt.h"
#include "doctor.h"
#include "l0.h"

#include <string.h>

#define HOST NL_SOURCE "/tests/fixtures/doctor-host.json"

static json_t *host(const char *change)
{
    json_t *all = json_load_file(HOST, 0, NULL);
    json_error_t why;
    json_t *patch = json_loads(change, 0, &why);

    assert_non_null(all);
    if (!patch)
        fail_msg("%s: %s", change, why.text);
    assert_int_equal(json_object_update_recursive(all, patch), 0);
    json_decref(patch);
    return all;
}

static const json_t *row_of(const json_t *judged, const char *name)
{
    json_t *row;
    size_t i;

    json_array_foreach(json_object_get(judged, "rows"), i, row)
    {
        if (nl_dig_is(row, "name", name))
            return row;
    }
    return NULL;
}

/* 'y', 'n' or '?'. */
static char possible(const json_t *judged, const char *path)
{
    const json_t *value = json_object_get(nl_dig(nl_dig(judged, "paths"), path), "possible");

    assert_non_null(value);
    return json_is_true(value) ? 'y' : json_is_false(value) ? 'n' : '?';
}

#define NO_DEVICE                                                                                  \
    "\"kvm\": {\"device\": {\"exists\": false, \"opens\": false, \"error\": \"No such file or "    \
    "directory\"}, \"vm_created\": null, \"guest\": {\"ran\": false}}"
#define NO_MODULE                                                                                  \
    "\"modules\": {\"kvm_amd\": {\"loaded\": false, \"parameters\": {\"nested\": null}}}"
#define NOT_LOADED "\"modules\": {\"loaded\": []}"
#define INTEL                                                                                      \
    "\"cpuid\": {\"vendor\": \"GenuineIntel\", \"svm\": false, \"vmx\": true, \"svm_features\": "  \
    "null}"
#define GUEST_WITHOUT_SVM(signature)                                                               \
    "{\"facts\": {\"cpuid\": {\"svm\": false, \"svm_features\": null, \"hypervisor\": "            \
    "{\"present\": true, \"signature\": \"" signature "\"}}, " NO_DEVICE ", " NO_MODULE            \
    "}, \"machine\": {\"kvm_device\": {\"exists\": false}, " NOT_LOADED "}}"

static const struct {
    const char *change;
    char local, emulated;
    int status;
    const char *row, *verdict;
    const char *found; /* part of what the row says */
    const char *fix;   /* part of its fix; NULL: whatever; "": there must be none */
} machines[] = {
    /* as it is */
    {"{}", 'y', 'y', 0, "kvm-guest", "ok", "690000 exits/s", ""},
    {"{}", 'y', 'y', 0, "hypervisor", "ok", "no guest", ""},
    /* a verdict needs a reason, also where who gave it is silent */
    {"{\"lab\": {\"runs_error\": \"\"}}", 'n', 'n', 1, "run-folder", "missing",
     "no reason was given", "NESTLAB_RUNS"},
    /* nesting is off */
    {"{\"facts\": {" INTEL
     ", \"flags\": [\"vmx\"], \"modules\": {\"kvm_amd\": {\"loaded\": false}, "
     "\"kvm_intel\": {\"loaded\": true, \"parameters\": {\"nested\": \"N\", \"ept\": \"Y\"}}}}}",
     'n', 'y', 0, "nested", "missing", "kvm_intel has nested=N", "modprobe kvm_intel nested=1"},
    {"{\"facts\": {\"modules\": {\"kvm_amd\": {\"parameters\": {\"npt\": \"N\"}}}}}", 'y', 'y', 0,
     "nested-paging", "warn", "npt=N", "npt=1"},
    /* the firmware has turned it off, by three witnesses */
    {"{\"facts\": {" INTEL ", \"flags\": [\"fpu\"], " NO_DEVICE ", " NO_MODULE "}, \"machine\": {"
     "\"log\": {\"lines\": [\"x86/cpu: VMX (outside TXT) disabled by BIOS\"]}, " NOT_LOADED "}}",
     'n', 'y', 0, "firmware", "missing", "VMX (outside TXT) disabled by BIOS", "VT-x"},
    {"{\"facts\": {" INTEL ", \"flags\": [\"fpu\"], " NO_DEVICE ", " NO_MODULE "}}", 'n', 'y', 0,
     "cpu", "missing", "the kernel does not use it", "firmware"},
    {"{\"facts\": {" NO_DEVICE ", " NO_MODULE "}, \"machine\": {\"firmware\": {\"vm_cr\": "
     "\"0x0000000000000018\"}}}",
     'n', 'y', 0, "firmware", "missing", "control register", "SVM"},
    {"{\"facts\": {" INTEL ", " NO_DEVICE "}, \"machine\": {\"firmware\": {\"feature_control\": "
     "\"0x0000000000000005\"}}}",
     'n', 'y', 0, "firmware", "ok", "allows it", NULL},
    /* other things that the firmware turns off are no witness */
    {"{\"facts\": {" INTEL ", \"flags\": [\"vmx\"], " NO_DEVICE "}, \"machine\": {\"log\": "
     "{\"lines\": [\"SGX disabled by BIOS.\", \"kvm: nothing\"]}}}",
     'n', 'y', 0, "firmware", "ok", "no message", NULL},
    {"{\"facts\": {" NO_DEVICE
     "}, \"machine\": {\"log\": {\"lines\": null, \"error\": \"cannot open "
     "/dev/kmsg: Operation not permitted\"}}}",
     'n', 'y', 0, "firmware", "unknown", "Operation not permitted", "journalctl"},
    {"{\"facts\": {" NO_DEVICE "}, \"machine\": {\"log\": {\"overwritten\": true}}}", 'n', 'y', 0,
     "firmware", "unknown", "does not reach back", NULL},
    /* a device that opens and proves nothing */
    {"{\"facts\": {\"cpuid\": {\"svm\": false}, \"modules\": {\"kvm_amd\": {\"loaded\": false}, "
     "\"kvm_pvm\": {\"loaded\": true}}, \"kvm\": {\"guest\": {\"ran\": false, \"error\": \"did not "
     "finish within 5 s\"}}}}",
     'n', 'y', 0, "kvm-guest", "missing", "did not finish within 5 s", "--l0 emulated"},
    {"{\"facts\": {\"cpuid\": {\"svm\": false}, \"modules\": {\"kvm_amd\": {\"loaded\": false}, "
     "\"kvm_pvm\": {\"loaded\": true}}}, \"machine\": {\"modules\": {\"loaded\": [\"kvm_pvm\"]}}}",
     'n', 'y', 0, "kvm-modules", "missing", "paravirtual", NULL},
    {"{\"facts\": {\"kvm\": {\"guest\": {\"loop_ns\": 160.0}}}}", 'n', 'y', 0, "kvm-guest",
     "missing", "unusable: it interprets guests", "--l0 emulated"},
    {"{\"facts\": {\"kvm\": {\"guest\": {\"loop_ns\": 0.9}}}}", 'y', 'y', 0, "kvm-guest", "ok",
     "0.90 ns", ""},
    {"{\"facts\": {\"kvm\": {\"vm_created\": false, \"guest\": {\"ran\": false}}}}", 'n', 'y', 0,
     "kvm-device", "missing", "makes no virtual machine", NULL},
    /* no rights, no device, in and out of containers */
    {"{\"facts\": {\"kvm\": {\"device\": {\"opens\": false, \"error\": \"Permission denied\"}, "
     "\"guest\": {\"ran\": false}}}, \"machine\": {\"user\": {\"uid\": 1000}}}",
     'n', 'y', 0, "kvm-device", "missing", "Permission denied (mode 0660, group kvm)",
     "usermod -aG kvm"},
    {"{\"facts\": {\"kvm\": {\"device\": {\"opens\": false, \"error\": \"Permission denied\"}, "
     "\"guest\": {\"ran\": false}}}, \"machine\": {\"kvm_device\": {\"group\": \"k;reboot\"}}}",
     'n', 'y', 0, "kvm-device", "missing", NULL, "usermod -aG kvm "},
    {"{\"facts\": {\"kvm\": {\"device\": {\"opens\": false, \"error\": \"Operation not "
     "permitted\"}, "
     "\"guest\": {\"ran\": false}}}, \"machine\": {\"container\": \"docker\"}}",
     'n', 'y', 0, "kvm-device", "missing", "Operation not permitted", "--device /dev/kvm"},
    {"{\"facts\": {" NO_DEVICE ", " NO_MODULE "}, \"machine\": {" NOT_LOADED "}}", 'n', 'y', 0,
     "kvm-modules", "missing", "neither kvm_amd nor kvm_intel", "modprobe kvm_amd nested=1"},
    {"{\"facts\": {" NO_DEVICE ", " NO_MODULE "}, \"machine\": {\"modules\": {\"loaded\": [], "
     "\"kvm_amd\": null}}}",
     'n', 'y', 0, "kvm-modules", "missing", NULL, "boot a kernel that has kvm_amd"},
    /* guests, each by its hypervisor's own means */
    {GUEST_WITHOUT_SVM("KVMKVMKVM"), 'n', 'y', 0, "cpu", "missing", "neither svm nor vmx",
     "host-passthrough"},
    {GUEST_WITHOUT_SVM("Microsoft Hv"), 'n', 'y', 0, "cpu", "missing", NULL,
     "ExposeVirtualizationExtensions"},
    {GUEST_WITHOUT_SVM("VMwareVMware"), 'n', 'y', 0, "cpu", "missing", NULL, "vhv.enable"},
    {GUEST_WITHOUT_SVM("TCGTCGTCGTCG"), 'n', 'y', 0, "cpu", "missing", NULL, "+svm"},
    {GUEST_WITHOUT_SVM("who knows"), 'n', 'y', 0, "cpu", "missing", NULL, "ask whoever runs"},
    {GUEST_WITHOUT_SVM("VMwareVMware"), 'n', 'y', 0, "hypervisor", "ok", "a guest of VMware", ""},
    {GUEST_WITHOUT_SVM("KVMKVMKVM"), 'n', 'y', 0, "firmware", "ok", "hypervisor below decides", ""},
    {GUEST_WITHOUT_SVM("KVMKVMKVM"), 'n', 'y', 0, "kvm-device", "missing", "there is none", ""},
    /* QEMU and libvirt */
    {"{\"machine\": {\"qemu\": []}}", 'n', 'n', 1, "qemu", "missing", "no qemu-system-x86_64",
     "apt-get install qemu-system-x86"},
    {"{\"machine\": {\"qemu\": [], \"os\": {\"id\": \"rocky\", \"like\": \"rhel centos fedora\"}}}",
     'n', 'n', 1, "qemu", "missing", NULL, "dnf install qemu-kvm"},
    {"{\"machine\": {\"qemu\": [], \"os\": {\"id\": \"arch\"}}}", 'n', 'n', 1, "qemu", "missing",
     NULL, "install what Debian has"},
    {"{\"machine\": {\"qemu\": [{\"path\": \"/q\", \"version\": null, \"error\": \"gone\"}]}}", 'n',
     'n', 1, "qemu", "missing", "/q does not answer: gone", NULL},
    {"{\"machine\": {\"qemu\": [{\"path\": \"/q\", \"version\": \"6.2.0\", \"machines\": [\"pc\"], "
     "\"tcg_epyc\": {\"svm\": true, \"npt\": true}}]}}",
     'y', 'y', 0, "qemu", "warn", "older than", NULL},
    {"{\"machine\": {\"qemu\": [{\"path\": \"/q\", \"version\": \"10.1.0\", \"machines\": "
     "[\"q35\"], "
     "\"tcg_epyc\": null, \"tcg_error\": \"invalid accelerator tcg\"}]}}",
     'y', 'n', 0, "qemu-svm", "missing", "invalid accelerator tcg", NULL},
    {"{\"machine\": {\"qemu\": [{\"path\": \"/q\", \"version\": \"7.2.0\", \"machines\": [\"pc\"], "
     "\"tcg_epyc\": {\"svm\": true, \"npt\": false}}]}}",
     'y', 'n', 0, "qemu-svm", "missing", "no EPYC with svm and npt", NULL},
    {"{\"libvirt\": null, \"embedded\": {\"opens\": false}, \"unknown\": {\"libvirt\": \"no driver "
     "qemu\"}}",
     'n', 'n', 1, "libvirt", "missing", "no driver qemu", "libvirt-daemon-driver-qemu"},
    {"{\"libvirt\": null, \"embedded\": {\"opens\": false}, \"unknown\": {\"libvirt\": \"Failed to "
     "create state dir\"}}",
     'n', 'n', 1, "libvirt", "missing", "Failed to create", "XDG_CACHE_HOME"},
    {"{\"libvirt\": null, \"unknown\": {\"libvirt\": \"asking libvirt: timed out\"}}", '?', '?', 3,
     "libvirt", "unknown", "timed out", NULL},
    {"{\"libvirt\": {\"domains\": {\"qemu\": {\"supported\": false, \"error\": \"no\"}}}}", 'y',
     'n', 0, "domains", "missing", "no guests under TCG", NULL},
    /* images */
    {"{\"lab\": {\"images\": {\"leaf\": \"no\"}}}", 'y', 'y', 0, "images", "ok", "in minutes", ""},
    {"{\"lab\": {\"images\": {\"leaf\": \"layers\"}}}", 'y', 'y', 0, "images", "ok", "in seconds",
     ""},
    {"{\"lab\": {\"builder\": {\"error\": \"no libguestfs.so.0\"}}}", 'y', 'y', 0, "builder",
     "warn", "no libguestfs.so.0", "apt-get install libguestfs0"},
    {"{\"lab\": {\"images\": {\"leaf\": \"no\"}, \"builder\": {\"error\": \"no "
     "libguestfs.so.0\"}}}",
     'n', 'n', 1, "images", "missing", "no libguestfs.so.0", NULL},
    {"{\"machine\": {\"programs\": {\"mmdebstrap\": null}}}", 'y', 'y', 0, "builder", "warn",
     "no mmdebstrap", "apt-get install mmdebstrap"},
    {"{\"machine\": {\"kernels\": []}}", 'y', 'y', 0, "appliance", "ok", "none in /boot", ""},
    {"{\"machine\": {\"module_folder\": false}}", 'y', 'y', 0, "appliance", "warn",
     "no folder /lib/modules", "mkdir /lib/modules"},
    {"{\"machine\": {\"module_folder\": false}, \"lab\": {\"images\": {\"leaf\": \"no\"}}}", 'n',
     'n', 1, "appliance", "missing", "no folder /lib/modules", "mkdir /lib/modules"},
    /* resources */
    {"{\"facts\": {\"memory\": {\"available_kib\": 2097152}}}", 'y', 'n', 0, "memory", "missing",
     "2048 MiB available: enough for a local L0", NULL},
    {"{\"facts\": {\"memory\": {\"available_kib\": 524288}}}", 'n', 'n', 1, "memory", "missing",
     "too little", NULL},
    {"{\"machine\": {\"cgroup\": {\"memory_max_kib\": 524288}}}", 'n', 'n', 1, "memory", "missing",
     "control group", NULL},
    {"{\"machine\": {\"file_systems\": {\"/var/tmp/nestlab-0\": {\"available_mib\": 100}}}}", 'n',
     'n', 1, "run-folder", "missing", "100 MiB", "gc"},
    {"{\"lab\": {\"runs\": null, \"runs_error\": \"not ours\"}}", 'n', 'n', 1, "run-folder",
     "missing", "not ours", "NESTLAB_RUNS"},
    {"{\"lab\": {\"images\": {\"leaf\": \"no\"}}, \"machine\": {\"file_systems\": "
     "{\"/root/.cache/nestlab\": {\"available_mib\": 900}}}}",
     'n', 'n', 1, "store", "missing", "900 MiB", "--store"},
    {"{\"machine\": {\"file_systems\": {\"/root/.cache/nestlab\": {\"available_mib\": 900}}}}", 'y',
     'y', 0, "store", "ok", "900 MiB", ""},
    {"{\"machine\": {\"file_systems\": {\"/root/.cache/nestlab\": {\"writable\": false}}}}", 'n',
     'n', 1, "store", "missing", "not writable", NULL},
    {"{\"lab\": {\"store\": null, \"store_error\": \"HOME is not set\"}}", 'n', 'n', 1, "store",
     "missing", "HOME is not set", NULL},
    {"{\"machine\": {\"limits\": {\"open_files\": {\"soft\": 64}}}}", 'y', 'y', 0, "limits", "warn",
     "open_files is limited to 64", "ulimit -n"},
    /* company */
    {"{\"machine\": {\"modules\": {\"loaded\": [\"vboxdrv\"]}}}", 'y', 'y', 0, "conflicts", "warn",
     "VirtualBox", "modprobe -r vboxnetadp"},
    {"{\"machine\": {\"modules\": {\"loaded\": [\"vmmon\"]}}}", 'y', 'y', 0, "conflicts", "warn",
     "VMware", "vmmon"},
    {"{\"machine\": {\"lockdown\": {\"mode\": \"integrity\"}, \"firmware\": {\"secure_boot\": "
     "true}}}",
     'y', 'y', 0, "lockdown", "ok", "Secure Boot, lockdown mode integrity", ""},
    {"{\"machine\": {\"log\": {\"lines\": [\"Lockdown: modprobe: unsigned module loading is "
     "restricted; see man kernel_lockdown.7\"]}}}",
     'y', 'y', 0, "lockdown", "warn", "is restricted", "sign"},
    /* what could not be looked at is not known, and neither good nor bad */
    {"{\"facts\": null, \"machine\": null, \"unknown\": {\"facts\": \"no agent\", \"machine\": "
     "\"no "
     "agent\"}}",
     '?', '?', 3, "kvm-guest", "unknown", "no agent", ""},
    {"{\"facts\": {\"kernel\": {\"machine\": \"aarch64\"}}}", 'n', 'n', 1, "system", "missing",
     "aarch64", "x86-64"},
};

/* Do rows and `--l0 auto` mean the same by a machine that can be L0? */
static void agrees_with_l0(const json_t *gathered, const json_t *judged)
{
    static const char *const rows[] = {"cpu", "nested", "kvm-device", "kvm-guest"};
    const char *hint = NULL;
    bool missing = false;
    char buffer[320];

    if (!nl_dig(gathered, "facts"))
        return;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        missing |= nl_dig_is(row_of(judged, rows[i]), "verdict", "missing");
    assert_int_equal(
        missing, nl_l0_why_not(nl_dig(gathered, "facts"), &hint, buffer, sizeof(buffer)) != NULL);
}

static void test_machines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        cleanup_json json_t *gathered = host(machines[i].change);
        cleanup_json json_t *judged = nl_doctor_judge(gathered);
        const json_t *row = row_of(judged, machines[i].row);
        const char *fix = nl_dig_string(row, "fix", "");

        if (possible(judged, "local") != machines[i].local ||
            possible(judged, "emulated") != machines[i].emulated ||
            (int)nl_doctor_status(judged) != machines[i].status ||
            !nl_dig_is(row, "verdict", machines[i].verdict) ||
            (machines[i].found && !strstr(nl_dig_string(row, "found", ""), machines[i].found)) ||
            (machines[i].fix && (*machines[i].fix ? !strstr(fix, machines[i].fix) : *fix != '\0')))
            fail_msg("%s:\n%s: %s %s; fix %s; local %c, emulated %c", machines[i].change,
                     machines[i].row, nl_dig_string(row, "verdict", "no row"),
                     nl_dig_string(row, "found", ""), fix, possible(judged, "local"),
                     possible(judged, "emulated"));
        agrees_with_l0(gathered, judged);
    }
}

/* A good host has nothing to complain about. */
static void test_good_host(void **state)
{
    cleanup_json json_t *gathered = host("{}");
    cleanup_json json_t *judged = nl_doctor_judge(gathered);
    json_t *row;
    size_t i;

    (void)state;
    json_array_foreach(json_object_get(judged, "rows"), i, row)
    {
        if (!nl_dig_is(row, "verdict", "ok"))
            fail_msg("%s: %s", nl_dig_string(row, "name", "?"), nl_dig_string(row, "found", "?"));
        assert_true(*nl_dig_string(row, "looked_at", "") && *nl_dig_string(row, "need", ""));
    }
    assert_true(json_array_size(json_object_get(judged, "rows")) > 20);
    assert_non_null(strstr(nl_dig_string(judged, "next", ""), "takes this machine as L0"));
}

static void test_layers(void **state)
{
    static const char layer[] =
        "{\"subject\": {\"kind\": \"layer\"}, \"lab\": null, \"libvirt\": null,"
        "\"facts\": {\"memory\": {\"available_kib\": 1200000}}}";
    static const char leaf[] =
        "{\"subject\": {\"kind\": \"layer\"}, \"lab\": null, \"libvirt\": null, \"facts\": "
        "{" NO_DEVICE ", " NO_MODULE ", \"memory\": {\"available_kib\": 190000}}, \"machine\": "
        "{\"qemu\": [], \"libvirt\": {\"library\": null}, \"modules\": {\"loaded\": []}}}";
    cleanup_json json_t *good = host(layer);
    cleanup_json json_t *judged = nl_doctor_judge(good);
    cleanup_json json_t *bad = host(leaf);
    cleanup_json json_t *judged_bad = nl_doctor_judge(bad);

    (void)state;
    assert_int_equal(possible(judged, "local"), 'y');
    assert_int_equal(possible(judged, "emulated"), 'n');
    assert_true(nl_dig_is(row_of(judged, "memory"), "verdict", "ok"));
    assert_null(row_of(judged, "images"));
    assert_int_equal(nl_doctor_status(judged), 0);
    assert_int_equal(nl_doctor_status(judged_bad), 1);
    assert_non_null(strstr(nl_dig_string(judged_bad, "next", ""), "image hypervisor"));
}

#define URI(libvirt)                                                                               \
    "{\"subject\": {\"kind\": \"uri\"}, \"lab\": null, \"facts\": null, \"machine\": null, "       \
    "\"libvirt\": {" libvirt "}}"

static const struct {
    const char *change;
    char local, emulated;
    const char *row, *verdict;
} hosts[] = {
    /* Only running a guest would prove KVM. */
    {URI(""), '?', 'y', "kvm-guest", "unknown"},
    {URI(""), '?', 'y', "nested", "ok"},
    {URI("\"domains\": {\"kvm\": {\"svm\": false}}"), 'n', 'y', "nested", "missing"},
    {URI("\"domains\": {\"kvm\": {\"supported\": false, \"svm\": null, \"vmx\": null}}"), 'n', 'y',
     "kvm-guest", "missing"},
    {URI("\"domains\": {\"qemu\": {\"npt\": null}}"), '?', '?', "qemu-svm", "unknown"},
    {URI("\"domains\": {\"qemu\": {\"npt\": false}}"), '?', 'n', "qemu-svm", "missing"},
    {URI("\"driver\": \"LXC\""), 'n', 'n', "qemu", "missing"},
    {URI("\"host\": {\"emulator\": null}"), 'n', 'n', "qemu", "missing"},
    {URI("\"host\": {\"arch\": \"aarch64\"}"), 'n', 'n', "system", "missing"},
    {URI("\"node\": {\"available_kib\": 900000}"), 'n', 'n', "memory", "missing"},
    {URI("\"node\": {\"available_kib\": null}"), '?', '?', "memory", "unknown"},
    {URI("\"host\": null"), '?', '?', "qemu", "unknown"},
};

static void test_hosts_by_uri(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        cleanup_json json_t *gathered = host(hosts[i].change);
        cleanup_json json_t *judged = nl_doctor_judge(gathered);
        const json_t *row = row_of(judged, hosts[i].row);

        if (possible(judged, "local") != hosts[i].local ||
            possible(judged, "emulated") != hosts[i].emulated ||
            !nl_dig_is(row, "verdict", hosts[i].verdict))
            fail_msg("%s:\n%s: %s %s; local %c, emulated %c", hosts[i].change, hosts[i].row,
                     nl_dig_string(row, "verdict", "no row"), nl_dig_string(row, "found", ""),
                     possible(judged, "local"), possible(judged, "emulated"));
    }
}

/* Judge and print with every value of the good host replaced in turn; nothing may break, and what
   is not there must not become a promise. */
static void replace_each(json_t *root, json_t *at, const json_t *by)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(at, next, key, value)
    {
        cleanup_json json_t *kept = json_incref(value);
        cleanup_json json_t *judged = NULL;
        cleanup_free char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);

        json_object_set(at, key, (json_t *)by);
        judged = nl_doctor_judge(root);
        nl_doctor_print(root, judged, out, true);
        fclose(out);
        assert_true(length > 100);
        assert_non_null(json_object_get(judged, "possible"));
        json_object_set(at, key, kept);
        replace_each(root, kept, by);
    }
}

static void test_anything(void **state)
{
    static const char *const values[] = {"null", "-1",           "1e300", "\"\"",
                                         "[]",   "[null, \"\"]", "{}",    "\"\\u001b[2J%s%n\""};
    cleanup_json json_t *nothing = nl_doctor_judge(NULL);

    (void)state;
    assert_int_equal(nl_doctor_status(nothing), NL_EXIT_LAB);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        cleanup_json json_t *root = host("{}");
        cleanup_json json_t *value = json_loads(values[i], JSON_DECODE_ANY, NULL);

        assert_non_null(value);
        replace_each(root, root, value);
    }
}

static void test_print(void **state)
{
    cleanup_json json_t *gathered =
        host("{\"machine\": {\"qemu\": [{\"path\": \"/q\\u001b[31m\", \"error\": \"x\"}]}}");
    cleanup_json json_t *judged = nl_doctor_judge(gathered);
    cleanup_free char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    (void)state;
    nl_doctor_print(gathered, judged, out, false);
    fclose(out);
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, "missing  qemu"));
    assert_non_null(strstr(text, "fix: sudo apt-get install qemu-system-x86"));
    assert_non_null(strstr(text, "local     no"));
    assert_non_null(strstr(text, "\nNext: "));
}

static void test_capabilities(void **state)
{
    static const char xml[] =
        "<capabilities><host><cpu><arch>x86_64</arch><model>EPYC</model><vendor>AMD</vendor>"
        "<feature name='svm'/><feature name='npt'/></cpu></host>"
        "<guest><os_type>hvm</os_type><arch name='i686'><domain type='xen'/></arch></guest>"
        "<guest><os_type>hvm</os_type><arch name='x86_64'><emulator>/usr/bin/q</emulator>"
        "<domain type='qemu'/><domain type='kvm'/></arch></guest></capabilities>";
    cleanup_json json_t *told = nl_doctor_capabilities(xml);

    (void)state;
    assert_true(nl_dig_is(told, "arch", "x86_64"));
    assert_true(nl_dig_is(told, "cpu.model", "EPYC"));
    assert_true(nl_dig_is(told, "emulator", "/usr/bin/q"));
    assert_int_equal(json_array_size(nl_dig(told, "cpu.features")), 2);
    assert_string_equal(json_string_value(json_array_get(nl_dig(told, "cpu.features"), 0)), "svm");
    assert_int_equal(json_array_size(nl_dig(told, "domain_types")), 2);
    assert_null(nl_doctor_capabilities("<domain/>"));
    assert_null(nl_doctor_capabilities("<capabilities>"));
    assert_null(nl_doctor_capabilities(""));
    assert_null(nl_doctor_capabilities(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machines),     cmocka_unit_test(test_good_host),
        cmocka_unit_test(test_layers),       cmocka_unit_test(test_hosts_by_uri),
        cmocka_unit_test(test_anything),     cmocka_unit_test(test_print),
        cmocka_unit_test(test_capabilities),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
