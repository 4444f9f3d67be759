/*
 * cmd-gc.c - `nestlab gc`: remove what killed runs and builds left behind, and nothing else.
 */
#include "cmd.h"
#include "dig.h"
#include "image.h"
#include "rundir.h"

#include <argp.h>

struct gc_args {
    const char *store;
    bool dry_run;
    bool json;
};

enum { OPTION_DRY_RUN = 0x100 };

static const struct argp_option options[] = {
    {"dry-run", OPTION_DRY_RUN, NULL, 0, "Only say what would be removed", 0},
    {"json", 'j', NULL, 0, "Print what was removed as JSON", 0},
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
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_removed(const json_t *removed, bool dry_run)
{
    json_t *one;
    size_t i;

    if (json_array_size(removed) == 0)
        puts("nothing to remove");
    json_array_foreach(removed, i, one)
    {
        long long processes = (long long)nl_dig_number(one, "processes", 0);

        printf("%s %s: %lld QEMU process%s, %.1f MiB\n", dry_run ? "would remove" : "removed",
               nl_dig_string(one, "id", "?"), processes, processes == 1 ? "" : "es",
               nl_dig_number(one, "bytes", 0) / (1024 * 1024));
    }
}

static int collect(const struct gc_args *args, struct nl_error **err)
{
    cleanup_json json_t *removed = NULL;
    int rc = nl_rundir_collect(args->dry_run, &removed, err);

    /* After a failure too: something was removed all the same. */
    if (args->json && removed) {
        json_dumpf(removed, stdout, JSON_INDENT(2));
        putchar('\n');
    } else if (rc == 0 || json_array_size(removed) > 0) {
        print_removed(removed, args->dry_run);
    }
    return rc;
}

static int clean_store(const char *path, struct nl_error **err)
{
    cleanup_store struct nl_store *store = NULL;

    if (nl_store_open(path, NULL, NULL, &store, err) < 0)
        return nl_wrap(err, "what builds left in the store was not looked at");
    return nl_store_clean(store, err);
}

int nl_cmd_gc(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse_option,
        .doc = "Remove what killed runs left behind: their run folders, and the QEMU processes "
               "that libvirt started for them; and what interrupted builds left in the store. "
               "Runs and builds that somebody owns are not touched.\v"
               "`nestlab run` does the first by itself before it starts.",
    };
    cleanup_error struct nl_error *err = NULL;
    struct gc_args args = {0};

    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        return NL_EXIT_REQUEST;
    if (collect(&args, &err) < 0 || (!args.dry_run && clean_store(args.store, &err) < 0)) {
        nl_error_print(err);
        return nl_error_status(err);
    }
    return NL_EXIT_PASSED;
}
