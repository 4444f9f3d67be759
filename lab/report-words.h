/*
 * report-words.h - words of reports for what documents say: the same in text and in HTML.
 */
#ifndef NL_REPORT_WORDS_H
#define NL_REPORT_WORDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* "PASSED", "NOT JUDGED", ... for the document's verdict. */
const char *nl_verdict_word(const json_t *document);

/* What the verdict says is to be done next; NULL: what the diagnosis says is to be done, too.
   Borrowed from DOCUMENT. */
const char *nl_verdict_next(const json_t *document);

/* Does CHECK only say that the layer of DOCUMENT's failure failed? */
bool nl_check_is_of_failure(const json_t *document, const json_t *check);

/* "TCG" and "KVM" as people call them; other signatures as they are. "" where it is not known. */
const char *nl_hypervisor_word(const json_t *layer);

/* "svm, npt", "vmx", "none"; "" where there are no facts. */
const char *nl_virtualization_word(const json_t *layer);

/* The seconds of all phases NAME (NULL: any) of LAYER (NULL: the run's own); negative: there is
   none. */
double nl_phase_seconds(const json_t *document, const char *name, const char *layer);

/* The names of at most MAX different phases in the order they came in, borrowed. Returns how many.
 */
size_t nl_phase_names(const json_t *document, const char **names, size_t max);

/* How many of CHECKS have VERDICT. */
size_t nl_checks_count(const json_t *checks, const char *verdict);

/* The command whose verdict CHECK is, borrowed, or NULL. */
const json_t *nl_check_command(const json_t *document, const json_t *check);

/* Whom FINDING is about: "L2", or "L2 (told by L1)" where another layer's evidence shows it. */
char *nl_finding_layer(const json_t *finding);

/* "1 error, 2 warnings, 20 harmless, 22 good": how many of FINDINGS are what. The caller's. */
char *nl_findings_sum(const json_t *findings);

/* How many layers DOCUMENT's meter saw: the stack's, and tiny guests of its innermost. */
size_t nl_metered_layers(const json_t *document);

/* BENCHMARK is one of the layer with index AT. */
typedef void nl_benchmark_visit(const json_t *document, size_t at, const json_t *benchmark,
                                void *data);

/* Every benchmark of DOCUMENT in the layers' LIST ("benchmarks", "metered"), all layers of one
   together, in the order in which they first come; at a layer each but once. Those that do not
   COUNT (NULL: all do) are as if they were not there. */
void nl_each_benchmark(const json_t *document, const char *list,
                       bool (*count)(const json_t *benchmark), nl_benchmark_visit *visit,
                       void *data);

/* Is there one in LIST that COUNTs? */
bool nl_any_benchmark(const json_t *document, const char *list,
                      bool (*count)(const json_t *benchmark));

/* Has METERED counts, and was not left out? */
bool nl_metered_counted(const json_t *metered);

/* Were exits counted for BENCHMARK? */
bool nl_exits_counted(const json_t *benchmark);

/* Those of KEY ("exits", "nested_run", ...) of LAYER for one operation; NAN: not known. */
double nl_exits_per_operation(const json_t *benchmark, const char *layer, const char *key);

/* How often an exit of layer OF reached layer REACHED in one operation of a metered benchmark. */
json_int_t nl_exits_reached(const json_t *metered, size_t of, size_t reached);

#endif
