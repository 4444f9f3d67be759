/*
 * virt.c - libvirt with deadlines: see virt.h.
 */
#include "virt.h"
#include "virt-turn.h"

#include <errno.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/virterror.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

/* One libvirt call, run in a thread that may outlive the wait for it: it owns all it needs. */
struct virt_call {
    void (*run)(struct virt_call *call);
    virConnectPtr conn;
    virDomainPtr domain;
    char *text;
    /* results */
    bool failed;
    int code;
    char *message;
    virConnectPtr new_conn;
    virDomainPtr new_domain;
    char *new_text;
    json_t *json;
    int numbers[2];
};

/* For L0 what is below is this machine. */
#define NO_MEMORY                                                                                  \
    "make this layer smaller (memory_mib in the scenario, --memory LN=SIZE), or what is below it " \
    "larger"

/* Explanations of libvirt's refusals that users meet. */
static const struct {
    const char *match;
    const char *hint;
} hints[] = {
    {"does not provide required features",
     "the CPU that this layer asks for needs what the layer below does not offer: compare with "
     "`nestlab run --cpu LN=host-passthrough`"},
    {"unable to find any emulator", "install qemu-system-x86 in the layer below"},
    {"Cannot check QEMU binary", "the layer's `qemu` does not exist in the layer below"},
    {"Failed to start QEMU binary", "the layer's `qemu` is no QEMU that runs in the layer below"},
    {"UNIX socket path", "use a shorter run folder: set NESTLAB_RUNS to a short absolute path"},
    {"Cannot allocate memory", NO_MEMORY},
    {"cannot set up guest memory", NO_MEMORY},
    {"unsupported configuration: Emulator", "this QEMU cannot run that type of domain there"},
    {"is not available", "KVM is not usable in the layer below: see its kernel log"},
};

static void free_call(void *data)
{
    struct virt_call *call = data;

    if (call->domain)
        virDomainFree(call->domain);
    /* Created after the wait for it was over: nobody else knows that it runs. */
    if (call->new_domain) {
        cleanup_turn struct nl_virt_turn *turn = nl_virt_turn_take(call->conn);

        virDomainDestroy(call->new_domain);
        virDomainFree(call->new_domain);
    }
    if (call->new_conn)
        virConnectClose(call->new_conn);
    if (call->conn)
        virConnectClose(call->conn);
    json_decref(call->json);
    free(call->text);
    free(call->new_text);
    free(call->message);
    free(call);
}

static struct virt_call *new_call(void (*run)(struct virt_call *call), virConnectPtr conn,
                                  virDomainPtr domain, const char *text)
{
    struct virt_call *call = calloc(1, sizeof(*call));

    if (!call)
        abort();
    call->run = run;
    call->text = text ? strdup(text) : NULL;
    if (conn && virConnectRef(conn) == 0)
        call->conn = conn;
    if (domain && virDomainRef(domain) == 0)
        call->domain = domain;
    return call;
}

static void run_call(void *data)
{
    struct virt_call *call = data;
    cleanup_turn struct nl_virt_turn *turn =
        nl_virt_turn_take(call->domain ? virDomainGetConnect(call->domain) : call->conn);

    virResetLastError();
    call->run(call);
    if (call->failed) {
        virErrorPtr error = virGetLastError();

        call->code = error ? error->code : VIR_ERR_INTERNAL_ERROR;
        call->message = strdup(error && error->message ? error->message : "unknown libvirt error");
    }
}

static void add_hint(const char *message, struct nl_error **err)
{
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        if (strstr(message, hints[i].match))
            nl_hint(err, "%s", hints[i].hint);
}

/* Run CALL; 0 when it succeeded. On expiry CALL belongs to its thread and *CALL is NULL. */
static int perform(struct virt_call **call, nl_deadline deadline, const char *what,
                   struct nl_error **err)
{
    if (nl_call_with_deadline(run_call, *call, free_call, deadline, what, err) < 0) {
        *call = NULL;
        return -1;
    }
    if (!(*call)->failed)
        return 0;
    nl_fail(err, NL_EXIT_LAB, "%s: %s", what, (*call)->message);
    add_hint((*call)->message, err);
    return -1;
}

static void free_callp(struct virt_call **call)
{
    if (*call)
        free_call(*call);
}
#define cleanup_call NL_CLEANUP(free_callp)

static void ignore_error(void *data, virErrorPtr error)
{
    (void)data;
    (void)error;
}

static void *event_loop(void *data)
{
    (void)data;
    for (;;)
        if (virEventRunDefaultImpl() < 0)
            return NULL;
}

int nl_virt_start(const char *log, struct nl_error **err)
{
    cleanup_free char *outputs = NULL;
    sigset_t all, old;
    pthread_t thread;
    int rc;

    if (asprintf(&outputs, "3:file:%s", log) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    setenv("LIBVIRT_LOG_OUTPUTS", outputs, 1);
    virSetErrorFunc(NULL, ignore_error);
    if (virInitialize() < 0 || virEventRegisterDefaultImpl() < 0)
        return nl_fail(err, NL_EXIT_LAB, "cannot start libvirt: %s", virGetLastErrorMessage());
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    rc = pthread_create(&thread, NULL, event_loop, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0)
        return nl_fail_errno(err, NL_EXIT_LAB, rc, "cannot start a thread");
    pthread_detach(thread);
    return 0;
}

static int write_qemu_conf(const char *root, struct nl_error **err)
{
    /* Setting user and group is only for root: libvirt refuses with EPERM otherwise. */
    const char *owner = geteuid() == 0 ? "user = \"root\"\ngroup = \"root\"\n" : "";
    cleanup_free char *folder = NULL;
    cleanup_free char *path = NULL;
    cleanup_fclose FILE *file = NULL;

    if (asprintf(&folder, "%s/etc", root) < 0 || asprintf(&path, "%s/etc/qemu.conf", root) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if ((mkdir(root, 0700) < 0 && errno != EEXIST) || (mkdir(folder, 0700) < 0 && errno != EEXIST))
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", folder);
    file = fopen(path, "we");
    if (!file)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", path);
    fprintf(file,
            "%sstdio_handler = \"file\"\nsecurity_driver = \"none\"\ncgroup_controllers = []\n"
            "namespaces = []\nremember_owner = 0\ndynamic_ownership = 0\n",
            owner);
    if (fflush(file) != 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot write %s", path);
    return 0;
}

static void run_open(struct virt_call *call)
{
    call->new_conn = virConnectOpen(call->text);
    call->failed = !call->new_conn;
}

int nl_virt_open_embed(const char *root, virConnectPtr *conn, struct nl_error **err)
{
    cleanup_call struct virt_call *call = NULL;
    cleanup_free char *uri = NULL;

    if (write_qemu_conf(root, err) < 0)
        return -1;
    if (asprintf(&uri, "qemu:///embed?root=%s", root) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    call = new_call(run_open, NULL, NULL, uri);
    if (perform(&call, nl_deadline_in(60), "opening libvirt's embedded QEMU driver", err) < 0)
        return nl_hint(err, "it comes with the package libvirt-daemon-driver-qemu");
    *conn = nl_steal(&call->new_conn);
    return 0;
}

int nl_virt_open_ssh(int port, const char *key, const char *known_hosts, nl_deadline deadline,
                     virConnectPtr *conn, struct nl_error **err)
{
    cleanup_free char *uri = NULL;

    if (asprintf(&uri,
                 "qemu+libssh://root@127.0.0.1:%d/system?sshauth=privkey&keyfile=%s&known_hosts=%s"
                 "&known_hosts_verify=normal&no_tty=1",
                 port, key, known_hosts) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (;;) {
        cleanup_call struct virt_call *call = new_call(run_open, NULL, NULL, uri);

        nl_error_free(err);
        if (perform(&call, deadline, "connecting to libvirt over SSH", err) == 0) {
            *conn = nl_steal(&call->new_conn);
            nl_virt_turn_make(*conn);
            return 0;
        }
        if (!call || nl_deadline_left_ms(deadline) < 1000)
            return -1;
        if (nl_sleep(0.3, err) < 0)
            return -1;
    }
}

static void run_create(struct virt_call *call)
{
    call->new_domain = virDomainCreateXML(call->conn, call->text, VIR_DOMAIN_START_PAUSED);
    call->failed = !call->new_domain;
}

int nl_virt_create(virConnectPtr conn, const char *xml, nl_deadline deadline, virDomainPtr *domain,
                   struct nl_error **err)
{
    cleanup_call struct virt_call *call = new_call(run_create, conn, NULL, xml);

    if (perform(&call, deadline, "creating the domain", err) < 0)
        return -1;
    *domain = nl_steal(&call->new_domain);
    return 0;
}

static void run_resume(struct virt_call *call)
{
    call->failed = virDomainResume(call->domain) < 0;
}

int nl_virt_resume(virDomainPtr domain, nl_deadline deadline, struct nl_error **err)
{
    cleanup_call struct virt_call *call = new_call(run_resume, NULL, domain, NULL);

    return perform(&call, deadline, "starting the domain's vCPUs", err);
}

static void run_state(struct virt_call *call)
{
    call->failed = virDomainGetState(call->domain, &call->numbers[0], &call->numbers[1], 0) < 0;
}

int nl_virt_state(virDomainPtr domain, nl_deadline deadline, int *state, int *reason,
                  struct nl_error **err)
{
    cleanup_call struct virt_call *call = new_call(run_state, NULL, domain, NULL);

    if (perform(&call, deadline, "asking for the domain's state", err) < 0) {
        if (!call || call->code != VIR_ERR_NO_DOMAIN)
            return -1;
        nl_error_free(err);
        call->numbers[0] = VIR_DOMAIN_SHUTOFF;
        call->numbers[1] = VIR_DOMAIN_SHUTOFF_UNKNOWN;
    }
    *state = call->numbers[0];
    *reason = call->numbers[1];
    return 0;
}

static json_t *parameter_text(const virTypedParameter *parameter)
{
    switch (parameter->type) {
    case VIR_TYPED_PARAM_INT:
        return json_sprintf("%d", parameter->value.i);
    case VIR_TYPED_PARAM_UINT:
        return json_sprintf("%u", parameter->value.ui);
    case VIR_TYPED_PARAM_LLONG:
        return json_sprintf("%lld", parameter->value.l);
    case VIR_TYPED_PARAM_ULLONG:
        return json_sprintf("%llu", parameter->value.ul);
    case VIR_TYPED_PARAM_BOOLEAN:
        return json_string(parameter->value.b ? "1" : "0");
    default:
        return NULL; /* no counter */
    }
}

static void run_counters(struct virt_call *call)
{
    virDomainPtr domains[] = {call->domain, NULL};
    virDomainStatsRecordPtr *records = NULL;

    if (virDomainListGetStats(domains, VIR_DOMAIN_STATS_VCPU | VIR_DOMAIN_STATS_VM, &records, 0) <
        0) {
        call->failed = true;
        return;
    }
    call->json = json_object();
    for (int i = 0; records[0] && i < records[0]->nparams; i++) {
        json_t *text = parameter_text(&records[0]->params[i]);

        if (text)
            json_object_set_new(call->json, records[0]->params[i].field, text);
    }
    virDomainStatsRecordListFree(records);
}

int nl_virt_counters(virDomainPtr domain, nl_deadline deadline, json_t **counters,
                     struct nl_error **err)
{
    cleanup_call struct virt_call *call = new_call(run_counters, NULL, domain, NULL);

    if (perform(&call, deadline, "reading the domain's counters", err) < 0)
        return -1;
    *counters = nl_steal(&call->json);
    return 0;
}

static void run_monitor(struct virt_call *call)
{
    call->failed = virDomainQemuMonitorCommand(call->domain, call->text, &call->new_text,
                                               VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP) < 0;
}

int nl_virt_monitor(virDomainPtr domain, const char *command, nl_deadline deadline, char **text,
                    struct nl_error **err)
{
    cleanup_call struct virt_call *call = new_call(run_monitor, NULL, domain, command);

    if (perform(&call, deadline, "asking QEMU's monitor", err) < 0)
        return -1;
    *text = nl_steal(&call->new_text);
    return 0;
}

static void run_inject_nmi(struct virt_call *call)
{
    call->failed = virDomainInjectNMI(call->domain, 0) < 0;
}

int nl_virt_inject_nmi(virDomainPtr domain, nl_deadline deadline, struct nl_error **err)
{
    cleanup_call struct virt_call *call = new_call(run_inject_nmi, NULL, domain, NULL);

    return perform(&call, deadline, "injecting an NMI", err);
}

static void run_destroy(struct virt_call *call)
{
    call->failed = virDomainDestroy(call->domain) < 0;
}

int nl_virt_destroy(virDomainPtr domain, nl_deadline deadline, struct nl_error **err)
{
    cleanup_call struct virt_call *call = new_call(run_destroy, NULL, domain, NULL);

    if (perform(&call, deadline, "ending the domain", err) == 0)
        return 0;
    if (!call || (call->code != VIR_ERR_NO_DOMAIN && call->code != VIR_ERR_OPERATION_INVALID))
        return -1;
    nl_error_free(err);
    return 0;
}

static void run_close(struct virt_call *call)
{
    virConnectClose(call->conn);
    call->conn = NULL;
}

void nl_virt_close(virConnectPtr *conn)
{
    cleanup_call struct virt_call *call = NULL;
    cleanup_error struct nl_error *ignored = NULL;

    if (!*conn)
        return;
    /* The reference moves into the call; closing a connection to a dead guest may take for ever. */
    call = new_call(run_close, NULL, NULL, NULL);
    call->conn = nl_steal(conn);
    nl_interrupt_shield(true);
    perform(&call, nl_deadline_in(2), "closing the connection", &ignored);
    nl_interrupt_shield(false);
}

static json_t *version_text(unsigned long version)
{
    return json_sprintf("%lu.%lu.%lu", version / 1000000, version / 1000 % 1000, version % 1000);
}

json_t *nl_virt_library_version(void)
{
    unsigned long version = 0;

    return virGetVersion(&version, NULL, NULL) < 0 ? NULL : version_text(version);
}

static void run_version(struct virt_call *call)
{
    unsigned long version = 0;

    call->failed = virConnectGetVersion(call->conn, &version) < 0;
    if (!call->failed)
        call->json = version_text(version);
}

json_t *nl_virt_qemu_version(virConnectPtr conn)
{
    cleanup_call struct virt_call *call = new_call(run_version, conn, NULL, NULL);
    cleanup_error struct nl_error *ignored = NULL;

    /* QEMU may have to be probed first. */
    if (perform(&call, nl_deadline_in(60), "asking for QEMU's version", &ignored) < 0)
        return NULL;
    return nl_steal(&call->json);
}
