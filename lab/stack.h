/*
 * stack.h - a stack of layers: bring it up layer by layer, look into it, take it down.
 */
#ifndef NL_STACK_H
#define NL_STACK_H

#include "console.h"
#include "document.h"
#include "image.h"
#include "link.h"
#include "meter.h"
#include "rundir.h"
#include "scenario.h"

#include <pthread.h>

/* A layer's state before it is one of document.h's. */
#define NL_LAYER_STARTING "starting"

struct nl_stack;

struct nl_layer {
    struct nl_stack *stack;
    const struct nl_layer_spec *spec;
    size_t index;
    bool local;             /* this very machine */
    bool hypervisor;        /* boots the next layer */
    const char *state;      /* NL_LAYER_UP and so on */
    struct nl_image *image; /* NULL when local */
    char *overlay;          /* its disk on the runner's machine; NULL when local */
    int ssh_port;           /* of its sshd on the runner's loopback; 0: no sshd */
    virDomainPtr domain;    /* in the libvirt of the layer below; NULL when local */
    virConnectPtr conn;     /* its own libvirt; NULL for the innermost */
    struct nl_link *link;
    struct nl_console *console; /* NULL when local */
    char *console_file;         /* path, or NULL */
    json_t *disks;              /* virtio serial -> device node, as the agent sees them */
    json_t *facts;
    bool greeted;         /* its agent has answered once */
    bool given_up;        /* a wait for it was ended early: see nl_watch_tick() */
    int64_t glanced_ms;   /* nl_now_ms() of the last look at a guest that boots; 0: none. watch.c */
    int64_t pinged_ms;    /* nl_now_ms() of the ping that is not answered; 0: none. See watch.c */
    bool ready;           /* its services are up */
    char *trouble;        /* what its agent complained about last, or NULL */
    char *busy;           /* what its agent said it is doing, or NULL */
    pthread_mutex_t lock; /* of ready, trouble, busy: written by the link's thread */
};

struct nl_stack {
    struct nl_scenario *scenario;
    struct nl_store *store;
    struct nl_rundir *rundir;
    struct nl_document *document;
    char *out;              /* folder for the report, consoles and logs */
    bool local;             /* L0 is this very machine */
    bool kvm;               /* the outermost guest runs under KVM */
    virConnectPtr base;     /* qemu:///embed */
    int *port_holders;      /* descriptors that keep the ports ours, or NULL */
    char *known_hosts;      /* file that pins the host key of every port of this stack */
    char *boot_disk;        /* read-only disk with every inner layer's kernel and initrd */
    struct nl_meter *meter; /* NULL: nothing is metered */
    struct nl_layer *layers;
    size_t n_layers;
    nl_deadline deadline; /* of the whole run */
};

/* The first layer that is a guest: 1 when L0 is this very machine. */
size_t nl_stack_outermost(const struct nl_stack *stack);

/* The layer of that name, or NULL. */
struct nl_layer *nl_stack_layer(struct nl_stack *stack, const char *name);

/* In SECONDS, but not beyond the run's own deadline. */
nl_deadline nl_stack_deadline(const struct nl_stack *stack, double seconds);

/* If the run's own limit (timeouts.total_s) is over, that is what ended the wait that *ERR is
   about, and not the phase's patience: *ERR says so. Returns whether it is. */
bool nl_stack_explain_late(const struct nl_stack *stack, struct nl_error **err);

/* *ERR is the failure of PHASE of the layer called LAYER (NULL: of the whole run): into the
   document with it, KIND and CONSOLE_TAIL as for nl_document_fail(). Then, for who prints it, *ERR
   says where it happened. Returns -1. */
int nl_stack_fail(struct nl_stack *stack, const char *layer, const char *phase, const char *kind,
                  json_t *console_tail, struct nl_error **err);

/* Make a stack of SCENARIO (borrowed, as is the rest). Nothing is started yet. */
int nl_stack_new(struct nl_scenario *scenario, struct nl_store *store, struct nl_rundir *rundir,
                 struct nl_document *document, const char *out, bool local, struct nl_stack **stack,
                 struct nl_error **err);

/* Images, disks, ports, then every layer from the outside in. On failure the stack stays as far as
   it came, the document's "failure" is filled in, and the caller takes it down. */
int nl_stack_up(struct nl_stack *stack, struct nl_error **err);

/* Say in the run folder what the stack is busy with: for list, shell, console and down. STATUS is
   "starting", "running", "kept" or "stopping". */
int nl_stack_save_state(struct nl_stack *stack, const char *status, const char *phase,
                        struct nl_error **err);

/* End every guest, close everything; within 10 s, whatever hangs. Interrupts do not stop it. */
void nl_stack_down(struct nl_stack *stack);

void nl_stack_free(struct nl_stack **stack);
#define cleanup_stack NL_CLEANUP(nl_stack_free)

#endif
