/*
 * test-history-store.c - documents kept over time: whole, once, by one writer at a time, and in
 * nothing but a history.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dig.h"
#include "history-runs.h"
#include "history-store.h"

#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char folder[] = "/tmp/nl-test-history-XXXXXX";
static char database[64];
static uint64_t seed = 1;

static const struct run plain = {1, "6.1", "host", 1000, 3220, 4, 0.0005};

static struct nl_history_store *open_store(bool create)
{
    struct nl_history_store *store = NULL;
    cleanup_error struct nl_error *err = NULL;

    if (nl_history_open(folder, create, &store, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    return store;
}

static void assert_refused(bool create, const char *why)
{
    struct nl_history_store *store = NULL;
    cleanup_error struct nl_error *err = NULL;

    if (nl_history_open(folder, create, &store, &err) == 0)
        fail_msg("was opened, not refused: %s", why);
    if (!strstr(nl_error_message(err), why))
        fail_msg("\"%s\" is not in: %s", why, nl_error_message(err));
    assert_non_null(nl_error_hint(err));
    assert_null(store);
}

static bool add(struct nl_history_store *store, const json_t *document)
{
    cleanup_error struct nl_error *err = NULL;
    bool added;

    if (nl_history_add(store, document, &added, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    return added;
}

static void assert_not_added(struct nl_history_store *store, const json_t *document,
                             const char *why)
{
    cleanup_error struct nl_error *err = NULL;
    bool added;

    assert_true(nl_history_add(store, document, &added, &err) < 0);
    assert_false(added);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    if (!strstr(nl_error_message(err), why))
        fail_msg("\"%s\" is not in: %s", why, nl_error_message(err));
}

static json_t *load(struct nl_history_store *store, size_t max)
{
    cleanup_error struct nl_error *err = NULL;
    json_t *loaded = NULL;

    if (nl_history_load(store, max, &loaded, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    return loaded;
}

static void run_sql(const char *text)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static const json_t *series(const json_t *loaded, const char *kind, const char *layer)
{
    size_t i;
    json_t *each;

    json_array_foreach(json_object_get(loaded, "series"), i, each)
    {
        if (nl_dig_is(each, "kind", kind) && nl_dig_is(each, "layer", layer))
            return each;
    }
    fail_msg("no %s at %s", kind, layer);
    return NULL;
}

static void test_kept_whole_and_once(void **state)
{
    cleanup_json json_t *document = run_document(&plain, &seed);
    cleanup_json json_t *loaded = NULL;
    cleanup_json json_t *back = NULL;
    const json_t *point;
    cleanup_history struct nl_history_store *store = open_store(true);

    (void)state;
    assert_true(add(store, document));
    assert_false(add(store, document));
    loaded = load(store, 10);
    assert_int_equal(json_array_size(json_object_get(loaded, "runs")), 1);
    point = json_array_get(json_object_get(series(loaded, "time", "L1"), "points"), 0);
    assert_true(nl_dig_number(point, "value", 0) >= 1000 &&
                nl_dig_number(point, "value", 0) <= 1100);
    assert_true(nl_dig_number(point, "low", 0) <= nl_dig_number(point, "value", 0));
    assert_int_equal(nl_dig_integer(point, "n", 0), 20);
    point = json_array_get(json_object_get(series(loaded, "instructions", "L1"), "points"), 0);
    assert_true(nl_dig_number(point, "value", 0) == 3220);
    assert_true(nl_dig_true(point, "exact"));
    assert_true(nl_dig_number(point, "repeats", 0) == 0.0005);
    point = json_array_get(json_object_get(series(loaded, "phase", "L1"), "points"), 0);
    assert_true(nl_dig_number(point, "value", 0) == 4);
    assert_int_equal(nl_history_document(store, "run-001", &back, NULL), 0);
    assert_true(json_equal(back, document));
}

static void test_order_and_limit(void **state)
{
    static const int days[] = {5, 1, 3, 4, 2};
    cleanup_history struct nl_history_store *store = open_store(true);
    cleanup_json json_t *loaded = NULL;
    const json_t *runs;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct run run = plain;
        cleanup_json json_t *document = NULL;

        run.day = days[i];
        document = run_document(&run, &seed);
        assert_true(add(store, document));
    }
    loaded = load(store, 3);
    runs = json_object_get(loaded, "runs");
    assert_int_equal(json_array_size(runs), 3);
    assert_true(nl_dig_is(json_array_get(runs, 0), "id", "run-003"));
    assert_true(nl_dig_is(json_array_get(runs, 2), "id", "run-005"));
    assert_true(nl_dig_is(json_array_get(runs, 2), "started", "2026-01-06T10:15:00Z"));
    assert_int_equal(json_array_size(json_object_get(series(loaded, "time", "L0"), "points")), 3);
}

static void test_not_taken(void **state)
{
    cleanup_history struct nl_history_store *store = open_store(true);
    cleanup_json json_t *document = run_document(&plain, &seed);
    cleanup_json json_t *loaded = NULL;
    json_t *run = json_object_get(document, "run");

    (void)state;
    assert_true(add(store, document));
    json_object_set_new(run, "seconds", json_real(1));
    assert_not_added(store, document, "another document of run run-001");
    json_object_set_new(run, "id", json_string("other"));
    json_object_set_new(run, "started", json_string("yesterday"));
    assert_not_added(store, document, "is no time");
    json_object_set_new(run, "started", json_string("2026-11-30T10:15:00Z; DROP TABLE run"));
    assert_not_added(store, document, "is no time");
    json_object_set_new(run, "started", json_string("2026-11-30T10:15:00Z"));
    json_object_set_new(document, "verdict", json_null());
    assert_not_added(store, document, "has not ended");
    json_object_set_new(run, "id", json_string(""));
    assert_not_added(store, document, "run.id");
    loaded = load(store, 10);
    assert_int_equal(json_array_size(json_object_get(loaded, "runs")), 1);
}

/* A document of nothing but figures, and such as no scenario makes. */
static void test_bounds(void **state)
{
    cleanup_history struct nl_history_store *store = open_store(true);
    cleanup_json json_t *document = run_document(&plain, &seed);
    cleanup_json json_t *loaded = NULL;
    json_t *phases = json_array();
    size_t points = 0, i;
    json_t *each;

    (void)state;
    for (i = 0; i < 20000; i++)
        json_array_append_new(phases, json_pack("{s:n, s:o, s:f, s:f}", "layer", "name",
                                                json_sprintf("phase-%zu", i), "start_s", 1.0,
                                                "seconds", 1e308));
    json_array_append_new(phases, json_pack("{s:s, s:s, s:f, s:f}", "layer", "L7", "name", "x",
                                            "start_s", 0.0, "seconds", 1.0));
    json_object_set_new(document, "phases", phases);
    assert_true(add(store, document));
    loaded = load(store, 10);
    json_array_foreach(json_object_get(loaded, "series"), i, each) points +=
        json_array_size(json_object_get(each, "points"));
    assert_in_range(points, 1000, 4000);
}

static void test_missing(void **state)
{
    (void)state;
    assert_refused(false, "holds no history");
}

static void test_foreign(void **state)
{
    FILE *file = fopen(database, "w");

    (void)state;
    fputs("this is no database at all, but long enough to be taken for one\n", file);
    for (int i = 0; i < 1000; i++)
        fputs("0123456789", file);
    fclose(file);
    assert_refused(false, "no SQLite database");
    assert_refused(true, "no SQLite database");
    unlink(database);
    run_sql("CREATE TABLE mine (x)");
    assert_refused(false, "something else");
    assert_refused(true, "something else");
}

/* A trigger would run at our own statements. */
static void test_changed_schema(void **state)
{
    struct nl_history_store *store = open_store(true);

    (void)state;
    nl_history_close(&store);
    run_sql("CREATE TRIGGER evil AFTER INSERT ON run BEGIN DELETE FROM run; END");
    assert_refused(true, "its tables are not those of a history");
    run_sql("DROP TRIGGER evil; DROP TABLE figure");
    assert_refused(false, "a table is missing");
}

static void test_newer(void **state)
{
    struct nl_history_store *store = open_store(true);

    (void)state;
    nl_history_close(&store);
    run_sql("PRAGMA user_version = 2");
    assert_refused(true, "version 2");
}

static void test_damaged(void **state)
{
    cleanup_json json_t *document = run_document(&plain, &seed);
    struct nl_history_store *store = open_store(true);
    struct stat status;
    FILE *file;

    (void)state;
    assert_true(add(store, document));
    nl_history_close(&store);
    assert_int_equal(stat(database, &status), 0);
    file = fopen(database, "r+");
    /* All pages but the first, which has the schema. */
    fseek(file, 4096, SEEK_SET);
    for (long at = 4096; at < status.st_size; at++)
        fputc(0xa5, file);
    fclose(file);
    assert_refused(false, "damaged");
    assert_int_equal(truncate(database, 5000), 0);
    assert_refused(false, "damaged");
}

static void test_lying_rows(void **state)
{
    cleanup_json json_t *document = run_document(&plain, &seed);
    struct nl_history_store *store = open_store(true);
    cleanup_error struct nl_error *err = NULL;
    json_t *back = NULL;

    (void)state;
    assert_true(add(store, document));
    nl_history_close(&store);
    run_sql("UPDATE run SET length = 1000000000000");
    store = open_store(false);
    assert_true(nl_history_document(store, "run-001", &back, &err) < 0);
    assert_non_null(strstr(nl_error_message(err), "cannot be unpacked"));
    nl_error_free(&err);
    nl_history_close(&store);
    run_sql("UPDATE run SET excerpt = '[[['");
    store = open_store(false);
    assert_true(nl_history_load(store, 10, &back, &err) < 0);
    assert_non_null(strstr(nl_error_message(err), "no JSON object"));
    nl_history_close(&store);
}

/* SQLite keeps as text whatever it is told to. */
static void test_no_text(void **state)
{
    static const char *const changes[] = {
        "UPDATE run SET name = CAST(x'ff' AS TEXT)",
        "UPDATE run SET status = CAST(x'c328' AS TEXT)",
        "UPDATE series SET name = CAST(x'ff' AS TEXT) WHERE kind = 'phase' AND name = 'run'",
        "UPDATE series SET terms = CAST(x'80' AS TEXT) WHERE kind = 'phase' AND name = 'run'",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        cleanup_json json_t *document = run_document(&plain, &seed);
        cleanup_error struct nl_error *err = NULL;
        struct nl_history_store *store;
        json_t *loaded = NULL;

        unlink(database);
        store = open_store(true);
        assert_true(add(store, document));
        nl_history_close(&store);
        run_sql(changes[i]);
        store = open_store(false);
        assert_true(nl_history_load(store, 10, &loaded, &err) < 0);
        assert_null(loaded);
        assert_non_null(strstr(nl_error_message(err), "is damaged: a text is not UTF-8"));
        nl_history_close(&store);
    }
}

static void test_link(void **state)
{
    char target[80];

    (void)state;
    snprintf(target, sizeof(target), "%s/elsewhere.db", folder);
    assert_int_equal(symlink(target, database), 0);
    assert_refused(true, "cannot open");
    assert_int_not_equal(access(target, F_OK), 0);
}

/* While somebody else writes, nothing is written, and nothing hangs. */
static void test_second_writer(void **state)
{
    cleanup_json json_t *document = run_document(&plain, &seed);
    struct nl_history_store *store = open_store(true);
    cleanup_error struct nl_error *err = NULL;
    sqlite3 *other = NULL;
    bool added;

    (void)state;
    assert_int_equal(sqlite3_open(database, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_true(nl_history_add(store, document, &added, &err) < 0);
    assert_false(added);
    assert_non_null(strstr(nl_error_message(err), "another process writes"));
    assert_int_equal(nl_error_status(err), NL_EXIT_LAB);
    /* Reading goes on, also for one that begins now and means to write later. */
    json_decref(load(store, 10));
    nl_history_close(&store);
    store = open_store(true);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    assert_true(add(store, document));
    nl_history_close(&store);
}

/* Two that begin at once both end up in it. */
static void test_two_at_once(void **state)
{
    cleanup_json json_t *loaded = NULL;
    struct nl_history_store *store;
    pid_t pids[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        pids[i] = fork();
        if (pids[i] != 0)
            continue;
        store = open_store(true);
        for (int day = 0; day < 10; day++) {
            struct run run = plain;

            run.day = 10 * i + day;
            if (!add(store, run_document(&run, &seed)))
                _exit(1);
        }
        nl_history_close(&store);
        _exit(0);
    }
    for (int i = 0; i < 2; i++) {
        int status;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    store = open_store(false);
    loaded = load(store, 100);
    assert_int_equal(json_array_size(json_object_get(loaded, "runs")), 20);
    nl_history_close(&store);
}

static int begin(void **state)
{
    (void)state;
    snprintf(database, sizeof(database), "%s/" NL_HISTORY_FILE, folder);
    unlink(database);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

/* Fails if something is left: SQLite's journal. */
static int tear_down(void **state)
{
    (void)state;
    unlink(database);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_kept_whole_and_once, begin),
        cmocka_unit_test_setup(test_order_and_limit, begin),
        cmocka_unit_test_setup(test_not_taken, begin),
        cmocka_unit_test_setup(test_bounds, begin),
        cmocka_unit_test_setup(test_missing, begin),
        cmocka_unit_test_setup(test_foreign, begin),
        cmocka_unit_test_setup(test_changed_schema, begin),
        cmocka_unit_test_setup(test_newer, begin),
        cmocka_unit_test_setup(test_damaged, begin),
        cmocka_unit_test_setup(test_lying_rows, begin),
        cmocka_unit_test_setup(test_no_text, begin),
        cmocka_unit_test_setup(test_link, begin),
        cmocka_unit_test_setup(test_second_writer, begin),
        cmocka_unit_test_setup(test_two_at_once, begin),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
