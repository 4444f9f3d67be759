/*
 * test-meter.c - reading what the meter wrote, and refusing what it cannot have written.
 */
#include "meter.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/nl-test-meter-XXXXXX";
static char file[64], profile[64];
static struct meter_file *written;
static struct meter_profile *profiled;

/* As the plugin does it. */
static void *make_file(const char *path, size_t size)
{
    cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *memory;

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(file, sizeof(file), "%s/meter", folder);
    snprintf(profile, sizeof(profile), "%s/profile", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(file);
    unlink(profile);
    return rmdir(folder);
}

static int make_files(void **state)
{
    (void)state;
    written = make_file(file, sizeof(*written));
    written->header = (struct meter_header){.magic = METER_FILE_MAGIC,
                                            .version = METER_FILE_VERSION,
                                            .record_size = sizeof(struct meter_record),
                                            .records = METER_RECORDS};
    profiled = make_file(profile, sizeof(*profiled));
    memcpy(profiled->magic, METER_PROFILE_MAGIC, sizeof(profiled->magic));
    profiled->version = METER_FILE_VERSION;
    profiled->places = METER_PLACES;
    return 0;
}

static int drop_files(void **state)
{
    (void)state;
    munmap(written, sizeof(*written));
    munmap(profiled, sizeof(*profiled));
    return 0;
}

static void record(uint64_t instructions)
{
    uint64_t n = written->header.written;
    struct meter_record *one = &written->ring[n % METER_RECORDS];

    one->sequence = n + 1;
    one->counts.instructions[0] = instructions;
    written->header.written = n + 1;
}

static struct nl_meter *open_meter(void)
{
    cleanup_error struct nl_error *err = NULL;
    struct nl_meter *meter = NULL;

    if (nl_meter_new("/lib/meter.so", file, profile, &meter, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    return meter;
}

static void refuse(struct nl_meter *meter, uint64_t before, size_t n, const char *why)
{
    struct meter_record *records = calloc(n + 1, sizeof(*records));
    cleanup_error struct nl_error *err = NULL;

    assert_int_equal(nl_meter_read(meter, before, n, records, &err), -1);
    if (!strstr(nl_error_message(err), why))
        fail_msg("expected: %s\nin: %s", why, nl_error_message(err));
    free(records);
}

static void test_argument(void **state)
{
    cleanup_meter struct nl_meter *meter = open_meter();
    cleanup_error struct nl_error *err = NULL;
    struct nl_meter *comma = NULL;
    char expected[256];

    (void)state;
    snprintf(expected, sizeof(expected), "file=/lib/meter.so,out=%s,profile=%s", file, profile);
    assert_string_equal(nl_meter_argument(meter), expected);
    assert_int_equal(nl_meter_new("/a,b/meter.so", file, NULL, &comma, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "comma"));
}

static void test_records(void **state)
{
    cleanup_meter struct nl_meter *meter = open_meter();
    struct meter_record records[3];
    uint64_t before = 0;

    (void)state;
    for (uint64_t i = 0; i < METER_RECORDS - 1; i++)
        record(i);
    assert_int_equal(nl_meter_written(meter, &before, NULL), 0);
    assert_int_equal(before, METER_RECORDS - 1);
    record(7);
    record(8); /* where the ring begins again */
    record(9);
    assert_int_equal(nl_meter_read(meter, before, 3, records, NULL), 0);
    assert_int_equal(records[0].counts.instructions[0], 7);
    assert_int_equal(records[2].counts.instructions[0], 9);
    refuse(meter, before, 2, "recorded 3 operations, and the agent did 2");
    refuse(meter, before, 4, "recorded 3 operations, and the agent did 4");
    refuse(meter, 0, METER_RECORDS + 2, "operations, and the agent did");
    written->ring[0].sequence++;
    refuse(meter, before, 3, "is not whole");
}

static void test_trouble(void **state)
{
    cleanup_meter struct nl_meter *meter = open_meter();

    (void)state;
    record(1);
    memset(written->header.trouble, 'x', sizeof(written->header.trouble));
    memcpy(written->header.trouble, "two \033[1mmachines", 16);
    refuse(meter, 0, 1, "counts are void: two \\x1b");
}

static void test_foreign_files(void **state)
{
    cleanup_meter struct nl_meter *version = open_meter();
    cleanup_meter struct nl_meter *magic = open_meter();
    cleanup_meter struct nl_meter *size = open_meter();
    cleanup_meter struct nl_meter *gone = open_meter();
    uint64_t n;

    (void)state;
    written->header.version++;
    assert_int_equal(nl_meter_written(version, &n, NULL), -1);
    written->header.version--;
    written->header.magic[0] = 'N';
    assert_int_equal(nl_meter_written(magic, &n, NULL), -1);
    assert_int_equal(truncate(file, 100), 0);
    assert_int_equal(nl_meter_written(size, &n, NULL), -1);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(nl_meter_written(gone, &n, NULL), -1);
}

static void place(unsigned layer, uint64_t address, uint64_t sum)
{
    uint32_t i = profiled->used++;

    profiled->keys[i] = (uint64_t)layer << METER_PLACE_LAYER_SHIFT | address >> METER_PLACE_BITS;
    profiled->sums[i] = sum;
}

static void test_profile(void **state)
{
    cleanup_meter struct nl_meter *meter = open_meter();
    cleanup_free struct nl_meter_place *places = NULL;
    uint64_t operations = 0;
    size_t n = 0;

    (void)state;
    place(2, 0, 99); /* of before the start */
    assert_int_equal(nl_meter_profile_start(meter, 10, 20, NULL), 0);
    assert_int_equal(profiled->low, 10);
    assert_int_equal(profiled->high, 20);
    place(1, 0xffffffff81000010, 5);
    place(0, 0xffffffff81000010, 6);
    place(1, 0, 7);
    profiled->accepted = 3;
    assert_int_equal(nl_meter_profile_read(meter, &places, &n, &operations, NULL), 0);
    assert_int_equal(operations, 3);
    assert_int_equal(n, 3);
    assert_int_equal(places[0].layer, 0);
    assert_int_equal(places[0].instructions, 6);
    assert_true(places[0].address == 0xffffffff81000010);
    assert_int_equal(places[1].layer, 1);
    assert_true(places[1].address == 0);
    assert_int_equal(places[2].instructions, 5);
}

static void test_full_profile(void **state)
{
    cleanup_meter struct nl_meter *meter = open_meter();
    cleanup_free struct nl_meter_place *places = NULL;
    uint64_t operations;
    size_t n;

    (void)state;
    assert_int_equal(nl_meter_profile_start(meter, 1, 2, NULL), 0);
    profiled->used = UINT32_MAX;
    profiled->full = 1;
    assert_int_equal(nl_meter_profile_read(meter, &places, &n, &operations, NULL), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_files, drop_files)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_argument),      TEST(test_records), TEST(test_trouble),
        TEST(test_foreign_files), TEST(test_profile), TEST(test_full_profile),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
