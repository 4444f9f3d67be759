/*
 * history-store.c - documents kept over time, in SQLite: see history-store.h.
 */
#include "history-store.h"
#include "comparable.h"
#include "dig.h"
#include "folders.h"
#include "history-figures.h"
#include "history-sql.h"
#include "sha256.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

/* Nothing that nestlab writes is longer. */
#define ID_MAX_LENGTH 128

/* As much as nl_document_load() reads: a stored length that is greater is a lie. */
#define DOCUMENT_MAX (256L * 1024 * 1024)

struct nl_history_store {
    struct nl_sql sql;
};

void nl_history_close(struct nl_history_store **store)
{
    if (!*store)
        return;
    nl_sql_close(&(*store)->sql);
    free(*store);
    *store = NULL;
}

int nl_history_open(const char *folder, bool create, struct nl_history_store **store,
                    struct nl_error **err)
{
    cleanup_history struct nl_history_store *opened = calloc(1, sizeof(*opened));
    cleanup_free char *real = NULL;
    cleanup_free char *path = NULL;

    if (create && nl_make_folders(folder, NL_EXIT_REQUEST, err) < 0)
        return -1;
    real = realpath(folder, NULL);
    if (!real)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "cannot open %s", folder);
    if (!opened || asprintf(&path, "%s/" NL_HISTORY_FILE, real) < 0) {
        path = NULL;
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    if (!create && access(path, F_OK) < 0) {
        nl_fail_errno(err, NL_EXIT_REQUEST, errno, "%s holds no history, no " NL_HISTORY_FILE,
                      folder);
        return nl_hint(err, "name documents, or folders of runs, after it: they are added");
    }
    if (nl_sql_open(path, create, &opened->sql, err) < 0)
        return -1;
    *store = nl_steal(&opened);
    return 0;
}

/* Seconds since 1970, from "2026-11-30T10:15:00Z". */
static bool parse_time(const char *text, sqlite3_int64 *seconds)
{
    struct tm utc = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &utc);

    if (!end || *end)
        return false;
    *seconds = timegm(&utc);
    return true;
}

/* What the document is, for a second one of the same run. */
static int digest_of(const char *text, char **digest, struct nl_error **err)
{
    cleanup_sha256 struct nl_sha256 *sha = nl_sha256_new();

    nl_sha256_text(sha, "document", text);
    return nl_sha256_end(sha, digest, err);
}

/* Is the run there? 1 yes, the same document; 0 no. */
static int look_for(struct nl_history_store *store, const char *id, const char *digest,
                    struct nl_error **err)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc;

    if (nl_sql_prepare(&store->sql, "SELECT digest FROM run WHERE name = ?", &statement, err) < 0 ||
        nl_sql_bind_text(&store->sql, statement, 1, id, err) < 0)
        return -1;
    rc = nl_sql_step(&store->sql, statement, err);
    if (rc <= 0)
        return rc;
    if (strcmp(nl_sql_text(statement, 0), digest) == 0)
        return 1;
    nl_fail(err, NL_EXIT_REQUEST, "another document of run %s is there already", id);
    return nl_hint(err, "a run is kept once; `nestlab history --document %s` prints what is kept",
                   id);
}

static json_t *excerpt_of(const json_t *document)
{
    json_t *excerpt = nl_comparable_excerpt(document);
    bool metered = false;
    size_t i;
    json_t *layer;

    json_array_foreach(json_object_get(document, "layers"), i, layer) metered |=
        json_array_size(json_object_get(layer, "metered")) > 0;
    json_object_set_new(excerpt, "named",
                        json_string(nl_dig_string(document, "scenario.name", "unnamed")));
    json_object_set_new(excerpt, "metered", json_boolean(metered));
    return excerpt;
}

static int insert_run(struct nl_history_store *store, const json_t *document, const char *text,
                      const char *digest, sqlite3_int64 started, struct nl_error **err)
{
    cleanup_json json_t *excerpt = excerpt_of(document);
    cleanup_free char *excerpt_text = json_dumps(excerpt, JSON_COMPACT);
    cleanup_statement sqlite3_stmt *statement = NULL;
    uLongf size = compressBound(strlen(text));
    cleanup_free Bytef *deflated = malloc(size);

    if (!excerpt_text || !deflated ||
        compress2(deflated, &size, (const Bytef *)text, strlen(text), 6) != Z_OK)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (nl_sql_prepare(&store->sql,
                       "INSERT INTO run (name, digest, started, status, excerpt, length, document)"
                       " VALUES (?, ?, ?, ?, ?, ?, ?)",
                       &statement, err) < 0 ||
        nl_sql_bind_text(&store->sql, statement, 1, nl_dig_string(document, "run.id", ""), err) <
            0 ||
        nl_sql_bind_text(&store->sql, statement, 2, digest, err) < 0 ||
        nl_sql_bind_int(&store->sql, statement, 3, started, err) < 0 ||
        nl_sql_bind_text(&store->sql, statement, 4, nl_dig_string(document, "verdict.status", ""),
                         err) < 0 ||
        nl_sql_bind_text(&store->sql, statement, 5, excerpt_text, err) < 0 ||
        nl_sql_bind_int(&store->sql, statement, 6, (sqlite3_int64)strlen(text), err) < 0 ||
        nl_sql_bind_blob(&store->sql, statement, 7, deflated, size, err) < 0)
        return -1;
    return nl_sql_step(&store->sql, statement, err);
}

static const char *const series_keys[] = {"kind", "name", "layer", "unit", "terms"};
#define SERIES_KEYS (sizeof(series_keys) / sizeof(series_keys[0]))

static int bind_series(struct nl_history_store *store, sqlite3_stmt *statement,
                       const json_t *figure, struct nl_error **err)
{
    for (size_t i = 0; i < SERIES_KEYS; i++)
        if (nl_sql_bind_text(&store->sql, statement, (int)i + 1,
                             nl_dig_string(figure, series_keys[i], ""), err) < 0)
            return -1;
    return nl_sql_bind_int(&store->sql, statement, SERIES_KEYS + 1, nl_dig_true(figure, "rate"),
                           err);
}

/* The row of the figure's series, made where it is new. */
static int find_series(struct nl_history_store *store, const json_t *figure, sqlite3_int64 *series,
                       struct nl_error **err)
{
    cleanup_statement sqlite3_stmt *insert = NULL;
    cleanup_statement sqlite3_stmt *find = NULL;
    int rc;

    if (nl_sql_prepare(&store->sql,
                       "INSERT OR IGNORE INTO series (kind, name, layer, unit, terms, rate)"
                       " VALUES (?, ?, ?, ?, ?, ?)",
                       &insert, err) < 0 ||
        bind_series(store, insert, figure, err) < 0 || nl_sql_step(&store->sql, insert, err) < 0 ||
        nl_sql_prepare(&store->sql,
                       "SELECT id FROM series WHERE kind = ? AND name = ? AND layer = ?"
                       " AND unit = ? AND terms = ? AND rate = ?",
                       &find, err) < 0 ||
        bind_series(store, find, figure, err) < 0)
        return -1;
    rc = nl_sql_step(&store->sql, find, err);
    if (rc == 0)
        return nl_fail(err, NL_EXIT_LAB, "%s lost a series", store->sql.path);
    *series = sqlite3_column_int64(find, 0);
    return rc < 0 ? -1 : 0;
}

/* What a document names twice counts once, the first. */
static int insert_figure(struct nl_history_store *store, sqlite3_int64 run, const json_t *figure,
                         struct nl_error **err)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    sqlite3_int64 series = 0;

    if (find_series(store, figure, &series, err) < 0 ||
        nl_sql_prepare(&store->sql,
                       "INSERT OR IGNORE INTO figure"
                       " (run, series, value, low, high, n, exact, repeats)"
                       " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                       &statement, err) < 0 ||
        nl_sql_bind_int(&store->sql, statement, 1, run, err) < 0 ||
        nl_sql_bind_int(&store->sql, statement, 2, series, err) < 0 ||
        nl_sql_bind_real(&store->sql, statement, 3, nl_dig_number(figure, "value", 0), err) < 0 ||
        nl_sql_bind_real(&store->sql, statement, 4, nl_dig_number(figure, "low", NAN), err) < 0 ||
        nl_sql_bind_real(&store->sql, statement, 5, nl_dig_number(figure, "high", NAN), err) < 0 ||
        nl_sql_bind_int(&store->sql, statement, 6, nl_dig_integer(figure, "n", 0), err) < 0 ||
        nl_sql_bind_int(&store->sql, statement, 7, nl_dig_true(figure, "exact"), err) < 0 ||
        nl_sql_bind_real(&store->sql, statement, 8, nl_dig_number(figure, "repeats", NAN), err) < 0)
        return -1;
    return nl_sql_step(&store->sql, statement, err);
}

static int insert_all(struct nl_history_store *store, const json_t *document, const char *text,
                      const char *digest, sqlite3_int64 started, struct nl_error **err)
{
    cleanup_json json_t *figures = nl_history_figures(document);
    sqlite3_int64 run;
    size_t i;
    json_t *figure;

    if (insert_run(store, document, text, digest, started, err) < 0)
        return -1;
    run = sqlite3_last_insert_rowid(store->sql.db);
    json_array_foreach(figures, i, figure)
    {
        if (insert_figure(store, run, figure, err) < 0)
            return -1;
    }
    return 0;
}

/* What would not be a run of a history. */
static int refuse(const json_t *document, sqlite3_int64 *started, struct nl_error **err)
{
    const char *id = nl_dig_string(document, "run.id", "");

    if (!*id || strlen(id) > ID_MAX_LENGTH)
        return nl_fail(err, NL_EXIT_REQUEST, "run.id: a history takes 1 to %d bytes",
                       ID_MAX_LENGTH);
    if (!nl_dig_string(document, "verdict.status", NULL)) {
        nl_fail(err, NL_EXIT_REQUEST, "run %s has not ended", id);
        return nl_hint(err, "if the run was killed, what it measured is not whole");
    }
    if (!parse_time(nl_dig_string(document, "run.started", ""), started))
        return nl_fail(err, NL_EXIT_REQUEST,
                       "run.started is no time such as 2026-11-30T10:15:00Z, and a history is in "
                       "the order of those");
    return 0;
}

int nl_history_add(struct nl_history_store *store, const json_t *document, bool *added,
                   struct nl_error **err)
{
    cleanup_free char *text = NULL;
    cleanup_free char *digest = NULL;
    sqlite3_int64 started = 0;
    int rc;

    *added = false;
    if (refuse(document, &started, err) < 0)
        return -1;
    text = json_dumps(document, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (digest_of(text, &digest, err) < 0 || nl_sql_begin(&store->sql, err) < 0)
        return -1;
    rc = look_for(store, nl_dig_string(document, "run.id", ""), digest, err);
    if (rc == 0) {
        rc = insert_all(store, document, text, digest, started, err);
        *added = rc == 0;
    }
    return nl_sql_end(&store->sql, rc < 0 ? rc : 0, err);
}

static json_t *column_number(sqlite3_stmt *statement, int column)
{
    int type = sqlite3_column_type(statement, column);
    double value = sqlite3_column_double(statement, column);

    return type != SQLITE_NULL && isfinite(value) ? json_real(value) : json_null();
}

/* Of what the latest runs are. */
#define LATEST                                                                                     \
    "(SELECT id, name, started, status, excerpt FROM run ORDER BY started DESC, name DESC LIMIT "  \
    "?)"

/* SQLite does not look at what it keeps as text, jansson takes nothing but UTF-8. */
static int no_text(struct nl_history_store *store, struct nl_error **err)
{
    return nl_sql_damaged(&store->sql, "a text is not UTF-8", err);
}

/* The run of ROW, added. */
static int load_run(struct nl_history_store *store, sqlite3_stmt *row, json_t *runs, json_t *rows,
                    struct nl_error **err)
{
    cleanup_json json_t *excerpt = json_loads(nl_sql_text(row, 4), 0, NULL);
    json_t *run;
    char id[32];

    if (!json_is_object(excerpt))
        return nl_sql_damaged(&store->sql, "an excerpt is no JSON object", err);
    run = json_pack("{s:s, s:s, s:s, s:O}", "id", nl_sql_text(row, 1), "started",
                    nl_sql_text(row, 2), "status", nl_sql_text(row, 3), "excerpt", excerpt);
    if (json_array_append_new(runs, run) < 0)
        return no_text(store, err);
    snprintf(id, sizeof(id), "%lld", sqlite3_column_int64(row, 0));
    json_object_set_new(rows, id, json_integer((json_int_t)json_array_size(runs) - 1));
    return 0;
}

static int load_runs(struct nl_history_store *store, size_t max, json_t *runs, json_t *rows,
                     struct nl_error **err)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc;

    if (nl_sql_prepare(&store->sql,
                       "SELECT id, name, strftime('%Y-%m-%dT%H:%M:%SZ', started, 'unixepoch'),"
                       " status, excerpt FROM " LATEST " ORDER BY started, name",
                       &statement, err) < 0 ||
        nl_sql_bind_int(&store->sql, statement, 1, (sqlite3_int64)max, err) < 0)
        return -1;
    while ((rc = nl_sql_step(&store->sql, statement, err)) > 0)
        if (load_run(store, statement, runs, rows, err) < 0)
            return -1;
    return rc;
}

/* The series of ROW, added where it is new; NULL where its texts are none. */
static json_t *series_of(sqlite3_stmt *row, json_t *series, json_t *known)
{
    char id[32];
    json_t *found;

    snprintf(id, sizeof(id), "%lld", sqlite3_column_int64(row, 0));
    found = json_object_get(known, id);
    if (found)
        return found;
    found = json_pack("{s:b, s:[]}", "rate", sqlite3_column_int(row, 6), "points");
    json_array_append_new(series, found);
    for (size_t i = 0; i < SERIES_KEYS; i++)
        if (json_object_set_new(found, series_keys[i], json_string(nl_sql_text(row, (int)i + 1))) <
            0)
            return NULL;
    json_object_set(known, id, found);
    return found;
}

static json_t *point_of(sqlite3_stmt *row, json_t *run)
{
    return json_pack("{s:O, s:o, s:o, s:o, s:I, s:b, s:o}", "run", run, "value",
                     column_number(row, 8), "low", column_number(row, 9), "high",
                     column_number(row, 10), "n", (json_int_t)sqlite3_column_int64(row, 11),
                     "exact", sqlite3_column_int(row, 12), "repeats", column_number(row, 13));
}

static int load_series(struct nl_history_store *store, size_t max, const json_t *rows,
                       json_t *series, struct nl_error **err)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    cleanup_json json_t *known = json_object();
    int rc;

    if (nl_sql_prepare(&store->sql,
                       "SELECT series.id, kind, series.name, layer, unit, terms, rate, latest.id,"
                       " value, low, high, n, exact, repeats FROM " LATEST " AS latest"
                       " JOIN figure ON figure.run = latest.id"
                       " JOIN series ON series.id = figure.series"
                       " ORDER BY (SELECT min(first.id) FROM series AS first WHERE"
                       " first.kind = series.kind AND first.name = series.name),"
                       " length(layer), layer, series.id, latest.started, latest.name",
                       &statement, err) < 0 ||
        nl_sql_bind_int(&store->sql, statement, 1, (sqlite3_int64)max, err) < 0)
        return -1;
    while ((rc = nl_sql_step(&store->sql, statement, err)) > 0) {
        char row[32];
        json_t *run, *found;

        snprintf(row, sizeof(row), "%lld", sqlite3_column_int64(statement, 7));
        run = json_object_get(rows, row);
        if (!run || !isfinite(sqlite3_column_double(statement, 8)))
            continue;
        found = series_of(statement, series, known);
        if (!found)
            return no_text(store, err);
        json_array_append_new(json_object_get(found, "points"), point_of(statement, run));
    }
    return rc;
}

int nl_history_load(struct nl_history_store *store, size_t max, json_t **history,
                    struct nl_error **err)
{
    cleanup_json json_t *runs = json_array();
    cleanup_json json_t *series = json_array();
    cleanup_json json_t *rows = json_object();

    if (nl_sql_begin_reading(&store->sql, err) < 0)
        return -1;
    if (nl_sql_end(&store->sql,
                   load_runs(store, max, runs, rows, err) < 0 ||
                           load_series(store, max, rows, series, err) < 0
                       ? -1
                       : 0,
                   err) < 0)
        return -1;
    *history = json_pack("{s:O, s:O}", "runs", runs, "series", series);
    return *history ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}

static int inflate_document(struct nl_history_store *store, sqlite3_stmt *row, json_t **document,
                            struct nl_error **err)
{
    sqlite3_int64 length = sqlite3_column_int64(row, 0);
    const Bytef *deflated = sqlite3_column_blob(row, 1);
    uLong size = (uLong)sqlite3_column_bytes(row, 1);
    uLongf inflated = length > 0 && length <= 2 * DOCUMENT_MAX ? (uLongf)length : 0;
    cleanup_free char *text = inflated > 0 && deflated ? malloc(inflated) : NULL;

    if (!text || uncompress((Bytef *)text, &inflated, deflated, size) != Z_OK)
        return nl_sql_damaged(&store->sql, "a document cannot be unpacked", err);
    *document = json_loadb(text, inflated, 0, NULL);
    return *document ? 0 : nl_sql_damaged(&store->sql, "a document is no JSON", err);
}

int nl_history_document(struct nl_history_store *store, const char *id, json_t **document,
                        struct nl_error **err)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc;

    if (nl_sql_prepare(&store->sql, "SELECT length, document FROM run WHERE name = ?", &statement,
                       err) < 0 ||
        nl_sql_bind_text(&store->sql, statement, 1, id, err) < 0)
        return -1;
    rc = nl_sql_step(&store->sql, statement, err);
    if (rc == 0) {
        nl_fail(err, NL_EXIT_REQUEST, "%s holds no run %s", store->sql.path, id);
        return nl_hint(err, "--json lists the runs");
    }
    return rc < 0 ? -1 : inflate_document(store, statement, document, err);
}
