/*
 * builder-debian.c - Debian's packages as a root file system in a tar file, with mmdebstrap.
 */
#include "builder.h"
#include "builder-disk.h"
#include "progress.h"

#include <stdarg.h>
#include <string.h>

#define BOOTSTRAP_TIMEOUT_S 2400.0
#define BOOTSTRAP_GRACE_S 6.0
#define CONFIG_LIMIT (1 << 20)

/* A growing argument vector that owns its strings. */
struct vector {
    char **items;
    size_t n;
    bool failed;
};

static void vector_free(struct vector *vector)
{
    nl_strv_free(vector->items);
}

static void append(struct vector *vector, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(struct vector *vector, const char *format, ...)
{
    char **longer = realloc(vector->items, (vector->n + 2) * sizeof(char *));
    va_list args;

    if (!longer) {
        vector->failed = true;
        return;
    }
    vector->items = longer;
    longer[vector->n + 1] = NULL;
    va_start(args, format);
    if (vasprintf(&longer[vector->n], format, args) < 0) {
        longer[vector->n] = NULL;
        vector->failed = true;
    } else {
        vector->n++;
    }
    va_end(args);
}

/* mmdebstrap does not read the machine's apt.conf: what is needed to reach the archive at all is
   handed on. */
static int append_apt_options(struct vector *argv, struct nl_error **err)
{
    static const char *const wanted[] = {"Acquire::http::Proxy", "Acquire::https::Proxy",
                                         "Acquire::Check-Valid-Until ", "Acquire::Check-Date "};
    const char *dump[] = {"apt-config", "dump", NULL};
    struct nl_process process = {.argv = dump, .output_limit = CONFIG_LIMIT};
    cleanup_free char *output = NULL;
    char *rest, *line;

    if (nl_process_run(&process, &output, err) < 0)
        return -1;
    rest = output;
    while ((line = strsep(&rest, "\n")) != NULL)
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
            if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
                append(argv, "--aptopt=%s", line);
    return 0;
}

static int append_packages(struct vector *argv, const struct nl_plan *plan, struct nl_error **err)
{
    json_t *versions = json_object_get(plan->resolved, "versions");

    for (char **name = plan->recipe->packages; *name; name++) {
        const char *version = json_string_value(json_object_get(versions, *name));

        if (!version)
            return nl_fail(err, NL_EXIT_LAB, "apt did not say which %s there is", *name);
        append(argv, "--include=%s=%s", *name, version);
    }
    return 0;
}

static int bootstrap_arguments(struct builder *builder, const char *tar, struct vector *argv,
                               struct nl_error **err)
{
    const struct nl_recipe *recipe = builder->plan->recipe;
    NL_CLEANUP(nl_cleanup_strvp) char **sources = NULL;

    if (builder_sources(builder->store, recipe->suite, &sources, err) < 0)
        return -1;
    /* What root's mmdebstrap mounts and starts must go with it, even if it is killed. */
    if (geteuid() == 0) {
        append(argv, "unshare");
        append(argv, "--mount-proc");
        append(argv, "--pid");
        append(argv, "--fork");
        append(argv, "--kill-child");
    }
    append(argv, "mmdebstrap");
    append(argv, "--mode=%s", geteuid() == 0 ? "root" : "unshare");
    append(argv, "--variant=minbase");
    append(argv, "--format=tar");
    append(argv, "--verbose");
    /* Merge /usr first; Debian's way of doing it afterwards installs all of Perl. */
    append(argv, "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr");
    append(argv, "--aptopt=APT::Install-Recommends \"false\"");
    append(argv, "--dpkgopt=force-unsafe-io");
    if (append_apt_options(argv, err) < 0 || append_packages(argv, builder->plan, err) < 0)
        return -1;
    for (char **pattern = recipe->without; *pattern; pattern++)
        append(argv, "--dpkgopt=path-exclude=%s", *pattern);
    for (char **pattern = recipe->with; *pattern; pattern++)
        append(argv, "--dpkgopt=path-include=%s", *pattern);
    /* Nothing of the machine that built it, nothing secret, nothing that only apt's next run needs.
     */
    append(argv,
           "--customize-hook=rm -rf \"$1\"/etc/apt/sources.list.d/* \"$1\"/etc/apt/sources.list "
           "\"$1\"/etc/apt/apt.conf.d/99mmdebstrap \"$1\"/etc/ssh/ssh_host_* "
           "\"$1\"/etc/hostname \"$1\"/etc/resolv.conf \"$1\"/var/lib/dpkg/*-old "
           "\"$1\"/var/cache/debconf/*-old \"$1\"/var/log/*.log \"$1\"/var/log/apt");
    append(argv, "%s", recipe->suite);
    append(argv, "%s", tar);
    for (char **source = sources; *source; source++)
        append(argv, "%s", *source);
    return argv->failed ? nl_fail(err, NL_EXIT_LAB, "out of memory") : 0;
}

static int bootstrap(struct builder *builder, const char *folder, const char *tar, const char *log,
                     struct nl_error **err)
{
    __attribute__((cleanup(vector_free))) struct vector argv = {0};
    cleanup_free char *outside = NULL, *tmpdir = NULL;

    if (builder_outside(folder, &outside, err) < 0 ||
        bootstrap_arguments(builder, tar, &argv, err) < 0)
        return -1;
    tmpdir = builder_text("TMPDIR=%s", outside);

    const char *environment[] = {tmpdir, "LC_ALL=C.UTF-8", NULL};
    struct nl_process process = {.argv = (const char *const *)argv.items,
                                 .environment = environment,
                                 .directory = "/",
                                 .log = log,
                                 .timeout = BOOTSTRAP_TIMEOUT_S,
                                 .grace = BOOTSTRAP_GRACE_S,
                                 .guard = true};

    if (builder_run(&process, err) == 0)
        return 0;
    if (nl_interrupted())
        return -1;
    if (geteuid() != 0)
        nl_hint(err,
                "an ordinary user needs a range in /etc/subuid and /etc/subgid and the program "
                "newuidmap (package uidmap); mmdebstrap's output is in %s",
                log);
    return nl_hint(err,
                   "mmdebstrap's output is in %s; if a version is gone from the archive, `nestlab "
                   "build --refresh` takes the new one",
                   log);
}

int builder_make_debian(struct builder *builder, const char *folder, const char *log,
                        struct nl_error **err)
{
    cleanup_free char *tar = builder_text("%s/tree.tar", folder);
    cleanup_json json_t *manifest = NULL;

    if (!tar)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (builder_appliance_possible(err) < 0 || bootstrap(builder, folder, tar, log, err) < 0 ||
        builder_tar_manifest(tar, &manifest, err) < 0 ||
        builder_disk_from_tar(builder, folder, tar, log, err) < 0)
        return -1;
    unlink(tar);
    if (builder_write_json(folder, "manifest.json", json_incref(manifest), err) < 0)
        return -1;
    return builder_write_json(folder, "image.json",
                              json_pack("{s:s, s:s, s:i}", "layer", "debian", "suite",
                                        builder->plan->recipe->suite, "size_mib",
                                        builder->plan->recipe->disk_mib),
                              err);
}
