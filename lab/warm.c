/*
 * warm.c - libvirt's capability cache of a layer, kept between runs: see warm.h.
 */
#include "warm.h"
#include "folders.h"
#include "layer.h"
#include "sha256.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define CACHE_FOLDER "/var/cache/libvirt/qemu/capabilities"
/* Where the embedded driver keeps the same, below its root. */
#define EMBED_CACHE "/cache/qemu/capabilities"
#define CACHE_FILE_MAX (2 << 20) /* the most that the agent hands out of a program */

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

/* Put what is kept in KEPT into FOLDER/BELOW. Nothing kept: nothing done. */
static int stage(const char *kept, const char *folder, const char *below, struct nl_error **err)
{
    cleanup_free char *target = NULL;

    if (!kept || access(kept, F_OK) != 0)
        return 0;
    if (asprintf(&target, "%s%s", folder, below) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (nl_make_folders(target, NL_EXIT_LAB, err) < 0)
        return -1;
    return nl_place_files(kept, target, err);
}

int nl_warm_stage(const struct nl_layer *layer, const char *folder, struct nl_error **err)
{
    cleanup_free char *kept = layer->hypervisor ? warm_folder(layer) : NULL;

    return stage(kept, folder, "/root" CACHE_FOLDER, err);
}

/* By what libvirt checks of this machine: QEMU's binary, its own library, the kernel. What is kept
   for a key is never replaced, so a check left out would mean that QEMU is asked anew in every run.
 */
static char *host_folder(const struct nl_stack *stack)
{
    cleanup_sha256 struct nl_sha256 *sha = nl_sha256_new();
    cleanup_free char *hex = NULL;
    unsigned long version = 0;
    struct utsname kernel;
    struct stat qemu = {0}, library = {0};
    Dl_info self = {0};
    char *path = NULL;

    if (virGetVersion(&version, NULL, NULL) < 0 || stat("/usr/bin/qemu-system-x86_64", &qemu) < 0 ||
        uname(&kernel) < 0 || !dladdr((const void *)virGetVersion, &self) ||
        stat(self.dli_fname, &library) < 0)
        return NULL;
    nl_sha256_bytes(sha, "changed", &qemu.st_ctim, sizeof(qemu.st_ctim));
    nl_sha256_bytes(sha, "size", &qemu.st_size, sizeof(qemu.st_size));
    nl_sha256_text(sha, "kernel", kernel.release);
    nl_sha256_text(sha, "kvm", access("/dev/kvm", F_OK) == 0 ? "1" : "0");
    nl_sha256_bytes(sha, "libvirt", &version, sizeof(version));
    nl_sha256_bytes(sha, "library", &library.st_ctim, sizeof(library.st_ctim));
    if (nl_sha256_end(sha, &hex, NULL) < 0 ||
        asprintf(&path, "%s/warm/host-%.32s", nl_store_path(stack->store), hex) < 0)
        return NULL;
    return path;
}

int nl_warm_stage_host(const struct nl_stack *stack, const char *root, struct nl_error **err)
{
    cleanup_free char *kept = host_folder(stack);

    return stage(kept, root, EMBED_CACHE, err);
}

/* A fresh folder beside KEPT, to be filled and then renamed to it; NULL when there is one already.
 */
static char *fresh_folder(const char *kept)
{
    char *fresh = NULL;

    if (!kept || access(kept, F_OK) == 0 || asprintf(&fresh, "%s.%d", kept, (int)getpid()) < 0)
        return NULL;
    if (nl_make_folders(fresh, NL_EXIT_LAB, NULL) == 0)
        return fresh;
    free(fresh);
    return NULL;
}

/* Complete or not at all; a run that was quicker wins. */
static void settle(const char *fresh, const char *kept, bool complete)
{
    if (!complete || rename(fresh, kept) < 0)
        nl_remove_folder(fresh);
}

void nl_warm_keep_host(const struct nl_stack *stack, const char *root)
{
    cleanup_free char *kept = host_folder(stack);
    cleanup_free char *fresh = fresh_folder(kept);
    cleanup_free char *source = NULL;

    if (fresh && asprintf(&source, "%s" EMBED_CACHE, root) >= 0)
        settle(fresh, kept, nl_place_files(source, fresh, NULL) == 0);
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

void nl_warm_keep(struct nl_layer *layer)
{
    bool applies = layer->hypervisor && !layer->local;
    cleanup_free char *kept = applies ? warm_folder(layer) : NULL;
    cleanup_free char *fresh = fresh_folder(kept);
    cleanup_free char *names = NULL;
    char *save = NULL;
    size_t n = 0;

    if (!fresh)
        return;
    names = output_of(layer, "ls", CACHE_FOLDER);
    for (char *name = names ? strtok_r(names, "\n", &save) : NULL; name;
         name = strtok_r(NULL, "\n", &save))
        if (is_cache_name(name) && keep_file(layer, fresh, name) == 0)
            n++;
    settle(fresh, kept, n > 0);
}
