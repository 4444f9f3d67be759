/*
 * kvm.c - see kvm.h.
 */
#include "kvm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Newer than Debian 12's headers. */
#ifndef KVM_CAP_X86_NOTIFY_VMEXIT
#define KVM_CAP_X86_NOTIFY_VMEXIT 219
#endif

#define CAPABILITY(name)                                                                           \
    {                                                                                              \
#name, name                                                                                \
    }

static const struct {
    const char *name;
    int number;
} capabilities[] = {
    CAPABILITY(KVM_CAP_NESTED_STATE),
    CAPABILITY(KVM_CAP_NR_VCPUS),
    CAPABILITY(KVM_CAP_MAX_VCPUS),
    CAPABILITY(KVM_CAP_MAX_VCPU_ID),
    CAPABILITY(KVM_CAP_NR_MEMSLOTS),
    CAPABILITY(KVM_CAP_MULTI_ADDRESS_SPACE),
    CAPABILITY(KVM_CAP_IRQCHIP),
    CAPABILITY(KVM_CAP_SPLIT_IRQCHIP),
    CAPABILITY(KVM_CAP_X2APIC_API),
    CAPABILITY(KVM_CAP_IRQFD),
    CAPABILITY(KVM_CAP_IOEVENTFD),
    CAPABILITY(KVM_CAP_PIT2),
    CAPABILITY(KVM_CAP_SYNC_MMU),
    CAPABILITY(KVM_CAP_IMMEDIATE_EXIT),
    CAPABILITY(KVM_CAP_EXCEPTION_PAYLOAD),
    CAPABILITY(KVM_CAP_X86_DISABLE_EXITS),
    CAPABILITY(KVM_CAP_X86_SMM),
    CAPABILITY(KVM_CAP_X86_NOTIFY_VMEXIT),
    CAPABILITY(KVM_CAP_HYPERV),
    CAPABILITY(KVM_CAP_HYPERV_CPUID),
    CAPABILITY(KVM_CAP_HYPERV_ENLIGHTENED_VMCS),
    CAPABILITY(KVM_CAP_HYPERV_DIRECT_TLBFLUSH),
    CAPABILITY(KVM_CAP_STEAL_TIME),
    CAPABILITY(KVM_CAP_TSC_CONTROL),
    CAPABILITY(KVM_CAP_GET_TSC_KHZ),
    CAPABILITY(KVM_CAP_TSC_DEADLINE_TIMER),
    CAPABILITY(KVM_CAP_ADJUST_CLOCK),
    CAPABILITY(KVM_CAP_KVMCLOCK_CTRL),
    CAPABILITY(KVM_CAP_VCPU_EVENTS),
    CAPABILITY(KVM_CAP_XSAVE),
    CAPABILITY(KVM_CAP_XSAVE2),
    CAPABILITY(KVM_CAP_GET_MSR_FEATURES),
    CAPABILITY(KVM_CAP_BINARY_STATS_FD),
    CAPABILITY(KVM_CAP_DIRTY_LOG_RING),
    CAPABILITY(KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2),
    CAPABILITY(KVM_CAP_READONLY_MEM),
    CAPABILITY(KVM_CAP_PMU_CAPABILITY),
    CAPABILITY(KVM_CAP_VM_COPY_ENC_CONTEXT_FROM),
};

/* One step of the probe is told at once, as a line of JSON: what came before a hang is known. */
static void tell(int to, json_t *step)
{
    cleanup_free char *text = json_dumps(step, JSON_COMPACT);

    json_decref(step);
    if (text && agent_write_all(to, text, strlen(text)) == 0)
        agent_write_all(to, "\n", 1);
}

static json_t *capability_facts(int kvm)
{
    json_t *all = json_object();

    for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
        int value = ioctl(kvm, KVM_CHECK_EXTENSION, capabilities[i].number);
        if (value >= 0)
            json_object_set_new(all, capabilities[i].name, json_integer(value));
    }
    return all;
}

static json_t *guest_failure(const char *format, const char *detail)
{
    return json_pack("{s:{s:b, s:o}}", "guest", "ran", 0, "error", json_sprintf(format, detail));
}

/* The probe's process: everything here may hang or be killed. */
static void probe(bool with_guest, int to)
{
    int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);

    if (kvm < 0) {
        int why = errno;
        tell(to, json_pack("{s:{s:b, s:b, s:s}}", "device", "exists",
                           why != ENOENT && why != ENOTDIR, "opens", 0, "error", strerror(why)));
        if (with_guest)
            tell(to, guest_failure("/dev/kvm cannot be opened: %s", strerror(why)));
        return;
    }
    tell(to, json_pack("{s:{s:b, s:b, s:n}, s:i}", "device", "exists", 1, "opens", 1, "error",
                       "api_version", ioctl(kvm, KVM_GET_API_VERSION, 0)));
    tell(to, json_pack("{s:o}", "capabilities", capability_facts(kvm)));
    int vm = ioctl(kvm, KVM_CREATE_VM, 0);
    tell(to, json_pack("{s:b}", "vm_created", vm >= 0));
    if (vm < 0) {
        if (with_guest)
            tell(to, guest_failure("KVM_CREATE_VM: %s", strerror(errno)));
        return;
    }
    int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
    tell(to, json_pack("{s:b}", "vcpu_created", vcpu >= 0));
    if (!with_guest)
        return;
    if (vcpu < 0) {
        tell(to, guest_failure("KVM_CREATE_VCPU: %s", strerror(errno)));
        return;
    }
    int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
    void *run = size < (int)sizeof(struct kvm_run)
                    ? MAP_FAILED
                    : mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
    if (run == MAP_FAILED)
        tell(to, guest_failure("mapping the vCPU's kvm_run: %s", strerror(errno)));
    else
        tell(to, json_pack("{s:o}", "guest", agent_kvm_guest(vm, vcpu, run)));
}

/* All that the probe says until it ends or the deadline passes. True if it ended. */
static bool listen_to(int from, int64_t deadline_ms, char *text, size_t size)
{
    size_t used = 0;

    for (;;) {
        int64_t left = deadline_ms - agent_now_ms();
        struct pollfd fd = {.fd = from, .events = POLLIN};
        text[used] = '\0';
        if (left <= 0)
            return false;
        int ready = poll(&fd, 1, (int)left);
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready <= 0)
            continue;
        ssize_t n = read(from, text + used, size - used - 1);
        if (n <= 0)
            return true;
        used += (size_t)n;
    }
}

/* A process inside KVM may not die at once, or ever; nobody waits for it without end. */
static int reap(pid_t child, double seconds)
{
    int status = 0;

    for (int64_t until = agent_now_ms() + (int64_t)(seconds * 1000); agent_now_ms() < until;) {
        if (waitpid(child, &status, WNOHANG) != 0)
            return status;
        usleep(2000);
    }
    return -1;
}

static void merge_steps(json_t *facts, char *text)
{
    char *rest = text;

    for (char *line; (line = strsep(&rest, "\n"));) {
        cleanup_json json_t *step = json_loads(line, 0, NULL);
        if (json_is_object(step))
            json_object_update(facts, step);
    }
}

json_t *agent_kvm_facts(bool guest, double deadline_s)
{
    json_t *facts =
        json_pack("{s:{s:n, s:n, s:n}, s:n, s:n, s:n, s:{}, s:n}", "device", "exists", "opens",
                  "error", "api_version", "vm_created", "vcpu_created", "capabilities", "guest");
    char text[16384];
    int pipes[2];

    if (pipe2(pipes, O_CLOEXEC) < 0)
        return facts;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        probe(guest, pipes[1]);
        _exit(0);
    }
    close(pipes[1]);
    bool ended =
        listen_to(pipes[0], agent_now_ms() + (int64_t)(deadline_s * 1000), text, sizeof(text));
    close(pipes[0]);
    if (child < 0)
        return facts;
    if (!ended)
        kill(child, SIGKILL);
    int status = reap(child, 1.0);
    merge_steps(facts, text);
    if (!ended || (guest && json_is_null(json_object_get(facts, "guest"))) ||
        (status > 0 && WIFSIGNALED(status))) {
        json_t *why = ended ? json_sprintf("the probe ended with wait status 0x%x", status)
                            : json_sprintf("did not finish within %g s", deadline_s);
        json_object_set_new(facts, "guest", json_pack("{s:b, s:o}", "ran", 0, "error", why));
    }
    return facts;
}
