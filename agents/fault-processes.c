/*
 * fault-processes.c - faults of a guest's processes and its memory: see fault.h.
 */
#include "fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names as in /proc/PID/comm, which ends after 15 bytes. */
#define EMULATOR "qemu-system-x86"
#define VCPU_THREAD "CPU 0/KVM"

#define LOOK_AGAIN_US 100000
#define GUEST_DEADLINE_MS 600000

static bool has_text(const char *path, const char *text)
{
    cleanup_free char *line = agent_read_line(path);

    return line && strcmp(line, text) == 0;
}

/* Calls WORK with the number of each entry of FOLDER that is one; the sum of what it returns. */
static int for_each_number(const char *folder, int (*work)(long number, const void *data),
                           const void *data)
{
    DIR *dir = opendir(folder);
    int sum = 0;

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        long number = strtol(entry->d_name, NULL, 10);
        if (number > 0)
            sum += work(number, data);
    }
    if (dir)
        closedir(dir);
    return sum;
}

static int kill_by_name(long pid, const void *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
    return has_text(path, name) && kill((pid_t)pid, SIGKILL) == 0;
}

static int kill_all(const char *name, struct agent_error *error)
{
    return for_each_number("/proc", kill_by_name, name) > 0
               ? 0
               : agent_fail(error, NULL, "there is no process %s to kill", name);
}

/* The sessions of those who are connected, too. */
int agent_fault_kill_sshd(struct agent_error *error)
{
    return kill_all("sshd", error);
}

int agent_fault_kill_libvirtd(struct agent_error *error)
{
    return kill_all("libvirtd", error);
}

int agent_fault_kill_emulator(struct agent_error *error)
{
    return kill_all(EMULATOR, error);
}

/* Pid 1's children that are the agent's program: what serves the link, and the shell. */
static int kill_if_agent(long pid, const void *self)
{
    char path[64], target[PATH_MAX];
    long parent = 0;

    if (pid == 1 || pid == getpid())
        return 0;
    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    cleanup_free char *stat = agent_read_line(path);
    const char *after = stat ? strrchr(stat, ')') : NULL;
    if (!after || sscanf(after, ") %*c %ld", &parent) != 1 || parent != 1)
        return 0;
    snprintf(path, sizeof(path), "/proc/%ld/exe", pid);
    ssize_t n = readlink(path, target, sizeof(target) - 1);
    if (n < 0)
        return 0;
    target[n] = '\0';
    return strcmp(target, self) == 0 && kill((pid_t)pid, SIGKILL) == 0;
}

/* Init starts again what answers, but not without end: so long it takes. */
int agent_fault_kill_agent(struct agent_error *error)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int quiet = 0;

    if (n < 0)
        return agent_fail(error, NULL, "cannot find out what the agent's program is");
    self[n] = '\0';
    while (quiet < 50) {
        quiet = for_each_number("/proc", kill_if_agent, self) > 0 ? 0 : quiet + 1;
        usleep(LOOK_AGAIN_US);
    }
    return 0;
}

/* The oldest QEMU. */
static int take_emulator(long pid, const void *to)
{
    long *found = *(long *const *)to;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
    if (has_text(path, EMULATOR) && (!*found || pid < *found))
        *found = pid;
    return 0;
}

struct vcpu {
    long pid, tid;
    long long ticks;
};

static int take_vcpu(long tid, const void *to)
{
    struct vcpu *vcpu = *(struct vcpu *const *)to;
    char path[96];

    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/comm", vcpu->pid, tid);
    if (!has_text(path, VCPU_THREAD))
        return 0;
    vcpu->tid = tid;
    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/stat", vcpu->pid, tid);
    cleanup_free char *stat = agent_read_line(path);
    const char *after = stat ? strrchr(stat, ')') : NULL;
    long long user, system;
    if (after && sscanf(after, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld", &user,
                        &system) == 2)
        vcpu->ticks = user + system;
    return 0;
}

/* A vCPU whose guest has run for SECONDS; waited for. */
static int wait_for_vcpu(double seconds, struct vcpu *vcpu, struct agent_error *error)
{
    int64_t until = agent_now_ms() + GUEST_DEADLINE_MS;
    char path[64];

    for (;;) {
        *vcpu = (struct vcpu){0};
        long *pid = &vcpu->pid;
        for_each_number("/proc", take_emulator, &pid);
        snprintf(path, sizeof(path), "/proc/%ld/task", vcpu->pid);
        if (vcpu->pid)
            for_each_number(path, take_vcpu, &vcpu);
        if ((double)vcpu->ticks / (double)sysconf(_SC_CLK_TCK) >= seconds)
            return 0;
        if (agent_now_ms() > until)
            return agent_fail(error, NULL, "no guest has run");
        usleep(LOOK_AGAIN_US);
    }
}

static int write_file(const char *path, const char *text, struct agent_error *error)
{
    cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd < 0 || agent_write_all(fd, text, strlen(text)) < 0
               ? agent_fail(error, NULL, "%s: %s", path, strerror(errno))
               : 0;
}

/* The vCPU gets a twentieth of the processor, once it runs: of QEMU's start nothing is to be slow,
   nor its monitor. One thread of a process can have a limit of its own in a threaded group only. */
int agent_fault_throttle_emulator(struct agent_error *error)
{
    static const char group[] = "/sys/fs/cgroup/nestlab", part[] = "/sys/fs/cgroup/nestlab/vcpu";
    struct vcpu vcpu;
    char pid[32], tid[32];

    if (wait_for_vcpu(0.2, &vcpu, error) < 0)
        return -1;
    snprintf(pid, sizeof(pid), "%ld", vcpu.pid);
    snprintf(tid, sizeof(tid), "%ld", vcpu.tid);
    const struct {
        const char *path, *text;
    } steps[] = {
        {"/sys/fs/cgroup/cgroup.subtree_control", "+cpu"},
        {"/sys/fs/cgroup/nestlab/cgroup.procs", pid},
        {"/sys/fs/cgroup/nestlab/vcpu/cgroup.type", "threaded"},
        {"/sys/fs/cgroup/nestlab/cgroup.subtree_control", "+cpu"},
        {"/sys/fs/cgroup/nestlab/vcpu/cgroup.threads", tid},
        {"/sys/fs/cgroup/nestlab/vcpu/cpu.max", "5000 100000"},
    };
    if (mkdir(group, 0755) < 0 || mkdir(part, 0755) < 0)
        return agent_fail(error, NULL, "%s: %s", part, strerror(errno));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (write_file(steps[i].path, steps[i].text, error) < 0)
            return -1;
    return 0;
}

static long long meminfo_kib(const char *name)
{
    cleanup_free char *text = agent_read_file("/proc/meminfo", 65536, NULL);
    const char *at = text ? strstr(text, name) : NULL;

    return at ? atoll(at + strlen(name)) : 0;
}

static bool has_emulator(void)
{
    long pid = 0, *found = &pid;

    for_each_number("/proc", take_emulator, &found);
    return pid != 0;
}

/* More than there is, by a process that the kernel does not kill for it: it kills the largest other
   one, and that is QEMU. Then it gives all of it back, so that nothing else has to end. */
int agent_fault_eat_memory(struct agent_error *error)
{
    static const long long piece_kib = 4096;
    long long total = meminfo_kib("MemTotal:");
    long long eaten = 0;

    if (write_file("/proc/self/oom_score_adj", "-1000", error) < 0)
        return -1;
    for (; eaten < total && has_emulator(); eaten += piece_kib) {
        void *piece = mmap(NULL, (size_t)piece_kib * 1024, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
        if (piece == MAP_FAILED)
            return agent_fail(error, NULL, "no more memory after %lld KiB: %s", eaten,
                              strerror(errno));
        /* MAP_LOCKED alone would leave out silently what it cannot get. */
        memset(piece, 1, (size_t)piece_kib * 1024);
    }
    if (has_emulator())
        return agent_fail(error, NULL, "QEMU outlives a process that took %lld KiB", eaten);
    return 0;
}

/* Real-time processes, one for each vCPU, that never leave the kernel for long: nothing else runs
   any more, but interrupts, and an NMI finds a backtrace. */
int agent_fault_keep_vcpu(struct agent_error *error)
{
    static const size_t length = 1 << 20;
    const struct sched_param highest = {.sched_priority = sched_get_priority_max(SCHED_FIFO)};
    cleanup_close int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    cleanup_free char *buffer = malloc(length);

    if (zero < 0 || !buffer)
        return agent_fail(error, NULL, "/dev/zero: %s", strerror(errno));
    /* Otherwise everybody else gets a twentieth of the time. */
    if (write_file("/proc/sys/kernel/sched_rt_runtime_us", "-1", error) < 0)
        return -1;
    for (long i = sysconf(_SC_NPROCESSORS_ONLN); i > 1; i--) {
        pid_t child = fork();

        if (child < 0)
            return agent_fail(error, NULL, "fork: %s", strerror(errno));
        if (child == 0)
            break;
    }
    if (sched_setscheduler(0, SCHED_FIFO, &highest) < 0)
        return agent_fail(error, NULL, "real-time priority: %s", strerror(errno));
    while (read(zero, buffer, length) > 0)
        continue;
    return agent_fail(error, NULL, "/dev/zero: %s", strerror(errno));
}
