/*
 * evidence-source.c - files, folders and standard input: see evidence-source.h. Archives are in
 * evidence-archive.c.
 */
#include "evidence-source.h"
#include "guest-text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define BUFFER_SIZE (256UL << 10)

/* Of a file that a kernel makes up as it is read: /proc/kcore has no end worth waiting for. */
#define MADE_UP_MAX (16ULL << 20)

const struct nl_source_limits nl_source_usual_limits = {
    .entries = 200000,
    .unpacked_bytes = 8ULL << 30,
    .folder_depth = 32,
    .archive_depth = 4,
};

struct file_stream {
    struct nl_stream stream;
    int fd;
    unsigned long long left;
};

static ssize_t read_file(struct nl_stream *stream, char *buffer, size_t size)
{
    struct file_stream *file = (struct file_stream *)stream;
    ssize_t n;

    if (size > file->left)
        size = (size_t)file->left;
    do
        n = read(file->fd, buffer, size);
    while (n < 0 && errno == EINTR);
    if (n < 0 && !stream->why)
        stream->why = strdup(strerror(errno));
    file->left -= n > 0 ? (unsigned long long)n : 0;
    return n;
}

static bool is_made_up(int fd)
{
    static const unsigned long types[] = {PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC,
                                          TRACEFS_MAGIC};
    struct statfs fs;

    for (size_t i = 0; fstatfs(fd, &fs) == 0 && i < sizeof(types) / sizeof(types[0]); i++)
        if ((unsigned long)fs.f_type == types[i])
            return true;
    return false;
}

void nl_source_stream(struct nl_source *source, const char *name, struct nl_stream *stream,
                      unsigned in_archives)
{
    cleanup_free char *buffer = malloc(BUFFER_SIZE);
    const struct nl_source_sink *sink = source->sink;
    size_t held = 0;
    ssize_t n = 0;

    if (!buffer) {
        sink->left_out(sink->context, name, "out of memory", true);
        return;
    }
    while (held < NL_ARCHIVE_HEAD &&
           (n = stream->read(stream, buffer + held, BUFFER_SIZE - held)) > 0)
        held += (size_t)n;
    if (n >= 0 && nl_archive_is(buffer, held)) {
        nl_archive_read(source, name, buffer, held, stream, in_archives + 1);
        return;
    }
    if (n < 0 && held == 0) {
        sink->left_out(sink->context, name, stream->why ? stream->why : "cannot be read", true);
        return;
    }
    sink->begin(sink->context, name);
    while (held > 0) {
        sink->bytes(sink->context, buffer, held);
        n = n > 0 ? stream->read(stream, buffer, BUFFER_SIZE) : n;
        held = n > 0 ? (size_t)n : 0;
    }
    sink->end(sink->context, n < 0 ? stream->why : NULL);
}

static void read_descriptor(struct nl_source *source, const char *name, int fd)
{
    struct file_stream file = {{read_file, NULL}, fd, is_made_up(fd) ? MADE_UP_MAX : UINT64_MAX};

    nl_source_stream(source, name, &file.stream, 0);
    free(file.stream.why);
}

static bool use_entry(struct nl_source *source, const char *name)
{
    if (source->limits->entries > 0) {
        source->limits->entries--;
        return true;
    }
    source->sink->left_out(source->sink->context, name, "too many files: the rest was not read",
                           true);
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder, sorted, so that the same folder gives the same output. At most MAX of
 * them.
 */
static char **read_names(DIR *dir, size_t max, size_t *count)
{
    const struct dirent *entry;
    char **names = NULL;
    size_t room = 0;

    *count = 0;
    while (*count < max && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (*count + 1 >= room) {
            char **grown = reallocarray(names, room = room ? room * 2 : 64, sizeof(*names));
            if (!grown)
                break;
            names = grown;
        }
        names[*count] = strdup(entry->d_name);
        if (!names[*count])
            break;
        names[++*count] = NULL;
    }
    if (names)
        qsort(names, *count, sizeof(*names), compare_names);
    return names;
}

static void read_folder(struct nl_source *source, const char *name, int fd, unsigned depth);

static void read_member(struct nl_source *source, const char *folder, int folder_fd,
                        const char *member, unsigned depth)
{
    const struct nl_source_sink *sink = source->sink;
    cleanup_free char *printable = nl_guest_text(member, strlen(member));
    cleanup_free char *name = NULL;
    cleanup_close int fd = -1;
    struct stat st;

    if (asprintf(&name, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", printable) <
        0) {
        name = NULL;
        return;
    }
    if (fstatat(folder_fd, member, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))) {
        sink->left_out(sink->context, name, "not a regular file", false);
        return;
    }
    /* O_NONBLOCK: it may have become a FIFO since; and /proc/kmsg must not be waited for. */
    fd = openat(folder_fd, member, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        sink->left_out(sink->context, name, strerror(errno), true);
    else if (S_ISDIR(st.st_mode))
        read_folder(source, name, nl_steal_fd(&fd), depth + 1);
    else if (S_ISREG(st.st_mode))
        read_descriptor(source, name, fd);
}

/* Consumes FD. */
static void read_folder(struct nl_source *source, const char *name, int fd, unsigned depth)
{
    const struct nl_source_sink *sink = source->sink;
    cleanup_closedir DIR *dir = fdopendir(fd);
    cleanup_strv char **names = NULL;
    size_t count;

    if (!dir) {
        sink->left_out(sink->context, name, strerror(errno), true);
        close(fd);
        return;
    }
    if (depth > source->limits->folder_depth) {
        sink->left_out(sink->context, name, "too deep: folders below it were not read", true);
        return;
    }
    names = read_names(dir, source->limits->entries + 1, &count);
    for (size_t i = 0; i < count; i++) {
        if (!use_entry(source, name))
            return;
        read_member(source, name, dirfd(dir), names[i], depth);
    }
}

/* The descriptor of "-", /dev/stdin and the shell's <(...), which /dev/fd names; else -1. */
static int named_descriptor(const char *path)
{
    char *end;
    long fd;

    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0)
        return STDIN_FILENO;
    if (strncmp(path, "/dev/fd/", 8) != 0 || !path[8])
        return -1;
    fd = strtol(path + 8, &end, 10);
    return *end || fd < 0 || fd > INT32_MAX ? -1 : (int)fd;
}

static int read_path(struct nl_source *source, const char *path, const char *name,
                     struct nl_error **err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "%s", name);
    if (S_ISDIR(st.st_mode)) {
        read_folder(source, name, nl_steal_fd(&fd), 0);
        return 0;
    }
    if (!S_ISREG(st.st_mode)) {
        nl_fail(err, NL_EXIT_LAB, "%s: is neither a file nor a folder", name);
        return nl_hint(err,
                       "of a device or a pipe, give the content: `dmesg | nestlab diagnose -`");
    }
    read_descriptor(source, name, fd);
    return 0;
}

int nl_source_read(const char *path, struct nl_source_limits *limits,
                   const struct nl_source_sink *sink, struct nl_error **err)
{
    struct nl_source source = {limits, sink};
    cleanup_free char *name = nl_guest_text(path, strlen(path));
    int fd = named_descriptor(path);
    struct stat st;

    if (fd < 0)
        return read_path(&source, path, name, err);
    if (fstat(fd, &st) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "%s", name);
    if (S_ISDIR(st.st_mode))
        return nl_fail(err, NL_EXIT_LAB, "%s: is a folder", name);
    read_descriptor(&source, fd == STDIN_FILENO ? "standard input" : name, fd);
    return 0;
}
