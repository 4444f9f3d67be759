/*
 * console.c - consoles: see console.h.
 */
#include "console.h"
#include "guest-text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Of a longer line the rest is only in the file. */
#define LINE_BYTES 1024
#define MARK_BYTES 64

/* What a kernel, or the machine under it, says when it will not go on. Warnings and oopses are not
   here: a kernel may survive those, and the checks find them in its log. */
static const char *const crash_marks[] = {
    "Kernel panic - not syncing", "KVM internal error", "KVM: entry failed",
    "PANIC: early exception",     "-- System halted",   "No bootable device",
};

struct line {
    char *bytes;
    size_t length;
};

struct nl_console {
    struct nl_pipe *pipe; /* NULL: detached */
    int fd;
    atomic_ullong bytes;
    atomic_llong last_ms;
    atomic_bool ended;
    _Atomic(const char *) crash;
    pthread_mutex_t lock;                /* of what follows */
    struct line lines[NL_CONSOLE_LINES]; /* a ring of finished lines */
    size_t n_lines;                      /* ever finished */
    char current[LINE_BYTES];
    size_t current_length;
    char window[MARK_BYTES]; /* the end of what came: a mark may come in two pieces */
    size_t window_length;
};

static void finish_line(struct nl_console *console)
{
    struct line *line = &console->lines[console->n_lines % NL_CONSOLE_LINES];
    char *copy = malloc(console->current_length + 1);

    if (!copy)
        abort();
    memcpy(copy, console->current, console->current_length);
    free(line->bytes);
    *line = (struct line){copy, console->current_length};
    console->n_lines++;
    console->current_length = 0;
}

static void take_lines(struct nl_console *console, const char *bytes, size_t length)
{
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t n = end ? (size_t)(end - bytes) : length;
        size_t room = LINE_BYTES - console->current_length;
        size_t fits = n < room ? n : room;

        memcpy(console->current + console->current_length, bytes, fits);
        console->current_length += fits;
        if (end)
            finish_line(console);
        bytes += end ? n + 1 : n;
        length -= end ? n + 1 : n;
    }
}

static const char *find_mark(const char *bytes, size_t length)
{
    for (size_t i = 0; i < sizeof(crash_marks) / sizeof(crash_marks[0]); i++)
        if (memmem(bytes, length, crash_marks[i], strlen(crash_marks[i])))
            return crash_marks[i];
    return NULL;
}

static void look_for_marks(struct nl_console *console, const char *bytes, size_t length)
{
    char seam[2 * MARK_BYTES];
    size_t head = length < MARK_BYTES ? length : MARK_BYTES;
    size_t n = console->window_length + head;
    const char *mark;

    memcpy(seam, console->window, console->window_length);
    memcpy(seam + console->window_length, bytes, head);
    mark = find_mark(seam, n);
    if (!mark)
        mark = find_mark(bytes, length);
    if (mark)
        atomic_store(&console->crash, mark);
    if (head == MARK_BYTES) {
        memcpy(console->window, bytes + length - MARK_BYTES, MARK_BYTES);
        console->window_length = MARK_BYTES;
    } else {
        console->window_length = n < MARK_BYTES ? n : MARK_BYTES;
        memcpy(console->window, seam + n - console->window_length, console->window_length);
    }
}

/* A full disk must not end the run: the lines stay at hand here. */
static void write_file(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        bytes += n;
        length -= (size_t)n;
    }
}

void nl_console_feed(struct nl_console *console, const char *bytes, size_t length)
{
    if (length == 0) {
        atomic_store(&console->ended, true);
        return;
    }
    pthread_mutex_lock(&console->lock);
    write_file(console->fd, bytes, length);
    take_lines(console, bytes, length);
    if (!atomic_load(&console->crash))
        look_for_marks(console, bytes, length);
    pthread_mutex_unlock(&console->lock);
    atomic_fetch_add(&console->bytes, length);
    atomic_store(&console->last_ms, nl_now_ms());
}

static void on_bytes(const char *bytes, size_t length, void *data)
{
    nl_console_feed(data, bytes, length);
}

int nl_console_open_detached(const char *file, struct nl_console **console, struct nl_error **err)
{
    struct nl_console *made = calloc(1, sizeof(*made));

    if (!made)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    made->fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (made->fd < 0) {
        free(made);
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write the console's file %s", file);
    }
    pthread_mutex_init(&made->lock, NULL);
    *console = made;
    return 0;
}

int nl_console_open(virDomainPtr domain, const char *file, struct nl_console **console,
                    struct nl_error **err)
{
    struct nl_console *made = NULL;

    if (nl_console_open_detached(file, &made, err) < 0)
        return -1;
    if (nl_pipe_open(domain, NULL, on_bytes, made, &made->pipe, err) < 0) {
        nl_console_close(&made);
        return nl_wrap(err, "cannot open the console");
    }
    *console = made;
    return 0;
}

unsigned long long nl_console_bytes(const struct nl_console *console)
{
    return atomic_load(&console->bytes);
}

int64_t nl_console_last_ms(const struct nl_console *console)
{
    return atomic_load(&console->last_ms);
}

bool nl_console_ended(const struct nl_console *console)
{
    return atomic_load(&console->ended);
}

const char *nl_console_crash(const struct nl_console *console)
{
    return atomic_load(&console->crash);
}

/* Line INDEX, counted from the first ever; N_LINES is the one begun. Hold the lock. */
static char *line_text(const struct nl_console *console, size_t index)
{
    const struct line *line = &console->lines[index % NL_CONSOLE_LINES];

    if (index == console->n_lines)
        return nl_guest_text(console->current, console->current_length);
    return nl_guest_text(line->bytes, line->length);
}

/* The first line still held. */
static size_t oldest_line(const struct nl_console *console)
{
    return console->n_lines > NL_CONSOLE_LINES ? console->n_lines - NL_CONSOLE_LINES : 0;
}

json_t *nl_console_tail(struct nl_console *console, size_t n)
{
    json_t *tail = json_array();
    size_t end, first;

    pthread_mutex_lock(&console->lock);
    end = console->n_lines + (console->current_length > 0);
    first = end > n ? end - n : 0;
    if (first < oldest_line(console))
        first = oldest_line(console);
    for (size_t i = first; i < end; i++) {
        cleanup_free char *text = line_text(console, i);

        json_array_append_new(tail, json_string(text));
    }
    pthread_mutex_unlock(&console->lock);
    return tail;
}

char *nl_console_last_line(struct nl_console *console)
{
    char *found = NULL;

    pthread_mutex_lock(&console->lock);
    for (size_t i = console->n_lines + 1; !found && i-- > oldest_line(console);) {
        cleanup_free char *text = line_text(console, i);

        if (text[strspn(text, " ")])
            found = nl_steal(&text);
    }
    pthread_mutex_unlock(&console->lock);
    if (!found)
        found = strdup("");
    if (!found)
        abort();
    return found;
}

int nl_console_write(struct nl_console *console, const char *bytes, size_t length,
                     struct nl_error **err)
{
    if (!console->pipe)
        return nl_fail(err, NL_EXIT_LAB, "this console takes no input");
    return nl_pipe_write(console->pipe, bytes, length, err);
}

void nl_console_close(struct nl_console **console)
{
    struct nl_console *closing = *console;

    if (!closing)
        return;
    *console = NULL;
    /* From here on nothing is fed. */
    if (closing->pipe)
        nl_pipe_close(&closing->pipe);
    nl_cleanup_closep(&closing->fd);
    for (size_t i = 0; i < NL_CONSOLE_LINES; i++)
        free(closing->lines[i].bytes);
    pthread_mutex_destroy(&closing->lock);
    free(closing);
}
