/*
 * document.h - the run's document: building it up, judging it, saving it, loading somebody else's.
 *
 * A document is plain JSON (docs/document.md, docs/document.schema.json). `struct nl_document` is
 * the writing side: it owns the JSON and the run's clock. Everything that reads (checks, slowdown,
 * reports) takes a `const json_t *` and believes nothing about it.
 *
 * The setters cannot fail: what runs out of memory is remembered and makes the save fail. Text from
 * guests need not be UTF-8. One thread at a time.
 *
 *   nl_document_new -> l0, host, layer_*, phase_*, command, fail, interrupted
 *   -> nl_document_finish (checks, slowdown, verdict) -> nl_document_save
 * Saving in between is cheap and leaves something to look at if the runner is killed.
 */
#ifndef NL_DOCUMENT_H
#define NL_DOCUMENT_H

#include "error.h"

#include <stdbool.h>

#define NL_DOCUMENT_VERSION 1

struct nl_document;

/* Start a document; the run's clock starts now. ARGV (NULL-terminated) is the command line,
   SCENARIO the effective scenario (nl_scenario_to_json; borrowed), ID the run's id.
   One layer of state "not reached" is made for each of scenario.layers, named L0, L1, ... */
int nl_document_new(char *const *argv, const json_t *scenario, const char *id,
                    struct nl_document **document, struct nl_error **err);
void nl_document_free(struct nl_document **document);
#define cleanup_document NL_CLEANUP(nl_document_free)

const json_t *nl_document_json(const struct nl_document *document); /* borrowed */
const char *nl_document_id(const struct nl_document *document);     /* run.id: also names the run */
double nl_document_seconds(const struct nl_document *document);     /* since the start */

/* run.l0: what --l0 asked for, what was taken ("emulated" or "local"), and why in one sentence. */
void nl_document_l0(struct nl_document *document, const char *asked, const char *taken,
                    const char *why);

/* run.host.KEY, beyond what nl_document_new found out itself (kernel, cpu, cpus, memory_mib):
   "qemu", "libvirt". VALUE is consumed; NULL: it is not known, and left out. */
void nl_document_host(struct nl_document *document, const char *key, json_t *value);

/* States of a layer. */
#define NL_LAYER_UP "up"
#define NL_LAYER_FAILED "failed"
#define NL_LAYER_NOT_REACHED "not reached"
#define NL_LAYER_GONE "gone"               /* was up, ended before it was taken down */
#define NL_LAYER_INTERRUPTED "interrupted" /* the run was, while this layer came up */

void nl_document_layer_state(struct nl_document *document, size_t layer, const char *state);

/* layers[LAYER].KEY = VALUE (consumed; NULL removes it): "image", "domain", "facts". */
void nl_document_layer_set(struct nl_document *document, size_t layer, const char *key,
                           json_t *value);

/* Append a reply of the agent's "log" operation (borrowed): its records, and its lost count added.
 */
void nl_document_layer_log(struct nl_document *document, size_t layer, const json_t *reply);

/* The counters of this layer's domain, an object name -> decimal string (consumed), as counted by
   the layer below. WHEN is "created", "ready" or "end". Call it at "end" before anything is torn
   down. */
void nl_document_layer_exits(struct nl_document *document, size_t layer, const char *when,
                             json_t *counters);

/* A reply of the agent's "bench" operation (consumed). */
void nl_document_layer_benchmark(struct nl_document *document, size_t layer, json_t *result);

/* What operations of one benchmark cost (meter-result.h); consumed. */
void nl_document_layer_metered(struct nl_document *document, size_t layer, json_t *result);

/* A file written beside the document; KIND "console", "log", ...; FILE relative to the document. */
void nl_document_layer_file(struct nl_document *document, size_t layer, const char *kind,
                            const char *file);

/* A phase of the run: LAYER by name, or NULL for the whole run's. Returns a handle for the end,
   which returns its seconds. Phases still open when the document is finished are marked as cut
   short. */
int nl_document_phase_begin(struct nl_document *document, const char *layer, const char *name);
double nl_document_phase_end(struct nl_document *document, int phase);

/* A phase timed elsewhere (by the agent, for example): seconds on the run's clock. */
void nl_document_phase_add(struct nl_document *document, const char *layer, const char *name,
                           double start_s, double seconds);

/* What rules found in the run's logs (consumed): docs/diagnose.md describes the elements. */
void nl_document_findings(struct nl_document *document, json_t *findings);

/* A command's outcome. REPLY is the agent's reply to "exec" (borrowed), or NULL when it could not
   be run: then ERR (may be NULL) says why. SKIP_CODES are the exit statuses that mean "skipped". */
void nl_document_command(struct nl_document *document, const char *name, const char *layer,
                         char *const *argv, const int *skip_codes, size_t n_skip_codes,
                         const json_t *reply, const struct nl_error *err);

/* The stack could not be brought up, or broke. The first failure stays. KIND is one of "hung",
   "slow", "crashed", "gone", "lost", "refused", "timeout", "error"; CONSOLE_TAIL (consumed, may be
   NULL) an array of the console's last lines. An error of status NL_EXIT_INTERRUPTED only marks the
   run as interrupted. True if it is the first one, and stands in the document now. */
bool nl_document_fail(struct nl_document *document, const char *layer, const char *phase,
                      const char *kind, const struct nl_error *err, json_t *console_tail);

/* More of the failure that was just told: failure.KEY = VALUE (consumed): "seen", "service",
   "evidence". */
void nl_document_failure_set(struct nl_document *document, const char *key, json_t *value);

void nl_document_interrupted(struct nl_document *document);

/* End the run's clock, run all checks, compute the slowdown, diagnose, judge. Fails only if the
   checks' or diagnoses' files cannot be read; the document is judged (an error) and can be saved
   all the same. */
int nl_document_finish(struct nl_document *document, struct nl_error **err);

/* verdict.exit: what the program exits with. */
enum nl_exit nl_document_exit(const json_t *document);

/* Set "verdict" from what the document holds: interrupted, else whether the diagnosis is the one
   that the scenario expects, if it expects one, else failed if any check failed, else
   error if the stack failed or a check could not be evaluated, else passed. For a document whose
   checks were run again; nl_document_finish calls it. */
void nl_document_judge(json_t *document);

/* Write it to PATH: to a temporary file beside it, synced, then renamed over it. */
int nl_document_save(const struct nl_document *document, const char *path, struct nl_error **err);
int nl_document_write(const json_t *document, const char *path, struct nl_error **err);

/* Read a document that nobody vouches for (PATH "-" is standard input): at most 256 MiB, of this
   version, and of the shape that docs/document.md promises; errors (NL_EXIT_REQUEST) name file and
   line or JSON path. Numbers and texts in it are still untrusted. New reference. */
int nl_document_load(const char *path, json_t **document, struct nl_error **err);

/* TEXT as a JSON string, whatever its bytes: what is not UTF-8 becomes \xNN. NULL gives null. */
json_t *nl_document_text(const char *text);

#endif
