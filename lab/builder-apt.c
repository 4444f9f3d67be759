/*
 * builder-apt.c - asking apt which versions there are, and for single packages, as an ordinary user
 * and without touching the machine's own package lists: see builder.h.
 */
#include "builder.h"
#include "progress.h"

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define UPDATE_TIMEOUT_S 300.0
#define DOWNLOAD_TIMEOUT_S 900.0
#define FRESH_S 300.0
#define OUTPUT_LIMIT (4 << 20)
#define MAX_OPTIONS 24

/* Apt, pointed at folders of the store. */
struct apt {
    char *root;
    char *options[MAX_OPTIONS];
    size_t n;
};

static void apt_free(struct apt *apt)
{
    free(apt->root);
    for (size_t i = 0; i < apt->n; i++)
        free(apt->options[i]);
}

/* An empty file at PATH. */
static int touch(const char *path, struct nl_error **err)
{
    cleanup_fclose FILE *file = fopen(path, "ae");

    return file ? 0 : nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", path);
}

int builder_apt_folders(const struct nl_store *store, const char *suite, char **root,
                        struct nl_error **err)
{
    static const char *const folders[] = {"apt",
                                          "apt/%s",
                                          "apt/%s/lists",
                                          "apt/%s/lists/partial",
                                          "apt/%s/cache",
                                          "apt/%s/cache/archives",
                                          "apt/%s/cache/archives/partial",
                                          "apt/%s/sources"};

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        cleanup_free char *name = builder_text(folders[i], suite);
        cleanup_free char *folder = name ? nl_store_name(store, "%s", name) : NULL;

        if (!folder)
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        if (mkdir(folder, 0755) < 0 && errno != EEXIST)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", folder);
    }
    *root = nl_store_name(store, "apt/%s", suite);
    return *root ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}

static int apt_open(const struct nl_store *store, const char *suite, struct apt *apt,
                    struct nl_error **err)
{
    /* The machine's apt.conf is read before these: its proxies stay, its folders do not. */
    static const char *const options[] = {
        "Dir::State=%s",
        "Dir::State::lists=%s/lists",
        "Dir::State::status=%s/status",
        "Dir::Cache=%s/cache",
        "Dir::Etc::sourcelist=/dev/null",
        "Dir::Etc::sourceparts=%s/sources",
        "Dir::Log=%s",
        "Dir::Etc::preferencesparts=/dev/null",
        "Dir::Etc::preferences=/dev/null",
        "Acquire::Languages=none",
        "APT::Sandbox::User=root",
        "APT::Install-Recommends=false",
        "APT::Architecture=amd64",
        "APT::Update::Post-Invoke-Success::=true",
    };
    cleanup_free char *status = NULL;

    if (builder_apt_folders(store, suite, &apt->root, err) < 0)
        return -1;
    status = builder_text("%s/status", apt->root);
    if (!status || touch(status, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        apt->options[apt->n] = builder_text(options[i], apt->root);
        if (!apt->options[apt->n])
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        apt->n++;
    }
    return 0;
}

/* "apt-get -o ... -o ... ARGUMENTS". OUTPUT NULL: to the log. */
static int apt_run(const struct apt *apt, const char *const *arguments, const char *directory,
                   const char *log, double timeout, char **output, struct nl_error **err)
{
    static const char *const environment[] = {"LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
                                              NULL};
    const char *argv[2 * MAX_OPTIONS + 260] = {"apt-get", "-q", "-y"};
    struct nl_process process = {.argv = argv,
                                 .environment = environment,
                                 .directory = directory,
                                 .log = log,
                                 .output_limit = output ? OUTPUT_LIMIT : 0,
                                 .timeout = timeout};
    size_t n = 3;

    for (size_t i = 0; i < apt->n; i++) {
        argv[n++] = "-o";
        argv[n++] = apt->options[i];
    }
    for (; *arguments; arguments++) {
        if (n + 1 >= sizeof(argv) / sizeof(argv[0]))
            return nl_fail(err, NL_EXIT_REQUEST, "the recipe names too many packages");
        argv[n++] = *arguments;
    }
    if (output)
        return nl_process_run(&process, output, err);
    return builder_run(&process, err);
}

/* Update the lists, unless they are younger than FRESH_S seconds. */
static int update_lists(const struct apt *apt, double fresh_s, const char *log,
                        struct nl_error **err)
{
    static const char *const update[] = {"update", NULL};
    cleanup_free char *stamp = builder_text("%s/updated", apt->root);
    struct stat st;

    if (!stamp)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (stat(stamp, &st) == 0 && difftime(time(NULL), st.st_mtime) < fresh_s &&
        st.st_mtime <= time(NULL))
        return 0;
    unlink(stamp);
    if (apt_run(apt, update, NULL, log, UPDATE_TIMEOUT_S, NULL, err) < 0)
        return -1;
    return touch(stamp, err);
}

static void free_glob(glob_t *found)
{
    globfree(found);
}

/* The version of NAME in lines "Inst NAME (VERSION ...", NULL if it is not there. The caller's. */
static char *inst_version(const char *output, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = output; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, "Inst ", 5) == 0 && strncmp(at + 5, name, length) == 0 &&
            strncmp(at + 5 + length, " (", 2) == 0)
            return strndup(at + length + 7, strcspn(at + length + 7, " )\n"));
    }
    return NULL;
}

/* The kernel itself behind a package that only depends on it: "linux-image-6.1.0-1-cloud-amd64". */
static char *real_kernel(const char *output)
{
    static const char prefix[] = "\nInst linux-image-";

    for (const char *at = output; (at = strstr(at, prefix)) != NULL; at++)
        if (at[strlen(prefix)] >= '0' && at[strlen(prefix)] <= '9')
            return strndup(at + 6, strcspn(at + 6, " \n"));
    return NULL;
}

static int keep_answer(struct builder *builder, const struct nl_recipe *recipe, char **names,
                       const char *output, struct nl_error **err)
{
    cleanup_free char *kernel = real_kernel(output), *asked = NULL, *version = NULL;
    cleanup_free char *folder = nl_store_name(builder->store, "resolved");
    cleanup_free char *fresh = builder_text("%s.json.new", recipe->name);
    cleanup_free char *from = nl_store_name(builder->store, "resolved/%s.json.new", recipe->name);
    cleanup_free char *to = nl_store_name(builder->store, "resolved/%s.json", recipe->name);
    cleanup_json json_t *versions = json_object();

    if (!folder || !fresh || !from || !to || nl_plan_asked(recipe, &asked, err) < 0)
        return -1;
    for (; *names; names++) {
        cleanup_free char *found = inst_version(output, *names);

        if (!found)
            return nl_fail(err, NL_EXIT_LAB, "apt did not say which version of %s it has", *names);
        json_object_set_new(versions, *names, json_string(found));
    }
    version = kernel ? inst_version(output, kernel) : NULL;
    if (!version)
        return nl_fail(err, NL_EXIT_LAB, "apt finds no kernel behind %s", recipe->kernel_package);
    if (builder_write_json(folder, fresh,
                           json_pack("{s:s, s:{s:s, s:s}, s:O}", "asked", asked, "kernel",
                                     "package", kernel, "version", version, "versions", versions),
                           err) < 0)
        return -1;
    return rename(from, to) < 0 ? nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot rename %s", from)
                                : 0;
}

int builder_resolve(struct builder *builder, const struct nl_recipe *recipe, struct nl_error **err)
{
    __attribute__((cleanup(apt_free))) struct apt apt = {0};
    NL_CLEANUP(nl_cleanup_strvp) char **sources = NULL, **names = NULL;
    cleanup_free char *log = nl_store_name(builder->store, "logs/resolve-%s.log", recipe->name);
    cleanup_free char *output = NULL;
    const char *install[256] = {"--simulate", "install"};
    size_t n = 2;

    if (!log || apt_open(builder->store, recipe->suite, &apt, err) < 0 ||
        builder_sources(builder->store, recipe->suite, &sources, err) < 0 ||
        nl_plan_packages(recipe, &names, err) < 0)
        return -1;
    unlink(log);
    nl_progress_begin("image %s: asking apt for package versions", recipe->name);
    /* Another recipe may have asked a moment ago. */
    if (update_lists(&apt, FRESH_S, log, err) < 0)
        return nl_wrap(err, "asking apt for its lists");
    for (char **name = names; *name && n + 1 < sizeof(install) / sizeof(install[0]); name++)
        install[n++] = *name;
    if (apt_run(&apt, install, NULL, log, UPDATE_TIMEOUT_S, &output, err) < 0 ||
        keep_answer(builder, recipe, names, output, err) < 0)
        return nl_wrap(err, "asking apt for versions");
    nl_progress_end("done");
    return 0;
}

int builder_download(struct builder *builder, const char *name, const char *version,
                     const char *folder, const char *log, char **file, struct nl_error **err)
{
    __attribute__((cleanup(apt_free))) struct apt apt = {0};
    __attribute__((cleanup(free_glob))) glob_t found = {0};
    NL_CLEANUP(nl_cleanup_strvp) char **sources = NULL;
    cleanup_free char *what = builder_text("%s=%s", name, version);
    cleanup_free char *pattern = builder_text("%s/%s_*.deb", folder, name);
    const char *download[] = {"download", what, NULL};

    if (!what || !pattern)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (apt_open(builder->store, builder->plan->recipe->suite, &apt, err) < 0)
        return -1;
    /* Any lists will do, if they know that version; but the store's cache may have been removed. */
    if (builder_sources(builder->store, builder->plan->recipe->suite, &sources, err) < 0 ||
        update_lists(&apt, INFINITY, log, err) < 0)
        return nl_wrap(err, "asking apt for its lists");
    if (apt_run(&apt, download, folder, log, DOWNLOAD_TIMEOUT_S, NULL, err) < 0) {
        nl_wrap(err, "downloading %s", what);
        return nl_hint(err,
                       "if the archive has a newer version, `nestlab build --refresh` takes it; "
                       "apt's output is in %s",
                       log);
    }
    if (glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc != 1)
        return nl_fail(err, NL_EXIT_LAB, "apt downloaded %s to an unknown place", what);
    *file = strdup(found.gl_pathv[0]);
    return *file ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}
