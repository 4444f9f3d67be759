/*
 * test-builder-parts.c - what the builder does by itself: packages, kernels, apt sources, the
 * initramfs.
 */
#include "builder.h"

#include <archive_entry.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char root[] = "/tmp/nestlab-test-builder-XXXXXX";

static char *name(const char *relative)
{
    static char names[16][512];
    static unsigned int next;
    char *out = names[next++ % 16];

    snprintf(out, 512, "%s/%s", root, relative);
    return out;
}

static void put(const char *path, const void *bytes, size_t length)
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

static void put_text(const char *path, const char *text)
{
    put(path, text, strlen(text));
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return nl_remove_tree(root, NULL);
}

/* One file of a package; TARGET not NULL makes it a symbolic link. */
struct member {
    const char *path;
    const char *content;
    const char *target;
};

static void add_member(struct archive *archive, const struct member *member, size_t length)
{
    struct archive_entry *entry = archive_entry_new();

    archive_entry_set_pathname(entry, member->path);
    archive_entry_set_mode(entry, (member->target ? S_IFLNK : S_IFREG) | 0644);
    if (member->target)
        archive_entry_set_symlink(entry, member->target);
    archive_entry_set_size(entry, (la_int64_t)length);
    assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
    if (length)
        assert_int_equal(archive_write_data(archive, member->content, length), length);
    archive_entry_free(entry);
}

/* A .deb with those members; COMPRESS adds a filter to its data.tar. */
static void put_deb(const char *path, const struct member *members, size_t n,
                    int (*compress)(struct archive *))
{
    struct archive *deb = archive_write_new(), *tar = archive_write_new();
    static char bytes[1 << 16];
    size_t used = 0;
    struct member data = {.path = "data.tar.x", .content = bytes};
    struct member version = {.path = "debian-binary", .content = "2.0\n"};

    archive_write_set_format_gnutar(tar);
    compress(tar);
    assert_int_equal(archive_write_open_memory(tar, bytes, sizeof(bytes), &used), ARCHIVE_OK);
    for (size_t i = 0; i < n; i++)
        add_member(tar, &members[i], members[i].content ? strlen(members[i].content) : 0);
    archive_write_close(tar);
    archive_write_free(tar);

    archive_write_set_format_ar_svr4(deb);
    assert_int_equal(archive_write_open_filename(deb, path), ARCHIVE_OK);
    add_member(deb, &version, 4);
    add_member(deb, &data, used);
    archive_write_close(deb);
    archive_write_free(deb);
}

static char *all_below(const char *path, void *data)
{
    return strncmp(path, "wanted/", 7) == 0 ? builder_text("%s/%s", (char *)data, path + 7) : NULL;
}

static void assert_content(const char *path, const char *expected)
{
    cleanup_free char *text = NULL;

    assert_int_equal(builder_read_text(path, &text, NULL), 0);
    assert_string_equal(text, expected);
}

static void a_package_gives_what_is_wanted(void **state)
{
    static const struct member members[] = {
        {.path = "./wanted/deep/a", .content = "content a"},
        {.path = "./other/b", .content = "content b"},
        {.path = "wanted/c", .content = "content c"},
        {.path = "./wanted/link", .target = "c"},
    };
    static int (*const filters[])(struct archive *) = {
        archive_write_add_filter_xz, archive_write_add_filter_gzip, archive_write_add_filter_zstd,
        archive_write_add_filter_none};

    (void)state;
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        put_deb(name("some.deb"), members, 4, filters[i]);
        assert_int_equal(builder_unpack_deb(name("some.deb"), all_below, name("out"), NULL), 0);
        assert_content(name("out/deep/a"), "content a");
        assert_content(name("out/link"), "content c");
        assert_int_equal(access(name("out/b"), F_OK), -1);
        nl_remove_tree(name("out"), NULL);
    }
}

static void a_package_cannot_write_elsewhere(void **state)
{
    static const struct member climbing[] = {{.path = "wanted/../../climbed", .content = "x"}};
    struct member through[] = {{.path = "wanted/way", .target = root},
                               {.path = "wanted/way/through", .content = "x"}};

    (void)state;
    put_deb(name("climbing.deb"), climbing, 1, archive_write_add_filter_gzip);
    assert_int_equal(builder_unpack_deb(name("climbing.deb"), all_below, name("deep/out"), NULL),
                     -1);
    assert_int_equal(access(name("climbed"), F_OK), -1);
    put_deb(name("through.deb"), through, 2, archive_write_add_filter_gzip);
    builder_unpack_deb(name("through.deb"), all_below, name("out2"), NULL);
    assert_int_equal(access(name("through"), F_OK), -1);
}

static void what_is_no_package_is_said(void **state)
{
    static const char *const texts[] = {"", "not one", "!<arch>\n", "!<arch>\ndata.tar.xz      "};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cleanup_error struct nl_error *err = NULL;

        put_text(name("no.deb"), texts[i]);
        assert_int_equal(builder_unpack_deb(name("no.deb"), all_below, root, &err), -1);
        assert_non_null(strstr(nl_error_message(err), "no.deb"));
    }
}

static void packages_that_are_installed_are_listed(void **state)
{
    cleanup_json json_t *manifest =
        builder_dpkg_manifest("Package: a\nStatus: install ok installed\nVersion: 1:2-3\n\n"
                              "Package: gone\nStatus: deinstall ok config-files\nVersion: 9\n\n"
                              "Package: b\nEssential: yes\nStatus: install ok installed\n"
                              "Description: x\n Version: 7\nVersion: 4");

    (void)state;
    assert_int_equal(json_object_size(manifest), 2);
    assert_string_equal(json_string_value(json_object_get(manifest, "a")), "1:2-3");
    assert_string_equal(json_string_value(json_object_get(manifest, "b")), "4");
}

/* An ELF file with one note. */
struct tiny_kernel {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    Elf64_Nhdr note;
    char owner[4];
    char entry[4];
    char rest[4000];
};

/* One with a segment to load as well. */
struct big_kernel {
    struct tiny_kernel tiny;
    Elf64_Phdr note;
    Elf64_Phdr load;
    char content[20000];
};

static void make_kernel(struct tiny_kernel *kernel, unsigned int note_type)
{
    *kernel = (struct tiny_kernel){
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_phoff = offsetof(struct tiny_kernel, segment),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 1},
        .segment = {.p_type = PT_NOTE,
                    .p_offset = offsetof(struct tiny_kernel, note),
                    .p_filesz = sizeof(Elf64_Nhdr) + 8},
        .note = {.n_namesz = 4, .n_descsz = 4, .n_type = note_type},
        .owner = "Xen",
    };
}

/* A bzImage of release "6.6.6-test" around KERNEL. TRAILER: four bytes after the payload that
 * count. */
static size_t make_bzimage(unsigned char *bzimage, size_t size, const void *kernel,
                           size_t kernel_size, int (*compress)(struct archive *), bool trailer)
{
    struct archive *packer = archive_write_new();
    struct member payload = {.path = "vmlinux", .content = (const char *)kernel};
    size_t start = 0x1000, used = 0;
    unsigned int length;

    memset(bzimage, 0, size);
    archive_write_set_format_raw(packer);
    compress(packer);
    archive_write_set_bytes_in_last_block(packer, 1);
    assert_int_equal(archive_write_open_memory(packer, bzimage + start, size - start, &used), 0);
    add_member(packer, &payload, kernel_size);
    archive_write_close(packer);
    archive_write_free(packer);

    for (size_t i = 0; i < 6; i++)
        bzimage[0x202 + i] = (unsigned char)"HdrS\x0f\x02"[i];
    bzimage[0x1f1] = 3; /* sectors of the setup; with the boot sector, 0x800 bytes */
    bzimage[0x20e] = 0x60;
    snprintf((char *)bzimage + 0x260, 64, "6.6.6-test (me@here) #1");
    length = (unsigned int)used + (trailer ? 4 : 0);
    bzimage[0x248 + 1] = 0x08; /* payload_offset: 0x800 */
    memcpy(bzimage + 0x24c, &length, 4);
    return start + length;
}

static unsigned char image[1 << 17];

static void a_kernel_comes_out_of_its_bzimage(void **state)
{
    static const struct {
        int (*compress)(struct archive *);
        bool trailer;
    } ways[] = {
        {archive_write_add_filter_gzip, false}, {archive_write_add_filter_xz, true},
        {archive_write_add_filter_zstd, true},  {archive_write_add_filter_bzip2, true},
        {archive_write_add_filter_lzma, true},
    };
    struct tiny_kernel kernel;

    (void)state;
    make_kernel(&kernel, 18);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        size_t length = make_bzimage(image, sizeof(image), &kernel, sizeof(kernel),
                                     ways[i].compress, ways[i].trailer);
        cleanup_free char *bytes = NULL;
        struct nl_error *err = NULL;
        size_t n = 0;

        put(name("bzImage"), image, length);
        if (builder_extract_vmlinux(name("bzImage"), name("vmlinux"), &err) != 1)
            fail_msg("way %zu: %s", i, nl_error_message(err));
        assert_int_equal(builder_read_decompressed(name("vmlinux"), &bytes, &n, NULL), 0);
        assert_int_equal(n, offsetof(struct tiny_kernel, rest));
        assert_memory_equal(bytes, &kernel, n);
    }
}

/* A kernel whose last segment is DATA bytes that are not zero and then zeros. */
static void zeros_at_the_end_are_not_carried_along(void **state)
{
    static const size_t data[] = {1, 4096, 4097, 0, 20000};
    static const size_t kept[] = {4096, 4096, 8192, 0, 20000};

    (void)state;
    for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
        static struct big_kernel kernel, out;
        cleanup_free char *bytes = NULL;
        size_t length, n = 0;

        memset(&kernel, 0, sizeof(kernel));
        make_kernel(&kernel.tiny, 18);
        kernel.tiny.header.e_phnum = 2;
        kernel.tiny.header.e_shoff = 12345;
        kernel.load = (Elf64_Phdr){.p_type = PT_LOAD,
                                   .p_offset = offsetof(struct big_kernel, content),
                                   .p_filesz = sizeof(kernel.content),
                                   .p_memsz = 30000};
        /* The headers of segments follow one another. */
        kernel.tiny.header.e_phoff = offsetof(struct big_kernel, note);
        kernel.note = kernel.tiny.segment;
        memset(kernel.content, 'x', data[i]);
        length = make_bzimage(image, sizeof(image), &kernel, sizeof(kernel),
                              archive_write_add_filter_gzip, false);
        put(name("bzImage"), image, length);
        assert_int_equal(builder_extract_vmlinux(name("bzImage"), name("vmlinux"), NULL), 1);
        assert_int_equal(builder_read_decompressed(name("vmlinux"), &bytes, &n, NULL), 0);
        assert_in_range(n, offsetof(struct big_kernel, content), sizeof(kernel));
        memset(&out, 0, sizeof(out));
        memcpy(&out, bytes, n);
        assert_int_equal(n, offsetof(struct big_kernel, content) + kept[i]);
        assert_int_equal(out.load.p_filesz, kept[i]);
        assert_int_equal(out.load.p_memsz, 30000);
        assert_int_equal(out.tiny.header.e_shoff, 0);
        assert_memory_equal(out.content, kernel.content, sizeof(out.content));
    }
}

static void a_kernel_without_pvh_has_no_vmlinux(void **state)
{
    struct tiny_kernel kernel;
    size_t length;

    (void)state;
    make_kernel(&kernel, 1);
    length = make_bzimage(image, sizeof(image), &kernel, sizeof(kernel),
                          archive_write_add_filter_xz, true);
    put(name("bzImage"), image, length);
    assert_int_equal(builder_extract_vmlinux(name("bzImage"), name("vmlinux2"), NULL), 0);
    assert_int_equal(access(name("vmlinux2"), F_OK), -1);

    make_kernel(&kernel, 18);
    kernel.segment.p_offset = UINT64_MAX - 4;
    length = make_bzimage(image, sizeof(image), &kernel, sizeof(kernel),
                          archive_write_add_filter_xz, true);
    put(name("bzImage"), image, length);
    assert_int_equal(builder_extract_vmlinux(name("bzImage"), name("vmlinux2"), NULL), 0);

    make_kernel(&kernel, 18);
    kernel.note.n_descsz = UINT32_MAX;
    length = make_bzimage(image, sizeof(image), &kernel, sizeof(kernel),
                          archive_write_add_filter_xz, true);
    put(name("bzImage"), image, length);
    assert_int_equal(builder_extract_vmlinux(name("bzImage"), name("vmlinux2"), NULL), 0);
    assert_int_equal(access(name("vmlinux2"), F_OK), -1);
}

static void a_damaged_kernel_is_refused(void **state)
{
    struct tiny_kernel kernel;
    size_t length;

    (void)state;
    make_kernel(&kernel, 18);
    length = make_bzimage(image, sizeof(image), &kernel, sizeof(kernel),
                          archive_write_add_filter_gzip, false);
    for (size_t cut = 0; cut < length; cut += 97) {
        cleanup_error struct nl_error *err = NULL;

        put(name("cut"), image, cut);
        assert_int_equal(builder_extract_vmlinux(name("cut"), name("vmlinux3"), &err), -1);
        assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
    }
}

/* What is left of SOURCES for bookworm; the caller's. */
static char *filtered(const char *sources, bool stanzas, int *kept)
{
    FILE *in = fmemopen((void *)sources, strlen(sources), "r");
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    *kept = builder_filter_sources(in, out, stanzas, "bookworm");
    fclose(in);
    fclose(out);
    return text;
}

static void sources_of_the_release_are_kept(void **state)
{
    static const char lines[] =
        "# deb http://a/debian bookworm main\n"
        "deb http://a/debian bookworm main contrib\n"
        "deb-src http://a/debian bookworm main\n"
        "deb [arch=amd64 signed-by=/k e y] http://s/debian bookworm-security main\n"
        "deb http://a/debian trixie main\n"
        "deb http://a/debian bookworm-backports main\n"
        "deb http://other/apt bookworm stable\n"
        "\n";
    int kept;
    cleanup_free char *text = filtered(lines, false, &kept);

    (void)state;
    assert_int_equal(kept, 2);
    assert_string_equal(
        text, "deb http://a/debian bookworm main contrib\n"
              "deb [arch=amd64 signed-by=/k e y] http://s/debian bookworm-security main\n");
}

static void stanzas_of_the_release_are_kept(void **state)
{
    static const char stanzas[] =
        "Types: deb deb-src\n"
        "# a comment\n"
        "URIs: http://a/debian\n"
        "Suites: bookworm trixie bookworm-updates\n"
        "Components: main\n"
        "Signed-By:\n"
        " KEY LINE 1\n"
        " .\n"
        "\n"
        "Types: deb\nURIs: http://b/\nSuites: trixie\nComponents: main\n\n"
        "Types: deb\nEnabled: no\nURIs: http://c/\nSuites: bookworm\n"
        "Components: main\n\n"
        "Types: deb-src\nURIs: http://d/\nSuites: bookworm\n"
        "Components: main\n\n"
        "Types: deb\nURIs: http://e/\nSuites: bookworm\n"
        "Components: stable";
    int kept;
    cleanup_free char *text = filtered(stanzas, true, &kept);

    (void)state;
    assert_int_equal(kept, 1);
    assert_string_equal(text, "Types: deb\nSuites: bookworm bookworm-updates\n"
                              "URIs: http://a/debian\nComponents: main\nSigned-By:\n KEY LINE 1\n"
                              " .\n\n");
}

/* Find PATH in the cpio archive; its content is the caller's, NULL if it is not there. */
static char *cpio_content(const char *cpio, const char *path, mode_t *mode)
{
    struct archive *archive = archive_read_new();
    struct archive_entry *entry;
    char *text = NULL;

    archive_read_support_format_cpio(archive);
    assert_int_equal(archive_read_open_filename(archive, cpio, 4096), ARCHIVE_OK);
    while (!text && archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
        const char *link = archive_entry_symlink(entry);

        if (strcmp(archive_entry_pathname(entry), path) != 0)
            continue;
        *mode = archive_entry_mode(entry);
        text = link ? strdup(link) : calloc(1, (size_t)archive_entry_size(entry) + 1);
        if (!link)
            archive_read_data(archive, text, (size_t)archive_entry_size(entry));
    }
    archive_read_free(archive);
    return text;
}

static void assert_in_cpio(const char *cpio, const char *path, mode_t mode, const char *content)
{
    mode_t is = 0;
    cleanup_free char *text = cpio_content(cpio, path, &is);

    if (!text)
        fail_msg("%s is not in the initramfs", path);
    assert_int_equal(is, mode);
    assert_string_equal(text, content);
}

static void the_initramfs_has_agent_modules_and_busybox(void **state)
{
    char *modules[] = {"disk", NULL}, *applets[] = {"sh", NULL};
    struct nl_recipe recipe = {.name = "r",
                               .initrd_modules = modules,
                               .busybox_package = "bb",
                               .busybox_path = "bin/bb",
                               .busybox_applets = applets};
    struct nl_store store = {.path = name("store"), .agent = name("agent")};
    struct nl_plan plan = {.recipe = &recipe, .kernel = "k", .busybox = "b", .image = "i"};
    struct builder builder = {.store = &store, .plan = &plan};
    struct nl_error *err = NULL;
    struct archive *gz = archive_write_new();
    struct member module = {.path = "x", .content = "module disk"};

    (void)state;
    put_text(name("agent"), "the agent");
    put_text(name("store/images/b/busybox"), "busybox");
    put_text(name("store/images/k/kernel"), "kernel");
    put_text(name("store/images/k/image.json"),
             "{\"kernel_release\": \"6.6\", \"modules\": true, \"package\": \"linux\","
             "\"version\": \"1\"}");
    put_text(name("store/images/k/modules/lib/modules/6.6/modules.dep"),
             "kernel/disk.ko.gz: kernel/bus.ko\nkernel/bus.ko:\n");
    put_text(name("store/images/k/modules/lib/modules/6.6/kernel/bus.ko"), "module bus");
    put_text(name("store/images/k/modules/lib/modules/6.6/kernel/other.ko"), "module other");
    archive_write_set_format_raw(gz);
    archive_write_add_filter_gzip(gz);
    archive_write_open_filename(gz,
                                name("store/images/k/modules/lib/modules/6.6/kernel/disk.ko.gz"));
    add_member(gz, &module, strlen(module.content));
    archive_write_close(gz);
    archive_write_free(gz);

    assert_int_equal(mkdir(name("store/images/i"), 0755), 0);
    if (builder_make_image(&builder, name("store/images/i"), "/dev/null", &err) < 0)
        fail_msg("%s", nl_error_message(err));
    assert_in_cpio(name("store/images/i/initrd"), "init", S_IFREG | 0755, "the agent");
    assert_in_cpio(name("store/images/i/initrd"), "lib/modules/disk.ko", S_IFREG | 0644,
                   "module disk");
    assert_in_cpio(name("store/images/i/initrd"), "etc/nestlab/modules", S_IFREG | 0644,
                   "/lib/modules/bus.ko\n/lib/modules/disk.ko\n");
    assert_in_cpio(name("store/images/i/initrd"), "bin/busybox", S_IFREG | 0755, "busybox");
    assert_in_cpio(name("store/images/i/initrd"), "bin/sh", S_IFLNK | 0777, "busybox");
    assert_in_cpio(name("store/images/i/initrd"), "dev/console", S_IFCHR | 0600, "");
    assert_null(cpio_content(name("store/images/i/initrd"), "lib/modules/other.ko", &(mode_t){0}));
    assert_content(name("store/images/i/kernel"), "kernel");
    assert_int_equal(access(name("store/images/i/manifest.json"), F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_package_gives_what_is_wanted),
        cmocka_unit_test(a_package_cannot_write_elsewhere),
        cmocka_unit_test(what_is_no_package_is_said),
        cmocka_unit_test(packages_that_are_installed_are_listed),
        cmocka_unit_test(a_kernel_comes_out_of_its_bzimage),
        cmocka_unit_test(zeros_at_the_end_are_not_carried_along),
        cmocka_unit_test(a_kernel_without_pvh_has_no_vmlinux),
        cmocka_unit_test(a_damaged_kernel_is_refused),
        cmocka_unit_test(sources_of_the_release_are_kept),
        cmocka_unit_test(stanzas_of_the_release_are_kept),
        cmocka_unit_test(the_initramfs_has_agent_modules_and_busybox),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
