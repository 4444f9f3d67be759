/*
 * fuzz-meter.c - libFuzzer target: any bytes as the two files that the meter writes, and what the
 * runner makes of them: what an operation costs, a profile, a report of both.
 *
 * The first byte says what is right of itself: 1 the header of the first file, 2 that of the
 * second, 4 the records' sequence, 8 the second file is looked at. Half of the rest goes into
 * either file.
 */
#include "dig.h"
#include "meter-result.h"
#include "profile.h"
#include "report-text.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define RECORDS 24
#define LAYERS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file of SIZE bytes, zeros but for what is written to it; its PATH names the descriptor. */
static int make_file(size_t size, char path[64])
{
    int fd = memfd_create("meter", MFD_CLOEXEC);

    if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
        abort();
    snprintf(path, 64, "/proc/%d/fd/%d", (int)getpid(), fd);
    return fd;
}

static void put(int fd, const void *bytes, size_t length, size_t at)
{
    if (length && pwrite(fd, bytes, length, (off_t)at) != (ssize_t)length)
        abort();
}

static void fill_file(int fd, const uint8_t *data, size_t size, uint8_t right)
{
    struct meter_header header = {METER_FILE_MAGIC,
                                  METER_FILE_VERSION,
                                  sizeof(struct meter_record),
                                  METER_RECORDS,
                                  0,
                                  RECORDS,
                                  ""};
    size_t most = sizeof(header) + RECORDS * sizeof(struct meter_record);

    if (right & 1)
        put(fd, &header, sizeof(header), 0);
    put(fd, data, size < most ? size : most, right & 1 ? sizeof(header) : 0);
    for (uint64_t i = 0; right & 4 && i < RECORDS; i++)
        put(fd, &(uint64_t){i + 1}, sizeof(uint64_t),
            offsetof(struct meter_file, ring) + i * sizeof(struct meter_record));
}

static void fill_profile(int fd, const uint8_t *data, size_t size, uint8_t right)
{
    size_t head = offsetof(struct meter_profile, keys);
    size_t half = size / 16 * 8;
    uint32_t version[] = {METER_FILE_VERSION, METER_PLACES};

    put(fd, data, size < head ? size : head, 0);
    if (!(right & 2))
        return;
    put(fd, METER_PROFILE_MAGIC, 8, 0);
    put(fd, version, sizeof(version), offsetof(struct meter_profile, version));
    put(fd, &(uint32_t[]){(uint32_t)(half / 8), 0}, 8, offsetof(struct meter_profile, used));
    put(fd, data, half, head);
    put(fd, data + half, half, offsetof(struct meter_profile, sums));
}

static json_t *read_profile(struct nl_meter *meter)
{
    cleanup_free struct nl_meter_place *places = NULL;
    cleanup_json json_t *names = json_pack("[s, n, s]", "svm_vcpu_run [kvm_amd]", "[]");
    cleanup_error struct nl_error *err = NULL;
    uint64_t operations = 0;
    size_t n = 0;
    json_t *profile;

    if (nl_meter_profile_start(meter, 1, 10, &err) < 0 ||
        nl_meter_profile_read(meter, &places, &n, &operations, &err) < 0)
        return NULL;
    profile = nl_profile(places, names, n < 64 ? n : 64, operations);
    if (!profile)
        abort();
    return profile;
}

static void print(json_t *metered, size_t layers)
{
    cleanup_json json_t *document = json_pack("{s:[]}", "layers");
    cleanup_fclose FILE *out = fopen("/dev/null", "w");

    if (!document || !out)
        abort();
    for (size_t i = 0; i < layers; i++)
        json_array_append_new(
            json_object_get(document, "layers"),
            json_pack("{s:s, s:i, s:[O]}", "name", "L", "index", (int)i, "metered", metered));
    const struct nl_text to = nl_text_to(out, true);
    nl_text_meter(&to, document);
    nl_text_profile(&to, document);
    nl_profile_folded(json_object_get(metered, "profile"), "cpuid", "L1", out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct meter_record records[RECORDS];
    char file[64], profile_file[64];
    cleanup_close int fd = make_file(sizeof(struct meter_file), file);
    cleanup_close int profile_fd = make_file(sizeof(struct meter_profile), profile_file);
    cleanup_json json_t *reply = json_pack("{s:s, s:i}", "name", "cpuid", "operations", RECORDS);
    cleanup_meter struct nl_meter *meter = NULL;
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *metered = NULL;
    json_t *profile;
    size_t half;

    if (size == 0)
        return 0;
    half = (size - 1) / 2;
    fill_file(fd, data + 1, half, data[0]);
    if (data[0] & 8)
        fill_profile(profile_fd, data + 1 + half, size - 1 - half, data[0]);
    if (nl_meter_new("/meter.so", file, profile_file, &meter, &err) < 0)
        abort();
    profile = data[0] & 8 ? read_profile(meter) : NULL;
    if (nl_meter_read(meter, 0, RECORDS, records, &err) < 0) {
        json_decref(profile);
        return 0;
    }
    metered = nl_meter_result(reply, records, RECORDS, LAYERS);
    if (!metered)
        abort();
    if (profile)
        json_object_set_new(metered, "profile", profile);
    print(metered, LAYERS);
    return 0;
}
