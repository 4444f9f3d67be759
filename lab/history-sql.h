/*
 * history-sql.h - SQLite as a history uses it: opened only if it is a history, transactions, and
 * errors as everywhere in nestlab.
 */
#ifndef NL_HISTORY_SQL_H
#define NL_HISTORY_SQL_H

#include "error.h"

#include <sqlite3.h>
#include <stdbool.h>

struct nl_sql {
    sqlite3 *db;
    char *path;
};

/* The database at PATH, without symbolic links, which may be missing with CREATE. What is no
   history, a newer one, or damaged is refused. */
int nl_sql_open(const char *path, bool create, struct nl_sql *sql, struct nl_error **err);
void nl_sql_close(struct nl_sql *sql);

/* A transaction that writes: nobody else's can begin until it ends, and it fails after a few
   seconds of waiting for one. */
int nl_sql_begin(struct nl_sql *sql, struct nl_error **err);
int nl_sql_begin_reading(struct nl_sql *sql, struct nl_error **err);
/* Commit if RC is 0, else undo everything; returns RC, or -1 if it cannot be committed. */
int nl_sql_end(struct nl_sql *sql, int rc, struct nl_error **err);

int nl_sql_prepare(struct nl_sql *sql, const char *text, sqlite3_stmt **statement,
                   struct nl_error **err);
/* Parameters count from 1; what is bound must stay until the statement is freed. */
int nl_sql_bind_text(struct nl_sql *sql, sqlite3_stmt *statement, int at, const char *text,
                     struct nl_error **err);
int nl_sql_bind_int(struct nl_sql *sql, sqlite3_stmt *statement, int at, sqlite3_int64 value,
                    struct nl_error **err);
int nl_sql_bind_real(struct nl_sql *sql, sqlite3_stmt *statement, int at, double value,
                     struct nl_error **err); /* what is not finite is NULL */
int nl_sql_bind_blob(struct nl_sql *sql, sqlite3_stmt *statement, int at, const void *bytes,
                     size_t size, struct nl_error **err);
/* 1: there is a row; 0: there is none (more). */
int nl_sql_step(struct nl_sql *sql, sqlite3_stmt *statement, struct nl_error **err);
const char *nl_sql_text(sqlite3_stmt *statement, int column); /* never NULL */

/* What was read is nothing that nestlab wrote. */
int nl_sql_damaged(const struct nl_sql *sql, const char *why, struct nl_error **err);

static inline void nl_sql_finalize(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
}
#define cleanup_statement NL_CLEANUP(nl_sql_finalize)

#endif
