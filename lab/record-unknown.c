/*
 * record-unknown.c - a key that its record does not know: which was meant, or where it belongs.
 */
#include "record.h"
#include "suggest.h"

/* Print to OUT the places within WHOLE whose record knows KEY: `layers[]`, `timeouts`. PLACE is
   WHOLE's own place. */
static void print_homes(const struct nl_record *whole, const char *place, const char *key,
                        FILE *out)
{
    if (nl_record_field(whole, key))
        fprintf(out, "%s%s, %s", ftell(out) > 0 ? "; or " : "", whole->what,
                *place ? place : "at the top");
    for (const struct nl_field *f = whole->fields; f->key; f++) {
        cleanup_free char *inner = NULL;
        if (f->record && asprintf(&inner, "%s%s%s%s", *place ? place : "in ", *place ? "." : "",
                                  f->key, f->type == NL_FIELD_RECORDS ? "[]" : "") >= 0)
            print_homes(f->record, inner, key, out);
    }
}

/* "a layer, in layers[]": where in WHOLE the KEY would be right; NULL: nowhere. The caller's. */
static char *find_home(const struct nl_record *whole, const char *key)
{
    char *homes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&homes, &size);

    if (!out)
        return NULL;
    print_homes(whole, "", key, out);
    fclose(out);
    if (homes && !*homes) {
        free(homes);
        homes = NULL;
    }
    return homes;
}

int nl_record_fail_unknown(const struct nl_record *record, const struct nl_json_place *at,
                           const char *key, struct nl_error **err)
{
    cleanup_free char *homes = find_home(at->source->whole ? at->source->whole : record, key);
    cleanup_free char *allowed = NULL;
    cleanup_free const char **keys = NULL;
    size_t size = 0, n = 0;
    struct nl_json_place place = nl_json_key(at, key);

    while (record->fields[n].key)
        n++;
    keys = calloc(n + 1, sizeof(*keys));
    FILE *out = open_memstream(&allowed, &size);
    if (!keys || !out) {
        if (out)
            fclose(out);
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        keys[i] = record->fields[i].key;
        fprintf(out, "%s%s", i ? ", " : "", keys[i]);
    }
    fclose(out);
    const char *near = nl_suggest(key, keys);
    nl_fail_at(err, &place, "is no key of %s%s%s%s", record->what, near ? "; did you mean \"" : "",
               near ? near : "", near ? "\"?" : "");
    return nl_hint(err, "%s%s%sallowed keys: %s", homes ? "it is a key of " : "",
                   homes ? homes : "", homes ? "; here, " : "", allowed);
}
