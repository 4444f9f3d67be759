/*
 * l0.c - where L0 is: see l0.h.
 */
#include "l0.h"
#include "dig.h"
#include "process.h"

#include <string.h>

/* The agent's own deadline for its tiny guest is 5 s; a machine under load takes longer to get
 * there.
 */
#define PROBE_S 30.0
#define RELOAD_S 60.0
/* A loop of two instructions runs alike in a guest and outside, but for a busy machine; to
 * interpret it takes hundreds of times as long.
 */
#define INTERPRETS 10.0

/* Facts of this machine, by the agent run as a local program. */
static int local_facts(const char *agent, json_t **facts, struct nl_error **err)
{
    const char *argv[] = {agent, "--facts", NULL};
    struct nl_process process = {.argv = argv, .output_limit = 8 << 20, .timeout = PROBE_S};
    cleanup_free char *output = NULL;

    if (nl_process_run(&process, &output, err) < 0)
        return -1;
    *facts = json_loads(output, 0, NULL);
    return *facts ? 0 : nl_fail(err, NL_EXIT_LAB, "%s --facts printed no JSON", agent);
}

static bool is_on(const char *value)
{
    return value && (!strcmp(value, "1") || !strcmp(value, "Y"));
}

/* The vendor's KVM module, by what the CPU offers; NULL if it offers nothing. */
static const char *vendor_module(const json_t *facts)
{
    if (nl_dig_true(facts, "cpuid.svm"))
        return "kvm_amd";
    return nl_dig_true(facts, "cpuid.vmx") ? "kvm_intel" : NULL;
}

static bool module_nests(const json_t *facts, const char *module)
{
    char path[64];

    snprintf(path, sizeof(path), "modules.%s.parameters.nested", module);
    return is_on(nl_dig_string(facts, path, NULL));
}

bool nl_l0_interprets(const json_t *facts)
{
    double inside = nl_dig_number(facts, "kvm.guest.loop_ns", 0);
    double outside = nl_dig_number(facts, "kvm.guest.loop_ns_outside", 0);

    return outside > 0 && inside > INTERPRETS * outside;
}

const char *nl_l0_why_not(const json_t *facts, const char **hint, char *buffer, size_t size)
{
    const char *module = vendor_module(facts);

    if (!nl_dig_true(facts, "kvm.device.exists")) {
        *hint = "load KVM (modprobe kvm_amd or kvm_intel), or use --l0 emulated";
        return "this machine has no /dev/kvm";
    }
    if (!nl_dig_true(facts, "kvm.device.opens")) {
        snprintf(buffer, size, "/dev/kvm cannot be opened: %.200s",
                 nl_dig_string(facts, "kvm.device.error", "unknown reason"));
        *hint = "become a member of the group kvm, or run as root";
        return buffer;
    }
    if (!nl_dig_true(facts, "kvm.guest.ran")) {
        snprintf(buffer, size, "/dev/kvm opens but does not run guest code at speed: %.200s",
                 nl_dig_string(facts, "kvm.guest.error", "unknown reason"));
        *hint = "use --l0 emulated: KVM here interprets or hangs";
        return buffer;
    }
    if (nl_l0_interprets(facts)) {
        snprintf(buffer, size, "KVM here interprets: a loop takes %.0f times as long in a guest",
                 nl_dig_number(facts, "kvm.guest.loop_ns", 0) /
                     nl_dig_number(facts, "kvm.guest.loop_ns_outside", 1));
        *hint = "use --l0 emulated";
        return buffer;
    }
    if (!module) {
        *hint = "enable virtualization in the firmware, or nesting in the layer below; or use "
                "--l0 emulated";
        return "the CPU shows neither svm nor vmx";
    }
    if (!module_nests(facts, module)) {
        snprintf(buffer, size, "nesting is off: %s has nested=0", module);
        *hint = "use --enable-nesting, or: modprobe -r kvm_amd kvm_intel; modprobe MODULE nested=1";
        return buffer;
    }
    return NULL;
}

int nl_l0_choose(const char *asked, const char *agent, bool *local, char **why,
                 struct nl_error **err)
{
    cleanup_error struct nl_error *looking = NULL;
    cleanup_json json_t *facts = NULL;
    const char *hint = NULL;
    const char *reason;
    char buffer[320];

    *local = false;
    if (!strcmp(asked, "emulated")) {
        *why = strdup("asked for");
        return *why ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    if (local_facts(agent, &facts, &looking) < 0) {
        nl_wrap(&looking, "looking at this machine's KVM");
        if (!strcmp(asked, "local") || nl_interrupted()) {
            if (err)
                *err = nl_steal(&looking);
            return -1;
        }
        /* An emulated L0 needs nothing of this machine's KVM. */
        *why = strdup(nl_error_message(looking));
        return *why ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    reason = nl_l0_why_not(facts, &hint, buffer, sizeof(buffer));
    if (reason && !strcmp(asked, "local")) {
        nl_fail(err, NL_EXIT_LAB, "L0 cannot be this machine: %s", reason);
        return nl_hint(err, "%s", hint);
    }
    *local = !reason;
    *why = strdup(reason ? reason : "a tiny guest ran under KVM here at speed, and nesting is on");
    return *why ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}

/* The first line of a file, or NULL; the caller's. */
static char *first_line(const char *path)
{
    cleanup_fclose FILE *file = fopen(path, "re");
    char line[64];

    if (!file || !fgets(line, sizeof(line), file))
        return NULL;
    line[strcspn(line, "\n")] = '\0';
    return strdup(line);
}

static int modprobe(const char *option, const char *module, const char *parameter,
                    struct nl_error **err)
{
    const char *argv[] = {"modprobe", option, module, parameter, NULL};
    /* Not in the search path of every root shell. */
    const char *path[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                          NULL};
    struct nl_process process = {.argv = argv, .environment = path, .timeout = RELOAD_S};

    return nl_process_run(&process, NULL, err);
}

/* Whole or not at all, also under an interrupt: this machine must not be left without its module.
 */
static int reload(const char *module, const char *nested, struct nl_error **err)
{
    int rc;

    nl_interrupt_shield(true);
    rc = modprobe("-r", module, NULL, err);
    if (rc < 0) {
        nl_wrap(err, "unloading %s", module);
        nl_hint(err, "it is in use while a guest runs, and only root may do this");
    } else if ((rc = modprobe("--", module, nested, err)) < 0) {
        nl_wrap(err, "loading %s with %s", module, nested);
        if (modprobe("--", module, NULL, NULL) < 0)
            nl_hint(err, "%s is no longer loaded on this machine: modprobe %s", module, module);
    }
    nl_interrupt_shield(false);
    return rc;
}

int nl_l0_enable_nesting(char **undo, struct nl_error **err)
{
    static const char *const modules[] = {"kvm_amd", "kvm_intel"};

    *undo = NULL;
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *path = NULL;
        cleanup_free char *value = NULL;
        cleanup_free char *reloaded = strdup(modules[i]);

        if (!reloaded || asprintf(&path, "/sys/module/%s/parameters/nested", modules[i]) < 0)
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        value = first_line(path);
        if (!value)
            continue;
        if (is_on(value))
            return 0;
        if (reload(modules[i], "nested=1", err) < 0)
            return -1;
        *undo = nl_steal(&reloaded);
        return 0;
    }
    return nl_fail(err, NL_EXIT_LAB, "neither kvm_amd nor kvm_intel is loaded on this machine");
}

int nl_l0_restore(const char *undo, struct nl_error **err)
{
    return undo ? reload(undo, "nested=0", err) : 0;
}
