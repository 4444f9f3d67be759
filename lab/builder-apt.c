/*
 * builder-apt.c - asking apt which versions there are, and for single packages, as an ordinary user
 * and without touching the machine's own package lists: see builder.h.
 */
#include "builder.h"
#include "progress.h"

#include <errno.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>

#define UPDATE_TIMEOUT_S 300.0
#define DOWNLOAD_TIMEOUT_S 900.0
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

static int apt_folders(const struct nl_store *store, const char *suite, char **root,
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

    if (apt_folders(store, suite, &apt->root, err) < 0)
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

static bool same_suite(const char *suite, const char *wanted)
{
    static const char *const endings[] = {"", "-updates", "-security", "/updates"};
    size_t length = strlen(wanted);

    if (strncmp(suite, wanted, length) != 0)
        return false;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (strcmp(suite + length, endings[i]) == 0)
            return true;
    return false;
}

/* One line of a sources.list: wanted if it is binary packages of that suite's main. */
static bool line_wanted(const char *line, const char *suite)
{
    cleanup_free char *copy = strdup(line);
    char *rest = copy, *word;
    bool suite_fits = false, has_main = false;
    int field = 0;

    while (rest && (word = strsep(&rest, " \t\n")) != NULL) {
        if (!*word)
            continue;
        if (field == 0 && strcmp(word, "deb") != 0)
            return false;
        if (field == 1 && *word == '[') {
            while (word && !strchr(word, ']'))
                word = strsep(&rest, " \t\n");
            continue;
        }
        if (field == 2)
            suite_fits = same_suite(word, suite);
        if (field > 2 && strcmp(word, "main") == 0)
            has_main = true;
        field++;
    }
    return suite_fits && has_main;
}

static int filter_list(FILE *in, FILE *out, const char *suite)
{
    cleanup_free char *line = NULL;
    size_t size = 0;
    int kept = 0;

    while (getline(&line, &size, in) > 0) {
        if (!line_wanted(line, suite))
            continue;
        fputs(line, out);
        kept++;
    }
    return kept;
}

/* A deb822 stanza in the making. */
struct stanza {
    char *text; /* all fields but those below */
    size_t size;
    FILE *out;
    char suites[512];
    bool binary, has_main, disabled;
    bool copying; /* the field that continuation lines belong to is copied */
};

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
        if ((at == text || strchr(" \t", at[-1])) && (!at[length] || strchr(" \t\n", at[length])))
            return true;
    return false;
}

static void keep_suites(struct stanza *stanza, const char *value, const char *suite)
{
    cleanup_free char *copy = strdup(value);
    char *rest = copy, *word;

    while (rest && (word = strsep(&rest, " \t\n")) != NULL) {
        size_t used = strlen(stanza->suites);

        if (*word && same_suite(word, suite) && used + strlen(word) + 2 < sizeof(stanza->suites))
            sprintf(stanza->suites + used, " %s", word);
    }
}

static void take_field(struct stanza *stanza, const char *line, const char *suite)
{
    const char *value = strchr(line, ':');

    if (*line == '#')
        return;
    if (*line == ' ' || *line == '\t') {
        if (stanza->copying)
            fputs(line, stanza->out);
        return;
    }
    stanza->copying = false;
    if (!value)
        return;
    if (strncasecmp(line, "Suites:", 7) == 0) {
        keep_suites(stanza, value + 1, suite);
    } else if (strncasecmp(line, "Types:", 6) == 0) {
        stanza->binary = has_word(value + 1, "deb");
    } else {
        if (strncasecmp(line, "Enabled:", 8) == 0 && has_word(value + 1, "no"))
            stanza->disabled = true;
        if (strncasecmp(line, "Components:", 11) == 0)
            stanza->has_main = has_word(value + 1, "main");
        stanza->copying = true;
        fputs(line, stanza->out);
    }
}

static int end_stanza(struct stanza *stanza, FILE *out)
{
    int kept = 0;

    fclose(stanza->out);
    if (stanza->binary && stanza->has_main && !stanza->disabled && stanza->suites[0]) {
        fprintf(out, "Types: deb\nSuites:%s\n%s\n", stanza->suites, stanza->text);
        kept = 1;
    }
    free(stanza->text);
    return kept;
}

static int filter_sources(FILE *in, FILE *out, const char *suite)
{
    cleanup_free char *line = NULL;
    size_t size = 0;
    int kept = 0;
    ssize_t n;

    do {
        struct stanza stanza = {0};

        stanza.out = open_memstream(&stanza.text, &stanza.size);
        if (!stanza.out)
            return kept;
        while ((n = getline(&line, &size, in)) > 0 && line[strspn(line, " \t\n")])
            take_field(&stanza, line, suite);
        kept += end_stanza(&stanza, out);
    } while (n > 0);
    return kept;
}

static int filter_file(const char *path, const char *target, const char *suite)
{
    size_t length = strlen(path);
    bool stanzas = length > 8 && strcmp(path + length - 8, ".sources") == 0;
    cleanup_fclose FILE *in = fopen(path, "re");
    cleanup_fclose FILE *out = in ? fopen(target, "we") : NULL;
    int kept;

    if (!out)
        return 0;
    kept = stanzas ? filter_sources(in, out, suite) : filter_list(in, out, suite);
    if (kept == 0)
        unlink(target);
    return kept;
}

static void free_glob(glob_t *found)
{
    globfree(found);
}

static int fail_no_sources(const char *suite, struct nl_error **err)
{
    nl_fail(err, NL_EXIT_LAB, "this machine has no apt source for Debian's %s", suite);
    return nl_hint(
        err, "add one (main) to /etc/apt/sources.list.d; images are made of Debian's packages");
}

int builder_sources(const struct nl_store *store, const char *suite, char ***files,
                    struct nl_error **err)
{
    __attribute__((cleanup(free_glob))) glob_t found = {0};
    NL_CLEANUP(nl_cleanup_strvp) char **list = NULL;
    cleanup_free char *root = NULL;
    size_t n = 0;

    if (apt_folders(store, suite, &root, err) < 0)
        return -1;
    glob("/etc/apt/sources.list", 0, NULL, &found);
    glob("/etc/apt/sources.list.d/*.list", GLOB_APPEND, NULL, &found);
    glob("/etc/apt/sources.list.d/*.sources", GLOB_APPEND, NULL, &found);
    list = calloc(found.gl_pathc + 1, sizeof(char *));
    if (!list)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *base = strrchr(found.gl_pathv[i], '/');
        cleanup_free char *target = builder_text("%s/sources%s", root, base);

        if (target && filter_file(found.gl_pathv[i], target, suite) > 0)
            list[n++] = nl_steal(&target);
    }
    if (n == 0)
        return fail_no_sources(suite, err);
    *files = nl_steal(&list);
    return 0;
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
    const char *update[] = {"update", NULL};
    const char *install[256] = {"--simulate", "install"};
    size_t n = 2;

    if (!log || apt_open(builder->store, recipe->suite, &apt, err) < 0 ||
        builder_sources(builder->store, recipe->suite, &sources, err) < 0 ||
        nl_plan_packages(recipe, &names, err) < 0)
        return -1;
    unlink(log);
    nl_progress_begin("image %s: asking apt for package versions", recipe->name);
    if (apt_run(&apt, update, NULL, log, UPDATE_TIMEOUT_S, NULL, err) < 0)
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
    cleanup_free char *what = builder_text("%s=%s", name, version);
    cleanup_free char *pattern = builder_text("%s/%s_*.deb", folder, name);
    const char *download[] = {"download", what, NULL};

    if (!what || !pattern)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (apt_open(builder->store, builder->plan->recipe->suite, &apt, err) < 0)
        return -1;
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
