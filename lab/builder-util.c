/*
 * builder-util.c - small things that the layers' makers share: see builder.h.
 */
#include "builder.h"
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

char *builder_text(const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    return text;
}

int builder_write_json(const char *folder, const char *name, json_t *json, struct nl_error **err)
{
    cleanup_free char *path = builder_text("%s/%s", folder, name);
    int rc = json && path ? json_dump_file(json, path, JSON_INDENT(2) | JSON_SORT_KEYS) : -1;

    json_decref(json);
    return rc < 0 ? nl_fail(err, NL_EXIT_LAB, "cannot write %s/%s", folder, name) : 0;
}

int builder_read_text(const char *path, char **text, struct nl_error **err)
{
    cleanup_fclose FILE *file = fopen(path, "re");
    size_t size = 0;

    /* No file of text holds a zero byte. */
    if (!file || getdelim(text, &size, '\0', file) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read %s", path);
    return 0;
}

int builder_outside(const char *folder, char **path, struct nl_error **err)
{
    const char *tmp = getenv("TMPDIR");
    cleanup_free char *link = builder_text("%s/" NL_ENTRY_OUTSIDE, folder);
    cleanup_free char *outside = NULL;

    if (!link)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    *path = realpath(link, NULL);
    if (*path)
        return 0;
    outside =
        builder_text("%s/" NL_ENTRY_OUTSIDE_PREFIX "XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
    if (!outside)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (!mkdtemp(outside))
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make a folder %s", outside);
    if (symlink(outside, link) < 0 || chmod(outside, 0711) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot set up the folder %s", outside);
    *path = nl_steal(&outside);
    return 0;
}

/* Watches the log of a running program. */
struct tail {
    const char *program;
    const char *log;
    atomic_bool stop;
    pthread_t thread;
};

static void show_last_line(const char *program, const char *log)
{
    cleanup_close int fd = open(log, O_RDONLY | O_CLOEXEC);
    char text[512];
    off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    off_t from = size > (off_t)sizeof(text) - 1 ? size - (off_t)sizeof(text) + 1 : 0;
    ssize_t n = size > 0 ? pread(fd, text, sizeof(text) - 1, from) : 0;
    char *line;

    while (n > 0 && strchr("\r\n ", text[n - 1]))
        n--;
    if (n <= 0) {
        nl_progress_update("%s", program);
        return;
    }
    text[n] = '\0';
    line = strrchr(text, '\n');
    nl_progress_update("%s", line ? line + 1 : text);
}

static void *tail_thread(void *data)
{
    struct tail *tail = data;

    while (!atomic_load(&tail->stop)) {
        show_last_line(tail->program, tail->log);
        usleep(300 * 1000);
    }
    return NULL;
}

int builder_run(const struct nl_process *process, struct nl_error **err)
{
    struct tail tail = {.program = process->argv[0], .log = process->log};
    bool tailing = process->log && pthread_create(&tail.thread, NULL, tail_thread, &tail) == 0;
    int rc = nl_process_run(process, NULL, err);

    if (tailing) {
        atomic_store(&tail.stop, true);
        pthread_join(tail.thread, NULL);
    }
    return rc;
}
