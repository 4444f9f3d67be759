/*
 * evidence.h - what a piece of evidence is, found out by content, and the layer it most likely
 * describes.
 */
#ifndef NL_EVIDENCE_H
#define NL_EVIDENCE_H

#include "evidence-lines.h"

#include <stdio.h>

/* How the lines that rules see are made of the bytes. */
enum nl_form {
    NL_FORM_LINES,      /* they are lines */
    NL_FORM_JOURNAL,    /* journalctl -o json: an object a line */
    NL_FORM_PARAMETERS, /* lines that set or show module parameters */
    NL_FORM_VALUE,      /* the value of one module parameter, named by the path */
    NL_FORM_XML,        /* libvirt's XML */
    NL_FORM_DOCUMENT,   /* a run's document */
    NL_FORM_BINARY,     /* nothing to read */
};

struct nl_identity {
    enum nl_form form;
    unsigned kinds;   /* of lines that do not say otherwise */
    const char *what; /* "kernel log", for people */
    bool recognised;
    const char *note; /* what to do about evidence that cannot be read, or NULL */
};

/* As much of the beginning as identification needs. */
#define NL_EVIDENCE_HEAD 65536

/* What NAME is, that begins with these bytes. */
struct nl_identity nl_evidence_identify(const char *name, const char *head, size_t length);

/* "kvm_amd.nested" for a path that ends in sys/module/kvm_amd/parameters/nested; false: it does
 * not.
 */
bool nl_evidence_parameter_name(const char *path, char name[128]);

/* ---- The layer ---- */

/* -1 is the machine below L0. */
#define NL_LAYER_UNKNOWN (-2)

/* Where in the stack: L0 is a machine that runs on no KVM. */
struct nl_guess {
    bool known;
    bool or_deeper; /* L1 or an inner one: a guest cannot tell */
    int layer;
    char why[160]; /* in words, printable; "" if not known */
};

/* What lines tell of the machine they come from; starts as zero. */
struct nl_clues {
    bool hypervisor;      /* it runs on one */
    bool bare;            /* its kernel says that it runs on none */
    bool machine_is_qemu; /* its firmware is QEMU's */
    bool has_flags;       /* seen its processor's flags... */
    bool flag;            /* ... and "hypervisor" was among them */
    bool not_flag;        /* ... or was not */
    unsigned vendor;      /* enum nl_vendor bits seen */
    char hypervisor_line[96];
    char bare_line[96];
    char machine_line[96];
    char kernel[64]; /* release, "" if not told */
};

void nl_clues_line(struct nl_clues *clues, const struct nl_line *line);

/* From the name (L1-kernel.log of a run), else from the clues. */
struct nl_guess nl_evidence_guess(const char *name, const struct nl_clues *clues);

/* "L1", "L1 or deeper", "an unknown layer", moved by ABOUT layers inwards (-1, 0, 1). */
void nl_guess_name(const struct nl_guess *guess, int about, char name[32]);

#endif
