/*
 * report-diagnosis.c - the diagnosis in the text report: what is wrong, what to do about it, how
 * that is known.
 */
#include "diagnosis.h"
#include "dig.h"
#include "printable.h"
#include "report-text.h"

#include <string.h>

static void labelled(const struct nl_text *to, const char *label, const char *text)
{
    int indent = 3 + (int)strlen(label);

    if (!text || !*text)
        return;
    fprintf(to->out, "  %s%s%s ", to->dim, label, to->plain);
    nl_text_wrap(to, text, indent, indent);
}

static void print_expected(const struct nl_text *to, const json_t *document)
{
    cleanup_free char *title = nl_diagnosis_title(nl_diagnosis_expected(document));
    bool met = nl_diagnosis_is_expected(document);

    fprintf(to->out, "  %s%s%s ", met ? to->green : to->red,
            met ? "as expected:" : "expected:   ", to->plain);
    nl_text_wrap(to, title ? title : "", 15, 15);
}

/* Unless the verdict, which is just above, has said it all. */
static void print_summary(const struct nl_text *to, const json_t *document, const char *summary)
{
    if (!*summary || strstr(nl_dig_string(document, "verdict.summary", ""), summary))
        return;
    fputs("  ", to->out);
    nl_text_wrap(to, summary, 2, 2);
}

void nl_text_diagnosis(const struct nl_text *to, const json_t *document)
{
    const json_t *diagnosis = nl_dig(document, "diagnosis");
    cleanup_free char *title = nl_diagnosis_title(diagnosis);
    cleanup_free char *printable = nl_printable(title ? title : "", 80);
    cleanup_free char *advice =
        nl_diagnosis_advice(document, nl_dig_string(diagnosis, "remedy", NULL));
    size_t i, n = 0;
    json_t *evidence;

    if (!diagnosis && !nl_diagnosis_expected(document))
        return;
    nl_text_section(to, "Diagnosis", printable);
    print_summary(to, document, nl_dig_string(diagnosis, "summary", ""));
    labelled(to, "means:", nl_dig_string(diagnosis, "explanation", NULL));
    labelled(to, "do:   ", advice);
    json_array_foreach(nl_dig(diagnosis, "evidence"), i, evidence)
    {
        const char *seen = json_string_value(evidence);

        if (!nl_diagnosis_is_of_failure(document, seen))
            labelled(to, n++ == 0 ? "seen: " : "      ", seen);
    }
    if (nl_diagnosis_expected(document))
        print_expected(to, document);
}
