/*
 * test-image.c - the image store, recipes, digests and module order, without building anything.
 */
#include "bzimage.h"
#include "dig.h"
#include "folders.h"
#include "image-plan.h"
#include "kernel-files.h"
#include "modules.h"
#include "sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <utime.h>

#include <cmocka.h>

static char root[] = "/tmp/nestlab-test-image-XXXXXX";

static char *name(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *name(const char *format, ...)
{
    static char names[16][512];
    static unsigned int next;
    char *out = names[next++ % 16];
    va_list args;
    int n = snprintf(out, 512, "%s/", root);

    va_start(args, format);
    vsnprintf(out + n, 512 - (size_t)n, format, args);
    va_end(args);
    return out;
}

/* Write a file, making its folders. */
static void put_bytes(const char *path, const void *bytes, size_t length)
{
    char copy[512];
    FILE *file;

    snprintf(copy, sizeof(copy), "%s", path);
    for (char *c = copy + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        mkdir(copy, 0755);
        *c = '/';
    }
    file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static void put(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(root));
    put(name("agent"), "agent 1");
    put(name("recipes/disky.json"),
        "{\"about\": \"a\", \"suite\": \"bookworm\", \"kernel\": {\"package\": \"linux\"},"
        "\"initramfs\": {\"modules\": [\"virtio_blk\"]}, \"disk\": {\"size_mib\": 1024,"
        "\"packages\": [\"qemu\", \"kmod\"], \"without\": [\"/usr/share/doc/*\"], \"files\":"
        "[{\"source\": \"files/a\", \"target\": \"/etc/a\", \"mode\": \"0600\"}]}}");
    put(name("recipes/plain.json"),
        "{\"about\": \"a\", \"suite\": \"bookworm\", \"kernel\": {\"package\": \"linux\"},"
        "\"initramfs\": {\"modules\": [], \"busybox\": {\"package\": \"bb\", \"path\": \"bin/bb\","
        "\"applets\": [\"sh\"]}}, \"scratch\": {\"size_mib\": 64}}");
    put(name("recipes/recipe.schema.json"), "{}");
    put(name("recipes/files/a"), "content 1");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return nl_remove_tree(root, NULL);
}

static struct nl_store *open_store(const char *where)
{
    struct nl_error *err = NULL;
    struct nl_store *store = NULL;

    if (nl_store_open(name("%s", where), name("recipes"), name("agent"), &store, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    return store;
}

/* What apt would have said. */
static void put_resolved(const struct nl_store *store, const char *recipe, const char *qemu_version)
{
    cleanup_recipe struct nl_recipe *loaded = NULL;
    cleanup_free char *asked = NULL;
    char text[1024];

    assert_int_equal(nl_recipe_load(store->recipes, recipe, &loaded, NULL), 0);
    assert_int_equal(nl_plan_asked(loaded, &asked, NULL), 0);
    snprintf(text, sizeof(text),
             "{\"asked\": \"%s\", \"kernel\": {\"package\": \"linux-image-1\", \"version\": \"1\"},"
             "\"versions\": {\"linux\": \"1\", \"qemu\": \"%s\", \"kmod\": \"2\", \"bb\": \"3\"}}",
             asked, qemu_version);
    put(name("%s/resolved/%s.json", strrchr(store->path, '/') + 1, recipe), text);
}

static struct nl_plan *plan_for(const struct nl_store *store,
                                const struct nl_image_request *request)
{
    struct nl_error *err = NULL;
    struct nl_plan *plan = NULL;

    if (nl_plan_make(store, request, &plan, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    assert_non_null(plan);
    return plan;
}

static void keys_are_private_and_stay(void **state)
{
    cleanup_store struct nl_store *first = open_store("keys-store");
    cleanup_store struct nl_store *again = open_store("keys-store");
    cleanup_store struct nl_store *other = open_store("keys-other");
    const char *const files[] = {nl_store_client_key(first), first->host_key_file};
    struct stat st;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(stat(files[i], &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
    assert_int_equal(stat(name("keys-store/keys"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(strncmp(nl_store_host_key(first), "ssh-ed25519 AAAA", 16), 0);
    assert_string_equal(nl_store_host_key(first), nl_store_host_key(again));
    assert_string_equal(first->client_public, again->client_public);
    assert_string_not_equal(nl_store_host_key(first), nl_store_host_key(other));
    assert_string_not_equal(first->client_public, first->host_key);
}

static void damaged_keys_are_reported(void **state)
{
    struct nl_error *err = NULL;
    struct nl_store *store = NULL;

    (void)state;
    put(name("bad-keys/keys/client"), "not a key\n");
    assert_int_equal(nl_store_open(name("bad-keys"), name("recipes"), name("agent"), &store, &err),
                     -1);
    assert_non_null(strstr(nl_error_message(err), "keys/client"));
    assert_non_null(nl_error_hint(err));
    nl_error_free(&err);
}

static void recipes_are_listed_and_read(void **state)
{
    cleanup_store struct nl_store *store = open_store("recipes-store");
    NL_CLEANUP(nl_cleanup_strvp) char **names = NULL;
    cleanup_recipe struct nl_recipe *recipe = NULL;

    (void)state;
    assert_int_equal(nl_store_recipes(store, &names, NULL), 0);
    assert_string_equal(names[0], "disky");
    assert_string_equal(names[1], "plain");
    assert_null(names[2]);
    assert_int_equal(nl_recipe_load(store->recipes, "disky", &recipe, NULL), 0);
    assert_int_equal(recipe->disk_mib, 1024);
    assert_string_equal(recipe->packages[1], "kmod");
    assert_null(recipe->packages[2]);
    assert_int_equal(recipe->files[0].mode, 0600);
    assert_string_equal(recipe->files[0].source, name("recipes/files/a"));
    assert_null(recipe->busybox_package);
    assert_null(recipe->with[0]);
}

static void wrong_recipes_are_refused(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } wrong[] = {
        {"{", "wrong.json:1"},
        {"[]", "wrong.json"},
        {"{\"about\": \"a\", \"suite\": \"s\", \"kernel\": {\"package\": \"k\"}, \"initramfs\": "
         "{\"modules\": []}, \"colour\": 1}",
         "colour"},
        {"{\"about\": \"a\", \"suite\": \"s\", \"kernel\": {\"package\": \"k\"}, \"initramfs\": "
         "{\"modules\": [7]}}",
         "initramfs.modules[0]"},
        {"{\"about\": \"a\", \"suite\": \"s\", \"kernel\": {\"package\": \"k\"}, \"initramfs\": "
         "{\"modules\": []}, \"disk\": {\"size_mib\": 1, \"packages\": []}}",
         "disk.size_mib"},
        {"{\"about\": \"a\", \"suite\": \"s\", \"kernel\": {\"package\": \"k\"}, \"initramfs\": "
         "{\"modules\": []}, \"disk\": {\"size_mib\": 900, \"packages\": [], \"files\": "
         "[{\"source\":"
         " \"files/a\", \"target\": \"etc/a\"}]}}",
         "absolute"},
        {"{\"about\": \"a\", \"suite\": \"s\", \"kernel\": {\"package\": \"k\"}, \"initramfs\": "
         "{\"modules\": []}, \"disk\": {\"size_mib\": 900, \"packages\": [], \"files\": "
         "[{\"source\":"
         " \"files/a\", \"target\": \"/a\", \"mode\": \"rw\"}]}}",
         "octal"},
        {"{\"about\": \"a\", \"suite\": \"s\", \"kernel\": {\"package\": \"k\"}, \"initramfs\": "
         "{\"modules\": []}, \"disk\": {\"size_mib\": 900, \"packages\": [], \"files\": "
         "[{\"source\":"
         " \"files/none\", \"target\": \"/a\"}]}}",
         "files/none"},
    };

    (void)state;
    put(name("wrong/files/a"), "a");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cleanup_error struct nl_error *err = NULL;
        struct nl_recipe *recipe = NULL;

        put(name("wrong/wrong.json"), wrong[i].text);
        assert_int_equal(nl_recipe_load(name("wrong"), "wrong", &recipe, &err), -1);
        assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
        if (!strstr(nl_error_message(err), wrong[i].says))
            fail_msg("\"%s\" does not say \"%s\"", nl_error_message(err), wrong[i].says);
    }
}

static void an_unknown_recipe_names_the_known(void **state)
{
    static const char *const bad[] = {"nothing", "../recipes/plain", "", ".", "recipe.schema/x"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cleanup_error struct nl_error *err = NULL;
        struct nl_recipe *recipe = NULL;

        assert_int_equal(nl_recipe_load(name("recipes"), bad[i], &recipe, &err), -1);
        assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
        assert_non_null(strstr(nl_error_hint(err), "disky, plain"));
    }
}

static void shipped_recipes_are_right(void **state)
{
    static const char folder[] = NL_SOURCE "/images";
    NL_CLEANUP(nl_cleanup_strvp) char **names = NULL;
    size_t n = 0;

    (void)state;
    assert_int_equal(nl_recipe_names(folder, &names, NULL), 0);
    for (; names[n]; n++) {
        cleanup_recipe struct nl_recipe *recipe = NULL;
        struct nl_error *err = NULL;

        if (nl_recipe_load(folder, names[n], &recipe, &err) < 0)
            fail_msg("%s", nl_error_message(err));
        assert_int_equal(recipe->disk_mib > 0, strcmp(names[n], "hypervisor") == 0);
    }
    assert_int_equal(n, 2);
}

static void without_an_answer_of_apt_there_is_no_plan(void **state)
{
    cleanup_store struct nl_store *store = open_store("noplan");
    struct nl_image_request request = {.recipe = "disky"};
    struct nl_plan *plan = NULL;

    (void)state;
    assert_int_equal(nl_plan_make(store, &request, &plan, NULL), 0);
    assert_null(plan);
    /* An answer to another question is none. */
    put(name("noplan/resolved/disky.json"), "{\"asked\": \"something else\"}");
    assert_int_equal(nl_plan_make(store, &request, &plan, NULL), 0);
    assert_null(plan);
    put(name("noplan/resolved/disky.json"), "]");
    assert_int_equal(nl_plan_make(store, &request, &plan, NULL), 0);
    assert_null(plan);
}

static void layers_are_shared_and_separate(void **state)
{
    cleanup_store struct nl_store *store = open_store("layers");
    struct nl_image_request disky = {.recipe = "disky"}, plain = {.recipe = "plain"};
    cleanup_plan struct nl_plan *a = NULL, *again = NULL, *b = NULL;

    (void)state;
    put_resolved(store, "disky", "7");
    put_resolved(store, "plain", "7");
    a = plan_for(store, &disky);
    again = plan_for(store, &disky);
    b = plan_for(store, &plain);
    assert_string_equal(a->image, again->image);
    assert_int_equal(strlen(a->image), NL_SHA256_HEX);
    assert_string_equal(a->kernel, b->kernel);
    assert_string_not_equal(a->image, b->image);
    assert_non_null(a->debian);
    assert_null(a->debs);
    assert_null(a->busybox);
    assert_string_equal(nl_plan_disk(a), a->system);
    assert_null(b->debian);
    assert_null(nl_plan_disk(b));
    assert_non_null(b->busybox);
    assert_non_null(b->scratch);
}

/* Which layers differ between two plans, as letters. */
static const char *difference(const struct nl_plan *a, const struct nl_plan *b)
{
    static char text[16];

    snprintf(text, sizeof(text), "%s%s%s%s", strcmp(a->kernel, b->kernel) ? "k" : "",
             strcmp(a->debian, b->debian) ? "d" : "", strcmp(a->system, b->system) ? "s" : "",
             strcmp(a->image, b->image) ? "i" : "");
    return text;
}

static void a_change_renews_what_depends_on_it(void **state)
{
    cleanup_store struct nl_store *store = open_store("changes");
    cleanup_store struct nl_store *other = open_store("changes-other");
    struct nl_image_request request = {.recipe = "disky"};
    cleanup_plan struct nl_plan *before = NULL, *agent = NULL, *file = NULL, *version = NULL;
    cleanup_plan struct nl_plan *keys = NULL;

    (void)state;
    put_resolved(store, "disky", "7");
    put_resolved(other, "disky", "7");
    before = plan_for(store, &request);
    keys = plan_for(other, &request);
    assert_string_equal(difference(before, keys), "si");

    put(name("agent"), "agent 2");
    agent = plan_for(store, &request);
    assert_string_equal(difference(before, agent), "i");

    put(name("recipes/files/a"), "content 2");
    file = plan_for(store, &request);
    assert_string_equal(difference(agent, file), "si");

    put_resolved(store, "disky", "8");
    version = plan_for(store, &request);
    assert_string_equal(difference(file, version), "dsi");
}

static void a_bzimage_is_told_from_other_files(void **state)
{
    static const char elf[] = "\177ELF\2\1\1 and so on";
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    put_bzimage(name("bzImage"), "6.6.6-test", 'x');
    assert_int_equal(nl_kernel_check(name("bzImage"), &err), 0);
    put_bzimage_cut(name("bzImage"), "6.6.6-test", 'x', BZIMAGE_SIZE - 1);
    assert_int_equal(nl_kernel_check(name("bzImage"), &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    assert_non_null(strstr(nl_error_message(err), "is cut short: it has 3583 bytes, and by its "
                                                  "header 3584"));
    nl_error_free(&err);
    put_bytes(name("bzImage"), elf, sizeof(elf));
    assert_int_equal(nl_kernel_check(name("bzImage"), &err), -1);
    assert_non_null(strstr(nl_error_message(err), "is an ELF file (vmlinux?), not a bzImage"));
    nl_error_free(&err);
    assert_int_equal(nl_kernel_check("/etc/passwd", &err), -1);
    assert_string_equal(nl_error_message(err), "/etc/passwd is not a bzImage");
    assert_non_null(nl_error_hint(err));
}

static void a_kernel_says_its_release(void **state)
{
    static const char *const bad[] = {"",    " x",       "../../etc", ".",
                                      "a/b", "6.6\x1b[", "6.6\xff",   "6.6\n"};
    char *release = NULL;

    (void)state;
    put_bzimage(name("bzImage"), "6.6.6-test (me@here) #1", 'x');
    assert_int_equal(nl_kernel_release(name("bzImage"), &release, NULL), 0);
    assert_string_equal(release, "6.6.6-test");
    free(release);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        put_bzimage(name("bzImage"), bad[i], 'x');
        assert_int_equal(nl_kernel_release(name("bzImage"), &release, NULL), -1);
    }
    for (off_t cut = 0; cut < 0x261; cut += 7) {
        put_bzimage(name("bzImage"), "6.6.6", 'x');
        assert_int_equal(truncate(name("bzImage"), cut), 0);
        assert_int_equal(nl_kernel_release(name("bzImage"), &release, NULL), -1);
    }
}

static void modules_are_found_where_users_have_them(void **state)
{
    static const char *const given[] = {"tree", "tree/lib/modules", "tree/lib/modules/6.6.6-test",
                                        "tree/lib/modules/../modules/6.6.6-test/"};
    cleanup_error struct nl_error *err = NULL;
    char *path = NULL;

    (void)state;
    put(name("tree/lib/modules/6.6.6-test/modules.dep"), "");
    put(name("tree/lib/modules/5.5.5/modules.dep"), "");
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        assert_int_equal(nl_kernel_modules(name("%s", given[i]), "6.6.6-test", &path, NULL), 0);
        assert_string_equal(path, name("tree/lib/modules/6.6.6-test"));
        free(path);
    }
    assert_int_equal(nl_kernel_modules(name("tree"), "7.7.7", &path, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "lib/modules/7.7.7"));
    nl_error_free(&err);
    assert_int_equal(nl_kernel_modules(name("tree/lib/modules/5.5.5"), "6.6.6-test", &path, &err),
                     -1);
    assert_non_null(strstr(nl_error_message(err), "not the kernel's release"));
}

static void a_kernel_of_ones_own_is_a_layer(void **state)
{
    cleanup_store struct nl_store *store = open_store("kernels");
    struct nl_kernel_spec kernel = {.image = name("mine/bzImage"), .modules = name("mine")};
    struct nl_image_request without = {.recipe = "disky"};
    struct nl_image_request with = {.recipe = "disky", .kernel = &kernel};
    cleanup_plan struct nl_plan *own = NULL, *mine = NULL, *touched = NULL, *bytes = NULL;
    struct utimbuf then = {1000, 1000};

    (void)state;
    put_resolved(store, "disky", "7");
    assert_int_equal(nl_make_folders(name("mine"), NL_EXIT_LAB, NULL), 0);
    put_bzimage(kernel.image, "1", 'a');
    put(name("mine/lib/modules/1/kernel/a.ko"), "module");
    own = plan_for(store, &without);
    mine = plan_for(store, &with);
    assert_string_equal(difference(own, mine), "ksi");
    assert_string_equal(own->debian_kernel, mine->debian_kernel);
    assert_string_equal(own->kernel, own->debian_kernel);

    assert_int_equal(utime(name("mine/lib/modules/1/kernel/a.ko"), &then), 0);
    touched = plan_for(store, &with);
    assert_string_equal(difference(mine, touched), "ksi");

    put_bzimage(kernel.image, "1", 'b');
    bytes = plan_for(store, &with);
    assert_string_equal(difference(touched, bytes), "ksi");
}

static void debs_are_a_layer_in_their_order(void **state)
{
    cleanup_store struct nl_store *store = open_store("debs");
    char *ab[] = {name("a.deb"), name("b.deb"), NULL}, *ba[] = {ab[1], ab[0], NULL};
    struct nl_image_request first = {.recipe = "disky", .debs = ab};
    struct nl_image_request second = {.recipe = "disky", .debs = ba};
    struct nl_image_request leaf = {.recipe = "plain", .debs = ab};
    cleanup_plan struct nl_plan *a = NULL, *b = NULL;
    cleanup_error struct nl_error *err = NULL;
    struct nl_plan *none = NULL;

    (void)state;
    put(ab[0], "deb a");
    put(ab[1], "deb b");
    put_resolved(store, "disky", "7");
    put_resolved(store, "plain", "7");
    a = plan_for(store, &first);
    b = plan_for(store, &second);
    assert_string_equal(a->system, b->system);
    assert_string_not_equal(a->debs, b->debs);
    assert_string_equal(nl_plan_disk(a), a->debs);
    assert_int_equal(nl_plan_make(store, &leaf, &none, &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
}

static void wrong_requests_are_the_users(void **state)
{
    cleanup_store struct nl_store *store = open_store("requests");
    struct nl_kernel_spec kernels[] = {
        {.image = name("nowhere")},
        {.deb = name("nowhere.deb")},
        {.image = name("agent")},
        {.image = name("agent"), .deb = name("agent")},
        {.image = name("mine/bzImage"), .modules = name("nowhere")},
        {.image = name("mine/bzImage"), .modules = "/"},
        {.modules = name("recipes")},
        {.image = name("recipes")},
    };

    (void)state;
    put_resolved(store, "disky", "7");
    assert_int_equal(nl_make_folders(name("mine"), NL_EXIT_LAB, NULL), 0);
    put_bzimage(name("mine/bzImage"), "1", 'a');
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        struct nl_image_request request = {.recipe = "disky", .kernel = &kernels[i]};
        cleanup_error struct nl_error *err = NULL;
        struct nl_plan *plan = NULL;

        if (nl_plan_make(store, &request, &plan, &err) == 0)
            fail_msg("kernel %zu was accepted", i);
        assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    }
}

static void parts_of_a_digest_do_not_run_together(void **state)
{
    static const char *const parts[][2] = {{"a", "bc"}, {"ab", "c"}, {"abc", ""}, {"abc", NULL}};
    char *hex[4];

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        cleanup_sha256 struct nl_sha256 *sha = nl_sha256_new();

        nl_sha256_text(sha, "part", parts[i][0]);
        nl_sha256_text(sha, "part", parts[i][1]);
        assert_int_equal(nl_sha256_end(sha, &hex[i], NULL), 0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(hex[i], hex[j]);
    }
    for (size_t i = 0; i < 4; i++)
        free(hex[i]);
}

static void an_entry_appears_when_it_is_finished(void **state)
{
    cleanup_store struct nl_store *store = open_store("entries");
    cleanup_entry struct nl_entry *entry = NULL;
    char about[512], lock[512];

    (void)state;
    assert_int_equal(nl_entry_begin(store, "d1", "test", &entry, NULL), 0);
    assert_false(entry->there);
    assert_false(nl_entry_exists(store, "d1"));
    assert_int_equal(nl_entry_commit(entry, NULL), -1);
    snprintf(about, sizeof(about), "%s/image.json", entry->folder);
    snprintf(lock, sizeof(lock), "%s", entry->lock_path);
    put(about, "{}");
    assert_false(nl_entry_exists(store, "d1"));
    assert_int_equal(nl_entry_commit(entry, NULL), 0);
    assert_true(nl_entry_exists(store, "d1"));
    nl_entry_end(&entry);
    assert_true(nl_entry_exists(store, "d1"));
    assert_int_equal(access(lock, F_OK), -1);
    assert_int_equal(nl_entry_begin(store, "d1", "test", &entry, NULL), 0);
    assert_true(entry->there);
}

static void what_is_not_committed_is_removed(void **state)
{
    cleanup_store struct nl_store *store = open_store("abandoned");
    struct nl_entry *entry = NULL;
    char folder[512];

    (void)state;
    assert_int_equal(nl_entry_begin(store, "d1", "test", &entry, NULL), 0);
    snprintf(folder, sizeof(folder), "%s", entry->folder);
    put(name("abandoned/tmp/d1/deep/er/file"), "x");
    assert_int_equal(chmod(name("abandoned/tmp/d1/deep"), 0500), 0);
    nl_entry_end(&entry);
    assert_int_equal(access(folder, F_OK), -1);
    assert_false(nl_entry_exists(store, "d1"));
}

/* A child that begins entry d1, says so, and then goes on as it is told. */
static pid_t start_maker(const struct nl_store *store, bool finish)
{
    int said[2];
    pid_t pid;
    char c;

    assert_int_equal(pipe(said), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct nl_entry *entry = NULL;

        if (nl_entry_begin(store, "d1", "test", &entry, NULL) < 0 || write(said[1], "x", 1) != 1)
            _exit(1);
        usleep(finish ? 700 * 1000 : 30 * 1000 * 1000);
        put(name("%s/tmp/d1/image.json", strrchr(store->path, '/') + 1), "{}");
        if (nl_entry_commit(entry, NULL) < 0)
            _exit(1);
        nl_entry_end(&entry);
        _exit(0);
    }
    close(said[1]);
    assert_int_equal(read(said[0], &c, 1), 1);
    close(said[0]);
    return pid;
}

static void the_second_of_two_makers_waits(void **state)
{
    cleanup_store struct nl_store *store = open_store("two");
    cleanup_entry struct nl_entry *entry = NULL;
    pid_t pid = start_maker(store, true);
    int status;

    (void)state;
    assert_int_equal(nl_entry_begin(store, "d1", "test", &entry, NULL), 0);
    assert_true(entry->there);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void cleaning_spares_the_living(void **state)
{
    cleanup_store struct nl_store *store = open_store("clean");
    pid_t pid = start_maker(store, false);
    const char *outside = name(NL_ENTRY_OUTSIDE_PREFIX "x");
    const char *precious = name("precious/file");

    (void)state;
    put(name("clean/tmp/d2/file"), "left by nobody");
    put(name("clean/tmp/d3.lock"), "");
    put(name(NL_ENTRY_OUTSIDE_PREFIX "x/file"), "x");
    put(precious, "x");
    assert_int_equal(symlink(outside, name("clean/tmp/d2/" NL_ENTRY_OUTSIDE)), 0);
    assert_int_equal(mkdir(name("clean/tmp/d4"), 0755), 0);
    assert_int_equal(symlink(name("precious"), name("clean/tmp/d4/" NL_ENTRY_OUTSIDE)), 0);
    assert_int_equal(nl_store_clean(store, NULL), 0);
    assert_int_equal(access(name("clean/tmp/d2"), F_OK), -1);
    assert_int_equal(access(name("clean/tmp/d3.lock"), F_OK), -1);
    assert_int_equal(access(name("clean/tmp/d4"), F_OK), -1);
    assert_int_equal(access(outside, F_OK), -1);
    assert_int_equal(access(precious, F_OK), 0);
    assert_int_equal(access(name("clean/tmp/d1"), F_OK), 0);

    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(nl_store_clean(store, NULL), 0);
    assert_int_equal(access(name("clean/tmp/d1"), F_OK), -1);
    assert_int_equal(access(name("clean/tmp/d1.lock"), F_OK), -1);
}

/* A finished image of recipe plain, by hand. */
static void put_image(const struct nl_store *store, const char *digest)
{
    const char *base = strrchr(store->path, '/') + 1;

    put(name("%s/images/kernel1/kernel", base), "kernel");
    put(name("%s/images/%s/initrd", base, digest), "initrd");
    assert_int_equal(symlink("../kernel1/kernel", name("%s/images/%s/kernel", base, digest)), 0);
    put(name("%s/images/%s/image.json", base, digest),
        "{\"recipe\": \"plain\", \"kernel_release\": \"6.1\"}");
}

static void a_finished_image_needs_no_builder(void **state)
{
    struct nl_store *store = open_store("finished");
    struct nl_image_request request = {.recipe = "plain"};
    cleanup_plan struct nl_plan *plan = NULL;
    cleanup_image struct nl_image *image = NULL, *moved = NULL;
    bool built = true;

    (void)state;
    put_resolved(store, "plain", "7");
    plan = plan_for(store, &request);
    put_image(store, plan->image);
    assert_int_equal(nl_image_ensure(store, &request, false, &image, &built, NULL), 0);
    assert_false(built);
    assert_string_equal(image->digest, plan->image);
    assert_string_equal(image->recipe, "plain");
    assert_string_equal(image->kernel_release, "6.1");
    assert_string_equal(image->kernel, name("finished/images/kernel1/kernel"));
    assert_null(image->disk);
    assert_null(image->vmlinux);
    nl_store_close(&store);

    assert_int_equal(rename(name("finished"), name("elsewhere")), 0);
    store = open_store("elsewhere");
    assert_int_equal(nl_image_ensure(store, &request, false, &moved, &built, NULL), 0);
    assert_false(built);
    assert_string_equal(moved->kernel, name("elsewhere/images/kernel1/kernel"));
    nl_store_close(&store);
}

/* An entry last used DAYS ago, made of what ABOUT names. */
static void put_entry(const char *digest, const char *about, int days)
{
    const time_t then = time(NULL) - days * 86400;
    const struct utimbuf times = {then, then};

    put(name("old/images/%s/image.json", digest), about);
    assert_int_equal(utime(name("old/images/%s", digest), &times), 0);
}

static bool is_there(const char *digest)
{
    return access(name("old/images/%s", digest), F_OK) == 0;
}

static void images_nobody_needs_are_removed(void **state)
{
    struct nl_store *store = open_store("old");
    struct nl_image_request request = {.recipe = "plain"};
    cleanup_plan struct nl_plan *plan = NULL;
    cleanup_image struct nl_image *held = NULL;
    cleanup_json json_t *would = NULL, *removed = NULL, *rest = NULL, *none = NULL;
    const time_t then = time(NULL) - 100 * 86400;
    const struct utimbuf times = {then, then};

    (void)state;
    put_resolved(store, "plain", "7");
    plan = plan_for(store, &request);
    put_image(store, plan->image);
    assert_int_equal(nl_image_ensure(store, &request, false, &held, NULL, NULL), 0);
    put_entry("unused", "{\"recipe\": \"mine\", \"layers\": {\"system\": \"over\"}}", 40);
    put_entry("over", "{\"layer\": \"system\", \"over\": \"under\"}", 90);
    put_entry("under", "{\"layer\": \"debian\"}", 90);
    put_entry("used", "{\"recipe\": \"mine\", \"layers\": {\"debian\": \"shared\"}}", 20);
    put_entry("shared", "{\"layer\": \"debian\"}", 90);
    assert_int_equal(utime(name("old/images/%s", plan->image), &times), 0);

    assert_int_equal(nl_store_collect(store, 30 * 86400, true, &would, NULL), 0);
    assert_int_equal(json_array_size(would), 3);
    assert_true(is_there("unused"));
    assert_int_equal(nl_store_collect(store, 30 * 86400, false, &removed, NULL), 0);
    assert_int_equal(json_array_size(removed), 3);
    /* Nothing goes before what is made of it. */
    assert_string_equal(nl_dig_string(json_array_get(removed, 0), "image", ""), "unused");
    assert_string_equal(nl_dig_string(json_array_get(removed, 1), "image", ""), "over");
    assert_true(nl_dig_number(json_array_get(removed, 0), "bytes", 0) > 0);
    assert_false(is_there("unused") || is_there("over") || is_there("under"));
    assert_true(is_there("used") && is_there("shared") && is_there(plan->image));

    /* No recipe comes to it any more, but a run holds it. */
    assert_int_equal(unlink(name("old/resolved/plain.json")), 0);
    assert_int_equal(nl_store_collect(store, 0, false, &rest, NULL), 0);
    assert_true(is_there(plan->image));
    assert_false(is_there("used"));
    nl_image_free(&held);
    assert_int_equal(nl_store_collect(store, 0, false, &none, NULL), 0);
    assert_false(is_there(plan->image));
    nl_store_close(&store);
}

static void a_store_in_use_is_not_collected(void **state)
{
    cleanup_store struct nl_store *store = open_store("busy");
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *removed = NULL;
    cleanup_close int lock = -1;

    (void)state;
    assert_int_equal(nl_store_lock(store, false, nl_deadline_in(1), &lock, NULL), 0);
    assert_int_equal(nl_store_collect(store, 0, false, &removed, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "another nestlab is using the store"));
}

static void warm_leftovers_go_with_their_process(void **state)
{
    cleanup_store struct nl_store *store = open_store("warm");
    pid_t dead = fork();

    (void)state;
    if (dead == 0)
        _exit(0);
    waitpid(dead, NULL, 0);
    put(name("warm/warm/abc.%d/x.xml", (int)dead), "x");
    put(name("warm/warm/abc.%d/x.xml", (int)getpid()), "x");
    put(name("warm/warm/abc/x.xml"), "x");
    assert_int_equal(nl_store_clean(store, NULL), 0);
    assert_int_equal(access(name("warm/warm/abc.%d", (int)dead), F_OK), -1);
    assert_int_equal(access(name("warm/warm/abc.%d", (int)getpid()), F_OK), 0);
    assert_int_equal(access(name("warm/warm/abc"), F_OK), 0);
}

static void a_key_that_others_can_read_is_made_private(void **state)
{
    struct nl_store *store = open_store("open");
    cleanup_free char *key = strdup(nl_store_client_key(store));
    struct stat st;

    (void)state;
    nl_store_close(&store);
    assert_int_equal(chmod(key, 0644), 0);
    store = open_store("open");
    assert_int_equal(stat(key, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    nl_store_close(&store);
}

static void a_damaged_image_is_reported(void **state)
{
    cleanup_store struct nl_store *store = open_store("damaged");
    struct nl_image_request request = {.recipe = "plain"};
    cleanup_plan struct nl_plan *plan = NULL;
    cleanup_error struct nl_error *err = NULL;
    struct nl_image *image = NULL;

    (void)state;
    put_resolved(store, "plain", "7");
    plan = plan_for(store, &request);
    put_image(store, plan->image);
    unlink(name("damaged/images/kernel1/kernel"));
    assert_int_equal(nl_image_ensure(store, &request, false, &image, NULL, &err), -1);
    assert_non_null(strstr(nl_error_hint(err), plan->image));
    nl_error_free(&err);
    put(name("damaged/images/%s/image.json", plan->image), "{");
    assert_int_equal(nl_image_ensure(store, &request, false, &image, NULL, &err), -1);
    assert_non_null(nl_error_hint(err));
}

static void put_modules(void)
{
    put(name("modules/modules.dep"),
        "kernel/virtio/virtio.ko: kernel/virtio/virtio_ring.ko\n"
        "kernel/virtio/virtio_ring.ko:\n"
        "kernel/block/virtio_blk.ko.xz: kernel/virtio/virtio.ko kernel/virtio/virtio_ring.ko\n"
        "kernel/block/virtio_blk_extra.ko: kernel/block/virtio_blk.ko.xz\n"
        "kernel/net/nf-tables.ko.zst:\n");
    put(name("modules/modules.builtin"), "kernel/fs/ext4/ext4.ko\n");
}

static void modules_come_after_what_they_need(void **state)
{
    char *names[] = {"virtio-blk", "ext4", "virtio", "nf_tables", NULL};
    static const char *const expected[] = {
        "kernel/virtio/virtio_ring.ko", "kernel/virtio/virtio.ko", "kernel/block/virtio_blk.ko.xz",
        "kernel/net/nf-tables.ko.zst"};
    NL_CLEANUP(nl_cleanup_strvp) char **paths = NULL;

    (void)state;
    put_modules();
    assert_int_equal(nl_modules_resolve(name("modules"), names, &paths, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(paths[i], expected[i]);
    assert_null(paths[4]);
}

static void a_module_that_is_nowhere_is_an_error(void **state)
{
    char *missing[] = {"virtio_console", NULL}, *builtin[] = {"ext4", NULL};
    cleanup_error struct nl_error *err = NULL;
    NL_CLEANUP(nl_cleanup_strvp) char **paths = NULL;

    (void)state;
    put_modules();
    assert_int_equal(nl_modules_resolve(name("modules"), missing, &paths, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "virtio_console"));
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    assert_int_equal(nl_modules_resolve(name("modules"), builtin, &paths, NULL), 0);
    assert_null(paths[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_private_and_stay),
        cmocka_unit_test(damaged_keys_are_reported),
        cmocka_unit_test(recipes_are_listed_and_read),
        cmocka_unit_test(wrong_recipes_are_refused),
        cmocka_unit_test(an_unknown_recipe_names_the_known),
        cmocka_unit_test(shipped_recipes_are_right),
        cmocka_unit_test(without_an_answer_of_apt_there_is_no_plan),
        cmocka_unit_test(layers_are_shared_and_separate),
        cmocka_unit_test(a_change_renews_what_depends_on_it),
        cmocka_unit_test(a_bzimage_is_told_from_other_files),
        cmocka_unit_test(a_kernel_says_its_release),
        cmocka_unit_test(modules_are_found_where_users_have_them),
        cmocka_unit_test(a_kernel_of_ones_own_is_a_layer),
        cmocka_unit_test(debs_are_a_layer_in_their_order),
        cmocka_unit_test(wrong_requests_are_the_users),
        cmocka_unit_test(parts_of_a_digest_do_not_run_together),
        cmocka_unit_test(an_entry_appears_when_it_is_finished),
        cmocka_unit_test(what_is_not_committed_is_removed),
        cmocka_unit_test(the_second_of_two_makers_waits),
        cmocka_unit_test(cleaning_spares_the_living),
        cmocka_unit_test(a_finished_image_needs_no_builder),
        cmocka_unit_test(images_nobody_needs_are_removed),
        cmocka_unit_test(a_store_in_use_is_not_collected),
        cmocka_unit_test(warm_leftovers_go_with_their_process),
        cmocka_unit_test(a_key_that_others_can_read_is_made_private),
        cmocka_unit_test(a_damaged_image_is_reported),
        cmocka_unit_test(modules_come_after_what_they_need),
        cmocka_unit_test(a_module_that_is_nowhere_is_an_error),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
