/*
 * metered-marks.c - which metered counts are not what an operation takes by itself: see
 * metered-marks.h.
 */
#include "metered-marks.h"
#include "cleanup.h"
#include "dig.h"
#include "protocol.h"
#include "report-notes.h"
#include "report-words.h"

#include <stdio.h>

static const char with_interrupts[] = "with interrupts in the count, ticks or what it waits for";
static const char not_typical[] = "no count is typical, this is the median one";

/* The caller's. */
static char *key_of(size_t at, const json_t *metered)
{
    char *key = NULL;

    return asprintf(&key, "%zu %s", at, nl_dig_string(metered, "name", "")) < 0 ? NULL : key;
}

static void set_mark(json_t *marks, size_t at, const json_t *metered, unsigned mark)
{
    cleanup_free char *key = key_of(at, metered);

    if (key && mark)
        json_object_set_new(marks, key, json_integer(mark));
}

unsigned nl_metered_mark(const json_t *marks, size_t at, const json_t *metered)
{
    cleanup_free char *key = key_of(at, metered);

    return key ? (unsigned)json_integer_value(json_object_get(marks, key)) : 0;
}

/* IRETs of the layer OWN (or of all others than that). */
static bool has_returns(const json_t *metered, size_t own, bool others)
{
    size_t i;
    json_t *times;

    json_array_foreach(json_object_get(metered, "returns"), i, times)
    {
        if ((i == own) != others && json_is_number(times) && json_number_value(times) > 0)
            return true;
    }
    return false;
}

struct marking {
    json_t *marks;
    const json_t *at_l0; /* the last row of L0: the layers of a benchmark come one by one */
};

static void mark_row(const json_t *document, size_t at, const json_t *metered, void *data)
{
    struct marking *marking = data;
    bool others = has_returns(metered, at, true), own = has_returns(metered, at, false);
    unsigned mark = 0;

    (void)document;
    if (nl_dig_number(metered, "operations", 0) < NL_PROTOCOL_SAMPLES_MIN)
        mark |= NL_MARK_FEW;
    if (!nl_dig_is(metered, "estimate", "mode"))
        mark |= NL_MARK_NOT_TYPICAL;
    if (others || (own && nl_dig_is(metered, "estimate", "median of all")))
        mark |= NL_MARK_INTERRUPTS;
    set_mark(marking->marks, at, metered, mark);
    if (at == 0)
        marking->at_l0 = metered;
    /* So long an operation has ticks at L0, too, where they look like faults of its own. */
    if (at == 1 && others && has_returns(marking->at_l0, 0, false) &&
        nl_dig_is(marking->at_l0, "name", nl_dig_string(metered, "name", "")))
        set_mark(marking->marks, 0, metered,
                 nl_metered_mark(marking->marks, 0, metered) | NL_MARK_INTERRUPTS);
}

json_t *nl_metered_marks(const json_t *document)
{
    struct marking marking = {json_object(), NULL};

    nl_each_benchmark(document, "metered", nl_metered_counted, mark_row, &marking);
    return marking.marks;
}

static const char *layer_name(const json_t *document, size_t at)
{
    return nl_dig_string(json_array_get(json_object_get(document, "layers"), at), "name", "?");
}

struct walk {
    const json_t *marks;
    json_t *few;
    json_t *marked;  /* for other reasons */
    json_t *shorter; /* enough, but fewer than asked for */
};

/* A row is in the line of the first reason that it has. */
static void note_row(const json_t *document, size_t at, const json_t *metered, void *data)
{
    struct walk *walk = data;
    const char *name = nl_dig_string(metered, "name", "?");
    const char *layer = layer_name(document, at);
    const char *less = nl_dig_string(metered, "short", NULL);
    unsigned mark = nl_metered_mark(walk->marks, at, metered);

    if (mark & NL_MARK_FEW)
        nl_notes_add(walk->few, less ? less : "too few operations to judge by", name, layer, NULL);
    else if (mark & NL_MARK_INTERRUPTS)
        nl_notes_add(walk->marked, with_interrupts, name, layer, NULL);
    else if (mark & NL_MARK_NOT_TYPICAL)
        nl_notes_add(walk->marked, not_typical, name, layer, NULL);
    if (less && !(mark & NL_MARK_FEW))
        nl_notes_add(walk->shorter, less, name, layer, NULL);
}

static bool is_left_out(const json_t *metered)
{
    return nl_dig(metered, "skipped");
}

bool nl_metered_nothing(const json_t *document)
{
    return !nl_any_benchmark(document, "metered", nl_metered_counted) &&
           nl_any_benchmark(document, "metered", is_left_out);
}

json_t *nl_metered_notes(const json_t *document, const json_t *marks)
{
    cleanup_json json_t *few = json_object();
    cleanup_json json_t *marked = json_object();
    cleanup_json json_t *shorter = json_object();
    cleanup_json json_t *skipped = nl_notes_skipped(document, "metered");
    struct walk walk = {marks, few, marked, shorter};
    json_t *lines = json_array();

    nl_each_benchmark(document, "metered", nl_metered_counted, note_row, &walk);
    nl_notes_append(marked, with_interrupts, lines);
    nl_notes_append(marked, not_typical, lines);
    nl_notes_reasons(few, "~ ", lines);
    nl_notes_reasons(shorter, "", lines);
    if (nl_metered_nothing(document))
        json_array_append_new(lines, json_string("nothing was counted:"));
    json_array_extend(lines, skipped);
    return lines;
}

static void note_left_out(const json_t *document, size_t at, const json_t *metered, void *data)
{
    struct walk *walk = data;

    if ((nl_metered_mark(walk->marks, at, metered) & NL_MARK_INTERRUPTS) &&
        json_array_size(json_object_get(metered, "exits")) > 0)
        nl_notes_add(walk->marked, with_interrupts, nl_dig_string(metered, "name", "?"),
                     layer_name(document, at), NULL);
}

char *nl_metered_left_out(const json_t *document, const json_t *marks)
{
    cleanup_json json_t *marked = json_object();
    struct walk walk = {.marks = marks, .marked = marked};

    nl_each_benchmark(document, "metered", nl_metered_counted, note_left_out, &walk);
    return nl_notes_rows(marked, with_interrupts);
}
