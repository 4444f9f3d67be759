/*
 * modules.c - resolving kernel modules from modules.dep and modules.builtin: see modules.h.
 */
#include "modules.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct list {
    char **items;
    size_t n;
};

static void list_free(struct list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i]);
    free(list->items);
}

static int list_add(struct list *list, const char *text, size_t length, struct nl_error **err)
{
    char **items;

    for (size_t i = 0; i < list->n; i++)
        if (strlen(list->items[i]) == length && memcmp(list->items[i], text, length) == 0)
            return 0;
    items = realloc(list->items, (list->n + 2) * sizeof(*items));
    if (!items)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    list->items = items;
    items[list->n] = strndup(text, length);
    items[list->n + 1] = NULL;
    if (!items[list->n])
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    list->n++;
    return 0;
}

/* Is PATH (LENGTH bytes, "kernel/drivers/virtio/virtio-ring.ko.xz") the file of module NAME? Dashes
   and underscores are the same in module names. */
static bool is_module(const char *path, size_t length, const char *name)
{
    const char *base = path;

    for (size_t i = 0; i < length; i++)
        if (path[i] == '/')
            base = path + i + 1;
    length -= (size_t)(base - path);
    while (length > 0 && *name) {
        char a = *base == '-' ? '_' : *base;
        char b = *name == '-' ? '_' : *name;

        if (a != b)
            return false;
        base++;
        name++;
        length--;
    }
    return !*name && length >= 3 && memcmp(base, ".ko", 3) == 0 && (length == 3 || base[3] == '.');
}

static FILE *open_list(const char *folder, const char *file)
{
    cleanup_free char *path = NULL;

    if (asprintf(&path, "%s/%s", folder, file) < 0) {
        path = NULL;
        return NULL;
    }
    return fopen(path, "re");
}

/* The line of modules.dep about NAME: "FILE: NEEDED NEEDED ...". 1 found, 0 not. */
static int find_dependencies(FILE *dep, const char *name, char **line)
{
    size_t size = 0;

    rewind(dep);
    while (getline(line, &size, dep) > 0) {
        char *colon = strchr(*line, ':');

        if (colon && is_module(*line, (size_t)(colon - *line), name))
            return 1;
    }
    return 0;
}

static bool is_builtin(const char *folder, const char *name)
{
    cleanup_fclose FILE *builtin = open_list(folder, "modules.builtin");
    cleanup_free char *line = NULL;
    size_t size = 0;
    ssize_t n;

    if (!builtin)
        return true;
    while ((n = getline(&line, &size, builtin)) > 0) {
        if (line[n - 1] == '\n')
            n--;
        if (is_module(line, (size_t)n, name))
            return true;
    }
    return false;
}

/* modules.dep names all that a module needs, nearest first: so the last is loaded first. */
static int add_line(struct list *list, const char *line, struct nl_error **err)
{
    const char *colon = strchr(line, ':');
    const char *end = line + strcspn(line, "\n");

    while (end > colon + 1) {
        const char *start;

        while (end > colon + 1 && end[-1] == ' ')
            end--;
        start = end;
        while (start > colon + 1 && start[-1] != ' ')
            start--;
        if (end > start && list_add(list, start, (size_t)(end - start), err) < 0)
            return -1;
        end = start;
    }
    return list_add(list, line, (size_t)(colon - line), err);
}

int nl_modules_resolve(const char *folder, char *const *names, char ***paths, struct nl_error **err)
{
    __attribute__((cleanup(list_free))) struct list list = {0};
    cleanup_fclose FILE *dep = open_list(folder, "modules.dep");

    if (!dep)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot read %s/modules.dep", folder);
    for (char *const *name = names; *name; name++) {
        cleanup_free char *line = NULL;

        if (find_dependencies(dep, *name, &line)) {
            if (add_line(&list, line, err) < 0)
                return -1;
        } else if (!is_builtin(folder, *name)) {
            nl_fail(err, NL_EXIT_REQUEST,
                    "the kernel has no module %s: it is neither in %s/modules.dep"
                    " nor built in",
                    *name, folder);
            return nl_hint(err, "a guest's kernel needs it: configure it as a module or built in");
        }
    }
    *paths = list.items ? nl_steal(&list.items) : calloc(1, sizeof(char *));
    if (!*paths)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    list.n = 0;
    return 0;
}
