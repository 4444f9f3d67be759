/*
 * history-lanes.c - which runs of a history belong together: see history-lanes.h.
 */
#include "history-lanes.h"
#include "comparable.h"
#include "dig.h"
#include "history-figures.h"

#include <stdint.h>
#include <string.h>

enum { TIMES, COUNTS, SORTS };

#define NO_LANE SIZE_MAX

static const char *const sort_names[] = {"times", "counts"};

struct lanes {
    json_t *list;            /* "lanes" */
    json_t *by_key;          /* key -> index in it */
    json_t *terms;           /* of each lane */
    size_t (*of_run)[SORTS]; /* the lane of each run */
    size_t n_runs;
};

/* The same for runs that belong together; the caller's. */
static char *key_of(const json_t *excerpt, const json_t *terms, size_t sort)
{
    cleanup_json json_t *key =
        json_pack("[s, s, I, b, O]", sort_names[sort], nl_dig_string(excerpt, "named", "unnamed"),
                  (json_int_t)json_array_size(json_object_get(excerpt, "layers")),
                  nl_dig_true(excerpt, "metered"), terms);

    return key ? json_dumps(key, JSON_COMPACT) : NULL;
}

static bool same_group(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"scenario", "layers", "metered", "of"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i])))
            return false;
    return true;
}

/* What differs from the first lane of its group. */
static json_t *apart_from_first(const struct lanes *lanes, const json_t *lane, const json_t *terms)
{
    json_t *apart = json_array();
    size_t first, i;
    json_t *other, *term;

    json_array_foreach(lanes->list, first, other)
    {
        if (same_group(other, lane))
            break;
    }
    json_array_foreach(terms, i, term)
    {
        const json_t *reference = json_array_get(json_array_get(lanes->terms, first), i);

        if (!reference || json_equal(reference, term))
            continue;
        json_array_append_new(apart, json_pack("{s:O, s:O, s:O, s:O}", "what",
                                               json_object_get(term, "what"), "layer",
                                               json_object_get(term, "layer"), "reference",
                                               json_object_get(reference, "value"), "other",
                                               json_object_get(term, "value")));
    }
    return apart;
}

static size_t add_lane(struct lanes *lanes, const json_t *excerpt, json_t *terms, size_t sort,
                       const char *key)
{
    size_t index = json_array_size(lanes->list);
    json_t *lane = json_pack(
        "{s:s, s:I, s:b, s:s, s:i}", "scenario", nl_dig_string(excerpt, "named", "unnamed"),
        "layers", (json_int_t)json_array_size(json_object_get(excerpt, "layers")), "metered",
        nl_dig_true(excerpt, "metered"), "of", sort_names[sort], "runs", 0);

    json_object_set_new(lane, "apart", apart_from_first(lanes, lane, terms));
    json_array_append_new(lanes->list, lane);
    json_array_append(lanes->terms, terms);
    json_object_set_new(lanes->by_key, key, json_integer((json_int_t)index));
    return index;
}

static int find_lane(struct lanes *lanes, const json_t *run, size_t sort, size_t *index,
                     struct nl_error **err)
{
    const json_t *excerpt = json_object_get(run, "excerpt");
    cleanup_json json_t *terms = nl_comparable_terms(excerpt, sort == TIMES);
    cleanup_free char *key = key_of(excerpt, terms, sort);
    const json_t *known;

    *index = NO_LANE;
    if (sort == COUNTS && !nl_dig_true(excerpt, "metered"))
        return 0;
    if (!key)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    known = json_object_get(lanes->by_key, key);
    *index = known ? (size_t)json_integer_value(known) : add_lane(lanes, excerpt, terms, sort, key);
    return 0;
}

/* SERIES without its points, in LANE. */
static json_t *begin_part(const json_t *series, size_t lane)
{
    json_t *part = json_copy((json_t *)series);

    json_object_set_new(part, "points", json_array());
    json_object_set_new(part, "lane", json_integer((json_int_t)lane));
    return part;
}

static void count_runs(const struct lanes *lanes)
{
    for (size_t i = 0; i < lanes->n_runs; i++) {
        for (size_t sort = 0; sort < SORTS; sort++) {
            json_t *lane = json_array_get(lanes->list, lanes->of_run[i][sort]);

            if (lanes->of_run[i][sort] == NO_LANE)
                continue;
            json_object_set_new(lane, "runs", json_integer(nl_dig_integer(lane, "runs", 0) + 1));
        }
    }
}

/* Give the points of SERIES to its parts, the last of each lane's in BY_LANE; FROM[lane] is how
   many that lane had before. */
static void part_one(const struct lanes *lanes, const json_t *series, json_t *by_lane,
                     const size_t *from)
{
    size_t sort = nl_figure_is_count(series) ? COUNTS : TIMES, i;
    json_t *point;

    json_array_foreach(json_object_get(series, "points"), i, point)
    {
        json_int_t run = nl_dig_integer(point, "run", -1);
        bool known = run >= 0 && (size_t)run < lanes->n_runs;
        size_t lane = known ? lanes->of_run[run][sort] : NO_LANE;
        json_t *parts = json_array_get(by_lane, lane);

        if (lane == NO_LANE)
            continue;
        if (json_array_size(parts) == from[lane])
            json_array_append_new(parts, begin_part(series, lane));
        json_array_append(json_object_get(json_array_get(parts, from[lane]), "points"), point);
    }
}

static int part_all(const struct lanes *lanes, const json_t *series, json_t **parted,
                    struct nl_error **err)
{
    size_t n = json_array_size(lanes->list), i;
    cleanup_json json_t *by_lane = json_array();
    cleanup_free size_t *from = calloc(n ? n : 1, sizeof(*from));
    json_t *each;

    if (!from)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (size_t lane = 0; lane < n; lane++)
        json_array_append_new(by_lane, json_array());
    json_array_foreach(series, i, each)
    {
        for (size_t lane = 0; lane < n; lane++)
            from[lane] = json_array_size(json_array_get(by_lane, lane));
        part_one(lanes, each, by_lane, from);
    }
    *parted = json_array();
    json_array_foreach(by_lane, i, each) json_array_extend(*parted, each);
    return 0;
}

int nl_history_lanes(const json_t *runs, const json_t *series, json_t **lanes, json_t **parted,
                     struct nl_error **err)
{
    size_t n = json_array_size(runs);
    cleanup_json json_t *list = json_array();
    cleanup_json json_t *by_key = json_object();
    cleanup_json json_t *terms = json_array();
    cleanup_free size_t(*of_run)[SORTS] = calloc(n ? n : 1, sizeof(*of_run));
    struct lanes all = {list, by_key, terms, of_run, n};

    if (!of_run)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (size_t i = 0; i < n; i++)
        for (size_t sort = 0; sort < SORTS; sort++)
            if (find_lane(&all, json_array_get(runs, i), sort, &of_run[i][sort], err) < 0)
                return -1;
    count_runs(&all);
    if (part_all(&all, series, parted, err) < 0)
        return -1;
    *lanes = nl_steal(&list);
    return 0;
}
