/*
 * document-judge.c - the verdict of a run, from what its document holds: see document.h.
 */
#include "diagnosis.h"
#include "dig.h"
#include "document.h"
#include "headline.h"

#include <string.h>

#define NAMES_SHOWN 3

struct count {
    size_t passed;
    size_t failed;
    size_t errors;
    size_t skipped;
    const json_t *first_failed;
    const json_t *first_error;
};

static struct count count_checks(const json_t *document)
{
    struct count count = {0};
    size_t i;
    json_t *check;

    json_array_foreach(json_object_get(document, "checks"), i, check)
    {
        const char *verdict = nl_dig_string(check, "verdict", "error");

        if (strcmp(verdict, "pass") == 0) {
            count.passed++;
        } else if (strcmp(verdict, "skip") == 0) {
            count.skipped++;
        } else if (strcmp(verdict, "fail") == 0) {
            count.failed++;
            count.first_failed = count.first_failed ? count.first_failed : check;
        } else {
            count.errors++;
            count.first_error = count.first_error ? count.first_error : check;
        }
    }
    return count;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* "2 of 24 checks failed: a, b" */
static char *failed_summary(const json_t *document, const struct count *count)
{
    size_t total = count->passed + count->failed + count->errors + count->skipped;
    size_t shown = 0;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    size_t i;
    json_t *check;

    if (!out)
        return NULL;
    fprintf(out, "%zu of %zu check%s failed: ", count->failed, total, plural(total));
    json_array_foreach(json_object_get(document, "checks"), i, check)
    {
        if (!nl_dig_is(check, "verdict", "fail"))
            continue;
        if (shown == NAMES_SHOWN) {
            fputs(", ...", out);
            break;
        }
        fprintf(out, "%s%s", shown++ ? ", " : "", nl_dig_string(check, "name", "?"));
    }
    fclose(out);
    return text;
}

/* "L2 failed in phase create", and the cause: the diagnosis if there is one; not one that only says
   that a check failed, which may have nothing to do with it. */
static char *failure_summary(const json_t *document, const json_t *failure)
{
    const char *layer = nl_dig_string(failure, "layer", NULL);
    const char *phase = nl_dig_string(failure, "phase", NULL);
    bool known = !nl_dig_is(document, "diagnosis.name", NL_DIAGNOSIS_CHECK_FAILED);
    const char *cause = known ? nl_dig_string(document, "diagnosis.summary", "") : "";
    cleanup_free char *short_cause =
        nl_headline(*cause ? cause : nl_dig_string(failure, "message", "it is not known why"),
                    nl_dig_string(document, "run.id", NULL));
    char *text = NULL;

    if (asprintf(&text, "%s failed%s%s: %s", layer ? layer : "the run", phase ? " in phase " : "",
                 phase ? phase : "", short_cause ? short_cause : "") < 0)
        return NULL;
    return text;
}

/* A check that fails after the stack has is most likely another sign of the same. */
static char *failed_after_summary(const json_t *document, const json_t *failure,
                                  const struct count *count)
{
    size_t total = count->passed + count->failed + count->errors + count->skipped;
    cleanup_free char *first = failure_summary(document, failure);
    char *text = NULL;

    if (asprintf(&text, "%s; %zu of %zu check%s failed", first ? first : "", count->failed, total,
                 plural(total)) < 0)
        return NULL;
    return text;
}

/* A document without any check proves nothing, unless none was asked for. */
static bool proves_nothing(const json_t *document, const struct count *count)
{
    bool none = count->passed + count->failed + count->errors + count->skipped == 0;

    return none && !json_is_false(nl_dig(document, "scenario.default_checks"));
}

static void set_verdict(json_t *document, const char *status, enum nl_exit exit_status,
                        const char *summary, const char *next)
{
    json_object_set_new(document, "verdict",
                        json_pack("{s:s, s:i, s:o, s:o}", "status", status, "exit",
                                  (int)exit_status, "summary", nl_document_text(summary), "next",
                                  nl_document_text(next)));
}

/* What to do about the root cause; where it is not known, about a failure of the stack, or about
   the first check that failed or has no verdict. A check's hint is no help with a failure: the
   check is only blind because of it. */
static char *next_step(const json_t *document, const json_t *failure, const json_t *check)
{
    const char *remedy = nl_dig_string(document, "diagnosis.remedy", NULL);

    if (!remedy && failure)
        remedy = nl_dig_string(failure, "hint",
                               nl_dig(failure, "layer")
                                   ? "read the console and kernel log of the layer that failed"
                                   : "mend what the failure says, and run it again");
    if (!remedy)
        remedy =
            nl_dig_string(check, "hint", "read what the check says, and the logs of its layer");
    return nl_diagnosis_advice(document, remedy);
}

static void judge_error(json_t *document, const struct count *count, const json_t *failure)
{
    cleanup_free char *next = next_step(document, failure, count->first_error);
    cleanup_free char *summary = NULL;

    if (failure)
        summary = failure_summary(document, failure);
    else if (count->errors > 0 &&
             asprintf(&summary, "%zu check%s could not be evaluated, the first is %s",
                      count->errors, plural(count->errors),
                      nl_dig_string(count->first_error, "name", "?")) < 0)
        summary = NULL;
    set_verdict(document, "error", NL_EXIT_LAB, summary ? summary : "no check was evaluated", next);
}

/* A fault was injected to see whether it is recognised: the checks have to fail. */
static void judge_expected(json_t *document, const json_t *expected)
{
    cleanup_free char *wanted = nl_diagnosis_title(expected);
    cleanup_free char *found = nl_diagnosis_title(nl_dig(document, "diagnosis"));
    bool met = nl_diagnosis_is_expected(document);
    cleanup_free char *summary = NULL;
    int rc;

    if (met)
        rc = asprintf(&summary, "the expected diagnosis came out: %s", wanted ? wanted : "");
    else
        rc = asprintf(&summary, "the diagnosis had to be %s, and is %s", wanted ? wanted : "",
                      found ? found : "");
    if (rc < 0)
        summary = NULL;
    set_verdict(
        document, met ? "passed" : "failed", met ? NL_EXIT_PASSED : NL_EXIT_CHECK_FAILED, summary,
        met ? "nothing to repair: the scenario's fault was recognised"
            : "see whether the fault took effect; then mend scenarios/checks/diagnoses.json");
}

void nl_document_judge(json_t *document)
{
    const json_t *expected = nl_diagnosis_expected(document);
    const json_t *failure = nl_dig(document, "failure");
    struct count count = count_checks(document);
    cleanup_free char *summary = NULL, *next = NULL;

    if (nl_dig_true(document, "run.interrupted")) {
        set_verdict(document, "interrupted", NL_EXIT_INTERRUPTED, "interrupted before it was done",
                    "run it again");
    } else if (expected) {
        judge_expected(document, expected);
    } else if (count.failed > 0) {
        summary = failure ? failed_after_summary(document, failure, &count)
                          : failed_summary(document, &count);
        next = next_step(document, NULL, count.first_failed);
        set_verdict(document, "failed", NL_EXIT_CHECK_FAILED, summary, next);
    } else if (failure || count.errors > 0 || proves_nothing(document, &count)) {
        judge_error(document, &count, failure);
    } else {
        if (asprintf(&summary, "%zu check%s passed", count.passed, plural(count.passed)) < 0)
            summary = NULL;
        set_verdict(document, "passed", NL_EXIT_PASSED, summary,
                    "nothing to repair; `nestlab report` prints this again from document.json");
    }
}

enum nl_exit nl_document_exit(const json_t *document)
{
    static const enum nl_exit known[] = {NL_EXIT_PASSED, NL_EXIT_CHECK_FAILED, NL_EXIT_REQUEST,
                                         NL_EXIT_INTERRUPTED};
    json_int_t given = nl_dig_integer(document, "verdict.exit", NL_EXIT_LAB);
    bool passed = nl_dig_is(document, "verdict.status", "passed");

    /* What is printed and what is returned are one: the status is what is printed. */
    if (passed != (given == NL_EXIT_PASSED))
        return passed                                            ? NL_EXIT_PASSED
               : nl_dig_is(document, "verdict.status", "failed") ? NL_EXIT_CHECK_FAILED
                                                                 : NL_EXIT_LAB;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (given == (json_int_t)known[i])
            return known[i];
    return NL_EXIT_LAB;
}
