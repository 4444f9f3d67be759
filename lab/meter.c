/*
 * meter.c - the meter from the runner's side: see meter.h.
 */
#include "meter.h"
#include "printable.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct nl_meter {
    char *file;
    char *argument;
    const struct meter_file *mapped; /* NULL: not yet */
};

int nl_meter_new(const char *file, struct nl_meter **meter, struct nl_error **err)
{
    cleanup_meter struct nl_meter *made = calloc(1, sizeof(*made));
    cleanup_free char *plugin = NULL;

    if (nl_store_find_program("nestlab-meter.so", &plugin, err) < 0)
        return -1;
    /* QEMU takes a comma for the end of a value. */
    if (strchr(plugin, ',') || strchr(file, ','))
        return nl_fail(err, NL_EXIT_REQUEST, "the meter cannot be used with a comma in %s or %s",
                       plugin, file);
    if (!made || !(made->file = strdup(file)) ||
        asprintf(&made->argument, "file=%s,out=%s", plugin, file) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    *meter = nl_steal(&made);
    return 0;
}

void nl_meter_free(struct nl_meter **meter)
{
    if (!*meter)
        return;
    if ((*meter)->mapped)
        munmap((void *)(uintptr_t)(*meter)->mapped, sizeof(struct meter_file));
    free((*meter)->file);
    free((*meter)->argument);
    free(*meter);
    *meter = NULL;
}

const char *nl_meter_argument(const struct nl_meter *meter)
{
    return meter->argument;
}

static int check_header(const struct nl_meter *meter, struct nl_error **err)
{
    const struct meter_header *header = &meter->mapped->header;

    if (memcmp(header->magic, METER_FILE_MAGIC, sizeof(header->magic)) == 0 &&
        header->version == METER_FILE_VERSION && header->records == METER_RECORDS &&
        header->record_size == sizeof(struct meter_record))
        return 0;
    nl_fail(err, NL_EXIT_LAB, "%s was not written by this nestlab's meter", meter->file);
    return nl_hint(err, "nestlab and nestlab-meter.so must be of one build");
}

static int map(struct nl_meter *meter, struct nl_error **err)
{
    cleanup_close int fd = -1;
    struct stat st;
    void *memory;

    if (meter->mapped)
        return 0;
    fd = open(meter->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read the meter's file %s",
                             meter->file);
    if (!S_ISREG(st.st_mode) || st.st_size != (off_t)sizeof(struct meter_file))
        return nl_fail(err, NL_EXIT_LAB, "the meter's file %s is not whole", meter->file);
    memory = mmap(NULL, sizeof(struct meter_file), PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot map %s", meter->file);
    meter->mapped = memory;
    return check_header(meter, err);
}

int nl_meter_written(struct nl_meter *meter, uint64_t *written, struct nl_error **err)
{
    if (map(meter, err) < 0)
        return -1;
    *written = __atomic_load_n(&meter->mapped->header.written, __ATOMIC_ACQUIRE);
    return 0;
}

static int check_trouble(const struct nl_meter *meter, struct nl_error **err)
{
    const struct meter_header *header = &meter->mapped->header;
    cleanup_free char *raw = strndup(header->trouble, sizeof(header->trouble));
    cleanup_free char *trouble = raw && *raw ? nl_printable(raw, 0) : NULL;

    return trouble ? nl_fail(err, NL_EXIT_LAB, "the meter's counts are void: %s", trouble) : 0;
}

int nl_meter_read(struct nl_meter *meter, uint64_t before, size_t n, struct meter_record *records,
                  struct nl_error **err)
{
    uint64_t written;

    if (nl_meter_written(meter, &written, err) < 0 || check_trouble(meter, err) < 0)
        return -1;
    if (n > METER_RECORDS || written - before != n)
        return nl_fail(err, NL_EXIT_LAB,
                       "the meter recorded %llu operations, and the agent did %zu",
                       (unsigned long long)(written - before), n);
    for (size_t i = 0; i < n; i++) {
        records[i] = meter->mapped->ring[(before + i) % METER_RECORDS];
        if (records[i].sequence != before + i + 1)
            return nl_fail(err, NL_EXIT_LAB, "record %llu of the meter is not whole",
                           (unsigned long long)(before + i + 1));
    }
    return 0;
}
