/*
 * machine-qemu.c - see machine.h: what each QEMU here can do, by its own word over QMP. It is
 * started without a machine, as libvirt does when it looks at a QEMU.
 */
#include "exec.h"
#include "machine.h"
#include "machine-parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A QEMU inside nested guests takes seconds to start. */
#define QEMU_S 30.0
#define OUTPUT_MAX (1024 * 1024)

static const char questions[] = "{\"execute\":\"qmp_capabilities\"}\n"
                                "{\"execute\":\"query-version\",\"id\":\"version\"}\n"
                                "{\"execute\":\"query-kvm\",\"id\":\"kvm\"}\n"
                                "{\"execute\":\"query-machines\",\"id\":\"machines\"}\n"
                                "{\"execute\":\"query-cpu-definitions\",\"id\":\"cpus\"}\n"
                                "{\"execute\":\"quit\"}\n";

static json_t *version_of(const json_t *said)
{
    json_t *qemu = json_object_get(said, "qemu");
    int major, minor, micro;

    if (json_unpack(qemu, "{s:i, s:i, s:i}", "major", &major, "minor", &minor, "micro", &micro) < 0)
        return json_null();
    return json_sprintf("%d.%d.%d", major, minor, micro);
}

/* Which of the machine types that the lab uses there are, by their aliases. */
static json_t *machines_of(const json_t *said)
{
    static const char *const names[] = {"pc", "q35", "microvm"};
    json_t *all = json_array();
    json_t *machine;
    size_t i;

    json_array_foreach(said, i, machine)
    {
        const char *name = json_string_value(json_object_get(machine, "name"));
        const char *alias = json_string_value(json_object_get(machine, "alias"));
        for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
            if ((name && !strcmp(name, names[n])) || (alias && !strcmp(alias, names[n])))
                json_array_append_new(all, json_string(names[n]));
    }
    return all;
}

static bool lacks(const json_t *cpu, const char *feature)
{
    json_t *missing;
    size_t i;

    json_array_foreach(json_object_get(cpu, "unavailable-features"), i, missing)
    {
        if (json_is_string(missing) && !strcmp(json_string_value(missing), feature))
            return true;
    }
    return false;
}

/* The model EPYC has SVM and nested paging; QEMU says which of its features this accelerator (TCG)
   does not give. */
static json_t *epyc_of(const json_t *said)
{
    json_t *cpu;
    size_t i;

    json_array_foreach(said, i, cpu)
    {
        const char *name = json_string_value(json_object_get(cpu, "name"));
        if (!name || strcmp(name, "EPYC") != 0)
            continue;
        if (!json_is_array(json_object_get(cpu, "unavailable-features")))
            return json_null();
        return json_pack("{s:b, s:b}", "svm", !lacks(cpu, "svm"), "npt", !lacks(cpu, "npt"));
    }
    return json_null();
}

json_t *agent_qemu_answers(const char *output)
{
    static const struct {
        const char *id;
        const char *key;
        json_t *(*of)(const json_t *said);
    } answers[] = {
        {"version", "version", version_of},
        {"machines", "machines", machines_of},
        {"cpus", "tcg_epyc", epyc_of},
    };
    cleanup_free char *copy = strdup(output);
    json_t *all = json_pack("{s:n, s:n, s:n, s:n}", "version", "machines", "tcg_epyc", "kvm");
    char *rest = copy;

    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        cleanup_json json_t *reply = json_loads(line, 0, NULL);
        const char *id = json_string_value(json_object_get(reply, "id"));
        const json_t *said = json_object_get(reply, "return");
        if (!id || !said)
            continue;
        for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
            if (!strcmp(id, answers[i].id))
                json_object_set_new(all, answers[i].key, answers[i].of(said));
        if (!strcmp(id, "kvm"))
            json_object_set(all, "kvm", json_object_get(said, "present"));
    }
    return all;
}

/* The last line of what it complained about. */
static json_t *complaint(const json_t *reply)
{
    const char *text = json_string_value(json_object_get(reply, "stderr"));
    cleanup_free char *copy = text ? strdup(text) : NULL;
    size_t end = copy ? strlen(copy) : 0;

    if (json_is_true(json_object_get(reply, "timed_out")))
        return json_sprintf("did not answer within %g s", QEMU_S);
    while (end > 0 && copy[end - 1] == '\n')
        copy[--end] = '\0';
    if (end == 0)
        return json_string("gave no answer");
    const char *line = strrchr(copy, '\n');
    return agent_json_string(line ? line + 1 : copy);
}

/* What the QEMU at PATH says with ACCELERATOR. */
static json_t *ask_with(const char *path, const char *accelerator)
{
    cleanup_free char *machine = agent_below("none,accel=", "%s", accelerator);
    cleanup_json json_t *request = json_pack(
        "{s:[s, s, s, s, s, s, s, s, s], s:s, s:f, s:i, s:s}", "argv", path, "-machine", machine,
        "-nodefaults", "-no-user-config", "-display", "none", "-qmp", "stdio", "input", questions,
        "timeout_s", QEMU_S, "output_limit", OUTPUT_MAX, "directory", "/");
    cleanup_agent_error struct agent_error error = {0};
    cleanup_json json_t *reply = NULL;
    json_t *answers;

    if (agent_exec(request, &reply, &error) < 0)
        return json_pack("{s:n, s:o}", "version", "error", agent_json_string(error.message));
    const char *output = json_string_value(json_object_get(reply, "stdout"));
    answers = agent_qemu_answers(output ? output : "");
    json_object_set_new(answers, "error",
                        json_is_null(json_object_get(answers, "version")) ? complaint(reply)
                                                                          : json_null());
    return answers;
}

/* There are QEMUs that are built without TCG: they answer under KVM. */
static json_t *ask_qemu(const char *path)
{
    json_t *answers = ask_with(path, "tcg");

    json_object_set_new(answers, "tcg_error", json_null());
    if (json_is_null(json_object_get(answers, "version")) && access("/dev/kvm", R_OK | W_OK) == 0) {
        json_t *under_kvm = ask_with(path, "kvm");
        json_object_set(under_kvm, "tcg_error", json_object_get(answers, "error"));
        json_object_set_new(under_kvm, "tcg_epyc", json_null());
        json_decref(answers);
        answers = under_kvm;
    }
    json_object_set_new(answers, "path", agent_json_string(path));
    return answers;
}

json_t *agent_machine_qemu(void)
{
    /* libvirt looks for them in this order; the last is where RHEL keeps its own. */
    static const char *const names[] = {"qemu-system-x86_64", "qemu-kvm"};
    json_t *all = json_array();

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cleanup_free char *path = agent_find_program(names[i]);
        if (path)
            json_array_append_new(all, ask_qemu(path));
    }
    return all;
}
