/*
 * meter.c - the meter from the runner's side: see meter.h.
 */
#include "meter.h"
#include "printable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct nl_meter {
    char *file;
    char *argument;
    struct meter_file *mapped;     /* NULL: not yet */
    char *profile_file;            /* NULL: no profile */
    struct meter_profile *profile; /* NULL: not yet mapped */
};

int nl_meter_new(const char *plugin, const char *file, const char *profile, struct nl_meter **meter,
                 struct nl_error **err)
{
    cleanup_meter struct nl_meter *made = calloc(1, sizeof(*made));

    /* QEMU takes a comma for the end of a value. */
    if (strchr(plugin, ',') || strchr(file, ','))
        return nl_fail(err, NL_EXIT_REQUEST, "the meter cannot be used with a comma in %s or %s",
                       plugin, file);
    if (!made || !(made->file = strdup(file)) ||
        (profile && !(made->profile_file = strdup(profile))) ||
        asprintf(&made->argument, "file=%s,out=%s%s%s", plugin, file, profile ? ",profile=" : "",
                 profile ? profile : "") < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    *meter = nl_steal(&made);
    return 0;
}

void nl_meter_free(struct nl_meter **meter)
{
    if (!*meter)
        return;
    if ((*meter)->mapped)
        munmap((*meter)->mapped, sizeof(struct meter_file));
    if ((*meter)->profile)
        munmap((*meter)->profile, sizeof(struct meter_profile));
    free((*meter)->file);
    free((*meter)->profile_file);
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

/* A file of exactly SIZE bytes, shared with QEMU; NULL with an error. */
static void *map_file(const char *path, size_t size, bool writable, struct nl_error **err)
{
    cleanup_close int fd =
        open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    struct stat st;
    void *memory;

    if (fd < 0 || fstat(fd, &st) < 0) {
        nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read the meter's file %s", path);
        return NULL;
    }
    if (!S_ISREG(st.st_mode) || st.st_size != (off_t)size) {
        nl_fail(err, NL_EXIT_LAB, "the meter's file %s is not whole", path);
        return NULL;
    }
    memory = mmap(NULL, size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot map %s", path);
        return NULL;
    }
    return memory;
}

static int map(struct nl_meter *meter, struct nl_error **err)
{
    if (!meter->mapped)
        meter->mapped = map_file(meter->file, sizeof(struct meter_file), false, err);
    return meter->mapped ? check_header(meter, err) : -1;
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
                           (unsigned long long)before + i + 1);
    }
    return 0;
}

int nl_meter_profile_start(struct nl_meter *meter, uint64_t low, uint64_t high,
                           struct nl_error **err)
{
    struct meter_profile *profile = meter->profile;

    if (!profile)
        profile = map_file(meter->profile_file, sizeof(*profile), true, err);
    meter->profile = profile;
    if (!profile)
        return -1;
    if (memcmp(profile->magic, METER_PROFILE_MAGIC, sizeof(profile->magic)) != 0 ||
        profile->version != METER_FILE_VERSION || profile->places != METER_PLACES)
        return nl_fail(err, NL_EXIT_LAB, "%s was not written by this nestlab's meter",
                       meter->profile_file);
    memset(profile->sums, 0, sizeof(profile->sums));
    profile->low = low;
    profile->high = high;
    profile->accepted = 0;
    return 0;
}

static int by_layer(const void *a, const void *b)
{
    const struct nl_meter_place *x = a, *y = b;

    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

int nl_meter_profile_read(struct nl_meter *meter, struct nl_meter_place **places, size_t *n,
                          uint64_t *operations, struct nl_error **err)
{
    const struct meter_profile *profile = meter->profile;
    size_t used = profile->used > METER_PLACES ? METER_PLACES : profile->used;
    struct nl_meter_place *list = calloc(used + 1, sizeof(*list));

    *n = 0;
    *places = list;
    *operations = profile->accepted;
    if (!list)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (profile->full)
        return nl_fail(err, NL_EXIT_LAB, "more code was executed than a profile has room for");
    for (size_t i = 0; i < used; i++) {
        uint64_t key = profile->keys[i], address = key << METER_PLACE_BITS;

        if (profile->sums[i] > 0)
            list[(*n)++] = (struct nl_meter_place){
                .layer = (unsigned)(key >> METER_PLACE_LAYER_SHIFT),
                .address = address,
                .instructions = profile->sums[i],
            };
    }
    qsort(list, *n, sizeof(*list), by_layer);
    return 0;
}
