/*
 * builder-sources.c - which of the machine's apt sources are those of a Debian release.
 *
 * A machine may have sources of anything, and of other releases; images are made from the release's
 * own, its updates and its security updates.
 */
#include "builder.h"

#include <glob.h>
#include <string.h>

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

int builder_filter_sources(FILE *in, FILE *out, bool stanzas, const char *suite)
{
    return stanzas ? filter_sources(in, out, suite) : filter_list(in, out, suite);
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
    kept = builder_filter_sources(in, out, stanzas, suite);
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

    if (builder_apt_folders(store, suite, &root, err) < 0)
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
