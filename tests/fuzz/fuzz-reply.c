/*
 * fuzz-reply.c - libFuzzer target: any bytes as what an agent says over its link: noise, events and
 * a reply, which then goes where the runner puts it, and from there into the reports.
 *
 * The first byte chooses the question. "@@" in the rest stands for the question's id.
 */
#include "carrier.h"
#include "dig.h"
#include "doctor.h"
#include "document.h"
#include "exits.h"
#include "hang-text.h"
#include "json-mutator.h"
#include "link-internal.h"
#include "meter-result.h"
#include "no-gnuplot.h"
#include "report.h"

#include <pthread.h>

#define ANSWER_S 5.0
#define RECORDS 40

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

static const struct meter_record records[RECORDS]; /* operations without an instruction */

/* A carrier that gives the bytes once a question was asked, and ends. */
struct bytes {
    struct nl_carrier carrier;
    const char *at;
    size_t left;
    char id[32];
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    bool asked, stopped;
};

static ssize_t give(struct nl_carrier *carrier, char *buffer, size_t size, struct nl_error **err)
{
    struct bytes *bytes = (struct bytes *)carrier;
    const char *mark;
    size_t n;

    (void)err;
    pthread_mutex_lock(&bytes->lock);
    while (!bytes->asked && !bytes->stopped)
        pthread_cond_wait(&bytes->changed, &bytes->lock);
    pthread_mutex_unlock(&bytes->lock);
    if (bytes->left >= 2 && memcmp(bytes->at, "@@", 2) == 0) {
        bytes->at += 2;
        bytes->left -= 2;
        n = strlen(bytes->id);
        memcpy(buffer, bytes->id, n);
        return (ssize_t)n;
    }
    mark = bytes->left ? memmem(bytes->at, bytes->left, "@@", 2) : NULL;
    n = mark ? (size_t)(mark - bytes->at) : bytes->left;
    n = n < size ? n : size;
    if (n)
        memcpy(buffer, bytes->at, n);
    bytes->at += n;
    bytes->left -= n;
    return (ssize_t)n;
}

/* A question: one line, whose id is kept. */
static ssize_t take(struct nl_carrier *carrier, const char *question, size_t length,
                    struct nl_error **err)
{
    struct bytes *bytes = (struct bytes *)carrier;
    cleanup_json json_t *json = json_loadb(question, length, 0, NULL);

    (void)err;
    pthread_mutex_lock(&bytes->lock);
    snprintf(bytes->id, sizeof(bytes->id), "%" JSON_INTEGER_FORMAT, nl_dig_integer(json, "id", 0));
    bytes->asked = true;
    pthread_cond_broadcast(&bytes->changed);
    pthread_mutex_unlock(&bytes->lock);
    return (ssize_t)length;
}

static void stop(struct nl_carrier *carrier)
{
    struct bytes *bytes = (struct bytes *)carrier;

    pthread_mutex_lock(&bytes->lock);
    bytes->stopped = true;
    pthread_cond_broadcast(&bytes->changed);
    pthread_mutex_unlock(&bytes->lock);
}

static void free_bytes(struct nl_carrier *carrier)
{
    struct bytes *bytes = (struct bytes *)carrier;

    pthread_mutex_destroy(&bytes->lock);
    pthread_cond_destroy(&bytes->changed);
    free(bytes);
}

/* What the runner does with the reply to each question. */

static void take_facts(struct nl_document *document, json_t *reply)
{
    nl_document_layer_set(document, 1, "facts", json_incref(reply));
    nl_document_layer_set(document, 1, "facts_after", json_incref(reply));
}

static void take_log(struct nl_document *document, json_t *reply)
{
    nl_document_layer_log(document, 1, reply);
    nl_document_layer_log(document, 1, reply);
}

static void take_benchmark(struct nl_document *document, json_t *reply)
{
    json_t *exits = nl_exits_between(nl_dig(reply, "before"), nl_dig(reply, "after"));
    json_t *counts = json_array();

    nl_exits_by_reason("L1", nl_dig(reply, "counted"), counts);
    json_object_set_new(reply, "exits", exits);
    json_object_set_new(reply, "exit_reasons",
                        json_pack("{s:i, s:n, s:o}", "operations", 7, "skipped", "counts", counts));
    nl_document_layer_benchmark(document, 0, json_incref(reply));
    nl_document_layer_benchmark(document, 1, json_deep_copy(reply));
}

static void take_metered(struct nl_document *document, json_t *reply)
{
    for (size_t n = 0; n <= RECORDS; n += RECORDS) {
        json_t *result = nl_meter_result(reply, records, n, 2);

        if (!result)
            abort();
        nl_document_layer_metered(document, 1, result);
    }
}

static void take_command(struct nl_document *document, json_t *reply)
{
    static const int skip_codes[] = {77};
    char *argv[] = {"true", NULL};

    nl_document_command(document, "c", "L1", argv, skip_codes, 1, reply, NULL);
}

static void take_symbols(struct nl_document *document, json_t *reply)
{
    static const char stack[] = "x: 0xffffffff81000001 0xffffffff81000002";
    struct nl_look look = {.registers = "RSP=1 RIP=ffffffff81000001 RFL=246 HLT=0"};
    struct nl_look looks[] = {look, look};
    cleanup_json json_t *addresses = nl_hang_addresses(looks, 2, stack);
    json_t *seen = nl_hang_looks(looks, 2);
    json_t *backtrace = nl_hang_name(addresses, nl_dig(reply, "symbols"), seen, stack);
    json_t *evidence = json_pack("{s:o, s:o}", "looks", seen, "backtrace", backtrace);

    if (!evidence)
        abort();
    nl_document_failure_set(document, "seen", nl_hang_summary(evidence));
    nl_document_failure_set(document, "evidence", evidence);
}

static void take_machine(struct nl_document *document, json_t *reply)
{
    cleanup_json json_t *gathered = json_pack("{s:s, s:O, s:O, s:{}}", "subject", "machine",
                                              "machine", reply, "facts", reply, "lab");
    cleanup_json json_t *judged = nl_doctor_judge(gathered);
    cleanup_fclose FILE *out = fopen("/dev/null", "w");

    (void)document;
    if (!judged || !out)
        abort();
    nl_doctor_print(gathered, judged, out, false);
}

static const struct {
    const char *op;
    void (*take)(struct nl_document *document, json_t *reply);
} questions[] = {
    {"facts", take_facts},     {"log", take_log},      {"bench", take_benchmark},
    {"meter", take_metered},   {"exec", take_command}, {"symbols", take_symbols},
    {"machine", take_machine},
};

#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

/* The line in the middle of which the mutation happens; all others stay. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    size_t begin = 1, end, changed;
    cleanup_free uint8_t *line = malloc(max);
    uint8_t *newline;

    srand(seed);
    if (!line || size < 3 || rand() % 8 == 0)
        return LLVMFuzzerMutate(data, size, max);
    for (size_t at = 1 + (size_t)rand() % (size - 1); at > 1 && begin == 1; at--)
        begin = data[at - 1] == '\n' ? at : 1;
    newline = memchr(data + begin, '\n', size - begin);
    end = newline ? (size_t)(newline - data) : size;
    memcpy(line, data + begin, end - begin);
    changed = mutate_json(line, end - begin, max - (size - (end - begin)));
    memmove(data + begin + changed, data + end, size - end);
    memcpy(data + begin, line, changed);
    return size - (end - begin) + changed;
}

static json_t *ask(const uint8_t *data, size_t size, const char *op)
{
    struct bytes *bytes = calloc(1, sizeof(*bytes));
    cleanup_error struct nl_error *err = NULL;
    struct nl_link *link = NULL;
    json_t *reply = NULL;

    if (!bytes)
        abort();
    bytes->carrier = (struct nl_carrier){give, take, stop, free_bytes};
    bytes->at = (const char *)data;
    bytes->left = size;
    pthread_mutex_init(&bytes->lock, NULL);
    pthread_cond_init(&bytes->changed, NULL);
    if (nl_link_start(&bytes->carrier, NULL, NULL, &link, &err) < 0)
        abort();
    if (nl_link_ask(link, op, NULL, nl_deadline_in(ANSWER_S), &reply, &err) == 0 &&
        !json_is_object(reply))
        abort();
    nl_link_close(&link);
    return reply;
}

static void print(const struct nl_document *document)
{
    cleanup_json json_t *copy = json_deep_copy(nl_document_json(document));
    cleanup_free char *junit = nl_report_junit_text(copy);
    cleanup_free char *html = nl_report_html_text(copy);
    cleanup_fclose FILE *out = fopen("/dev/null", "w");

    if (!junit || !html || !out)
        abort();
    nl_report_text(copy, out, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *argv[] = {"fuzz", NULL};
    cleanup_json json_t *scenario =
        json_pack("{s:s, s:[{s:s}, {s:s}]}", "name", "f", "layers", "image", "i", "image", "i");
    cleanup_document struct nl_document *document = NULL;
    cleanup_json json_t *reply = NULL;
    size_t question;

    if (size == 0)
        return 0;
    question = data[0] % QUESTIONS;
    reply = ask(data + 1, size - 1, questions[question].op);
    if (!reply)
        return 0;
    if (nl_document_new(argv, scenario, "id", &document, NULL) < 0)
        abort();
    questions[question].take(document, reply);
    print(document);
    return 0;
}
