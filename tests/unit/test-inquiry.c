/*
 * test-inquiry.c - evidence of all sources through rules: files, folders, archives, documents, and
 * what is hostile among them.
 */
#include "folder.h"

#include "cleanup.h"
#include "dig.h"
#include "folders.h"
#include "inquiry.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>

static const char rules_text[] =
    "{\"subject\": \"s\", \"rules\": [\n"
    "{\"id\": \"nested-off\", \"severity\": \"error\", \"in\": [\"module-parameter\", "
    "\"kernel-log\"],\n"
    " \"patterns\": [\"^kvm_amd[.]nested=0\", \"Nested Virtualization disabled\"],\n"
    " \"vendors\": [\"amd\"], \"meaning\": \"off\", \"remedy\": \"on\", \"source\": \"s\",\n"
    " \"match\": [\"x\"], \"no_match\": [\"x\"]},\n"
    "{\"id\": \"entry-failed\", \"severity\": \"error\", \"in\": [\"kernel-log\"], \"about\": "
    "\"guest\",\n"
    " \"patterns\": [\"entry failed, hardware error (?<code>0x[0-9a-f]+)\"], \"kernels\": "
    "\"5.10-\",\n"
    " \"meaning\": \"m\", \"remedy\": \"r\", \"source\": \"s\", \"values\": {\"code\": {\"0x7\": "
    "\"seven\"}},\n"
    " \"match\": [\"x\"], \"no_match\": [\"x\"]},\n"
    "{\"id\": \"cpu-hides-svm\", \"severity\": \"warning\", \"in\": [\"domain-xml\"],\n"
    " \"patterns\": [\"^/domain/cpu/feature name=\\\"svm\\\" policy=\\\"disable\\\"\"], \"about\": "
    "\"guest\",\n"
    " \"meaning\": \"m\", \"remedy\": \"r\", \"source\": \"s\", \"match\": [\"x\"], \"no_match\": "
    "[\"x\"]},\n"
    "{\"id\": \"module-vbox\", \"severity\": \"warning\", \"in\": [\"lsmod\"], \"patterns\": "
    "[\"^vboxdrv [0-9]\"],\n"
    " \"meaning\": \"m\", \"remedy\": \"r\", \"source\": \"s\", \"match\": [\"x\"], \"no_match\": "
    "[\"x\"]},\n"
    "{\"id\": \"nested-on\", \"severity\": \"ok\", \"in\": [\"any\"],\n"
    " \"patterns\": [\"Nested Virtualization enabled\"], \"meaning\": \"m\", \"remedy\": \"r\",\n"
    " \"source\": \"s\", \"match\": [\"x\"], \"no_match\": [\"x\"]}]}";

static struct nl_rules *rules;
static struct nl_inquiry *inquiry;

static int begin(void **state)
{
    cleanup_error struct nl_error *err = NULL;

    if (set_up(state) < 0 ||
        nl_rules_parse("r.json", rules_text, strlen(rules_text), &rules, &err) < 0) {
        print_error("%s\n", nl_error_message(err));
        return -1;
    }
    inquiry = nl_inquiry_new(rules);
    return inquiry ? 0 : -1;
}

static int end(void **state)
{
    nl_inquiry_free(&inquiry);
    nl_rules_free(&rules);
    return tear_down(state);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

static void put_bytes(const char *name, const char *bytes, size_t length)
{
    cleanup_free char *path = in_base(name);
    cleanup_free char *folder = strdup(path);
    cleanup_fclose FILE *file = NULL;

    *strrchr(folder, '/') = '\0';
    assert_int_equal(nl_make_folders(folder, NL_EXIT_LAB, NULL), 0);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
}

static void put(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

/* Read NAME in the test's folder, and conclude. */
static json_t *find(const char *name)
{
    cleanup_free char *path = in_base(name);
    cleanup_error struct nl_error *err = NULL;

    if (nl_inquiry_path(inquiry, path, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    nl_inquiry_conclude(inquiry);
    return nl_inquiry_findings(inquiry, NL_SEVERITY_OK);
}

static void assert_finding(const json_t *findings, size_t i, const char *rule, const char *layer,
                           const char *file, int line)
{
    const json_t *finding = json_array_get(findings, i);
    const json_t *place = json_array_get(nl_dig(finding, "places"), 0);
    const char *found = nl_dig_string(place, "file", "");

    assert_string_equal(nl_dig_string(finding, "rule", ""), rule);
    assert_string_equal(nl_dig_string(finding, "layer", ""), layer);
    if (strlen(found) < strlen(file) || strcmp(found + strlen(found) - strlen(file), file) != 0)
        fail_msg("%s is in %s", rule, found);
    assert_int_equal(nl_dig_integer(place, "line", 0), line);
}

static const char host_log[] =
    "[    0.000000] Linux version 5.4.0-1\n"
    "[    0.000001] Booting paravirtualized kernel on bare hardware\n"
    "[    1.000000] kvm: entry failed, hardware error 0x7\r\n"
    "[    1.000000] kvm: \x1b[1mentry\x1b[0m failed, hardware error 0x7\n"
    "[    1.000000] kvm: entry failed, hardware error 0x8\n";

static void test_log(void **state)
{
    cleanup_json json_t *findings = NULL;

    (void)state;
    put("host.txt", host_log);
    findings = find("host.txt");
    assert_int_equal(json_array_size(findings), 2);
    /* What the lines say differs: two findings, of the guest of the machine that wrote them. */
    assert_finding(findings, 0, "entry-failed", "L1", "/host.txt", 5);
    assert_finding(findings, 1, "entry-failed", "L1", "/host.txt", 3);
    assert_string_equal(nl_dig_string(json_array_get(findings, 1), "values", ""), "0x7: seven");
    assert_int_equal(nl_dig_integer(json_array_get(findings, 1), "count", 0), 2);
    assert_string_equal(nl_dig_string(json_array_get(findings, 1), "line", ""),
                        "kvm: entry failed, hardware error 0x7");
    assert_string_equal(nl_dig_string(json_array_get(findings, 1), "evidence_layer", ""), "L0");
    assert_string_equal(nl_dig_string(json_array_get(findings, 1), "note", ""),
                        "the rule is for kernels 5.10-, this one is 5.4.0-1");
    assert_int_equal(nl_inquiry_recognised(inquiry), 1);
    assert_int_equal(nl_inquiry_failed(inquiry), 0);
}

/* What a sosreport looks like, as a folder. */
static void put_report(void)
{
    put("r/proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu vme svm\n");
    put("r/sys/module/kvm_amd/parameters/nested", "0\n");
    put("r/lsmod",
        "Module                  Size  Used by\nvboxdrv               602112  2 vboxnet\n");
    put("r/d.xml",
        "<domain type='kvm'>\n<cpu>\n<feature name='svm' policy='disable'/>\n</cpu></domain>");
    put("r/readme", "nothing of interest\n");
}

static void test_folder(void **state)
{
    cleanup_json json_t *findings = NULL;
    cleanup_json json_t *evidence = NULL;
    cleanup_json json_t *errors = NULL;

    (void)state;
    put_report();
    findings = find("r");
    assert_int_equal(json_array_size(findings), 3);
    /* Errors first, then by layer; the parameter's layer is known by the processor's flags. */
    assert_finding(findings, 0, "nested-off", "L0", "/r/sys/module/kvm_amd/parameters/nested", 1);
    assert_finding(findings, 1, "module-vbox", "L0", "/r/lsmod", 2);
    assert_finding(findings, 2, "cpu-hides-svm", "L1", "/r/d.xml", 3);
    evidence = nl_inquiry_evidence(inquiry);
    assert_int_equal(json_array_size(evidence), 5);
    assert_int_equal(nl_inquiry_recognised(inquiry), 4);
    errors = nl_inquiry_findings(inquiry, NL_SEVERITY_ERROR);
    assert_int_equal(json_array_size(errors), 1);
}

/* The rule is for AMD's processors. */
static void test_other_vendor(void **state)
{
    cleanup_json json_t *findings = NULL;

    (void)state;
    put("r/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\nflags : fpu vme vmx\n");
    put("r/modprobe.d/kvm.conf", "options kvm_amd nested=0\n");
    findings = find("r");
    assert_int_equal(json_array_size(findings), 0);
}

/* ---- Archives ---- */

static void add_entry(struct archive *archive, const char *name, int type, const char *text)
{
    struct archive_entry *entry = archive_entry_new();

    archive_entry_set_pathname(entry, name);
    archive_entry_set_filetype(entry, (unsigned)type);
    archive_entry_set_perm(entry, 0644);
    if (type == AE_IFLNK)
        archive_entry_set_symlink(entry, text);
    else
        archive_entry_set_size(entry, (la_int64_t)strlen(text));
    assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
    if (type == AE_IFREG)
        archive_write_data(archive, text, strlen(text));
    archive_entry_free(entry);
}

static struct archive *new_archive(const char *name, const char *filter)
{
    cleanup_free char *path = in_base(name);
    struct archive *archive = archive_write_new();

    if (strcmp(filter, "none") != 0)
        assert_int_equal(archive_write_add_filter_by_name(archive, filter), ARCHIVE_OK);
    assert_int_equal(archive_write_set_format_pax_restricted(archive), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(archive, path), ARCHIVE_OK);
    return archive;
}

static void test_archives(void **state)
{
    static const char *const filters[] = {"none", "gzip", "bzip2", "xz",
                                          "zstd", "lz4",  "lzma",  "lzip"};

    (void)state;
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        struct archive *archive = new_archive("case.tar", filters[i]);
        cleanup_json json_t *findings = NULL;

        add_entry(archive, "./host/host.txt", AE_IFREG, host_log);
        add_entry(archive, "../../etc/bad\nname", AE_IFREG, "kvm: Nested Virtualization enabled\n");
        add_entry(archive, "link", AE_IFLNK, "/etc/passwd");
        archive_write_free(archive);
        nl_inquiry_free(&inquiry);
        inquiry = nl_inquiry_new(rules);
        findings = find("case.tar");
        if (json_array_size(findings) != 3)
            fail_msg("%s: %zu findings", filters[i], json_array_size(findings));
        assert_finding(findings, 1, "entry-failed", "L1", "/case.tar/host/host.txt", 3);
        assert_finding(findings, 2, "nested-on", "L0", "/case.tar/../../etc/bad\\x0aname", 1);
        assert_int_equal(nl_inquiry_failed(inquiry), 0);
    }
}

static size_t read_all(const char *name, char *bytes, size_t size)
{
    cleanup_free char *path = in_base(name);
    cleanup_fclose FILE *file = fopen(path, "r");

    assert_non_null(file);
    return fread(bytes, 1, size, file);
}

/* An archive that ends early gives what it has, and is told to be broken. */
static void test_truncated_archive(void **state)
{
    struct archive *archive;
    static char bytes[65536];
    cleanup_json json_t *findings = NULL;
    size_t n;

    (void)state;
    archive = new_archive("whole.tar", "none");
    add_entry(archive, "host.txt", AE_IFREG, host_log);
    add_entry(archive, "more.txt", AE_IFREG, host_log);
    archive_write_free(archive);
    n = read_all("whole.tar", bytes, sizeof(bytes));
    assert_true(n > 1700);
    put_bytes("cut.tar", bytes, 1700);
    findings = find("cut.tar");
    assert_int_equal(json_array_size(findings), 2);
    /* The file that is cut, and the archive. */
    assert_int_equal(nl_inquiry_failed(inquiry), 2);
}

static void assert_unread(const char *why, bool failed)
{
    cleanup_json json_t *unread = nl_inquiry_unread(inquiry);
    const json_t *last = json_array_get(unread, json_array_size(unread) - 1);

    if (!strstr(nl_dig_string(last, "why", ""), why) || nl_dig_true(last, "failed") != failed)
        fail_msg("not \"%s\": %s", why, nl_dig_string(last, "why", "nothing"));
}

/* What only begins like an archive, and one without files: neither is passed over in silence. */
static void test_hollow_archives(void **state)
{
    struct archive *archive = new_archive("hollow.tar.gz", "gzip");
    static const char garbage[] = "\x1f\x8b\x08garbage";

    (void)state;
    archive_write_free(archive);
    json_decref(find("hollow.tar.gz"));
    assert_unread("nothing in it", false);
    put_bytes("garbage.gz", garbage, sizeof(garbage) - 1);
    json_decref(find("garbage.gz"));
    assert_unread("a broken archive", true);
    assert_int_equal(nl_inquiry_failed(inquiry), 1);
}

/* Archives inside archives, up to a limit; a compressed file is one as well. */
static void test_nested_archives(void **state)
{
    static char bytes[65536];
    size_t n;

    (void)state;
    put("inner", host_log);
    for (int depth = 1; depth <= 5; depth++) {
        struct archive *archive = new_archive("outer", "gzip");
        struct archive_entry *entry = archive_entry_new();
        cleanup_json json_t *findings = NULL;

        n = read_all("inner", bytes, sizeof(bytes));
        archive_entry_set_pathname(entry, "in");
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_size(entry, (la_int64_t)n);
        archive_write_header(archive, entry);
        archive_write_data(archive, bytes, n);
        archive_entry_free(entry);
        archive_write_free(archive);
        nl_inquiry_free(&inquiry);
        inquiry = nl_inquiry_new(rules);
        findings = find("outer");
        assert_int_equal(json_array_size(findings), depth <= 4 ? 2 : 0);
        assert_int_equal(nl_inquiry_failed(inquiry), depth <= 4 ? 0 : 1);
        n = read_all("outer", bytes, sizeof(bytes));
        put_bytes("inner", bytes, n);
    }
}

static void test_compressed_file(void **state)
{
    cleanup_free char *path = in_base("host.txt.gz");
    struct archive *archive = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    cleanup_json json_t *findings = NULL;

    (void)state;
    archive_write_add_filter_gzip(archive);
    archive_write_set_format_raw(archive);
    archive_write_open_filename(archive, path);
    archive_entry_set_pathname(entry, "x");
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_write_header(archive, entry);
    archive_write_data(archive, host_log, strlen(host_log));
    archive_entry_free(entry);
    archive_write_free(archive);
    findings = find("host.txt.gz");
    assert_int_equal(json_array_size(findings), 2);
    assert_finding(findings, 0, "entry-failed", "L1", "/host.txt.gz", 5);
}

/* ---- What is not to be read ---- */

static void test_special_files(void **state)
{
    cleanup_free char *fifo = in_base("r/fifo");
    cleanup_free char *loop = in_base("r/loop");
    cleanup_free char *link = in_base("r/link");
    cleanup_json json_t *findings = NULL;
    cleanup_json json_t *unread = NULL;

    (void)state;
    put("host.txt", host_log);
    put("r/x", "text\n");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(symlink(".", loop), 0);
    assert_int_equal(symlink("../host.txt", link), 0);
    findings = find("r");
    assert_int_equal(json_array_size(findings), 0);
    unread = nl_inquiry_unread(inquiry);
    assert_int_equal(json_array_size(unread), 3);
    assert_int_equal(nl_inquiry_failed(inquiry), 0);
}

static void test_wrong_paths(void **state)
{
    static const char *const paths[] = {"none", "fifo"};
    cleanup_free char *fifo = in_base("fifo");

    (void)state;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *path = in_base(paths[i]);
        cleanup_error struct nl_error *err = NULL;

        assert_int_equal(nl_inquiry_path(inquiry, path, &err), -1);
        assert_int_equal(nl_error_status(err), NL_EXIT_LAB);
        assert_non_null(strstr(nl_error_message(err), path));
    }
}

static void test_deep_folders(void **state)
{
    char name[512] = "r";

    (void)state;
    for (int i = 0; i < 40; i++)
        strcat(name, "/d");
    strcat(name, "/host.txt");
    put(name, host_log);
    json_decref(find("r"));
    assert_int_equal(nl_inquiry_failed(inquiry), 1);
    assert_int_equal(nl_inquiry_recognised(inquiry), 0);
}

static void test_broken_document(void **state)
{
    cleanup_json json_t *unread = NULL;

    (void)state;
    put("a.json", "{\"nestlab\": {\"document\": 1}");
    put("b.json", "{\"nestlab\": {\"document\": 1}}");
    json_decref(find("a.json"));
    json_decref(find("b.json"));
    unread = nl_inquiry_unread(inquiry);
    assert_int_equal(json_array_size(unread), 2);
    assert_int_equal(nl_inquiry_failed(inquiry), 2);
}

/* A document's logs are its layers', whatever the kernels in them say. */
static void test_document(void **state)
{
    cleanup_json json_t *document =
        json_load_file(NL_SOURCE "/tests/fixtures/passed.json", 0, NULL);
    json_t *layer = json_array_get(json_object_get(document, "layers"), 1);
    json_t *records = json_object_get(json_object_get(layer, "log"), "records");
    json_t *parameters = json_object_get(
        json_object_get(json_object_get(json_object_get(layer, "facts"), "modules"), "kvm_amd"),
        "parameters");
    cleanup_json json_t *findings = NULL;
    size_t n = json_array_size(records);

    (void)state;
    json_array_append_new(records,
                          json_pack("{s:i, s:i, s:i, s:s}", "seq", 99, "level", 4, "time_us", 9,
                                    "text", "kvm: entry failed, hardware error 0x7"));
    assert_non_null(parameters);
    json_object_set_new(parameters, "nested", json_string("0"));
    nl_inquiry_document(inquiry, "d.json", document);
    nl_inquiry_conclude(inquiry);
    findings = nl_inquiry_findings(inquiry, NL_SEVERITY_WARNING);
    assert_int_equal(json_array_size(findings), 2);
    assert_finding(
        findings, 0, "nested-off", "L1", "d.json: L1: facts",
        (int)nl_dig_integer(json_array_get(nl_dig(json_array_get(findings, 0), "places"), 0),
                            "line", -1));
    assert_finding(findings, 1, "entry-failed", "L2", "d.json: L1: kernel log", (int)n + 1);
}

/* The same in several files of a machine is one finding. */
static void test_places(void **state)
{
    cleanup_json json_t *findings = NULL;

    (void)state;
    for (int i = 0; i < 12; i++) {
        char name[32];
        snprintf(name, sizeof(name), "r/%02d.log", i);
        put(name, "[    1.000000] kvm_amd: Nested Virtualization disabled\n");
    }
    findings = find("r");
    assert_int_equal(json_array_size(findings), 1);
    assert_int_equal(nl_dig_integer(json_array_get(findings, 0), "count", 0), 12);
    assert_int_equal(json_array_size(nl_dig(json_array_get(findings, 0), "places")), 8);
    assert_int_equal(nl_dig_integer(json_array_get(findings, 0), "more_places", 0), 4);
    assert_finding(findings, 0, "nested-off", "an unknown layer", "/r/00.log", 1);
}

/* Carriage returns and NULs in the middle, and a journal. */
static void test_odd_lines(void **state)
{
    static const char log[] =
        "[    0.1] x\n\0\0\0[    1.0] kvm_amd: Nested\0 Virtualization disabled\n"
        "1%\r2%\r[    1.0] kvm: entry failed, hardware error 0x8\r\n";
    cleanup_json json_t *findings = NULL;

    (void)state;
    put_bytes("odd.log", log, sizeof(log) - 1);
    put("journal.json",
        "{\"MESSAGE\":\"Nested Virtualization disabled\",\"SYSLOG_IDENTIFIER\":\"kernel\"}\n");
    json_decref(find("odd.log"));
    findings = find("journal.json");
    assert_int_equal(json_array_size(findings), 3);
    assert_finding(findings, 0, "entry-failed", "its guest", "/odd.log", 3);
    assert_finding(findings, 1, "nested-off", "an unknown layer", "/odd.log", 2);
    assert_finding(findings, 2, "nested-off", "an unknown layer", "/journal.json", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_log),
        TEST(test_folder),
        TEST(test_other_vendor),
        TEST(test_archives),
        TEST(test_truncated_archive),
        TEST(test_hollow_archives),
        TEST(test_nested_archives),
        TEST(test_compressed_file),
        TEST(test_special_files),
        TEST(test_wrong_paths),
        TEST(test_deep_folders),
        TEST(test_broken_document),
        TEST(test_document),
        TEST(test_places),
        TEST(test_odd_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
