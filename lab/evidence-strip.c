/*
 * evidence-strip.c - what loggers put in front of a line: time stamps, levels, hosts, programs. See
 * evidence-lines.h.
 *
 * One prefix at a time is taken off, until none is recognised: syslog's, for example, is followed
 * by the kernel's own. Each function looks at TEXT and returns the length of its prefix, or 0.
 */
#include "evidence-lines.h"

#include <string.h>

#define PREFIXES_MAX 5
#define HOST_MAX 256

/* What is left of a line. */
struct rest {
    const char *at;
    const char *end;
    unsigned kinds;
    bool tagged; /* a program's name said whose line it is */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && *at == ' ')
        at++;
    return at;
}

/* Mostly it does not, and mostly the first character tells: this is asked dozens of times a line.
 */
static inline bool starts_with(const char *at, const char *end, const char *text)
{
    size_t length;

    if (at == end || *at != *text)
        return false;
    length = strlen(text);
    return (size_t)(end - at) >= length && memcmp(at, text, length) == 0;
}

/* "<6>", as in /dev/kmsg, pstore and serial consoles; syslog's has up to three digits. */
static size_t level_length(const char *at, const char *end)
{
    const char *digits = at + 1;
    const char *after;

    if (at == end || *at != '<')
        return 0;
    after = skip_digits(digits, end);
    return after > digits && after - digits <= 3 && after < end && *after == '>'
               ? (size_t)(after + 1 - at)
               : 0;
}

/* What may stand between the brackets of a time stamp: "   12.345678", "  +0.000012",
   "<    0.000012>", "Mon Nov 30 10:00:00 2026", "Nov30 10:00"; of a caller: "   T1", "C0". */
static bool is_in_brackets(char c)
{
    return is_digit(c) || c == '.' || c == ' ' || c == ':' || c == '+' || c == '<' || c == '>';
}

static const char *const weekdays[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", NULL};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul",
                                     "Aug", "Sep", "Oct", "Nov", "Dec", NULL};

static size_t name_length(const char *at, const char *end, const char *const *names)
{
    for (; *names; names++)
        if (starts_with(at, end, *names))
            return strlen(*names);
    return 0;
}

/* The kernel's own stamp, with brackets and the blank behind them. */
static size_t stamp_length(const char *at, const char *end)
{
    const char *p = at + 1;
    bool digits = false;

    if (at == end || *at != '[')
        return 0;
    p = skip_blanks(p, end);
    if (name_length(p, end, weekdays))
        p += name_length(p, end, weekdays) + 1;
    if (p < end)
        p += name_length(p, end, months);
    for (; p < end && is_in_brackets(*p); p++)
        digits |= is_digit(*p);
    if (p >= end || *p != ']' || !digits || p - at > 40)
        return 0;
    /* "[1]" is a reference, "[12.5]" a stamp. */
    if (!memchr(at, '.', (size_t)(p - at)) && !memchr(at, ':', (size_t)(p - at)))
        return 0;
    return (size_t)(skip_blanks(p + 1, end) - at);
}

/* CONFIG_PRINTK_CALLER: "[    T1] " or "[  C0] ", right after the stamp. */
static size_t caller_length(const char *at, const char *end)
{
    const char *p = at + 1;
    const char *digits;

    if (at == end || *at != '[')
        return 0;
    p = skip_blanks(p, end);
    if (p == end || (*p != 'T' && *p != 'C'))
        return 0;
    digits = ++p;
    p = skip_digits(p, end);
    return p > digits && p < end && *p == ']' ? (size_t)(skip_blanks(p + 1, end) - at) : 0;
}

/* A record of /dev/kmsg: "6,339,5140900,-;text", with more fields in newer kernels. */
static size_t record_length(const char *at, const char *end)
{
    const char *p = at;
    int fields = 0;

    for (; p < end && p - at < 80 && *p != ';'; p++) {
        if (*p == ',')
            fields++;
        else if (!is_digit(*p) && !(fields >= 3 && (is_letter(*p) || *p == '-' || *p == '=')))
            return 0;
    }
    return p < end && *p == ';' && fields >= 3 ? (size_t)(p + 1 - at) : 0;
}

/* A level in words before a stamp: dmesg -x has "kern  :warn  : [", nestlab's logs "warn   [". */
static size_t level_word_length(const char *at, const char *end)
{
    static const char *const words[] = {"kern",   "user",   "mail",  "daemon", "auth",
                                        "syslog", "emerg",  "alert", "crit",   "err",
                                        "warn",   "notice", "info",  "debug",  NULL};
    size_t length = name_length(at, end, words);
    const char *p = at + length;
    size_t again;

    if (!length)
        return 0;
    p = skip_blanks(p, end);
    if (p < end && *p == ':') {
        p = skip_blanks(p + 1, end);
        again = name_length(p, end, words);
        p = skip_blanks(p + again, end);
        if (!again || p == end || *p != ':')
            return 0;
        return (size_t)(skip_blanks(p + 1, end) - at);
    }
    return stamp_length(p, end) ? (size_t)(p - at) : 0;
}

/* "10:00:00" with fraction and zone, if they are there. */
static const char *skip_time(const char *at, const char *end)
{
    if (end - at < 8 || !is_digit(at[0]) || !is_digit(at[1]) || at[2] != ':' || !is_digit(at[3]) ||
        !is_digit(at[4]) || at[5] != ':' || !is_digit(at[6]) || !is_digit(at[7]))
        return NULL;
    at += 8;
    if (at < end && (*at == '.' || *at == ','))
        at = skip_digits(at + 1, end);
    if (at < end && *at == 'Z')
        return at + 1;
    if (end - at >= 5 && (*at == '+' || *at == '-') && is_digit(at[1])) {
        at = skip_digits(at + 1, end);
        /* libvirt has a colon behind it, too. */
        if (end - at >= 2 && at[0] == ':' && is_digit(at[1]))
            at = skip_digits(at + 1, end);
    }
    return at;
}

/* "2026-11-30T10:00:00.123456Z" of QEMU, journals and dmesg, "2026-11-30 10:00:00.123+0000" of
   libvirt, "Nov 30 10:00:00" of syslog, "Mon Nov 30 10:00:00 2026", "1700000000.123456"; without
   what follows. */
static const char *skip_date(const char *at, const char *end)
{
    size_t month = name_length(at, end, months);
    const char *p;

    if (month) {
        p = skip_blanks(at + month, end);
        p = skip_blanks(skip_digits(p, end), end);
        return skip_time(p, end);
    }
    if (end - at < 11 || !is_digit(*at))
        return NULL;
    if (at[4] == '-' && at[7] == '-' && (at[10] == 'T' || at[10] == ' '))
        return skip_time(at + 11, end);
    if (at[2] == ':')
        return skip_time(at, end);
    p = skip_digits(at, end);
    if (p - at >= 9 && p < end && *p == '.') {
        p = skip_digits(p + 1, end);
        return p < end && *p == ' ' ? p : NULL;
    }
    return NULL;
}

static const struct {
    const char *start;
    unsigned kinds;
} programs[] = {
    {"kernel", NL_KIND_KERNEL_LOG},   {"audit", NL_KIND_KERNEL_LOG}, {"libvirt", NL_KIND_VIRT_LOGS},
    {"virtqemud", NL_KIND_VIRT_LOGS}, {"virt", NL_KIND_VIRT_LOGS},   {"qemu", NL_KIND_VIRT_LOGS},
};

unsigned nl_line_kinds_of_program(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        if (starts_with(name, name + length, programs[i].start))
            return programs[i].kinds;
    return NL_KIND_KERNEL_LOG | NL_KIND_TEXT;
}

/* "host program[123]: " or "host kernel: "; sets whose line it is. */
static size_t tag_length(struct rest *rest)
{
    const char *host = rest->at;
    const char *program = memchr(host, ' ', (size_t)(rest->end - host));
    const char *p;

    if (!program || program == host || program - host > HOST_MAX || program[-1] == ':')
        return 0;
    program++;
    for (p = program; p < rest->end && *p != ':' && *p != '[' && *p != ' '; p++)
        ;
    if (p == program)
        return 0;
    if (p < rest->end && *p == '[') {
        p = skip_digits(p + 1, rest->end);
        if (p == rest->end || *p != ']')
            return 0;
        p++;
    } else if (!starts_with(program, p, "kernel")) {
        /* Without a process's number it could be any two words and a colon. */
        return 0;
    }
    if (p == rest->end || *p != ':')
        return 0;
    rest->tagged = true;
    rest->kinds = nl_line_kinds_of_program(program, (size_t)(p - program));
    return (size_t)(skip_blanks(p + 1, rest->end) - rest->at);
}

/* libvirt, after its date: ": 1234: error : function:56 : message". */
static size_t libvirt_length(const char *at, const char *end)
{
    static const char *const levels[] = {"error", "warning", "info", "debug", NULL};
    const char *p;
    size_t level;

    if (!starts_with(at, end, ": "))
        return 0;
    p = skip_digits(at + 2, end);
    if (!starts_with(p, end, ": "))
        return 0;
    level = name_length(p + 2, end, levels);
    p += 2 + level;
    if (!level || !starts_with(p, end, " : "))
        return 0;
    p += 3;
    for (const char *q = p; q < end && *q != ' '; q++)
        if (starts_with(q, end, ":") && q + 1 < end && is_digit(q[1])) {
            q = skip_digits(q + 1, end);
            return starts_with(q, end, " : ") ? (size_t)(q + 3 - at) : (size_t)(p - at);
        }
    return (size_t)(p - at);
}

static size_t date_length(struct rest *rest)
{
    const char *after = skip_date(rest->at, rest->end);
    struct rest behind;
    size_t libvirt;

    if (!after)
        return 0;
    libvirt = libvirt_length(after, rest->end);
    if (libvirt) {
        rest->kinds = NL_KIND_VIRT_LOGS;
        rest->tagged = true;
        return (size_t)(after - rest->at) + libvirt;
    }
    /* libvirt's own lines in QEMU's log: "DATE: starting up libvirt version: ...". */
    if (after < rest->end && *after == ':')
        after++;
    behind = *rest;
    behind.at = skip_blanks(after, rest->end);
    behind.at += tag_length(&behind);
    rest->tagged = behind.tagged;
    rest->kinds = behind.kinds;
    if (!behind.tagged && starts_with(behind.at, rest->end, "qemu"))
        rest->kinds = NL_KIND_VIRT_LOGS;
    return (size_t)(behind.at - rest->at);
}

/* A kernel's stamp, and after it what `journalctl -o short-monotonic` adds. */
static size_t stamped_length(struct rest *rest)
{
    size_t length = stamp_length(rest->at, rest->end);
    struct rest behind = *rest;

    if (!length)
        return 0;
    if (!rest->tagged)
        behind.kinds = NL_KIND_KERNEL_LOG;
    behind.at += length;
    behind.at += caller_length(behind.at, rest->end);
    if (!behind.tagged)
        behind.at += tag_length(&behind);
    rest->kinds = behind.kinds;
    rest->tagged = behind.tagged;
    return (size_t)(behind.at - rest->at);
}

static size_t prefix_length(struct rest *rest)
{
    size_t length = level_length(rest->at, rest->end);

    if (!length)
        length = stamped_length(rest);
    if (!length)
        length = date_length(rest);
    if (!length)
        length = record_length(rest->at, rest->end);
    return length ? length : level_word_length(rest->at, rest->end);
}

/* Lines that tell by themselves what they are, wherever they stand: in a file that holds the output
   of several commands. */
static unsigned kinds_by_content(const char *at, const char *end, unsigned kinds)
{
    static const struct {
        const char *start;
        unsigned kinds;
    } starts[] = {
        {"flags", NL_KIND_CPUINFO},
        {"vendor_id", NL_KIND_CPUINFO},
        {"model name", NL_KIND_CPUINFO},
        {"vmx flags", NL_KIND_CPUINFO},
        {"/sys/module/", NL_KIND_MODULE_PARAMETER},
        {"QEMU: ", NL_KIND_HOST_VALIDATE},
        {"qemu-", NL_KIND_VIRT_LOGS},
        {"kvm: ", NL_KIND_KERNEL_LOG | NL_KIND_VIRT_LOGS},
    };

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        if (starts_with(at, end, starts[i].start))
            return kinds | starts[i].kinds;
    return kinds;
}

void nl_line_strip(const char *text, size_t length, unsigned usual, struct nl_line *line)
{
    struct rest rest = {text, text + length, usual, false};

    while (rest.end > rest.at && rest.end[-1] == ' ')
        rest.end--;
    /* journalctl -o export and -o verbose; only MESSAGE is somebody's words. */
    rest.at = skip_blanks(rest.at, rest.end);
    if (starts_with(rest.at, rest.end, "MESSAGE="))
        rest.at += strlen("MESSAGE=");
    else
        rest.at = text;
    for (int i = 0; i < PREFIXES_MAX && rest.at < rest.end; i++) {
        size_t prefix = prefix_length(&rest);

        if (!prefix)
            break;
        rest.at += prefix;
    }
    line->text = rest.at;
    line->length = (size_t)(rest.end - rest.at);
    line->kinds = kinds_by_content(rest.at, rest.end, rest.kinds);
}
