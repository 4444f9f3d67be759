/*
 * fuzz-text.c - libFuzzer target: any bytes as text of guests and files, on its way to a terminal,
 * into JSON and into XML; and as XML that a libvirt says its host is.
 */
#include "cleanup.h"
#include "document.h"
#include "doctor-libvirt.h"
#include "guest-text.h"
#include "printable.h"
#include "report-text.h"
#include "table.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* UTF-8, and nothing in it that a terminal obeys. */
static void check_printable(const char *text)
{
    cleanup_json json_t *string = json_string(text);

    if (!string)
        abort();
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0))
            abort();
}

/* Words and their order, whatever the blanks between them. */
static void check_words(const char *before, const char *after)
{
    for (;;) {
        before += strspn(before, " \n");
        after += strspn(after, " \n");
        size_t n = strcspn(before, " \n");
        if (n != strcspn(after, " \n") || memcmp(before, after, n) != 0)
            abort();
        if (n == 0)
            return;
        before += n;
        after += n;
    }
}

static void check_wrapped(const char *printable)
{
    cleanup_free char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    struct nl_text to;

    if (!out)
        abort();
    to = nl_text_to(out, false);
    nl_text_wrap(&to, printable, 4, 4);
    fclose(out);
    check_words(printable, text);
}

static void check_table(const char *text)
{
    cleanup_fclose FILE *out = fopen("/dev/null", "w");
    struct nl_table *table = nl_table_new("lrl");

    for (size_t i = 0; i < 7; i++)
        nl_table_cell(table, "%s", i % 2 ? text : "x");
    if (out)
        nl_table_print(table, out, "", "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    cleanup_free char *guest = nl_guest_text(bytes, size);
    cleanup_free char *raw = strndup(bytes, size);
    cleanup_json json_t *json = raw ? nl_document_text(raw) : NULL;
    cleanup_free char *printable = json ? nl_printable(json_string_value(json), 0) : NULL;
    cleanup_free char *cut = json ? nl_printable(json_string_value(json), 20) : NULL;
    cleanup_free char *xml = json ? nl_xml_text(json_string_value(json), size) : NULL;

    if (!json || !printable || !cut || !xml)
        abort();
    json_decref(nl_doctor_capabilities(raw));
    check_printable(guest);
    check_printable(printable);
    check_printable(cut);
    if (nl_columns(cut) > 20)
        abort();
    check_wrapped(printable);
    check_table(guest);
    return 0;
}
