/*
 * report-junit.c - a document as JUnit XML: see report.h.
 *
 * There is no standard; this keeps to what the Jenkins and GitLab parsers have in common:
 * testsuites, testsuite, properties, testcase, failure, error, skipped, system-out, system-err.
 */
#include "diagnosis.h"
#include "dig.h"
#include "headline.h"
#include "printable.h"
#include "report.h"
#include "save.h"

#include <libxml/xmlwriter.h>
#include <string.h>
#include <time.h>

/* CI servers load the whole file into memory, and show the end of an output. */
#define OUTPUT_LIMIT 100000
#define MESSAGE_LIMIT 4000

struct count {
    int tests;
    int failures;
    int errors;
    int skipped;
    double seconds;
};

static void attribute(xmlTextWriterPtr writer, const char *name, const char *value)
{
    cleanup_free char *clean = nl_xml_text(value, MESSAGE_LIMIT);

    xmlTextWriterWriteAttribute(writer, BAD_CAST name, BAD_CAST(clean ? clean : ""));
}

static void seconds_attribute(xmlTextWriterPtr writer, double seconds)
{
    /* Also keeps out what a document may claim that is no time at all. */
    xmlTextWriterWriteFormatAttribute(writer, BAD_CAST "time", "%.3f",
                                      seconds >= 0 && seconds < 1e9 ? seconds : 0.0);
}

static void content(xmlTextWriterPtr writer, const char *text)
{
    cleanup_free char *clean = nl_xml_text(text, OUTPUT_LIMIT);

    xmlTextWriterWriteString(writer, BAD_CAST(clean ? clean : ""));
}

static void element(xmlTextWriterPtr writer, const char *name, const char *text)
{
    if (!text || !*text)
        return;
    xmlTextWriterStartElement(writer, BAD_CAST name);
    content(writer, text);
    xmlTextWriterEndElement(writer);
}

static void start(xmlTextWriterPtr writer, const char *name)
{
    xmlTextWriterStartElement(writer, BAD_CAST name);
}

static void end(xmlTextWriterPtr writer)
{
    xmlTextWriterEndElement(writer);
}

/* Does the check belong into LAYER's suite (NULL: the run's)? */
static bool belongs(const json_t *document, const json_t *check, const char *layer)
{
    const char *of = nl_dig_string(check, "layer", NULL);

    if (layer)
        return of && strcmp(of, layer) == 0;
    return !nl_dig_layer(document, of);
}

/* In a run that expects a diagnosis the checks have to fail: they would turn a CI server red, and
   decide nothing. */
static bool decides(const json_t *document, const char *verdict)
{
    return !nl_diagnosis_expected(document) || strcmp(verdict, "pass") == 0;
}

static void count_verdict(struct count *count, const json_t *document, const char *verdict)
{
    if (!decides(document, verdict))
        verdict = "skip";
    count->tests++;
    if (strcmp(verdict, "fail") == 0)
        count->failures++;
    else if (strcmp(verdict, "skip") == 0)
        count->skipped++;
    else if (strcmp(verdict, "pass") != 0)
        count->errors++;
}

static const char *stack_verdict(const json_t *document)
{
    return nl_dig(document, "failure") || nl_dig_true(document, "run.interrupted") ? "error"
                                                                                   : "pass";
}

static double layer_seconds(const json_t *document, const char *layer)
{
    double seconds = 0;
    size_t i;
    json_t *phase;

    json_array_foreach(json_object_get(document, "phases"), i, phase)
    {
        if (nl_dig_is(phase, "layer", layer))
            seconds += nl_dig_number(phase, "seconds", 0);
    }
    return seconds;
}

/* What came of the diagnosis that the scenario expects. An interrupted run has none. */
static const char *diagnosis_verdict(const json_t *document)
{
    if (nl_dig_true(document, "run.interrupted"))
        return "error";
    return nl_diagnosis_is_expected(document) ? "pass" : "fail";
}

static void count_diagnosis(struct count *count, const json_t *document)
{
    const char *verdict = diagnosis_verdict(document);

    count->tests++;
    count->failures += strcmp(verdict, "fail") == 0;
    count->errors += strcmp(verdict, "error") == 0;
}

static struct count count_suite(const json_t *document, const char *layer)
{
    struct count count = {0};
    size_t i;
    json_t *check;

    if (!layer) {
        count_verdict(&count, document, stack_verdict(document));
        if (nl_diagnosis_expected(document))
            count_diagnosis(&count, document);
    }
    json_array_foreach(json_object_get(document, "checks"), i, check)
    {
        if (belongs(document, check, layer))
            count_verdict(&count, document, nl_dig_string(check, "verdict", "error"));
    }
    count.seconds =
        layer ? layer_seconds(document, layer) : nl_dig_number(document, "run.seconds", 0);
    return count;
}

static void write_count(xmlTextWriterPtr writer, struct count count)
{
    xmlTextWriterWriteFormatAttribute(writer, BAD_CAST "tests", "%d", count.tests);
    xmlTextWriterWriteFormatAttribute(writer, BAD_CAST "failures", "%d", count.failures);
    xmlTextWriterWriteFormatAttribute(writer, BAD_CAST "errors", "%d", count.errors);
    xmlTextWriterWriteFormatAttribute(writer, BAD_CAST "skipped", "%d", count.skipped);
    seconds_attribute(writer, count.seconds);
}

static void start_case(xmlTextWriterPtr writer, const json_t *document, const char *layer,
                       const char *name, double seconds)
{
    cleanup_free char *class = NULL;

    start(writer, "testcase");
    attribute(writer, "name", name);
    if (asprintf(&class, "nestlab.%s%s%s", nl_dig_string(document, "scenario.name", "run"),
                 layer ? "." : "", layer ? layer : "") < 0)
        class = NULL;
    attribute(writer, "classname", class);
    seconds_attribute(writer, seconds);
}

/* The output of the command whose verdict this check is. */
static void write_output(xmlTextWriterPtr writer, const json_t *document, const json_t *check)
{
    const char *name = nl_dig_string(check, "name", "");
    size_t i;
    json_t *command;

    if (strncmp(name, "command-", 8) != 0)
        return;
    json_array_foreach(json_object_get(document, "commands"), i, command)
    {
        if (!nl_dig_is(command, "name", name + 8))
            continue;
        element(writer, "system-out", nl_dig_string(command, "stdout", NULL));
        element(writer, "system-err", nl_dig_string(command, "stderr", NULL));
        return;
    }
}

/* "hung at L2: SUMMARY", or "nothing". The caller's. */
static char *diagnosis_line(const json_t *document)
{
    const json_t *diagnosis = nl_dig(document, "diagnosis");
    cleanup_free char *title = nl_diagnosis_title(diagnosis);
    char *line = NULL;

    if (asprintf(&line, "%s%s%s", title ? title : "", diagnosis ? ": " : "",
                 nl_dig_string(diagnosis, "summary", "")) < 0)
        return NULL;
    return line;
}

static void write_trouble(xmlTextWriterPtr writer, const json_t *document, const json_t *check,
                          const char *name)
{
    cleanup_free char *diagnosis = diagnosis_line(document);
    cleanup_free char *text = NULL;

    start(writer, name);
    attribute(writer, "message", nl_dig_string(check, "message", ""));
    attribute(writer, "type", "check");
    if (asprintf(&text, "%s\nwhat it proves: %s\nwhat to do: %s\ndiagnosis of the run: %s\n",
                 nl_dig_string(check, "message", "no message"),
                 nl_dig_string(check, "explanation", "not said"),
                 nl_dig_string(check, "hint", "not said"), diagnosis ? diagnosis : "") >= 0)
        content(writer, text);
    end(writer);
}

static void write_check(xmlTextWriterPtr writer, const json_t *document, const json_t *check,
                        const char *layer)
{
    const char *verdict = nl_dig_string(check, "verdict", "error");

    if (!decides(document, verdict))
        verdict = "skip";
    start_case(writer, document, layer, nl_dig_string(check, "name", "unnamed"),
               nl_dig_number(check, "seconds", 0));
    if (strcmp(verdict, "fail") == 0) {
        write_trouble(writer, document, check, "failure");
    } else if (strcmp(verdict, "skip") == 0) {
        start(writer, "skipped");
        attribute(writer, "message", nl_dig_string(check, "message", ""));
        end(writer);
    } else if (strcmp(verdict, "pass") != 0) {
        write_trouble(writer, document, check, "error");
    }
    write_output(writer, document, check);
    end(writer);
}

static char *failure_text(const json_t *document, const json_t *failure)
{
    cleanup_free char *diagnosis = diagnosis_line(document);
    cleanup_free char *advice =
        nl_diagnosis_advice(document, nl_dig_string(document, "diagnosis.remedy",
                                                    nl_dig_string(failure, "hint", NULL)));
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    size_t i;
    json_t *line;

    if (!out)
        return NULL;
    fprintf(out, "%s, %s: %s: %s\n", nl_dig_string(failure, "layer", "the run"),
            nl_dig_string(failure, "phase", "some phase"), nl_dig_string(failure, "kind", "error"),
            nl_dig_string(failure, "message", "no message"));
    if (advice)
        fprintf(out, "what to do: %s\n", advice);
    if (nl_dig(document, "diagnosis"))
        fprintf(out, "diagnosis of the run: %s\n", diagnosis ? diagnosis : "");
    json_array_foreach(nl_dig(failure, "console_tail"), i, line)
        fprintf(out, "| %s\n", json_is_string(line) ? json_string_value(line) : "");
    fclose(out);
    return text;
}

/* A case of its own, so that a stack that did not come up is an error whatever the checks are. */
static void write_stack_case(xmlTextWriterPtr writer, const json_t *document)
{
    const json_t *failure = nl_dig(document, "failure");

    start_case(writer, document, NULL, "stack", nl_dig_number(document, "run.seconds", 0));
    if (failure || nl_dig_true(document, "run.interrupted")) {
        cleanup_free char *text = failure ? failure_text(document, failure) : NULL;
        cleanup_free char *headline = nl_headline(nl_dig_string(failure, "message", ""),
                                                  nl_dig_string(document, "run.id", NULL));
        bool is_error = decides(document, "error");

        start(writer, is_error ? "error" : "skipped");
        attribute(writer, "message", failure ? headline : "the run was interrupted");
        if (is_error) {
            attribute(writer, "type", nl_dig_string(failure, "kind", "interrupted"));
            content(writer, text);
        }
        end(writer);
    }
    end(writer);
}

/* The only case that decides where the scenario expects a diagnosis. */
static void write_diagnosis_case(xmlTextWriterPtr writer, const json_t *document)
{
    cleanup_free char *wanted = nl_diagnosis_title(nl_diagnosis_expected(document));
    cleanup_free char *found = diagnosis_line(document);
    const char *verdict = diagnosis_verdict(document);
    bool is_error = strcmp(verdict, "error") == 0;
    cleanup_free char *text = NULL;

    start_case(writer, document, NULL, "diagnosis", 0);
    if (strcmp(verdict, "pass") != 0 && asprintf(&text, "expected: %s; %s%s", wanted ? wanted : "",
                                                 is_error ? "the run was interrupted" : "found: ",
                                                 found && !is_error ? found : "") >= 0) {
        start(writer, is_error ? "error" : "failure");
        attribute(writer, "message", text);
        attribute(writer, "type", "diagnosis");
        end(writer);
    }
    end(writer);
}

static void write_property(xmlTextWriterPtr writer, const char *name, const char *value)
{
    if (!value)
        return;
    start(writer, "property");
    attribute(writer, "name", name);
    attribute(writer, "value", value);
    end(writer);
}

static void write_properties(xmlTextWriterPtr writer, const json_t *document, const json_t *layer)
{
    static const struct {
        const char *name;
        const char *run;
        const char *layer;
    } properties[] = {
        {"run", "run.id", NULL},
        {"l0", "run.l0.taken", NULL},
        {"host-kernel", "run.host.kernel", NULL},
        {"diagnosis", "diagnosis.name", NULL},
        {"diagnosis-layer", "diagnosis.layer", NULL},
        {"state", NULL, "state"},
        {"kernel", NULL, "facts.kernel.release"},
        {"cpu-vendor", NULL, "facts.cpuid.vendor"},
        {"hypervisor", NULL, "facts.cpuid.hypervisor.signature"},
    };

    start(writer, "properties");
    for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++) {
        const char *path = layer ? properties[i].layer : properties[i].run;

        if (path)
            write_property(writer, properties[i].name,
                           nl_dig_string(layer ? layer : document, path, NULL));
    }
    end(writer);
}

/* The schema wants a date and time without a zone. */
static void write_timestamp(xmlTextWriterPtr writer, const json_t *document)
{
    struct tm utc = {0};
    char text[64];

    if (!strptime(nl_dig_string(document, "run.started", ""), "%Y-%m-%dT%H:%M:%S", &utc))
        return;
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    attribute(writer, "timestamp", text);
}

static void write_suite(xmlTextWriterPtr writer, const json_t *document, const json_t *layer)
{
    const char *name = layer ? nl_dig_string(layer, "name", "?") : NULL;
    size_t i;
    json_t *check;

    start(writer, "testsuite");
    attribute(writer, "name", name ? name : "run");
    write_count(writer, count_suite(document, name));
    write_timestamp(writer, document);
    write_properties(writer, document, layer);
    if (!layer)
        write_stack_case(writer, document);
    if (!layer && nl_diagnosis_expected(document))
        write_diagnosis_case(writer, document);
    json_array_foreach(json_object_get(document, "checks"), i, check)
    {
        if (belongs(document, check, name))
            write_check(writer, document, check, name);
    }
    end(writer);
}

/* Two layers of one name, in a document that nobody vouches for, share a suite. */
static bool is_first_of_name(const json_t *document, const json_t *layer)
{
    return nl_dig_layer(document, nl_dig_string(layer, "name", "?")) == layer;
}

static void write_suites(xmlTextWriterPtr writer, const json_t *document)
{
    struct count total = count_suite(document, NULL);
    size_t i;
    json_t *layer;

    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        struct count count = count_suite(document, nl_dig_string(layer, "name", "?"));

        if (!is_first_of_name(document, layer))
            continue;
        total.tests += count.tests;
        total.failures += count.failures;
        total.errors += count.errors;
        total.skipped += count.skipped;
    }
    start(writer, "testsuites");
    attribute(writer, "name", nl_dig_string(document, "scenario.name", "nestlab"));
    write_count(writer, total);
    write_suite(writer, document, NULL);
    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        if (is_first_of_name(document, layer))
            write_suite(writer, document, layer);
    }
    end(writer);
}

char *nl_report_junit_text(const json_t *document)
{
    xmlBufferPtr buffer = xmlBufferCreate();
    xmlTextWriterPtr writer = buffer ? xmlNewTextWriterMemory(buffer, 0) : NULL;
    char *text = NULL;

    if (writer) {
        xmlTextWriterSetIndent(writer, 1);
        xmlTextWriterStartDocument(writer, NULL, "UTF-8", NULL);
        write_suites(writer, document);
        if (xmlTextWriterEndDocument(writer) >= 0)
            text = strdup((const char *)xmlBufferContent(buffer));
        xmlFreeTextWriter(writer);
    }
    xmlBufferFree(buffer);
    return text;
}

int nl_report_junit(const json_t *document, const char *path, struct nl_error **err)
{
    cleanup_free char *text = nl_report_junit_text(document);

    if (!text)
        return nl_fail(err, NL_EXIT_LAB, "cannot write %s: out of memory", path);
    return nl_save(path, text, strlen(text), err);
}
