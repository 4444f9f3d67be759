/*
 * cmd-gc.c - `nestlab gc`: remove what killed runs and builds left behind, and nothing else.
 */
#include "args-number.h"
#include "choose.h"
#include "cmd.h"
#include "dig.h"
#include "image.h"
#include "rundir.h"

struct gc_args {
    const char *store;
    bool images;
    double older_days;
    bool dry_run;
    bool json;
};

enum { OPTION_DRY_RUN = 0x100, OPTION_IMAGES, OPTION_OLDER_THAN };

#define OLDER_DAYS 30
#define OLDER_DAYS_MAX 36500
#define DAY_S 86400.0

static const struct argp_option options[] = {
    {"dry-run", OPTION_DRY_RUN, NULL, 0, "Only say what would be removed", 0},
    {"json", 'j', NULL, 0, "Print what was removed as JSON", 0},
    {"images", OPTION_IMAGES, NULL, 0,
     "Also images that no recipe of today comes to and nothing has used of late", 0},
    {"older-than", OPTION_OLDER_THAN, "DAYS", 0, "What of late means for --images (default: 30)",
     0},
    NL_OPTION_STORE,
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct gc_args *args = state->input;

    switch (key) {
    case OPTION_DRY_RUN:
        args->dry_run = true;
        return 0;
    case 'j':
        args->json = true;
        return 0;
    case 's':
        args->store = arg;
        return 0;
    case OPTION_IMAGES:
        args->images = true;
        return 0;
    case OPTION_OLDER_THAN:
        args->older_days = nl_args_number(state, "--older-than", arg, 0, OLDER_DAYS_MAX);
        args->images = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_one(const json_t *one, bool dry_run)
{
    const char *did = dry_run ? "would remove" : "removed";
    double mib = nl_dig_number(one, "bytes", 0) / (1024 * 1024);
    long long processes = (long long)nl_dig_number(one, "processes", 0);
    long long locks = (long long)nl_dig_number(one, "locks", 0);
    const char *image = nl_dig_string(one, "image", NULL);
    cleanup_free char *what = nl_choose_text(one, "what", "?");

    if (image)
        printf("%s image %.12s (%s): unused for %.0f days, %.1f MiB\n", did, image, what,
               nl_dig_number(one, "unused_days", 0), mib);
    else
        printf("%s %s: %lld QEMU process%s, %lld lock file%s, %.1f MiB\n", did,
               nl_dig_string(one, "id", "?"), processes, processes == 1 ? "" : "es", locks,
               locks == 1 ? "" : "s", mib);
}

static void print_removed(const json_t *removed, bool dry_run)
{
    double bytes = 0;
    json_t *one;
    size_t i;

    if (json_array_size(removed) == 0)
        puts("nothing to remove");
    json_array_foreach(removed, i, one)
    {
        print_one(one, dry_run);
        bytes += nl_dig_number(one, "bytes", 0);
    }
    if (json_array_size(removed) > 1)
        printf("%.1f MiB in all\n", bytes / (1024 * 1024));
}

/* Opening a store makes it, with keys; a look at what could be removed must not. */
static bool has_store(const struct gc_args *args)
{
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_free char *path = NULL;

    if (!args->store && nl_store_default_path(&path, &ignored) < 0)
        return true;
    return access(args->store ? args->store : path, F_OK) == 0;
}

static int clean_store(const struct gc_args *args, json_t *removed, struct nl_error **err)
{
    cleanup_store struct nl_store *store = NULL;
    cleanup_json json_t *images = NULL;
    int rc = 0;

    if (args->dry_run && !has_store(args))
        return 0;
    if (nl_store_open(args->store, NULL, NULL, &store, err) < 0)
        return nl_wrap(err, "what builds left in the store was not looked at");
    if (!args->dry_run && nl_store_clean(store, err) < 0)
        return -1;
    if (args->images)
        rc = nl_store_collect(store, args->older_days * DAY_S, args->dry_run, &images, err);
    json_array_extend(removed, images);
    return rc;
}

static int collect(const struct gc_args *args, struct nl_error **err)
{
    cleanup_json json_t *removed = NULL;
    int rc = nl_rundir_collect(args->dry_run, &removed, err);

    if (rc == 0 && (args->images || !args->dry_run))
        rc = clean_store(args, removed, err);
    /* After a failure too: something was removed all the same. */
    if (args->json && removed) {
        json_dumpf(removed, stdout, JSON_INDENT(2));
        putchar('\n');
    } else if (rc == 0 || json_array_size(removed) > 0) {
        print_removed(removed, args->dry_run);
    }
    return rc;
}

int nl_cmd_gc(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse_option,
        .doc = "Remove what killed runs left behind: their run folders, the QEMU processes "
               "that libvirt started for them, and the lock files of its streams; and what "
               "interrupted builds left in the store. "
               "Runs and builds that somebody owns are not touched, nor images that a run uses.\v"
               "`nestlab run` does the first by itself before it starts.",
    };
    cleanup_error struct nl_error *err = NULL;
    struct gc_args args = {.older_days = OLDER_DAYS};

    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        return NL_EXIT_REQUEST;
    if (collect(&args, &err) < 0) {
        nl_error_print(err);
        return nl_error_status(err);
    }
    return NL_EXIT_PASSED;
}
