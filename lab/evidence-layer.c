/*
 * evidence-layer.c - the layer that evidence most likely describes: see evidence.h.
 *
 * A kernel says early what it runs on. A guest of KVM cannot tell how deep it is; a machine of
 * QEMU's that sees no hypervisor is emulated, and is L0 as far as nesting is concerned.
 */
#include "evidence.h"
#include "guest-text.h"
#include "rules.h"

#include <ctype.h>
#include <string.h>

/* "DMI: " and then the maker of a virtual machine; QEMU's come first, all of them. */
static const char *const virtual_makers[] = {
    "QEMU ",
    "Bochs ",
    "Red Hat KVM",
    "SeaBIOS",
    "RDO OpenStack",
    "OpenStack Foundation",
    "KubeVirt",
    "oVirt ",
    "VMware",
    "innotek",
    "Microsoft Corporation Virtual Machine",
    "Xen ",
    "Google Google Compute",
    "Parallels",
    "Bhyve",
    NULL,
};
#define QEMU_MAKERS 8

static bool starts_with(const struct nl_line *line, const char *start)
{
    size_t n = strlen(start);

    return line->text[0] == *start && line->length >= n && memcmp(line->text, start, n) == 0;
}

static void keep(char *to, size_t size, const struct nl_line *line)
{
    size_t n = line->length < size - 1 ? line->length : size - 1;

    if (*to)
        return;
    memcpy(to, line->text, n);
    to[n] = '\0';
}

static bool contains(const struct nl_line *line, const char *text)
{
    return memmem(line->text, line->length, text, strlen(text)) != NULL;
}

static void see_machine(struct nl_clues *clues, const struct nl_line *line)
{
    const char *maker = line->text + strlen("DMI: ");
    size_t left = line->length - strlen("DMI: ");

    for (size_t i = 0; virtual_makers[i]; i++) {
        size_t n = strlen(virtual_makers[i]);

        if (left < n || memcmp(maker, virtual_makers[i], n) != 0)
            continue;
        if (i < QEMU_MAKERS) {
            clues->machine_is_qemu = true;
            keep(clues->machine_line, sizeof(clues->machine_line), line);
        } else {
            clues->hypervisor = true;
            keep(clues->hypervisor_line, sizeof(clues->hypervisor_line), line);
        }
        return;
    }
}

static void see_hypervisor(struct nl_clues *clues, const struct nl_line *line)
{
    clues->hypervisor = true;
    keep(clues->hypervisor_line, sizeof(clues->hypervisor_line), line);
}

static void see_paravirtualization(struct nl_clues *clues, const struct nl_line *line)
{
    if (contains(line, "bare hardware")) {
        clues->bare = true;
        keep(clues->bare_line, sizeof(clues->bare_line), line);
    } else {
        see_hypervisor(clues, line);
    }
}

static void see_kernel(struct nl_clues *clues, const struct nl_line *line)
{
    size_t from = strlen("Linux version ");
    size_t n = 0;

    while (from + n < line->length && line->text[from + n] != ' ' && n < sizeof(clues->kernel) - 1)
        n++;
    memcpy(clues->kernel, line->text + from, n);
    clues->kernel[n] = '\0';
}

static void see_vendor(struct nl_clues *clues, const struct nl_line *line)
{
    if (contains(line, "AMD"))
        clues->vendor |= NL_VENDOR_AMD;
    if (contains(line, "Intel"))
        clues->vendor |= NL_VENDOR_INTEL;
}

static void see_flags(struct nl_clues *clues, const struct nl_line *line)
{
    static const char flag[] = " hypervisor";
    const char *at = memmem(line->text, line->length, flag, strlen(flag));
    const char *after = at ? at + strlen(flag) : NULL;

    if (!contains(line, " fpu "))
        return;
    clues->has_flags = true;
    if (at && (after == line->text + line->length || *after == ' '))
        clues->flag = true;
    else
        clues->not_flag = true;
}

static const struct {
    const char *start;
    void (*see)(struct nl_clues *clues, const struct nl_line *line);
} seers[] = {
    {"Linux version ", see_kernel},
    {"DMI: ", see_machine},
    {"Hypervisor detected: ", see_hypervisor},
    {"Booting paravirtualized kernel on ", see_paravirtualization},
    {"kvm-clock: ", see_hypervisor},
    {"smpboot: CPU0: ", see_vendor},
    {"CPU0: ", see_vendor},
    {"vendor_id", see_vendor},
    {"Vendor ID:", see_vendor},
    {"flags", see_flags},
    {"Flags:", see_flags},
    {"Hypervisor vendor:", see_hypervisor},
};

void nl_clues_line(struct nl_clues *clues, const struct nl_line *line)
{
    /* For the many lines that are none of these. */
    static const char first[] = "LDHBksCvVfF";

    if (line->length < 5 || !memchr(first, line->text[0], sizeof(first) - 1))
        return;
    for (size_t i = 0; i < sizeof(seers) / sizeof(seers[0]); i++)
        if (starts_with(line, seers[i].start)) {
            seers[i].see(clues, line);
            return;
        }
}

/* The N of a file LN-console.log or LN-kernel.log, which runs leave; -1: it is none. */
static int layer_of_name(const char *name)
{
    const char *file = strrchr(name, '/');
    int layer;

    file = file ? file + 1 : name;
    if (file[0] != 'L' || !isdigit((unsigned char)file[1]))
        return -1;
    layer = file[1] - '0';
    file += 2;
    if (isdigit((unsigned char)*file))
        layer = layer * 10 + (*file++ - '0');
    return strcmp(file, "-console.log") == 0 || strcmp(file, "-kernel.log") == 0 ? layer : -1;
}

static struct nl_guess say(int layer, bool or_deeper, const char *why, const char *line)
{
    struct nl_guess guess = {.known = true, .or_deeper = or_deeper, .layer = layer};
    char *printable = nl_guest_text(line, strlen(line));

    snprintf(guess.why, sizeof(guess.why), "%s%s%.100s%s", why, *printable ? ": \"" : "", printable,
             *printable ? "\"" : "");
    free(printable);
    return guess;
}

struct nl_guess nl_evidence_guess(const char *name, const struct nl_clues *clues)
{
    int layer = layer_of_name(name);

    if (layer >= 0)
        return say(layer, false, "the file's name", "");
    if (clues->hypervisor)
        return say(1, true, "its kernel runs on a hypervisor", clues->hypervisor_line);
    if (clues->machine_is_qemu && clues->bare)
        return say(0, false, "a machine of QEMU's without a hypervisor: an emulated one",
                   clues->machine_line);
    if (clues->machine_is_qemu)
        return say(1, true, "its machine is QEMU's", clues->machine_line);
    if (clues->bare)
        return say(0, false, "its kernel runs on no hypervisor", clues->bare_line);
    if (clues->flag)
        return say(1, true, "its processor has the flag hypervisor", "");
    if (clues->not_flag)
        return say(0, false, "its processor lacks the flag hypervisor", "");
    return (struct nl_guess){0};
}

void nl_guess_name(const struct nl_guess *guess, int about, char name[32])
{
    static const char *const unknown[] = {"the layer below it", "an unknown layer", "its guest"};

    if (!guess->known || (guess->or_deeper && guess->layer + about < 1))
        snprintf(name, 32, "%s", unknown[about + 1]);
    else if (guess->layer + about < 0)
        snprintf(name, 32, "the machine below L0");
    else
        snprintf(name, 32, "L%d%s", guess->layer + about, guess->or_deeper ? " or deeper" : "");
}
