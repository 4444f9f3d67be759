/*
 * inquiry.c - evidence through the rules: see inquiry.h. Findings are put together in findings.c,
 * documents are taken apart in inquiry-document.c.
 */
#include "inquiry-internal.h"
#include "evidence-convert.h"
#include "guest-text.h"

#include <string.h>
#include <sys/stat.h>

#define EVIDENCE_MAX 50000
#define FINDINGS_MAX 5000
#define UNREAD_MAX 1000
#define LINE_SHOWN 400
#define VALUES_PER_RULE 16

struct nl_inquiry *nl_inquiry_new(struct nl_rules *rules)
{
    struct nl_inquiry *made = calloc(1, sizeof(*made));

    if (!made)
        return NULL;
    made->rules = rules;
    made->limits = nl_source_usual_limits;
    made->evidence = calloc(1, sizeof(*made->evidence));
    made->findings = calloc(FINDINGS_MAX, sizeof(*made->findings));
    made->unread = calloc(UNREAD_MAX, sizeof(*made->unread));
    made->by_rule = calloc(nl_rules_count(rules) + 1, sizeof(*made->by_rule));
    made->line = malloc(NL_LINE_MAX);
    if (!made->evidence || !made->findings || !made->unread || !made->by_rule || !made->line)
        nl_inquiry_free(&made);
    return made;
}

void nl_inquiry_free(struct nl_inquiry **inquiry)
{
    struct nl_inquiry *old = *inquiry;

    if (!old)
        return;
    for (size_t i = 0; i < old->n_evidence; i++) {
        free(old->evidence[i].name);
        free(old->evidence[i].cut);
    }
    for (size_t i = 0; i < old->n_findings; i++) {
        free(old->findings[i].line);
        free(old->findings[i].values);
    }
    for (size_t i = 0; i < old->n_unread; i++) {
        free(old->unread[i].name);
        free(old->unread[i].why);
    }
    nl_line_cutter_free(&old->cutter);
    free(old->evidence);
    free(old->findings);
    free(old->unread);
    free(old->by_rule);
    free(old->line);
    free(old->head);
    free(old);
    *inquiry = NULL;
}

void nl_inquiry_not_read(struct nl_inquiry *inquiry, const char *name, const char *why, bool failed)
{
    struct nl_unread *unread = &inquiry->unread[inquiry->n_unread];

    inquiry->failed += failed;
    if (inquiry->n_unread == UNREAD_MAX) {
        inquiry->lost_unread++;
        return;
    }
    unread->name = strdup(name);
    unread->why = strdup(why);
    unread->failed = failed;
    inquiry->n_unread++;
}

static struct nl_evidence *current(const struct nl_inquiry *inquiry)
{
    return &inquiry->evidence[inquiry->n_evidence - 1];
}

/* ---- Lines ---- */

static struct nl_finding *new_finding(struct nl_inquiry *inquiry, size_t rule,
                                      const struct nl_line *line, const char *values)
{
    struct nl_finding *finding = &inquiry->findings[inquiry->n_findings];
    size_t shown = line->length < LINE_SHOWN ? line->length : LINE_SHOWN;

    if (inquiry->n_findings == FINDINGS_MAX) {
        inquiry->lost_findings++;
        return NULL;
    }
    finding->rule = rule;
    finding->evidence = inquiry->n_evidence - 1;
    finding->next_of_rule = inquiry->by_rule[rule];
    finding->first = line->number;
    finding->line = nl_guest_text(line->text, shown);
    finding->values = strdup(values);
    inquiry->by_rule[rule] = ++inquiry->n_findings;
    return finding;
}

struct hit_context {
    struct nl_inquiry *inquiry;
    const struct nl_line *line;
};

static void note_hit(void *context, size_t rule, const char *values)
{
    const struct hit_context *hit = context;
    struct nl_inquiry *inquiry = hit->inquiry;
    struct nl_finding *finding = NULL;
    size_t i = inquiry->by_rule[rule];
    size_t n = 0;

    for (; i && !finding; i = inquiry->findings[i - 1].next_of_rule, n++)
        if (strcmp(inquiry->findings[i - 1].values, values) == 0 || n == VALUES_PER_RULE)
            finding = &inquiry->findings[i - 1];
    if (!finding)
        finding = new_finding(inquiry, rule, hit->line, values);
    if (!finding)
        return;
    finding->last = hit->line->number;
    finding->count++;
}

void nl_inquiry_match(struct nl_inquiry *inquiry, const struct nl_line *line)
{
    struct hit_context context = {inquiry, line};

    nl_clues_line(&current(inquiry)->clues, line);
    nl_rules_match(inquiry->rules, line->text, line->length, line->kinds, note_hit, &context);
}

static void match_parameter(void *context, const char *text, size_t length, unsigned long number)
{
    struct nl_line line = {text, length, NL_KIND_MODULE_PARAMETER, number};

    nl_inquiry_match(context, &line);
}

static void match_element(void *context, const char *text, size_t length, unsigned long number)
{
    struct nl_line line = {text, length, NL_KIND_DOMAIN_XML, number};

    nl_inquiry_match(context, &line);
}

/* A stripped line, in the form that its kind is matched in. */
static void match_stripped(struct nl_inquiry *inquiry, struct nl_line *line)
{
    static const unsigned tables = NL_KIND_CPUINFO | NL_KIND_LSMOD | NL_KIND_HOST_VALIDATE;
    char *squeezed = inquiry->line;

    if (line->kinds & NL_KIND_MODULE_PARAMETER)
        nl_convert_parameters(line->text, line->length, line->number, match_parameter, inquiry);
    if (!(line->kinds & ~tables)) {
        /* It may lie in that very buffer: memmove in effect, since nothing grows. */
        line->length = nl_squeeze_blanks(line->text, line->length, squeezed);
        line->text = squeezed;
    }
    nl_inquiry_match(inquiry, line);
}

static void match_text(struct nl_inquiry *inquiry, const char *text, size_t length, unsigned kinds,
                       unsigned long number)
{
    struct nl_line line = {.number = number};

    if (!nl_line_is_clean(text, length)) {
        length = nl_line_clean(text, length, inquiry->line);
        text = inquiry->line;
    }
    if (length == 0)
        return;
    nl_line_strip(text, length, kinds, &line);
    match_stripped(inquiry, &line);
}

static void match_journal(struct nl_inquiry *inquiry, const char *text, size_t length,
                          unsigned long number)
{
    cleanup_free char *message = NULL;
    cleanup_free char *program = NULL;

    if (nl_convert_journal(text, length, &message, &program) < 0)
        return;
    length = strlen(message);
    match_text(inquiry, message, length < NL_LINE_MAX ? length : NL_LINE_MAX,
               nl_line_kinds_of_program(program, strlen(program)), number);
}

/* A carriage return in the middle starts a line over, as progress and boot menus do. */
static void match_pieces(struct nl_inquiry *inquiry, const char *text, size_t length,
                         unsigned long number)
{
    unsigned kinds = current(inquiry)->identity.kinds;
    const char *end = text + length;

    while (text < end) {
        const char *cr = memchr(text, '\r', (size_t)(end - text));
        const char *stop = cr ? cr : end;

        if (stop > text)
            match_text(inquiry, text, (size_t)(stop - text), kinds, number);
        text = stop + 1;
    }
}

static void match_value(struct nl_inquiry *inquiry, const char *text, size_t length)
{
    cleanup_free char *line = NULL;
    char value[256];
    size_t n = nl_line_clean(text, length < sizeof(value) ? length : sizeof(value), value);

    if (asprintf(&line, "%s=%.*s", inquiry->parameter_name, (int)n, value) < 0)
        return;
    match_parameter(inquiry, line, strlen(line), 1);
}

void nl_inquiry_line(struct nl_inquiry *inquiry, const char *text, size_t length,
                     unsigned long number)
{
    switch (current(inquiry)->identity.form) {
    case NL_FORM_LINES:
    case NL_FORM_PARAMETERS:
        match_pieces(inquiry, text, length, number);
        break;
    case NL_FORM_JOURNAL:
        match_journal(inquiry, text, length, number);
        break;
    case NL_FORM_VALUE:
        if (number == 1)
            match_value(inquiry, text, length);
        break;
    case NL_FORM_XML:
    case NL_FORM_DOCUMENT:
    case NL_FORM_BINARY:
        break;
    }
}

static void take_line(void *context, const char *text, size_t length, unsigned long number)
{
    nl_inquiry_line(context, text, length, number);
}

/* ---- One piece of evidence ---- */

static int add_evidence(struct nl_inquiry *inquiry, const char *name)
{
    size_t n = inquiry->n_evidence;
    struct nl_evidence *grown;

    if (n == EVIDENCE_MAX)
        return -1;
    /* By powers of two. */
    if ((n & (n + 1)) == 0) {
        grown = reallocarray(inquiry->evidence, 2 * (n + 1), sizeof(*grown));
        if (!grown)
            return -1;
        inquiry->evidence = grown;
    }
    memset(&inquiry->evidence[n], 0, sizeof(*grown));
    inquiry->evidence[n].name = strdup(name);
    if (!inquiry->evidence[n].name)
        return -1;
    inquiry->evidence[n].origin = inquiry->origin;
    inquiry->n_evidence++;
    memset(inquiry->by_rule, 0, nl_rules_count(inquiry->rules) * sizeof(*inquiry->by_rule));
    nl_line_cutter_free(&inquiry->cutter);
    inquiry->cutter = nl_line_cutter_new(take_line, inquiry);
    inquiry->head_length = 0;
    inquiry->identified = false;
    return inquiry->cutter ? 0 : -1;
}

int nl_inquiry_begin(struct nl_inquiry *inquiry, const char *name,
                     const struct nl_identity *identity, int layer)
{
    struct nl_evidence *evidence;

    if (add_evidence(inquiry, name) < 0) {
        nl_inquiry_not_read(inquiry, name, "too many pieces of evidence", true);
        return -1;
    }
    evidence = current(inquiry);
    evidence->identity = *identity;
    inquiry->identified = true;
    if (layer != NL_LAYER_UNKNOWN)
        evidence->guess = (struct nl_guess){true, false, layer, "the run's document"};
    return 0;
}

/* Room for the evidence's beginning, or for all of it: at most MAX. */
static bool keep_bytes(struct nl_inquiry *inquiry, const char *bytes, size_t length, size_t max)
{
    size_t wanted = inquiry->head_length + length;

    if (wanted > max)
        return false;
    if (wanted > inquiry->head_room) {
        size_t room = wanted < NL_EVIDENCE_HEAD ? NL_EVIDENCE_HEAD : wanted * 2;
        char *grown = realloc(inquiry->head, room);

        if (!grown)
            return false;
        inquiry->head = grown;
        inquiry->head_room = room;
    }
    memcpy(inquiry->head + inquiry->head_length, bytes, length);
    inquiry->head_length = wanted;
    return true;
}

static bool is_kept_whole(const struct nl_evidence *evidence)
{
    return evidence->identity.form == NL_FORM_XML || evidence->identity.form == NL_FORM_DOCUMENT;
}

static void go_on(struct nl_inquiry *inquiry, const char *bytes, size_t length)
{
    struct nl_evidence *evidence = current(inquiry);
    size_t max = evidence->identity.form == NL_FORM_XML ? NL_XML_MAX : NL_DOCUMENT_MAX;

    if (!is_kept_whole(evidence)) {
        if (evidence->identity.form != NL_FORM_BINARY)
            nl_line_cutter_feed(inquiry->cutter, bytes, length);
    } else if (!evidence->cut && !keep_bytes(inquiry, bytes, length, max)) {
        evidence->cut = strdup("it is too long");
    }
}

static void identify(struct nl_inquiry *inquiry)
{
    struct nl_evidence *evidence = current(inquiry);

    evidence->identity = nl_evidence_identify(evidence->name, inquiry->head, inquiry->head_length);
    if (evidence->identity.form == NL_FORM_VALUE)
        nl_evidence_parameter_name(evidence->name, inquiry->parameter_name);
    inquiry->identified = true;
    if (!is_kept_whole(evidence))
        go_on(inquiry, inquiry->head, inquiry->head_length);
}

static void begin_source(void *context, const char *name)
{
    struct nl_inquiry *inquiry = context;

    if (add_evidence(inquiry, name) < 0)
        nl_inquiry_not_read(inquiry, name, "too many pieces of evidence", true);
}

static void source_bytes(void *context, const char *bytes, size_t length)
{
    struct nl_inquiry *inquiry = context;

    if (inquiry->n_evidence == EVIDENCE_MAX || !inquiry->cutter)
        return;
    current(inquiry)->bytes += length;
    if (!inquiry->identified) {
        size_t n = NL_EVIDENCE_HEAD - inquiry->head_length;

        n = n < length ? n : length;
        if (!keep_bytes(inquiry, bytes, n, NL_EVIDENCE_HEAD))
            return;
        bytes += n;
        length -= n;
        if (inquiry->head_length < NL_EVIDENCE_HEAD)
            return;
        identify(inquiry);
    }
    if (length > 0)
        go_on(inquiry, bytes, length);
}

static void end_whole(struct nl_inquiry *inquiry)
{
    struct nl_evidence *evidence = current(inquiry);
    const char *why = NULL;

    if (evidence->identity.form == NL_FORM_XML)
        why = nl_convert_xml(inquiry->head, inquiry->head_length, match_element, inquiry);
    if (why && !evidence->cut)
        evidence->cut = strdup(why);
}

void nl_inquiry_end(struct nl_inquiry *inquiry)
{
    struct nl_evidence *evidence = current(inquiry);

    if (inquiry->cutter) {
        nl_line_cutter_end(inquiry->cutter);
        if (nl_line_cutter_lines(inquiry->cutter))
            evidence->lines = nl_line_cutter_lines(inquiry->cutter);
        evidence->cut_lines = nl_line_cutter_cut(inquiry->cutter);
        nl_line_cutter_free(&inquiry->cutter);
    }
    if (!evidence->guess.known)
        evidence->guess = nl_evidence_guess(evidence->name, &evidence->clues);
}

static void end_source(void *context, const char *cut)
{
    struct nl_inquiry *inquiry = context;
    bool is_document;

    if (!inquiry->cutter)
        return;
    if (!inquiry->identified)
        identify(inquiry);
    if (cut) {
        free(current(inquiry)->cut);
        current(inquiry)->cut = strdup(cut);
        inquiry->failed++;
    }
    is_document = current(inquiry)->identity.form == NL_FORM_DOCUMENT;
    end_whole(inquiry);
    nl_inquiry_end(inquiry);
    if (is_document) {
        cleanup_free char *text = nl_steal(&inquiry->head);
        cleanup_free char *name = strdup(current(inquiry)->name);
        size_t length = inquiry->head_length;

        inquiry->head_room = inquiry->head_length = 0;
        if (name && !current(inquiry)->cut)
            nl_inquiry_document_text(inquiry, name, text, length);
    }
    if (inquiry->head_room > 2 * NL_EVIDENCE_HEAD) {
        free(nl_steal(&inquiry->head));
        inquiry->head_room = 0;
    }
}

static void source_left_out(void *context, const char *name, const char *why, bool unread)
{
    nl_inquiry_not_read(context, name, why, unread);
}

static struct nl_source_sink sink_for(struct nl_inquiry *inquiry)
{
    return (struct nl_source_sink){inquiry, begin_source, source_bytes, end_source,
                                   source_left_out};
}

int nl_inquiry_path(struct nl_inquiry *inquiry, const char *path, struct nl_error **err)
{
    struct nl_source_sink sink = sink_for(inquiry);
    int rc = nl_source_read(path, &inquiry->limits, &sink, err);

    inquiry->origin++;
    return rc;
}

void nl_inquiry_stream(struct nl_inquiry *inquiry, const char *name, struct nl_stream *stream)
{
    struct nl_source_sink sink = sink_for(inquiry);
    struct nl_source source = {&inquiry->limits, &sink};

    nl_source_stream(&source, name, stream, 0);
    free(stream->why);
}

void nl_inquiry_file(struct nl_inquiry *inquiry, const char *path, const char *name, int layer)
{
    struct nl_source_sink sink = sink_for(inquiry);
    size_t n = inquiry->n_evidence;

    if (access(path, F_OK) < 0 || nl_source_read(path, &inquiry->limits, &sink, NULL) < 0)
        return;
    for (; n < inquiry->n_evidence; n++) {
        struct nl_evidence *evidence = &inquiry->evidence[n];
        char *copy = strdup(name);

        if (copy) {
            free(evidence->name);
            evidence->name = copy;
        }
        if (layer != NL_LAYER_UNKNOWN)
            evidence->guess = (struct nl_guess){true, false, layer, "the run"};
    }
}

void nl_inquiry_text(struct nl_inquiry *inquiry, const char *name, const char *what, unsigned kinds,
                     int layer, const char *text)
{
    struct nl_identity identity = {NL_FORM_LINES, kinds, what, true, NULL};

    if (nl_inquiry_begin(inquiry, name, &identity, layer) < 0)
        return;
    nl_line_cutter_feed(inquiry->cutter, text, strlen(text));
    nl_inquiry_end(inquiry);
}
