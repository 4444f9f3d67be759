/*
 * doctor-resources.c - rows on memory, huge pages, disk and limits.
 */
#include "dig.h"
#include "doctor-row.h"

#include <string.h>

/* The default memory of the outermost guest, docs/scenario.md, and what lab/disks.c keeps for the
   machine itself. In a layer the smallest guest, a leaf, is asked for. */
#define RESERVE_MIB 256
#define LOCAL_MIB (1536 + RESERVE_MIB)
#define EMULATED_MIB (3072 + RESERVE_MIB)
#define LEAF_MIB (256 + 64)

/* Room for the overlays of a stack of three, and for the images while they are made. */
#define RUN_MIB (3 * 512)
#define STORE_MIB 4096

/* Less than these may end a run: files that libvirt, QEMU and the runner hold open; QEMU's threads
   and those of the runner; what QEMU maps for the biggest guest. */
#define OPEN_FILES 256
#define PROCESSES 256
#define MAPPED_MIB (EMULATED_MIB + 2048)

static void judge_memory_mib(const struct nl_look *look, struct nl_row *row, json_int_t available,
                             const char *what)
{
    bool layer = look->of == NL_OF_LAYER;
    json_int_t local = layer ? LEAF_MIB : LOCAL_MIB;

    if (available >= EMULATED_MIB) {
        nl_row_says(row, NL_DOCTOR_OK, "%lld MiB %s", (long long)available, what);
        return;
    }
    if (available < local) {
        nl_row_says(row, NL_DOCTOR_MISSING,
                    "%lld MiB %s: too little; the smallest guest needs %lld", (long long)available,
                    what, (long long)local);
    } else {
        /* Nobody emulates an L0 in a layer of a stack but on purpose. */
        nl_row_says(row, layer ? NL_DOCTOR_OK : NL_DOCTOR_MISSING,
                    "%lld MiB %s: enough for %s, too little for an emulated L0, which needs %d",
                    (long long)available, what, layer ? "another layer" : "a local L0",
                    EMULATED_MIB);
        row->blocks = 0;
        row->spoils = NL_FOR_EMULATED;
    }
    if (row->verdict != NL_DOCTOR_OK)
        nl_row_fix(row, "free some memory, or make the layers smaller (--memory LN=SIZE)");
}

static void judge_memory(const struct nl_look *look, struct nl_row *row)
{
    json_int_t available = nl_dig_integer(look->facts, "memory.available_kib", -1) / 1024;
    json_int_t limit = nl_dig_integer(look->machine, "cgroup.memory_max_kib", -1);

    if (!nl_dig(look->facts, "memory.available_kib"))
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "/proc/meminfo cannot be read");
    else if (limit >= 0 && limit / 1024 < available)
        judge_memory_mib(look, row, limit / 1024, "by the limit of the control group");
    else
        judge_memory_mib(look, row, available, "available");
}

static void judge_memory_uri(const struct nl_look *look, struct nl_row *row)
{
    json_int_t available = nl_dig_integer(look->libvirt, "node.available_kib", -1) / 1024;
    json_int_t total = nl_dig_integer(look->libvirt, "node.memory_kib", -1) / 1024;

    if (nl_dig(look->libvirt, "node.available_kib"))
        judge_memory_mib(look, row, available, "free or used for caches");
    else if (nl_dig(look->libvirt, "node.memory_kib") && total < LOCAL_MIB)
        judge_memory_mib(look, row, total, "in all");
    else
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "libvirt does not tell how much is available");
}

static void judge_huge_pages(const struct nl_look *look, struct nl_row *row)
{
    const json_t *pools = nl_dig(look->facts, "huge_pages.pools");
    const char *transparent = nl_dig_string(look->facts, "huge_pages.transparent", NULL);
    json_int_t reserved_mib = 0;
    json_t *pool;
    size_t i;

    json_array_foreach(pools, i, pool)
    {
        json_int_t size = nl_dig_integer(pool, "size_kib", 0);
        json_int_t total = nl_dig_integer(pool, "total", 0);

        /* The numbers are the layer's own word. */
        if (size > 0 && total > 0 && size < 1 << 24 && total < 1 << 30)
            reserved_mib += size * total / 1024;
    }
    if (!nl_dig(look->facts, "huge_pages"))
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "nobody could look");
    else
        nl_row_says(row, NL_DOCTOR_OK, "transparent: %s; reserved: %lld MiB",
                    transparent ? transparent : "not in this kernel", (long long)reserved_mib);
}

/* The file system that PATH lies on, as the agent saw it. */
static const json_t *file_system(const struct nl_look *look, const char *path)
{
    return path ? json_object_get(nl_dig(look->machine, "file_systems"), path) : NULL;
}

static void judge_room(const struct nl_look *look, struct nl_row *row, const char *path,
                       int needed_mib, const char *elsewhere)
{
    const json_t *fs = file_system(look, path);
    json_int_t available = nl_dig_integer(fs, "available_mib", -1);

    if (!nl_dig(fs, "available_mib")) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "%s", nl_dig_string(fs, "error", "nobody could look"));
    } else if (nl_dig_true(fs, "read_only") || !nl_dig_true(fs, "writable")) {
        nl_row_says(row, NL_DOCTOR_MISSING, "%s is not writable",
                    nl_dig_string(fs, "folder", path));
        nl_row_fix(row, "%s", elsewhere);
    } else if (available < needed_mib) {
        nl_row_says(row, NL_DOCTOR_MISSING, "%lld MiB under %s, of %d", (long long)available, path,
                    needed_mib);
        nl_row_fix(row, "free some space (`nestlab gc`), or %s", elsewhere);
    } else {
        nl_row_says(row, NL_DOCTOR_OK, "%lld MiB under %s", (long long)available, path);
    }
}

static void judge_run_folder(const struct nl_look *look, struct nl_row *row)
{
    const char *why = nl_dig_string(look->lab, "runs_error", NULL);
    static const char elsewhere[] = "set NESTLAB_RUNS to a short absolute path with room";

    if (why) {
        nl_row_says(row, NL_DOCTOR_MISSING, "%s", why);
        nl_row_fix(row, "%s", elsewhere);
        return;
    }
    judge_room(look, row, nl_dig_string(look->lab, "runs", NULL), RUN_MIB, elsewhere);
}

static void judge_store(const struct nl_look *look, struct nl_row *row)
{
    bool there = nl_dig_is(look->lab, "images.hypervisor", "there") &&
                 nl_dig_is(look->lab, "images.leaf", "there");

    if (nl_dig(look->lab, "store_error")) {
        nl_row_says(row, NL_DOCTOR_MISSING, "%s", nl_dig_string(look->lab, "store_error", "none"));
        nl_row_fix(row, "set HOME, or choose a place for images with --store DIR");
        return;
    }
    judge_room(look, row, nl_dig_string(look->lab, "store", NULL), there ? 64 : STORE_MIB,
               "choose another place for images with --store DIR");
}

static void judge_shared_memory(const struct nl_look *look, struct nl_row *row)
{
    const json_t *fs = file_system(look, "/dev/shm");

    if (!nl_dig(fs, "available_mib"))
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "%s", nl_dig_string(fs, "error", "nobody could look"));
    else
        nl_row_says(row, NL_DOCTOR_OK, "%lld MiB; nestlab's guests do not use it",
                    (long long)nl_dig_integer(fs, "available_mib", 0));
}

/* A soft limit; -1: none, or not known. */
static json_int_t limit(const struct nl_look *look, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "limits.%s.soft", name);
    return nl_dig_integer(look->machine, path, -1);
}

static void judge_limits(const struct nl_look *look, struct nl_row *row)
{
    static const struct {
        const char *name;
        json_int_t least;
        const char *flag; /* of ulimit */
    } limits[] = {
        {"open_files", OPEN_FILES, "n"},
        {"processes", PROCESSES, "u"},
        {"address_space", (json_int_t)MAPPED_MIB << 20, "v"},
        {"data", (json_int_t)MAPPED_MIB << 20, "d"},
        {"file_size", (json_int_t)STORE_MIB << 20, "f"},
        {"cpu_seconds", 3600, "t"},
    };

    if (!nl_dig(look->machine, "limits")) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "nobody could look");
        return;
    }
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        json_int_t value = limit(look, limits[i].name);

        if (value < 0 || value >= limits[i].least)
            continue;
        nl_row_says(row, NL_DOCTOR_WARN, "%s is limited to %lld, which may end a run",
                    limits[i].name, (long long)value);
        nl_row_fix(row, "raise it: ulimit -%s unlimited, or in /etc/security/limits.conf",
                   limits[i].flag);
        return;
    }
    nl_row_says(row, NL_DOCTOR_OK, "open files %lld, processes %lld; memory and file size suffice",
                (long long)limit(look, "open_files"), (long long)limit(look, "processes"));
}

const struct nl_row_kind nl_rows_resources[] = {
    {"memory", "memory for the outermost guest", NL_OF_ALL, NL_FOR_BOTH, "facts",
     "/proc/meminfo, control group", judge_memory, judge_memory_uri},
    {"huge-pages", "to know what guests' memory is made of", NL_OF_ALL, 0, "facts",
     "/sys/kernel/mm", judge_huge_pages, NULL},
    {"run-folder", "disk for a stack's overlays", NL_OF_MACHINE, NL_FOR_BOTH, "machine",
     "making a run folder, statvfs", judge_run_folder, NULL},
    {"store", "disk for images", NL_OF_MACHINE, NL_FOR_BOTH, "machine", "statvfs", judge_store,
     NULL},
    {"shared-memory", "to know the size of /dev/shm", NL_OF_INSIDE, 0, "machine", "statvfs",
     judge_shared_memory, NULL},
    {"limits", "limits that a run stays below", NL_OF_INSIDE, 0, "machine", "getrlimit",
     judge_limits, NULL},
    {0},
};
