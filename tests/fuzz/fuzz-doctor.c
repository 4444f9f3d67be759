/*
 * fuzz-doctor.c - libFuzzer target: any JSON as what was gathered of a machine, a layer or a host,
 * judged and printed.
 */
#include "dig.h"
#include "doctor.h"
#include "json-mutator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    srand(seed);
    return mutate_json(data, size, max);
}

/* Every row has a verdict, and a reason for it. */
static void check_rows(const json_t *judged)
{
    const json_t *rows = nl_dig(judged, "rows");
    const json_t *row;
    size_t i;

    if (!json_is_array(rows))
        abort();
    json_array_foreach(rows, i, row)
    {
        if (!*nl_dig_string(row, "verdict", "") || !*nl_dig_string(row, "found", ""))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *gathered = json_loadb((const char *)data, size, 0, NULL);
    cleanup_json json_t *judged = gathered ? nl_doctor_judge(gathered) : NULL;
    cleanup_free char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (!out || (gathered && !judged))
        abort();
    if (judged) {
        check_rows(judged);
        nl_doctor_status(judged);
        nl_doctor_print(gathered, judged, out, false);
    }
    fclose(out);
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < 0x20 && *at != '\n')
            abort();
    return 0;
}
