/*
 * fuzz-look.c - libFuzzer target: any bytes as what QEMU's monitor and KVM's counters say of a
 * guest that says nothing itself: registers at several looks, a stack, exits by reason.
 *
 * Bytes 0xff separate the looks; the last piece is stack and reasons as well.
 */
#include "cleanup.h"
#include "dig.h"
#include "hang-text.h"

#include <stdint.h>
#include <string.h>

#define LOOKS_MAX 10

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t read_looks(char *text, struct nl_look *looks, char **last)
{
    size_t n = 0;

    for (char *piece; n < LOOKS_MAX && (piece = strsep(&text, "\xff")); n++) {
        looks[n] = (struct nl_look){
            .at_ms = (int64_t)n * 1000,
            .registers = *piece ? piece : NULL,
            .exits = strlen(piece),
            .has_exits = piece[0] == 'R',
        };
        *last = piece;
    }
    return n;
}

static void check_vcpus(const json_t *looks, size_t n)
{
    const json_t *look;
    size_t i;

    if (json_array_size(looks) != n)
        abort();
    json_array_foreach(looks, i, look)
    {
        if (json_array_size(nl_dig(look, "vcpus")) > NL_VCPUS_MAX)
            abort();
    }
}

/* As an agent does that knows but one function. */
static json_t *name_all(const json_t *addresses)
{
    json_t *symbols = json_array();

    for (size_t i = 0; i < json_array_size(addresses); i++)
        json_array_append_new(symbols, json_pack("[s, i]", "f [m]", (int)i));
    return symbols;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = strndup((const char *)data, size);
    struct nl_look looks[LOOKS_MAX];
    char *last = NULL;
    size_t n = text ? read_looks(text, looks, &last) : 0;
    cleanup_json json_t *seen = NULL, *addresses = NULL, *backtrace = NULL;
    cleanup_json json_t *symbols = NULL, *evidence = NULL, *summary = NULL, *counted = NULL;

    if (n < 2)
        return 0;
    for (int answered = 0; answered < 2; answered++) {
        cleanup_free char *what = NULL;
        bool idle;
        const char *kind = nl_look_compare(looks, n, answered, &idle, &what);

        if (!what || (strcmp(kind, "hung") != 0 && strcmp(kind, "slow") != 0))
            abort();
    }
    seen = nl_hang_looks(looks, n);
    check_vcpus(seen, n);
    addresses = nl_hang_addresses(looks, n, last);
    symbols = name_all(addresses);
    backtrace = nl_hang_name(addresses, symbols, seen, last);
    if (json_array_size(addresses) > 64 || !backtrace)
        abort();
    counted = json_loads(last ? last : "", 0, NULL);
    evidence = json_pack("{s:O, s:O, s:o}", "looks", seen, "backtrace", backtrace, "exit_reasons",
                         nl_hang_reasons(counted));
    summary = evidence ? nl_hang_summary(evidence) : NULL;
    if (!summary)
        abort();
    return 0;
}
