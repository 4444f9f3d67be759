/*
 * history-sql.c - SQLite as a history uses it: see history-sql.h.
 */
#include "history-sql.h"
#include "history-store.h"

#include <math.h>
#include <string.h>

#define APPLICATION 0x6e6c6869 /* "nlhi" */

/* A document takes milliseconds to write. */
#define WAIT_MS 5000

/* As SQLite keeps them, and compares them with what it finds: views and triggers of somebody else
   would be run by our own statements. */
static const char *const tables[] = {
    "CREATE TABLE run (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, "
    "started INTEGER NOT NULL, status TEXT NOT NULL, excerpt TEXT NOT NULL, "
    "length INTEGER NOT NULL, document BLOB NOT NULL) STRICT",
    "CREATE TABLE series (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, "
    "layer TEXT NOT NULL, unit TEXT NOT NULL, terms TEXT NOT NULL, rate INTEGER NOT NULL, "
    "UNIQUE (kind, name, layer, unit, terms, rate)) STRICT",
    "CREATE TABLE figure (run INTEGER NOT NULL REFERENCES run, "
    "series INTEGER NOT NULL REFERENCES series, value REAL NOT NULL, low REAL, high REAL, "
    "n INTEGER NOT NULL, exact INTEGER NOT NULL, repeats REAL, "
    "PRIMARY KEY (run, series)) STRICT, WITHOUT ROWID",
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

int nl_sql_damaged(const struct nl_sql *sql, const char *why, struct nl_error **err)
{
    nl_fail(err, NL_EXIT_REQUEST, "%s is damaged: %s", sql->path, why);
    return nl_hint(err, "move it away, and add the documents again");
}

static int foreign(const struct nl_sql *sql, const char *why, struct nl_error **err)
{
    nl_fail(err, NL_EXIT_REQUEST, "%s is no history of nestlab's: %s", sql->path, why);
    return nl_hint(err, "name another folder, or move the file away");
}

static int fail_sql(const struct nl_sql *sql, int rc, struct nl_error **err)
{
    const char *why = sql->db ? sqlite3_errmsg(sql->db) : sqlite3_errstr(rc);

    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        nl_fail(err, NL_EXIT_LAB, "%s: another process writes to it, for more than %d s", sql->path,
                WAIT_MS / 1000);
        return nl_hint(err, "wait until it has ended");
    case SQLITE_NOTADB:
        return foreign(sql, "it is no SQLite database", err);
    case SQLITE_CORRUPT:
        return nl_sql_damaged(sql, why, err);
    case SQLITE_CANTOPEN:
        nl_fail(err, NL_EXIT_REQUEST, "cannot open %s: %s", sql->path, why);
        return nl_hint(err, "it must be a file, no symbolic link, that may be read and written");
    default:
        return nl_fail(err, NL_EXIT_LAB, "%s: %s", sql->path, why);
    }
}

static int run_sql(struct nl_sql *sql, const char *text, struct nl_error **err)
{
    int rc = sqlite3_exec(sql->db, text, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : fail_sql(sql, rc, err);
}

/* The first column of the only row of TEXT. */
static int ask_number(struct nl_sql *sql, const char *text, sqlite3_int64 *number,
                      struct nl_error **err)
{
    cleanup_statement sqlite3_stmt *statement = NULL;

    if (nl_sql_prepare(sql, text, &statement, err) < 0 || nl_sql_step(sql, statement, err) < 0)
        return -1;
    *number = sqlite3_column_int64(statement, 0);
    return 0;
}

static int check_schema(struct nl_sql *sql, struct nl_error **err)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    size_t n = 0;
    int rc;

    if (nl_sql_prepare(sql, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid",
                       &statement, err) < 0)
        return -1;
    while ((rc = nl_sql_step(sql, statement, err)) > 0)
        if (n == TABLES || strcmp(nl_sql_text(statement, 0), tables[n++]) != 0)
            return foreign(sql, "its tables are not those of a history", err);
    if (rc == 0 && n != TABLES)
        return nl_sql_damaged(sql, "a table is missing", err);
    return rc;
}

static int check_pages(struct nl_sql *sql, struct nl_error **err)
{
    cleanup_statement sqlite3_stmt *statement = NULL;

    if (nl_sql_prepare(sql, "PRAGMA quick_check(1)", &statement, err) < 0 ||
        nl_sql_step(sql, statement, err) < 0)
        return -1;
    if (strcmp(nl_sql_text(statement, 0), "ok") != 0)
        return nl_sql_damaged(sql, nl_sql_text(statement, 0), err);
    return 0;
}

static int make_tables(struct nl_sql *sql, struct nl_error **err)
{
    char pragmas[128];

    for (size_t i = 0; i < TABLES; i++)
        if (run_sql(sql, tables[i], err) < 0)
            return -1;
    snprintf(pragmas, sizeof(pragmas), "PRAGMA application_id = %d; PRAGMA user_version = %d",
             APPLICATION, NL_HISTORY_VERSION);
    return run_sql(sql, pragmas, err);
}

/* Is it a history? EMPTY: it is nothing yet. */
static int check(struct nl_sql *sql, bool *empty, struct nl_error **err)
{
    sqlite3_int64 application, version, parts;

    if (ask_number(sql, "SELECT count(*) FROM sqlite_schema", &parts, err) < 0 ||
        ask_number(sql, "PRAGMA application_id", &application, err) < 0 ||
        ask_number(sql, "PRAGMA user_version", &version, err) < 0)
        return -1;
    *empty = parts == 0 && application == 0;
    if (*empty)
        return 0;
    if (application != APPLICATION)
        return foreign(sql, "it is a database of something else", err);
    if (version != NL_HISTORY_VERSION) {
        nl_fail(err, NL_EXIT_REQUEST, "%s is a history of version %lld; this nestlab knows %d",
                sql->path, version, NL_HISTORY_VERSION);
        return nl_hint(err, "use the nestlab that wrote it, or a newer one");
    }
    return check_schema(sql, err) < 0 ? -1 : check_pages(sql, err);
}

/* In a transaction that writes: another process may have been quicker. */
static int make_history(struct nl_sql *sql, struct nl_error **err)
{
    bool empty = false;

    if (check(sql, &empty, err) < 0)
        return -1;
    return empty ? make_tables(sql, err) : 0;
}

/* Only this file, whatever it says. */
static int guard(struct nl_sql *sql, struct nl_error **err)
{
    sqlite3_busy_timeout(sql->db, WAIT_MS);
    sqlite3_extended_result_codes(sql->db, 1);
    sqlite3_db_config(sql->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(sql->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(sql->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(sql->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    return run_sql(sql, "PRAGMA cell_size_check = 1; PRAGMA mmap_size = 0", err);
}

int nl_sql_open(const char *path, bool create, struct nl_sql *sql, struct nl_error **err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | (create ? SQLITE_OPEN_CREATE : 0);
    bool empty = false;
    int rc;

    sql->path = strdup(path);
    if (!sql->path)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    rc = sqlite3_open_v2(path, &sql->db, flags, NULL);
    if (rc != SQLITE_OK)
        return fail_sql(sql, rc, err);
    if (guard(sql, err) < 0)
        return -1;
    /* A look at all pages takes its time: those who write need not wait for it. */
    if (nl_sql_begin_reading(sql, err) < 0 || nl_sql_end(sql, check(sql, &empty, err), err) < 0)
        return -1;
    if (!empty)
        return 0;
    if (!create)
        return foreign(sql, "it is an empty database", err);
    return nl_sql_begin(sql, err) < 0 ? -1 : nl_sql_end(sql, make_history(sql, err), err);
}

void nl_sql_close(struct nl_sql *sql)
{
    sqlite3_close(sql->db);
    free(sql->path);
    *sql = (struct nl_sql){0};
}

int nl_sql_begin(struct nl_sql *sql, struct nl_error **err)
{
    return run_sql(sql, "BEGIN IMMEDIATE", err);
}

int nl_sql_begin_reading(struct nl_sql *sql, struct nl_error **err)
{
    return run_sql(sql, "BEGIN", err);
}

int nl_sql_end(struct nl_sql *sql, int rc, struct nl_error **err)
{
    if (rc == 0 && run_sql(sql, "COMMIT", err) == 0)
        return 0;
    /* What undoes may fail only where nothing is left to undo. */
    sqlite3_exec(sql->db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

int nl_sql_prepare(struct nl_sql *sql, const char *text, sqlite3_stmt **statement,
                   struct nl_error **err)
{
    int rc = sqlite3_prepare_v2(sql->db, text, -1, statement, NULL);

    return rc == SQLITE_OK ? 0 : fail_sql(sql, rc, err);
}

int nl_sql_bind_text(struct nl_sql *sql, sqlite3_stmt *statement, int at, const char *text,
                     struct nl_error **err)
{
    int rc = sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);

    return rc == SQLITE_OK ? 0 : fail_sql(sql, rc, err);
}

int nl_sql_bind_int(struct nl_sql *sql, sqlite3_stmt *statement, int at, sqlite3_int64 value,
                    struct nl_error **err)
{
    int rc = sqlite3_bind_int64(statement, at, value);

    return rc == SQLITE_OK ? 0 : fail_sql(sql, rc, err);
}

int nl_sql_bind_real(struct nl_sql *sql, sqlite3_stmt *statement, int at, double value,
                     struct nl_error **err)
{
    int rc = isfinite(value) ? sqlite3_bind_double(statement, at, value)
                             : sqlite3_bind_null(statement, at);

    return rc == SQLITE_OK ? 0 : fail_sql(sql, rc, err);
}

int nl_sql_bind_blob(struct nl_sql *sql, sqlite3_stmt *statement, int at, const void *bytes,
                     size_t size, struct nl_error **err)
{
    int rc = sqlite3_bind_blob64(statement, at, bytes, size, SQLITE_STATIC);

    return rc == SQLITE_OK ? 0 : fail_sql(sql, rc, err);
}

int nl_sql_step(struct nl_sql *sql, sqlite3_stmt *statement, struct nl_error **err)
{
    int rc = sqlite3_step(statement);

    if (rc == SQLITE_ROW)
        return 1;
    return rc == SQLITE_DONE ? 0 : fail_sql(sql, rc, err);
}

const char *nl_sql_text(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);

    return text ? text : "";
}
