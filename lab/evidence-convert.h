/*
 * evidence-convert.h - evidence that is not lines, turned into lines that rules can match:
 *
 *   module parameters   kvm_amd.nested=0
 *   libvirt's XML       /domain/cpu/feature name="svm" policy="disable"
 *                       /domain/os/type arch="x86_64" machine="pc": hvm
 *
 * docs/diagnose.md describes these lines for people who write rules.
 */
#ifndef NL_EVIDENCE_CONVERT_H
#define NL_EVIDENCE_CONVERT_H

#include <jansson.h>
#include <stddef.h>

/* LINE is not NUL-terminated; NUMBER is that of the line it was made of. */
typedef void nl_converted(void *context, const char *line, size_t length, unsigned long number);

/* Longer XML and documents are not read: they are held in memory as a whole, several times over. */
#define NL_XML_MAX (4UL << 20)
#define NL_DOCUMENT_MAX (6UL << 20)

/* The parameters that a clean line shows or sets: "/sys/module/kvm/parameters/x:1", "options kvm
   x=1 y=2", "... kvm.x=1 ..." of a kernel command line, "kvm.x=1". */
void nl_convert_parameters(const char *text, size_t length, unsigned long number,
                           nl_converted *take, void *context);

/* One line for each element of libvirt's XML. Returns NULL, or why the rest was not read. */
const char *nl_convert_xml(const char *text, size_t length, nl_converted *take, void *context);

/* The message of a line of `journalctl -o json`, and the program that logged it ("" if not told):
   new strings in *MESSAGE and *PROGRAM. Returns -1, and NULL in both,
   if it is no such line. */
int nl_convert_journal(const char *text, size_t length, char **message, char **program);

/* Runs of blanks become one, those at the ends none: tables are padded in as many ways as there are
   programs that print them. Returns the length; TO may be TEXT. */
size_t nl_squeeze_blanks(const char *text, size_t length, char *to);

#endif
