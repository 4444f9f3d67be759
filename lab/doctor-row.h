/*
 * doctor-row.h - the inside of the judgement: rows, and the functions that judge one each.
 */
#ifndef NL_DOCTOR_ROW_H
#define NL_DOCTOR_ROW_H

#include "doctor.h"

enum nl_doctor_verdict {
    NL_DOCTOR_OK,
    NL_DOCTOR_WARN,
    NL_DOCTOR_MISSING,
    NL_DOCTOR_UNKNOWN,
    NL_DOCTOR_NO_ROW, /* nothing to say: the row is left out */
};

/* What needs it. */
#define NL_FOR_LOCAL 1u
#define NL_FOR_EMULATED 2u
#define NL_FOR_BOTH 3u

/* Whose rows there are. */
#define NL_OF_MACHINE 1u
#define NL_OF_LAYER 2u
#define NL_OF_URI 4u
#define NL_OF_INSIDE 3u
#define NL_OF_ALL 7u

/* What the rows look at: parts of what was gathered, NULL where it was not. */
struct nl_look {
    const json_t *all;
    unsigned of; /* one of NL_OF_MACHINE, NL_OF_LAYER, NL_OF_URI */
    const json_t *facts, *machine, *libvirt, *lab;
};

struct nl_row {
    enum nl_doctor_verdict verdict;
    unsigned blocks; /* which paths a verdict "missing" or "unknown" concerns */
    unsigned spoils; /* which paths are not possible, whatever the verdict */
    char *found;
    char *fix; /* or NULL */
};

typedef void nl_judge(const struct nl_look *look, struct nl_row *row);

struct nl_row_kind {
    const char *name;
    const char *need;      /* what is needed, and what for */
    unsigned of;           /* whose */
    unsigned needed_by;    /* NL_FOR_...; 0: good to know, blocks nothing */
    const char *source;    /* the part of what was gathered that it cannot do without */
    const char *looked_at; /* where that was seen */
    nl_judge *judge;
    /* The same by what libvirt tells of a host; NULL: it does not. */
    nl_judge *judge_uri;
};

/* Ended by an element without a name; one table for each subject, in the order of the report. */
extern const struct nl_row_kind nl_rows_cpu[];
extern const struct nl_row_kind nl_rows_kvm[];
extern const struct nl_row_kind nl_rows_software[];
extern const struct nl_row_kind nl_rows_resources[];

void nl_row_says(struct nl_row *row, enum nl_doctor_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void nl_row_fix(struct nl_row *row, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The fix is to install a package, by the names of Debian and Fedora. */
void nl_row_install(const struct nl_look *look, struct nl_row *row, const char *debian,
                    const char *fedora);

/* The vendor's KVM module by what CPUID shows: "kvm_amd", "kvm_intel" or NULL. */
const char *nl_look_module(const struct nl_look *look);
/* Is that module, or the one named, loaded? */
bool nl_look_loaded(const struct nl_look *look, const char *module);
/* Does a hypervisor run below? */
bool nl_look_in_guest(const struct nl_look *look);
/* Did the tiny guest run, and at speed? */
bool nl_look_kvm_works(const struct nl_look *look);
/* The first line of the kernel's log that holds one of TEXTS (NULL-terminated), or NULL. */
const char *nl_look_log(const struct nl_look *look, const char *const *texts);
/* "1.2.3" as a number to compare; 0 if it is none. */
long nl_version_number(const char *text);

#endif
