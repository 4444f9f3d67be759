/*
 * findings.c - what was found, put together: the same rule at the same layer is one finding with
 * several places. See inquiry.h.
 */
#include "inquiry-internal.h"
#include "document.h"

#include <string.h>

#define PLACES_MAX 8

/* Evidence without a word on its layer is most likely of the machine that the other evidence from
   the same PATH is of, if that is one. */
static void guess_by_neighbours(struct nl_inquiry *inquiry, size_t origin)
{
    const struct nl_evidence *known = NULL;
    const struct nl_evidence *evidence;

    for (size_t i = 0; i < inquiry->n_evidence; i++) {
        evidence = &inquiry->evidence[i];
        if (evidence->origin != origin || !evidence->guess.known)
            continue;
        if (known && (known->guess.layer != evidence->guess.layer ||
                      known->guess.or_deeper != evidence->guess.or_deeper))
            return;
        known = known ? known : evidence;
    }
    for (size_t i = 0; known && i < inquiry->n_evidence; i++) {
        struct nl_evidence *other = &inquiry->evidence[i];

        if (other->origin != origin || other->guess.known)
            continue;
        other->guess = known->guess;
        snprintf(other->guess.why, sizeof(other->guess.why), "as %.120s", known->name);
    }
}

/* One vendor for all evidence of a PATH that knows none, likewise. */
static void vendor_by_neighbours(struct nl_inquiry *inquiry, size_t origin)
{
    unsigned vendor = 0;

    for (size_t i = 0; i < inquiry->n_evidence; i++)
        if (inquiry->evidence[i].origin == origin)
            vendor |= inquiry->evidence[i].clues.vendor;
    for (size_t i = 0; i < inquiry->n_evidence; i++)
        if (inquiry->evidence[i].origin == origin && !inquiry->evidence[i].clues.vendor)
            inquiry->evidence[i].clues.vendor = vendor;
}

void nl_inquiry_conclude(struct nl_inquiry *inquiry)
{
    for (size_t origin = 0; origin <= inquiry->origin; origin++) {
        guess_by_neighbours(inquiry, origin);
        vendor_by_neighbours(inquiry, origin);
    }
}

static const struct nl_rule *rule_of(const struct nl_inquiry *inquiry,
                                     const struct nl_finding *finding)
{
    return nl_rules_at(inquiry->rules, finding->rule);
}

static const struct nl_evidence *evidence_of(const struct nl_inquiry *inquiry,
                                             const struct nl_finding *finding)
{
    return &inquiry->evidence[finding->evidence];
}

/* A parameter of kvm_intel means nothing on a processor of AMD's. */
static bool is_other_vendors(const struct nl_inquiry *inquiry, const struct nl_finding *finding)
{
    unsigned vendor = evidence_of(inquiry, finding)->clues.vendor;

    return vendor && !(vendor & rule_of(inquiry, finding)->vendors);
}

static const int about_layers[] = {
    [NL_ABOUT_SELF] = 0, [NL_ABOUT_GUEST] = 1, [NL_ABOUT_BELOW] = -1};

static int layer_order(const struct nl_inquiry *inquiry, const struct nl_finding *finding)
{
    const struct nl_guess *guess = &evidence_of(inquiry, finding)->guess;

    if (!guess->known)
        return 1000;
    return 2 * (guess->layer + about_layers[rule_of(inquiry, finding)->about]) + guess->or_deeper;
}

struct sorted {
    const struct nl_inquiry *inquiry;
    const struct nl_finding *finding;
};

/* Do they become one? 0: yes, but for the places. */
static int compare_subjects(const struct nl_inquiry *inquiry, const struct nl_finding *a,
                            const struct nl_finding *b)
{
    const struct nl_rule *x = rule_of(inquiry, a), *y = rule_of(inquiry, b);
    int rc = (int)y->severity - (int)x->severity;

    if (rc == 0)
        rc = layer_order(inquiry, a) - layer_order(inquiry, b);
    if (rc == 0)
        rc = strcmp(x->id, y->id);
    if (rc == 0)
        rc = strcmp(a->values, b->values);
    /* Two machines of which nothing is known but that they are two. */
    if (rc == 0 && evidence_of(inquiry, a)->origin != evidence_of(inquiry, b)->origin)
        rc = evidence_of(inquiry, a)->origin < evidence_of(inquiry, b)->origin ? -1 : 1;
    return rc;
}

static int compare_findings(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    int rc = compare_subjects(x->inquiry, x->finding, y->finding);

    return rc ? rc : x->finding < y->finding ? -1 : 1;
}

static json_t *place_of(const struct nl_inquiry *inquiry, const struct nl_finding *finding)
{
    return json_pack("{s:o, s:I, s:I, s:I}", "file",
                     nl_document_text(evidence_of(inquiry, finding)->name), "line",
                     (json_int_t)finding->first, "last", (json_int_t)finding->last, "count",
                     (json_int_t)finding->count);
}

/* What to know of a rule that was written for other kernels than the one that printed the line. */
static json_t *kernel_note(const struct nl_rule *rule, const struct nl_evidence *evidence)
{
    if (!rule->kernels || !evidence->clues.kernel[0] ||
        nl_rule_fits_kernel(rule, evidence->clues.kernel))
        return json_null();
    return json_sprintf("the rule is for kernels %s, this one is %s", rule->kernels,
                        evidence->clues.kernel);
}

/* The findings from SORTED[0] to the last with the same subject, as one; *N of them. */
static json_t *merge(const struct sorted *sorted, size_t left, size_t *n)
{
    const struct nl_inquiry *inquiry = sorted->inquiry;
    const struct nl_finding *first = sorted->finding;
    const struct nl_rule *rule = rule_of(inquiry, first);
    const struct nl_evidence *evidence = evidence_of(inquiry, first);
    json_t *places = json_array();
    unsigned long count = 0;
    char layer[32], of[32];

    for (*n = 0; *n < left && compare_subjects(inquiry, first, sorted[*n].finding) == 0; ++*n) {
        count += sorted[*n].finding->count;
        if (*n < PLACES_MAX)
            json_array_append_new(places, place_of(inquiry, sorted[*n].finding));
    }
    nl_guess_name(&evidence->guess, about_layers[rule->about], layer);
    nl_guess_name(&evidence->guess, 0, of);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:s, s:s, s:s, s:s, s:o}",
                     "rule", rule->id, "severity", nl_severity_name(rule->severity), "layer", layer,
                     "evidence_layer", of, "about", rule->about_word, "line",
                     nl_document_text(first->line), "places", places, "more_places",
                     (json_int_t)(*n > PLACES_MAX ? *n - PLACES_MAX : 0), "count",
                     (json_int_t)count, "meaning", rule->meaning, "values", first->values, "remedy",
                     rule->remedy, "source", rule->source, "note", kernel_note(rule, evidence));
}

json_t *nl_inquiry_findings(const struct nl_inquiry *inquiry, enum nl_severity min)
{
    cleanup_free struct sorted *sorted = calloc(inquiry->n_findings + 1, sizeof(*sorted));
    json_t *findings = json_array();
    size_t n = 0;

    for (size_t i = 0; sorted && i < inquiry->n_findings; i++) {
        const struct nl_finding *finding = &inquiry->findings[i];

        if (rule_of(inquiry, finding)->severity >= min && !is_other_vendors(inquiry, finding))
            sorted[n++] = (struct sorted){inquiry, finding};
    }
    if (n > 1)
        qsort(sorted, n, sizeof(*sorted), compare_findings);
    for (size_t i = 0, same; sorted && i < n; i += same)
        json_array_append_new(findings, merge(&sorted[i], n - i, &same));
    return findings;
}

json_t *nl_inquiry_evidence(const struct nl_inquiry *inquiry)
{
    json_t *array = json_array();

    for (size_t i = 0; i < inquiry->n_evidence; i++) {
        const struct nl_evidence *evidence = &inquiry->evidence[i];
        char layer[32];

        nl_guess_name(&evidence->guess, 0, layer);
        json_array_append_new(
            array, json_pack("{s:o, s:s, s:b, s:I, s:I, s:I, s:s?, s:o, s:o, s:o, s:s?}", "file",
                             nl_document_text(evidence->name), "what", evidence->identity.what,
                             "recognised", evidence->identity.recognised, "lines",
                             (json_int_t)evidence->lines, "cut_lines",
                             (json_int_t)evidence->cut_lines, "bytes", (json_int_t)evidence->bytes,
                             "layer", evidence->guess.known ? layer : NULL, "why",
                             nl_document_text(evidence->guess.why), "kernel",
                             nl_document_text(evidence->clues.kernel), "cut",
                             nl_document_text(evidence->cut), "note", evidence->identity.note));
    }
    return array;
}

json_t *nl_inquiry_unread(const struct nl_inquiry *inquiry)
{
    json_t *array = json_array();

    for (size_t i = 0; i < inquiry->n_unread; i++)
        json_array_append_new(array, json_pack("{s:o, s:o, s:b}", "file",
                                               nl_document_text(inquiry->unread[i].name), "why",
                                               nl_document_text(inquiry->unread[i].why), "failed",
                                               inquiry->unread[i].failed));
    return array;
}

size_t nl_inquiry_recognised(const struct nl_inquiry *inquiry)
{
    size_t n = 0;

    for (size_t i = 0; i < inquiry->n_evidence; i++)
        n += inquiry->evidence[i].identity.recognised &&
             inquiry->evidence[i].identity.form != NL_FORM_BINARY;
    return n;
}

size_t nl_inquiry_failed(const struct nl_inquiry *inquiry)
{
    return inquiry->failed;
}
