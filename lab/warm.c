/*
 * warm.c - libvirt's capability cache of a layer, kept between runs: see warm.h.
 */
#include "warm.h"
#include "layer.h"
#include "sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define CACHE_FOLDER "/var/cache/libvirt/qemu/capabilities"
#define CACHE_FILE_MAX (4 << 20)

/* Everything that libvirt's findings may depend on: a layer whose key differs starts cold. */
static char *warm_folder(const struct nl_layer *layer)
{
    cleanup_sha256 struct nl_sha256 *sha = nl_sha256_new();
    cleanup_free char *hex = NULL;
    char *path = NULL;

    for (size_t i = nl_stack_outermost(layer->stack); i <= layer->index; i++) {
        const struct nl_layer *outer = &layer->stack->layers[i];

        nl_sha256_text(sha, "digest", outer->image->digest);
        nl_sha256_text(sha, "cpu", outer->spec->cpu);
        nl_sha256_text(sha, "machine", outer->spec->machine);
        nl_sha256_text(sha, "nested", outer->spec->nested ? "1" : "0");
        nl_sha256_text(sha, "virtualization", outer->spec->virtualization ? "1" : "0");
    }
    nl_sha256_text(sha, "accelerator", layer->stack->kvm ? "kvm" : "tcg");
    if (nl_sha256_end(sha, &hex, NULL) < 0 ||
        asprintf(&path, "%s/warm/%.32s", nl_store_path(layer->stack->store), hex) < 0)
        return NULL;
    return path;
}

/* mkdir -p for the last components of PATH below BASE, which exists. */
static int make_folders(const char *base, const char *below, struct nl_error **err)
{
    cleanup_free char *path = NULL;

    if (asprintf(&path, "%s%s", base, below) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (char *slash = path + strlen(base); slash; slash = strchr(slash + 1, '/')) {
        char *end = strchr(slash + 1, '/');

        if (end)
            *end = '\0';
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", path);
        if (!end)
            return 0;
        *end = '/';
    }
    return 0;
}

static int copy_kept(const char *from, const char *to, const char *name, struct nl_error **err)
{
    cleanup_free char *source = NULL;
    cleanup_free char *target = NULL;

    if (asprintf(&source, "%s/%s", from, name) < 0 || asprintf(&target, "%s/%s", to, name) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (link(source, target) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", target);
    return 0;
}

int nl_warm_stage(const struct nl_layer *layer, const char *folder, struct nl_error **err)
{
    cleanup_free char *kept = NULL;
    cleanup_free char *target = NULL;
    cleanup_closedir DIR *dir = NULL;
    struct dirent *entry;

    if (!layer->hypervisor)
        return 0;
    kept = warm_folder(layer);
    dir = kept ? opendir(kept) : NULL;
    if (!dir)
        return 0;
    if (make_folders(folder, "/root" CACHE_FOLDER, err) < 0 ||
        asprintf(&target, "%s/root" CACHE_FOLDER, folder) < 0)
        return -1;
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.' && copy_kept(kept, target, entry->d_name, NULL) < 0)
            return 0; /* another file system: a cold start costs time, nothing else */
    return 0;
}

/* What PROGRAM prints in the layer; NULL if it did not go well. The caller frees it. */
static char *output_of(struct nl_layer *layer, const char *program, const char *argument)
{
    cleanup_error struct nl_error *ignored = NULL;
    cleanup_json json_t *reply = NULL;
    const char *text;

    if (nl_layer_ask(
            layer, "exec",
            json_pack("{s:[s,s], s:i}", "argv", program, argument, "output_limit", CACHE_FILE_MAX),
            &reply, &ignored) < 0)
        return NULL;
    text = json_string_value(json_object_get(reply, "stdout"));
    if (!text || json_integer_value(json_object_get(reply, "exit")) != 0 ||
        json_is_true(json_object_get(reply, "truncated")))
        return NULL;
    return strdup(text);
}

/* The names are the layer's word: nothing that could leave the folder. */
static bool is_cache_name(const char *name)
{
    size_t length = strlen(name);

    return length == strspn(name, "0123456789abcdef.xml") && length > 4 &&
           !strcmp(name + length - 4, ".xml") && name[0] != '.';
}

static int keep_file(struct nl_layer *layer, const char *folder, const char *name)
{
    cleanup_free char *remote = NULL;
    cleanup_free char *local = NULL;
    cleanup_free char *text = NULL;
    cleanup_fclose FILE *file = NULL;

    if (asprintf(&remote, CACHE_FOLDER "/%s", name) < 0 ||
        asprintf(&local, "%s/%s", folder, name) < 0)
        return -1;
    text = output_of(layer, "cat", remote);
    file = text && text[0] ? fopen(local, "we") : NULL;
    if (!file || fputs(text, file) < 0)
        return -1;
    return fflush(file) == 0 ? 0 : -1;
}

static void remove_folder(const char *folder)
{
    cleanup_closedir DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        unlinkat(dirfd(dir), entry->d_name, 0);
    rmdir(folder);
}

void nl_warm_keep(struct nl_layer *layer)
{
    cleanup_free char *kept = NULL;
    cleanup_free char *names = NULL;
    cleanup_free char *fresh = NULL;
    char *save = NULL;
    int n = 0;

    if (!layer->hypervisor || layer->local || !(kept = warm_folder(layer)) ||
        access(kept, F_OK) == 0)
        return;
    names = output_of(layer, "ls", CACHE_FOLDER);
    if (!names || asprintf(&fresh, "%s.%d", kept, (int)getpid()) < 0 ||
        make_folders(nl_store_path(layer->stack->store), "/warm", NULL) < 0 ||
        mkdir(fresh, 0755) < 0)
        return;
    for (char *name = strtok_r(names, "\n", &save); name; name = strtok_r(NULL, "\n", &save))
        if (is_cache_name(name) && keep_file(layer, fresh, name) == 0)
            n++;
    /* Complete or not at all; a run that was quicker wins. */
    if (n == 0 || rename(fresh, kept) < 0)
        remove_folder(fresh);
}
