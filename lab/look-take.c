/*
 * look-take.c - taking a look: see look-take.h.
 */
#include "look-take.h"
#include "virt.h"

#include <string.h>

#define CALL_S 5.0

nl_deadline nl_look_call_deadline(nl_deadline until)
{
    nl_deadline deadline = nl_deadline_in(CALL_S);

    return until && until < deadline ? until : deadline;
}

/* The exits of all vCPUs. False: there are no such counters (a domain under TCG). */
static bool count_exits(const json_t *counters, unsigned long long *exits)
{
    bool found = false;
    char key[32];

    *exits = 0;
    for (unsigned i = 0;; i++) {
        const char *value;

        snprintf(key, sizeof(key), "vcpu.%u.exits.sum", i);
        value = json_string_value(json_object_get(counters, key));
        if (!value)
            return found;
        *exits += strtoull(value, NULL, 10);
        found = true;
    }
}

/* Sum of the numbers behind NAME ("rd_bytes=") in what QEMU says of its disks. */
static unsigned long long sum_of(const char *text, const char *name)
{
    unsigned long long sum = 0;

    while ((text = strstr(text, name))) {
        text += strlen(name);
        sum += strtoull(text, NULL, 10);
    }
    return sum;
}

void nl_look_take(virDomainPtr domain, const struct nl_console *console, nl_deadline until,
                  struct nl_look *look)
{
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_json json_t *counters = NULL;
    cleanup_free char *disks = NULL;

    if (console)
        look->console_bytes = nl_console_bytes(console);
    look->at_ms = nl_now_ms();
    /* A QEMU that does not answer the first question answers none. */
    if (nl_virt_monitor(domain, "info registers -a", nl_look_call_deadline(until), &look->registers,
                        &ignored) < 0)
        return;
    if (nl_virt_monitor(domain, "info blockstats", nl_look_call_deadline(until), &disks,
                        &ignored) == 0) {
        look->has_disk = true;
        look->disk_bytes = sum_of(disks, "rd_bytes=") + sum_of(disks, "wr_bytes=");
    }
    nl_error_free(&ignored);
    if (nl_virt_counters(domain, nl_look_call_deadline(until), &counters, &ignored) == 0)
        look->has_exits = count_exits(counters, &look->exits);
}
