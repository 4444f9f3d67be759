/*
 * report-words.c - words of reports: see report-words.h.
 */
#include "report-words.h"
#include "cleanup.h"
#include "diagnosis.h"
#include "dig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *severity;
    const char *word;
    const char *words; /* for other numbers than one */
} severities[] = {
    {"error", "error", "errors"},
    {"warning", "warning", "warnings"},
    {"harmless", "harmless", "harmless"},
    {"ok", "good", "good"},
};

static const struct {
    const char *status;
    const char *word;
} verdict_words[] = {
    {"passed", "PASSED"},
    {"failed", "FAILED"},
    {"error", "ERROR"},
    {"interrupted", "INTERRUPTED"},
};

const char *nl_verdict_word(const json_t *document)
{
    for (size_t i = 0; i < sizeof(verdict_words) / sizeof(verdict_words[0]); i++)
        if (nl_dig_is(document, "verdict.status", verdict_words[i].status))
            return verdict_words[i].word;
    return "NOT JUDGED";
}

const char *nl_verdict_next(const json_t *document)
{
    const char *next =
        nl_dig_string(document, "verdict.next",
                      "if the run is not going on any more, `nestlab report --check` judges what "
                      "it left");
    cleanup_free char *advice =
        nl_diagnosis_advice(document, nl_dig_string(document, "diagnosis.remedy", NULL));

    return advice && strcmp(next, advice) == 0 ? NULL : next;
}

bool nl_check_is_of_failure(const json_t *document, const json_t *check)
{
    static const char suffix[] = "-booted";
    const char *name = nl_dig_string(check, "name", "");
    size_t length = strlen(name), end = strlen(suffix);
    const char *layer = nl_dig_string(document, "failure.layer", NULL);

    return layer && nl_dig_is(check, "layer", layer) && length >= end &&
           strcmp(name + length - end, suffix) == 0;
}

const char *nl_hypervisor_word(const json_t *layer)
{
    const char *signature = nl_dig_string(layer, "facts.cpuid.hypervisor.signature", "");

    if (strncmp(signature, "KVMKVMKVM", 9) == 0)
        return "KVM";
    if (strcmp(signature, "TCGTCGTCGTCG") == 0)
        return "TCG";
    if (json_is_false(nl_dig(layer, "facts.cpuid.hypervisor.present")))
        return "hardware";
    return signature;
}

const char *nl_virtualization_word(const json_t *layer)
{
    if (nl_dig_true(layer, "facts.cpuid.vmx"))
        return "vmx";
    if (nl_dig_true(layer, "facts.cpuid.svm"))
        return nl_dig_true(layer, "facts.cpuid.svm_features.npt") ? "svm, npt" : "svm";
    return nl_dig(layer, "facts") ? "none" : "";
}

double nl_phase_seconds(const json_t *document, const char *name, const char *layer)
{
    double sum = -1;
    size_t i;
    json_t *phase;

    json_array_foreach(json_object_get(document, "phases"), i, phase)
    {
        const char *of = nl_dig_string(phase, "layer", NULL);
        double seconds = nl_dig_number(phase, "seconds", -1);

        if ((layer ? !of || strcmp(of, layer) != 0 : of != NULL) || seconds < 0)
            continue;
        if (!name || nl_dig_is(phase, "name", name))
            sum = (sum < 0 ? 0 : sum) + seconds;
    }
    return sum;
}

size_t nl_phase_names(const json_t *document, const char **names, size_t max)
{
    size_t n = 0;
    size_t i;
    json_t *phase;

    json_array_foreach(json_object_get(document, "phases"), i, phase)
    {
        const char *name = nl_dig_string(phase, "name", "?");
        size_t k = 0;

        while (k < n && strcmp(names[k], name) != 0)
            k++;
        if (k == n && n < max)
            names[n++] = name;
    }
    return n;
}

size_t nl_checks_count(const json_t *checks, const char *verdict)
{
    size_t n = 0;
    size_t i;
    json_t *check;

    json_array_foreach(checks, i, check) n += nl_dig_is(check, "verdict", verdict);
    return n;
}

const json_t *nl_check_command(const json_t *document, const json_t *check)
{
    static const char prefix[] = "command-";
    const char *name = nl_dig_string(check, "name", "");
    size_t i;
    json_t *command;

    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return NULL;
    json_array_foreach(json_object_get(document, "commands"), i, command)
    {
        if (nl_dig_is(command, "name", name + strlen(prefix)))
            return command;
    }
    return NULL;
}

char *nl_finding_layer(const json_t *finding)
{
    const char *layer = nl_dig_string(finding, "layer", "an unknown layer");
    const char *evidence = nl_dig_string(finding, "evidence_layer", layer);
    char *text = NULL;

    if (strcmp(layer, evidence) == 0)
        return strdup(layer);
    return asprintf(&text, "%s (told by %s)", layer, evidence) < 0 ? NULL : text;
}

char *nl_findings_sum(const json_t *findings)
{
    cleanup_free char *text = NULL;
    size_t size;
    FILE *sum = open_memstream(&text, &size);

    for (size_t k = 0; sum && k < sizeof(severities) / sizeof(severities[0]); k++) {
        size_t n = 0, i;
        json_t *finding;

        json_array_foreach(findings, i, finding)
        {
            n += nl_dig_is(finding, "severity", severities[k].severity);
        }
        fprintf(sum, "%s%zu %s", k > 0 ? ", " : "", n,
                n == 1 ? severities[k].word : severities[k].words);
    }
    return sum && fclose(sum) == 0 ? nl_steal(&text) : NULL;
}

size_t nl_metered_layers(const json_t *document)
{
    const json_t *layers = json_object_get(document, "layers");
    size_t l, i, most = json_array_size(layers);
    json_t *layer, *metered;

    json_array_foreach(layers, l, layer)
    {
        json_array_foreach(json_object_get(layer, "metered"), i, metered)
        {
            size_t n = json_array_size(json_object_get(metered, "instructions"));

            most = n > most ? n : most;
        }
    }
    return most;
}

/* Of all layers: name of an entry -> index of a layer -> the first entry that is called so there.
 */
static json_t *entries_by_name(const json_t *document, const char *list,
                               bool (*count)(const json_t *benchmark))
{
    json_t *names = json_object();
    size_t l, i;
    json_t *layer, *entry;

    json_array_foreach(json_object_get(document, "layers"), l, layer)
    {
        json_array_foreach(json_object_get(layer, list), i, entry)
        {
            const char *name = nl_dig_string(entry, "name", NULL);
            json_t *layers = name ? json_object_get(names, name) : NULL;
            char index[24];

            if (!name || (count && !count(entry)))
                continue;
            if (!layers)
                json_object_set_new(names, name, layers = json_object());
            snprintf(index, sizeof(index), "%zu", l);
            if (!json_object_get(layers, index))
                json_object_set(layers, index, entry);
        }
    }
    return names;
}

void nl_each_benchmark(const json_t *document, const char *list,
                       bool (*count)(const json_t *benchmark), nl_benchmark_visit *visit,
                       void *data)
{
    cleanup_json json_t *names = entries_by_name(document, list, count);
    const char *name, *index;
    json_t *layers, *entry;

    json_object_foreach(names, name, layers)
    {
        json_object_foreach(layers, index, entry)
        {
            visit(document, strtoul(index, NULL, 10), entry, data);
        }
    }
}

static void find_any(const json_t *document, size_t at, const json_t *benchmark, void *data)
{
    (void)document;
    (void)at;
    (void)benchmark;
    *(bool *)data = true;
}

bool nl_any_benchmark(const json_t *document, const char *list,
                      bool (*count)(const json_t *benchmark))
{
    bool any = false;

    nl_each_benchmark(document, list, count, find_any, &any);
    return any;
}

bool nl_metered_counted(const json_t *metered)
{
    return nl_dig(metered, "total");
}

bool nl_exits_counted(const json_t *benchmark)
{
    return json_array_size(json_object_get(benchmark, "exits")) > 0 &&
           nl_dig_number(benchmark, "operations", 0) > 0;
}

double nl_exits_per_operation(const json_t *benchmark, const char *layer, const char *key)
{
    double operations = nl_dig_number(benchmark, "operations", 0);
    size_t i;
    json_t *exits;

    json_array_foreach(json_object_get(benchmark, "exits"), i, exits)
    {
        double n = nl_dig_number(exits, key, -1) / operations;

        if (nl_dig_is(exits, "layer", layer) && n >= 0)
            return n;
    }
    return NAN;
}

json_int_t nl_exits_reached(const json_t *metered, size_t of, size_t reached)
{
    size_t i;
    json_t *exits;

    json_array_foreach(json_object_get(metered, "exits"), i, exits)
    {
        if (nl_dig_integer(exits, "of", -1) == (json_int_t)of &&
            nl_dig_integer(exits, "reached", -1) == (json_int_t)reached)
            return nl_dig_integer(exits, "times", 0);
    }
    return 0;
}
