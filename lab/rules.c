/*
 * rules.c - loading rules: see rules.h. Compiling and matching is in rules-match.c.
 */
#include "paths.h"
#include "rules-table.h"
#include "suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_FOLDER "scenarios/rules"
#define FILE_MAX (4UL << 20)
#define FILES_MAX 256

struct nl_rules {
    struct nl_rule_file *files;
    size_t n_files;
    const struct nl_rule **all; /* those of all files, in order */
    size_t n;
    struct nl_matcher *matcher;
};

const char *nl_severity_name(enum nl_severity severity)
{
    return nl_severity_words[severity];
}

static int read_rules_file(const char *path, char **text, size_t *length, struct nl_error **err)
{
    struct stat st;
    /* Not to hang on a FIFO before fstat() can tell. */
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return nl_fail(err, NL_EXIT_REQUEST, "%s: is not a regular file", path);
    if ((size_t)st.st_size > FILE_MAX)
        return nl_fail(err, NL_EXIT_REQUEST, "%s: has %lld bytes; allowed: at most %lu", path,
                       (long long)st.st_size, FILE_MAX);
    *text = malloc((size_t)st.st_size + 1);
    if (!*text)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    *length = 0;
    while ((n = read(fd, *text + *length, (size_t)st.st_size - *length)) > 0)
        *length += (size_t)n;
    if (n < 0)
        return nl_fail_errno(err, NL_EXIT_REQUEST, errno, "%s", path);
    return 0;
}

/* Which of the file's rules is the wrong one? Its id makes the message easier to follow. */
static int name_wrong_rule(const json_t *file, const struct nl_json_place *root,
                           struct nl_error **err)
{
    struct nl_json_place at = nl_json_key(root, "rules");
    size_t i;
    json_t *rule;

    json_array_foreach(json_object_get(file, "rules"), i, rule)
    {
        struct nl_json_place place = nl_json_index(&at, i);
        const char *id = json_string_value(json_object_get(rule, "id"));
        struct nl_rule scratch = {0};
        int rc = nl_record_decode(&nl_rule_record, &place, rule, &scratch, NULL);

        nl_record_release(&nl_rule_record, &scratch);
        if (rc < 0 && id)
            return nl_wrap(err, "the rule %.64s", id);
        if (rc < 0)
            break;
    }
    return -1;
}

static unsigned index_of(const char *word, const char *const *words)
{
    unsigned i = 0;

    while (words[i] && strcmp(words[i], word) != 0)
        i++;
    return i;
}

/* The words of a decoded rule, which the table has checked, as numbers. */
static int interpret(struct nl_rule *rule, const char *file, struct nl_error **err)
{
    static const char *const about[] = {
        [NL_ABOUT_SELF] = "self", [NL_ABOUT_GUEST] = "guest", [NL_ABOUT_BELOW] = "below", NULL};

    rule->severity = (enum nl_severity)index_of(rule->severity_word, nl_severity_words);
    rule->about = (enum nl_about)index_of(rule->about_word, about);
    for (char **word = rule->in; *word; word++)
        rule->kinds |= nl_kind_of(*word);
    for (char **word = rule->vendor_words; word && *word; word++)
        rule->vendors |= strcmp(*word, "amd") == 0 ? NL_VENDOR_AMD : NL_VENDOR_INTEL;
    if (!rule->vendors)
        rule->vendors = NL_VENDOR_AMD | NL_VENDOR_INTEL;
    rule->file = strdup(file);
    return rule->file ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}

static int add_file(struct nl_rules *rules, const char *name, const char *text, size_t length,
                    struct nl_error **err)
{
    struct nl_json_source source = {.name = name, .text = text, .length = length};
    struct nl_json_place root = nl_json_root(&source);
    struct nl_rule_file *file = &rules->files[rules->n_files];
    cleanup_json json_t *json = NULL;
    json_error_t wrong;

    if (rules->n_files == FILES_MAX)
        return nl_fail(err, NL_EXIT_REQUEST, "more than %d files of rules", FILES_MAX);
    json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &wrong);
    if (!json) {
        nl_fail(err, NL_EXIT_REQUEST, "%s:%d:%d: %s", name, wrong.line, wrong.column, wrong.text);
        return nl_hint(err, "a file of rules is one JSON object; docs/diagnose.md describes it");
    }
    rules->n_files++;
    if (nl_record_decode(&nl_rule_file_record, &root, json, file, err) < 0)
        return name_wrong_rule(json, &root, err);
    for (size_t i = 0; i < file->n_rules; i++)
        if (interpret(&file->rules[i], name, err) < 0)
            return -1;
    return 0;
}

static int compare_rules(const void *a, const void *b)
{
    return strcmp((*(const struct nl_rule *const *)a)->id, (*(const struct nl_rule *const *)b)->id);
}

static int check_unique(const struct nl_rules *rules, struct nl_error **err)
{
    cleanup_free const struct nl_rule **sorted = calloc(rules->n + 1, sizeof(*sorted));

    if (!sorted)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    memcpy(sorted, rules->all, rules->n * sizeof(*sorted));
    qsort(sorted, rules->n, sizeof(*sorted), compare_rules);
    for (size_t i = 1; i < rules->n; i++)
        if (strcmp(sorted[i - 1]->id, sorted[i]->id) == 0)
            return nl_fail(err, NL_EXIT_REQUEST, "%s: the rule %s: another rule has this id, in %s",
                           sorted[i]->file, sorted[i]->id, sorted[i - 1]->file);
    return 0;
}

/* All files are there: one array, checked as a whole, compiled. */
static int finish(struct nl_rules *rules, struct nl_error **err)
{
    for (size_t i = 0; i < rules->n_files; i++)
        rules->n += rules->files[i].n_rules;
    rules->all = calloc(rules->n + 1, sizeof(*rules->all));
    if (!rules->all)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (size_t i = 0, k = 0; i < rules->n_files; i++)
        for (size_t j = 0; j < rules->files[i].n_rules; j++)
            rules->all[k++] = &rules->files[i].rules[j];
    if (check_unique(rules, err) < 0)
        return -1;
    return nl_matcher_new(rules->all, rules->n, &rules->matcher, err);
}

static int new_rules(struct nl_rules **rules, struct nl_error **err)
{
    struct nl_rules *made = calloc(1, sizeof(*made));

    *rules = made;
    if (made)
        made->files = calloc(FILES_MAX + 1, sizeof(*made->files));
    return made && made->files ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}

int nl_rules_parse(const char *name, const char *text, size_t length, struct nl_rules **rules,
                   struct nl_error **err)
{
    cleanup_rules struct nl_rules *made = NULL;

    if (new_rules(&made, err) < 0 || add_file(made, name, text, length, err) < 0 ||
        finish(made, err) < 0)
        return -1;
    *rules = nl_steal(&made);
    return 0;
}

static int is_rules_file(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return entry->d_name[0] != '.' && dot && strcmp(dot, ".json") == 0 &&
           !strstr(entry->d_name, ".schema.json");
}

static int load_file(struct nl_rules *rules, const char *folder, const char *name,
                     struct nl_error **err)
{
    cleanup_free char *path = NULL;
    cleanup_free char *text = NULL;
    size_t length = 0;

    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        path = NULL;
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    if (read_rules_file(path, &text, &length, err) < 0)
        return -1;
    return add_file(rules, path, text, length, err);
}

static int load_folder(struct nl_rules *rules, const char *folder, struct nl_error **err)
{
    cleanup_free struct dirent **entries = NULL;
    int n = scandir(folder, &entries, is_rules_file, alphasort);
    int rc = n < 0 ? nl_fail_errno(err, NL_EXIT_REQUEST, errno, "%s", folder) : 0;

    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = load_file(rules, folder, entries[i]->d_name, err);
        free(entries[i]);
    }
    if (rc == 0 && n == 0) {
        nl_fail(err, NL_EXIT_REQUEST, "%s: holds no rules", folder);
        return nl_hint(err, "rules are files *.json; docs/diagnose.md describes them");
    }
    return rc;
}

int nl_rules_load(const char *folder, struct nl_rules **rules, struct nl_error **err)
{
    cleanup_rules struct nl_rules *made = NULL;
    cleanup_free char *own = NULL;

    if (!folder && nl_data_path(DEFAULT_FOLDER, &own, err) < 0)
        return -1;
    if (new_rules(&made, err) < 0 || load_folder(made, folder ? folder : own, err) < 0 ||
        finish(made, err) < 0)
        return -1;
    *rules = nl_steal(&made);
    return 0;
}

void nl_rules_free(struct nl_rules **rules)
{
    if (!*rules)
        return;
    nl_matcher_free(&(*rules)->matcher);
    for (size_t i = 0; i < (*rules)->n_files; i++) {
        for (size_t j = 0; j < (*rules)->files[i].n_rules; j++)
            free((*rules)->files[i].rules[j].file);
        nl_record_release(&nl_rule_file_record, &(*rules)->files[i]);
    }
    free((*rules)->files);
    free((*rules)->all);
    free(*rules);
    *rules = NULL;
}

size_t nl_rules_count(const struct nl_rules *rules)
{
    return rules->n;
}

const struct nl_rule *nl_rules_at(const struct nl_rules *rules, size_t index)
{
    return rules->all[index];
}

const struct nl_rule *nl_rules_find(const struct nl_rules *rules, const char *id)
{
    for (size_t i = 0; i < rules->n; i++)
        if (strcmp(rules->all[i]->id, id) == 0)
            return rules->all[i];
    return NULL;
}

const char *nl_rules_near(const struct nl_rules *rules, const char *id)
{
    cleanup_free const char **ids = calloc(rules->n + 1, sizeof(*ids));

    for (size_t i = 0; ids && i < rules->n; i++)
        ids[i] = rules->all[i]->id;
    return ids ? nl_suggest(id, ids) : NULL;
}

void nl_rules_match(struct nl_rules *rules, const char *text, size_t length, unsigned kinds,
                    nl_rule_hit *hit, void *context)
{
    nl_matcher_match(rules->matcher, text, length, kinds, hit, context);
}

bool nl_rules_pattern_matches(struct nl_rules *rules, size_t rule, size_t pattern, const char *text,
                              size_t length)
{
    return nl_matcher_pattern_matches(rules->matcher, rule, pattern, text, length);
}

unsigned long nl_rules_given_up(const struct nl_rules *rules)
{
    return nl_matcher_given_up(rules->matcher);
}

/* Up to three numbers of a version; missing ones are MISSING. Text after them is the distribution's
   own. */
static void read_version(const char *text, int missing, int version[3])
{
    for (int i = 0; i < 3; i++) {
        char *end;
        long number = strtol(text, &end, 10);

        version[i] = end != text && number >= 0 && number < 100000 ? (int)number : missing;
        text = end != text && *end == '.' ? end + 1 : "";
    }
}

static int compare_versions(const int a[3], const int b[3])
{
    for (int i = 0; i < 3; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

bool nl_rule_fits_kernel(const struct nl_rule *rule, const char *release)
{
    const char *dash = rule->kernels ? strchr(rule->kernels, '-') : NULL;
    int version[3], limit[3];

    read_version(release, 0, version);
    if (!dash || version[0] == 0)
        return true;
    if (dash != rule->kernels) {
        read_version(rule->kernels, 0, limit);
        if (compare_versions(version, limit) < 0)
            return false;
    }
    if (!dash[1])
        return true;
    /* "-6.18" holds for 6.18.3 as well. */
    read_version(dash + 1, 99999, limit);
    return compare_versions(version, limit) <= 0;
}
