/*
 * test-agent-machine.c - what the agent tells of a machine, by files below a folder that stand for
 * it.
 */
#include "machine-parts.h"
#include "machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char root[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(root, "/tmp/nlt-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
    cleanup_free char *command = agent_below("rm -rf ", "%s", root);

    (void)state;
    return system(command);
}

static void put_bytes(const char *path, const char *bytes, size_t length)
{
    cleanup_free char *whole = agent_below(root, "%s", path);
    char *slash = strrchr(whole, '/');

    *slash = '\0';
    assert_int_equal(agent_make_folders(whole), 0);
    mkdir(whole, 0755);
    *slash = '/';
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static void put(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static void test_system(void **state)
{
    (void)state;
    cleanup_json json_t *none = agent_machine_os(root);
    assert_true(json_is_null(none));
    put("/etc/os-release",
        "NAME=\"x\"\nID=rocky\nID_LIKE=\"rhel centos\"\nPRETTY_NAME='Rocky 9'\n");
    cleanup_json json_t *os = agent_machine_os(root);
    assert_string_equal(text_of(os, "id"), "rocky");
    assert_string_equal(text_of(os, "like"), "rhel centos");
    assert_string_equal(text_of(os, "name"), "Rocky 9");

    cleanup_json json_t *free_of = agent_machine_container(root);
    assert_true(json_is_null(free_of));
    put("/.dockerenv", "");
    cleanup_json json_t *docker = agent_machine_container(root);
    assert_string_equal(json_string_value(docker), "docker");
    put("/run/systemd/container", "lxc\n");
    cleanup_json json_t *lxc = agent_machine_container(root);
    assert_string_equal(json_string_value(lxc), "lxc");
}

static void test_lockdown(void **state)
{
    (void)state;
    cleanup_json json_t *unseen = agent_machine_lockdown(root);
    assert_non_null(strstr(text_of(unseen, "error"), "No such file"));
    put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    cleanup_json json_t *seen = agent_machine_lockdown(root);
    assert_string_equal(text_of(seen, "mode"), "integrity");
    put("/sys/kernel/security/lockdown", "nothing marked\n");
    cleanup_json json_t *strange = agent_machine_lockdown(root);
    assert_non_null(json_object_get(strange, "error"));
}

static void test_firmware(void **state)
{
    static const char variable[] =
        "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

    (void)state;
    cleanup_json json_t *bios = agent_machine_firmware(root);
    assert_string_equal(text_of(bios, "kind"), "bios");
    assert_true(json_is_false(json_object_get(bios, "secure_boot")));
    put_bytes(variable, "\6\0\0\0\1", 5);
    cleanup_json json_t *secure = agent_machine_firmware(root);
    assert_string_equal(text_of(secure, "kind"), "efi");
    assert_true(json_is_true(json_object_get(secure, "secure_boot")));
    put_bytes(variable, "\6\0\0\0\0", 5);
    cleanup_json json_t *insecure = agent_machine_firmware(root);
    assert_true(json_is_false(json_object_get(insecure, "secure_boot")));
    put_bytes(variable, "\6", 1);
    cleanup_json json_t *unreadable = agent_machine_firmware(root);
    assert_true(json_is_null(json_object_get(unreadable, "secure_boot")));
}

static json_int_t memory_limit(void)
{
    cleanup_json json_t *cgroup = agent_machine_cgroup(root);
    const json_t *limit = json_object_get(cgroup, "memory_max_kib");

    assert_non_null(limit);
    return json_is_null(limit) ? -1 : json_integer_value(limit);
}

/* The strictest counts, wherever it is on the way up. */
static void test_cgroup(void **state)
{
    (void)state;
    cleanup_json json_t *unseen = agent_machine_cgroup(root);
    assert_non_null(json_object_get(unseen, "error"));
    put("/proc/self/cgroup", "0::/a/b\n");
    assert_int_equal(memory_limit(), -1);
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    assert_int_equal(memory_limit(), -1);
    put("/sys/fs/cgroup/a/b/memory.max", "4194304000\n");
    put("/sys/fs/cgroup/a/memory.max", "1048576000\n");
    assert_int_equal(memory_limit(), 1024000);
    put("/sys/fs/cgroup/memory.max", "1024000\n");
    assert_int_equal(memory_limit(), 1000);
    put("/proc/self/cgroup", "12:cpu,cpuacct:/x\n5:memory:/docker/1\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(memory_limit(), -1);
    put("/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "2048000\n");
    assert_int_equal(memory_limit(), 2000);
}

static bool has(const json_t *array, const char *word)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        if (!strcmp(json_string_value(json_array_get(array, i)), word))
            return true;
    return false;
}

static void test_modules(void **state)
{
    (void)state;
    put("/proc/modules", "vboxdrv 1 2 - Live 0x0\next4 3 4 - Live 0x0\n");
    put("/sys/module/kvm_pvm/parameters/x", "1");
    put("/lib/modules/6.1/kernel/arch/x86/kvm/kvm-intel.ko.xz", "");
    put("/lib/modules/6.1/modules.builtin", "kernel/arch/x86/kvm/kvm-amd.ko\n");
    cleanup_json json_t *modules = agent_machine_modules(root, "6.1");
    assert_true(has(json_object_get(modules, "loaded"), "vboxdrv"));
    assert_true(has(json_object_get(modules, "loaded"), "kvm_pvm"));
    assert_string_equal(text_of(modules, "kvm_amd"), "built in");
    assert_string_equal(text_of(modules, "kvm_intel"), "file");
    cleanup_json json_t *other = agent_machine_modules(root, "6.2");
    assert_true(json_is_null(json_object_get(other, "kvm_amd")));
    assert_true(json_is_null(json_object_get(other, "kvm_intel")));
}

static void test_device(void **state)
{
    cleanup_free char *path = agent_below(root, "/dev/kvm");

    (void)state;
    cleanup_json json_t *none = agent_machine_device(root, "/dev/kvm");
    assert_true(json_is_false(json_object_get(none, "exists")));
    put("/dev/kvm", "");
    assert_int_equal(chmod(path, 0640), 0);
    cleanup_free char *group = agent_below("root:x:99999:\nkvm:x:", "%d:a,b\n", (int)getegid());
    put("/etc/group", group);
    cleanup_json json_t *device = agent_machine_device(root, "/dev/kvm");
    assert_string_equal(text_of(device, "mode"), "0640");
    assert_string_equal(text_of(device, "group"), "kvm");
    assert_true(json_is_true(json_object_get(device, "accessible")));
    assert_true(json_is_false(json_object_get(device, "character_device")));
}

static void test_libvirt(void **state)
{
    cleanup_free char *link = agent_below(root, "/usr/lib64/libvirt.so.0");

    (void)state;
    put("/usr/lib64/libvirt.so.0.11003.2", "");
    assert_int_equal(symlink("libvirt.so.0.11003.2", link), 0);
    put("/usr/lib64/libvirt/connection-driver/libvirt_driver_qemu.so", "");
    put("/usr/sbin/virtqemud", "");
    cleanup_json json_t *libvirt = agent_machine_libvirt(root);
    assert_string_equal(text_of(json_object_get(libvirt, "library"), "version"), "11.3.2");
    assert_string_equal(text_of(libvirt, "qemu_driver"),
                        "/usr/lib64/libvirt/connection-driver/libvirt_driver_qemu.so");
    assert_string_equal(text_of(libvirt, "daemon"), "/usr/sbin/virtqemud");
    assert_true(json_is_null(json_object_get(libvirt, "socket")));
}

static void test_kernels(void **state)
{
    (void)state;
    put("/boot/vmlinuz-6.1", "");
    put("/boot/initrd.img-6.1", "");
    put("/lib/modules/6.1/modules.dep", "");
    cleanup_json json_t *kernels = agent_machine_kernels(root);
    assert_int_equal(json_array_size(kernels), 1);
    const json_t *kernel = json_array_get(kernels, 0);
    assert_string_equal(text_of(kernel, "path"), "/boot/vmlinuz-6.1");
    assert_true(json_is_true(json_object_get(kernel, "modules")));
}

/* A file holds one record where the device gives one a read. */
static void test_log(void **state)
{
    cleanup_free char *path = agent_below(root, "/kmsg");

    (void)state;
    cleanup_json json_t *unseen = agent_machine_log(path);
    assert_non_null(strstr(text_of(unseen, "error"), "No such file"));
    put("/kmsg", "6,0,1,-;SVM disabled (by BIOS) in MSR_VM_CR\n");
    cleanup_json json_t *seen = agent_machine_log(path);
    assert_true(has(json_object_get(seen, "lines"), "SVM disabled (by BIOS) in MSR_VM_CR"));
    assert_true(json_is_false(json_object_get(seen, "overwritten")));
    put("/kmsg", "6,7,1,-;usb 1-1: new device\n");
    cleanup_json json_t *later = agent_machine_log(path);
    assert_int_equal(json_array_size(json_object_get(later, "lines")), 0);
    assert_true(json_is_true(json_object_get(later, "overwritten")));
}

static void test_qemu(void **state)
{
    static const char output[] =
        "{\"QMP\": {\"version\": {}}}\n{\"return\": {}}\n"
        "{\"id\": \"version\", \"return\": {\"qemu\": {\"major\": 7, \"minor\": 2, \"micro\": "
        "22}}}\n"
        "{\"id\": \"kvm\", \"return\": {\"enabled\": false, \"present\": true}}\n"
        "not JSON\n"
        "{\"id\": \"machines\", \"return\": [{\"name\": \"pc-i440fx-7.2\", \"alias\": \"pc\"}, "
        "{\"name\": \"microvm\"}, {\"name\": \"isapc\"}]}\n"
        "{\"id\": \"cpus\", \"return\": [{\"name\": \"max\"}, {\"name\": \"EPYC\", "
        "\"unavailable-features\": [\"rdseed\", \"npt\"]}]}\n"
        "{\"timestamp\": {}, \"event\": \"SHUTDOWN\"}\n";

    (void)state;
    cleanup_json json_t *answers = agent_qemu_answers(output);
    assert_string_equal(text_of(answers, "version"), "7.2.22");
    assert_true(json_is_true(json_object_get(answers, "kvm")));
    assert_true(has(json_object_get(answers, "machines"), "pc"));
    assert_true(has(json_object_get(answers, "machines"), "microvm"));
    assert_int_equal(json_array_size(json_object_get(answers, "machines")), 2);
    const json_t *epyc = json_object_get(answers, "tcg_epyc");
    assert_true(json_is_true(json_object_get(epyc, "svm")));
    assert_true(json_is_false(json_object_get(epyc, "npt")));

    cleanup_json json_t *silent = agent_qemu_answers("");
    assert_true(json_is_null(json_object_get(silent, "version")));
    assert_true(json_is_null(json_object_get(silent, "tcg_epyc")));
    cleanup_json json_t *wrong = agent_qemu_answers(
        "{\"id\": \"version\", \"return\": []}\n{\"id\": \"cpus\", \"return\": {\"a\": 1}}\n"
        "{\"id\": \"cpus\", \"error\": {}}\n{\"id\": \"machines\", \"return\": [1, null]}\n[]\n");
    assert_true(json_is_null(json_object_get(wrong, "version")));
    assert_true(json_is_null(json_object_get(wrong, "tcg_epyc")));
}

#define ON_ROOT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ROOT(test_system),  ON_ROOT(test_lockdown), ON_ROOT(test_firmware),
        ON_ROOT(test_cgroup),  ON_ROOT(test_modules),  ON_ROOT(test_device),
        ON_ROOT(test_libvirt), ON_ROOT(test_kernels),  ON_ROOT(test_log),
        ON_ROOT(test_qemu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
