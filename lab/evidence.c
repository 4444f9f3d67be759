/*
 * evidence.c - what a piece of evidence is: see evidence.h. The layer is in evidence-layer.c.
 */
#include "evidence.h"

#include <stdlib.h>
#include <string.h>

#define LINES_LOOKED_AT 400

/* Tried in this order; a form of its own comes before anything about lines. */
static const struct {
    const char *start; /* after white space */
    struct nl_identity identity;
} starts[] = {
    {"<domain ", {NL_FORM_XML, NL_KIND_DOMAIN_XML, "libvirt domain XML", true, NULL}},
    {"<domain>", {NL_FORM_XML, NL_KIND_DOMAIN_XML, "libvirt domain XML", true, NULL}},
    {"<domstatus", {NL_FORM_XML, NL_KIND_DOMAIN_XML, "libvirt domain status XML", true, NULL}},
    {"<domainsnapshot", {NL_FORM_XML, NL_KIND_DOMAIN_XML, "libvirt snapshot XML", true, NULL}},
    {"<domainCapabilities",
     {NL_FORM_XML, NL_KIND_DOMAIN_XML, "libvirt domain capabilities", true, NULL}},
    {"<capabilities>", {NL_FORM_XML, NL_KIND_DOMAIN_XML, "libvirt capabilities", true, NULL}},
};

static const struct {
    size_t length;
    const char *magic;
    struct nl_identity identity;
} magics[] = {
    {8,
     "LPKSHHRH",
     {NL_FORM_BINARY, 0, "systemd journal, binary", true,
      "export it: `journalctl -o short-monotonic --file FILE`"}},
    {8,
     "KDUMP   ",
     {NL_FORM_BINARY, 0, "kernel crash dump", true,
      "take the kernel's log out of it: `makedumpfile --dump-dmesg FILE log.txt`"}},
    {4, "QFI\xfb", {NL_FORM_BINARY, 0, "qcow2 disk image", true, NULL}},
    {4,
     "\x7f"
     "ELF",
     {NL_FORM_BINARY, 0, "ELF file", true,
      "of a crash dump, take the log out: `makedumpfile --dump-dmesg FILE log.txt`"}},
};

/* What lines without a logger's mark begin with. One kind each. */
static const struct {
    const char *start;
    unsigned kind;
} line_starts[] = {
    {"Linux version ", NL_KIND_KERNEL_LOG},
    {"Command line: ", NL_KIND_KERNEL_LOG},
    {"Kernel command line: ", NL_KIND_KERNEL_LOG},
    {"BIOS-provided physical RAM map", NL_KIND_KERNEL_LOG},
    {"BIOS-e820: ", NL_KIND_KERNEL_LOG},
    {"ACPI: ", NL_KIND_KERNEL_LOG},
    {"DMI: ", NL_KIND_KERNEL_LOG},
    {"pci 0000:", NL_KIND_KERNEL_LOG},
    {"usb ", NL_KIND_KERNEL_LOG},
    {"kvm", NL_KIND_KERNEL_LOG},
    {"SVM: ", NL_KIND_KERNEL_LOG},
    {"x86/", NL_KIND_KERNEL_LOG},
    {"smpboot: ", NL_KIND_KERNEL_LOG},
    {"tsc: ", NL_KIND_KERNEL_LOG},
    {"clocksource: ", NL_KIND_KERNEL_LOG},
    {"systemd[", NL_KIND_KERNEL_LOG},
    {"audit: type=", NL_KIND_KERNEL_LOG},
    {"type=AVC ", NL_KIND_KERNEL_LOG},
    {"BUG: ", NL_KIND_KERNEL_LOG},
    {"INFO: ", NL_KIND_KERNEL_LOG},
    {"rcu: ", NL_KIND_KERNEL_LOG},
    {"watchdog: ", NL_KIND_KERNEL_LOG},
    {"NMI watchdog: ", NL_KIND_KERNEL_LOG},
    {"WARNING: CPU", NL_KIND_KERNEL_LOG},
    {"Call Trace:", NL_KIND_KERNEL_LOG},
    {"------------[ cut here ]", NL_KIND_KERNEL_LOG},
    {"RIP: 0010:", NL_KIND_KERNEL_LOG},
    {"Kernel panic - ", NL_KIND_KERNEL_LOG},
    {"EXT4-fs ", NL_KIND_KERNEL_LOG},
    {"virtio", NL_KIND_KERNEL_LOG},
    {"SeaBIOS (version", NL_KIND_KERNEL_LOG},
    {"Booting from ", NL_KIND_KERNEL_LOG},
    {"Out of memory: ", NL_KIND_KERNEL_LOG},
    {"error: ", NL_KIND_LIBVIRT_LOG},
    {"libvirt: ", NL_KIND_LIBVIRT_LOG},
    {"LC_ALL=C ", NL_KIND_QEMU_LOG},
    {"LC_ALL=C\\", NL_KIND_QEMU_LOG},
    {"qemu-", NL_KIND_QEMU_LOG},
    {"char device ", NL_KIND_QEMU_LOG},
    {"QEMU: Checking ", NL_KIND_HOST_VALIDATE},
    {"LXC: Checking ", NL_KIND_HOST_VALIDATE},
    {"processor", NL_KIND_CPUINFO},
    {"vendor_id", NL_KIND_CPUINFO},
    {"cpu family", NL_KIND_CPUINFO},
    {"model name", NL_KIND_CPUINFO},
    {"flags", NL_KIND_CPUINFO},
    {"Vendor ID:", NL_KIND_CPUINFO},
    {"Model name:", NL_KIND_CPUINFO},
    {"Flags:", NL_KIND_CPUINFO},
    {"Virtualization:", NL_KIND_CPUINFO},
    {"options ", NL_KIND_MODULE_PARAMETER},
    {"blacklist ", NL_KIND_MODULE_PARAMETER},
    {"softdep ", NL_KIND_MODULE_PARAMETER},
    {"/sys/module/", NL_KIND_MODULE_PARAMETER},
};

/* By kind, in the order of the bits. */
static const struct nl_identity line_identities[NL_KINDS] = {
    {NL_FORM_LINES, NL_KIND_KERNEL_LOG, "kernel log", true, NULL},
    {NL_FORM_LINES, NL_KIND_CPUINFO, "processor description", true, NULL},
    {NL_FORM_LINES, NL_KIND_LSMOD, "list of modules", true, NULL},
    {NL_FORM_PARAMETERS, NL_KIND_MODULE_PARAMETER, "module parameters", true, NULL},
    {NL_FORM_XML, NL_KIND_DOMAIN_XML, "libvirt domain XML", true, NULL},
    {NL_FORM_LINES, NL_KIND_VIRT_LOGS, "libvirt log", true, NULL},
    {NL_FORM_LINES, NL_KIND_VIRT_LOGS, "QEMU log", true, NULL},
    {NL_FORM_LINES, NL_KIND_HOST_VALIDATE, "virt-host-validate output", true, NULL},
    {NL_FORM_LINES, NL_KIND_ANY_LOG, "text", false, NULL},
};

static bool starts_with(const char *text, size_t length, const char *start)
{
    size_t n = strlen(start);

    return length >= n && memcmp(text, start, n) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Skip white space, an XML declaration and XML comments. */
static void skip_preamble(const char **head, size_t *length)
{
    static const struct {
        const char *start, *end;
    } skipped[] = {{"<?xml", "?>"}, {"<!--", "-->"}, {"\xef\xbb\xbf", ""}};

    for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]);) {
        const char *end;

        while (*length > 0 && is_blank(**head))
            (*head)++, (*length)--;
        if (!starts_with(*head, *length, skipped[i].start)) {
            i++;
            continue;
        }
        end = memmem(*head, *length, skipped[i].end, strlen(skipped[i].end));
        if (!end)
            return;
        end += *skipped[i].end ? strlen(skipped[i].end) : strlen(skipped[i].start);
        *length -= (size_t)(end - *head);
        *head = end;
        i = 0;
    }
}

/* Text has hardly any control characters; NULs are allowed, since a crash leaves holes of them. */
static bool is_binary(const char *head, size_t length)
{
    size_t control = 0, text = 0;

    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)head[i];

        if (c >= 0x20 && c != 0x7f)
            text++;
        else if (!is_blank(head[i]) && c != 0x1b && c != '\b' && c != '\a' && c != '\f' && c)
            control++;
    }
    return control * 10 > text;
}

/* "kvm_amd 155648 0" or "kvm 1142784 1 kvm_amd". */
static bool is_module_line(const char *text, size_t length)
{
    size_t i = 0, digits;

    while (i < length && (text[i] == '_' || text[i] == '-' || (text[i] >= '0' && text[i] <= '9') ||
                          (text[i] >= 'a' && text[i] <= 'z')))
        i++;
    for (int field = 0; field < 2; field++) {
        if (i == 0 || i >= length || !is_blank(text[i]))
            return false;
        while (i < length && is_blank(text[i]))
            i++;
        digits = i;
        while (i < length && text[i] >= '0' && text[i] <= '9')
            i++;
        if (i == digits)
            return false;
    }
    return i == length || is_blank(text[i]);
}

static unsigned kind_of_line(const char *text, size_t length)
{
    static const char heading[] = "Module ";
    struct nl_line line;

    nl_line_strip(text, length, 0, &line);
    if (line.kinds == NL_KIND_VIRT_LOGS && starts_with(line.text, line.length, "qemu"))
        return NL_KIND_QEMU_LOG;
    if (line.kinds)
        return line.kinds & -line.kinds;
    while (line.length > 0 && is_blank(*line.text))
        line.text++, line.length--;
    /* First: "kvm_amd 155648 0" is no line of KVM's. */
    if (is_module_line(line.text, line.length) || starts_with(line.text, line.length, heading))
        return NL_KIND_LSMOD;
    for (size_t i = 0; i < sizeof(line_starts) / sizeof(line_starts[0]); i++)
        if (starts_with(line.text, line.length, line_starts[i].start))
            return line_starts[i].kind;
    return 0;
}

struct votes {
    unsigned of[NL_KINDS];
    unsigned lines;
};

static void vote(void *context, const char *text, size_t length, unsigned long number)
{
    static __thread char clean[NL_LINE_MAX];
    struct votes *votes = context;
    unsigned kind;

    if (number > LINES_LOOKED_AT)
        return;
    length = nl_line_clean(text, length, clean);
    if (length == 0 || clean[0] == '#')
        return;
    votes->lines++;
    kind = kind_of_line(clean, length);
    for (size_t i = 0; kind && i < NL_KINDS; i++)
        votes->of[i] += kind == 1U << i;
}

static struct nl_identity identify_lines(const char *head, size_t length)
{
    struct nl_line_cutter *cutter;
    struct votes votes = {0};
    size_t best = NL_KINDS - 1;

    cutter = nl_line_cutter_new(vote, &votes);
    if (cutter) {
        nl_line_cutter_feed(cutter, head, length);
        nl_line_cutter_end(cutter);
        nl_line_cutter_free(&cutter);
    }
    for (size_t i = 0; i < NL_KINDS; i++)
        if (votes.of[i] > votes.of[best])
            best = i;
    /* One line in ten says it: logs have continuation lines, texts quote a line or two. */
    if (votes.of[best] * 10 < votes.lines)
        best = NL_KINDS - 1;
    return line_identities[best];
}

bool nl_evidence_parameter_name(const char *path, char name[128])
{
    static const char folder[] = "sys/module/";
    static const char between[] = "/parameters/";
    const char *module = NULL;
    const char *parameter;

    for (const char *at = path; (at = strstr(at, folder)); at++)
        if (at == path || at[-1] == '/')
            module = at + strlen(folder);
    parameter = module ? strstr(module, between) : NULL;
    if (!parameter || strchr(parameter + strlen(between), '/') ||
        memchr(module, '/', (size_t)(parameter - module)))
        return false;
    return snprintf(name, 128, "%.*s.%s", (int)(parameter - module), module,
                    parameter + strlen(between)) < 128;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Evidence that only its path tells apart from any other short text. */
static bool identify_by_name(const char *name, struct nl_identity *identity)
{
    char parameter[128];

    if (nl_evidence_parameter_name(name, parameter)) {
        *identity = (struct nl_identity){NL_FORM_VALUE, NL_KIND_MODULE_PARAMETER,
                                         "a module parameter", true, NULL};
        return true;
    }
    if (!ends_with(name, "proc/cmdline") && !strstr(name, "modprobe.d/"))
        return false;
    *identity = line_identities[3];
    return true;
}

/* What nestlab wrote beside a document: it quotes logs, and would tell everything twice. */
static bool is_our_page(const char *start, size_t left)
{
    static const char page[] = " - nestlab</title>";
    static const char results[] = "<testsuites name=";

    return left > 0 && *start == '<' &&
           (memmem(start, left, page, strlen(page)) ||
            memmem(start, left, results, strlen(results)));
}

struct nl_identity nl_evidence_identify(const char *name, const char *head, size_t length)
{
    const char *start = head;
    size_t left = length;
    struct nl_identity identity;

    if (length == 0)
        return (struct nl_identity){NL_FORM_LINES, NL_KIND_TEXT, "empty", false, NULL};
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
        if (length >= magics[i].length && memcmp(head, magics[i].magic, magics[i].length) == 0)
            return magics[i].identity;
    if (is_binary(head, length))
        return (struct nl_identity){NL_FORM_BINARY, 0, "not text", false, NULL};
    if (identify_by_name(name, &identity))
        return identity;
    skip_preamble(&start, &left);
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        if (starts_with(start, left, starts[i].start))
            return starts[i].identity;
    if (left > 0 && *start == '{') {
        if (memmem(start, left, "\"MESSAGE\"", 9))
            return (struct nl_identity){NL_FORM_JOURNAL, NL_KIND_KERNEL_LOG | NL_KIND_TEXT,
                                        "journal as JSON", true, NULL};
        if (memmem(start, left, "\"nestlab\"", 9))
            return (struct nl_identity){NL_FORM_DOCUMENT, NL_KIND_KERNEL_LOG, "nestlab document",
                                        true, NULL};
    }
    if (is_our_page(start, left))
        return (struct nl_identity){NL_FORM_BINARY, 0, "results of nestlab or of tests", true,
                                    "what there is to know is in nestlab's document.json"};
    return identify_lines(head, length);
}
