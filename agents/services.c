/*
 * services.c - see services.h.
 */
#include "services.h"

#include "cpu.h"
#include "fault.h"
#include "net.h"
#include "news.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_FOLDER "/var/log/nestlab"
#define READY_DEADLINE_MS (600 * 1000)
#define ADDRESS "10.0.2.15" /* what QEMU's user-mode network gives its only guest */
#define NETMASK "255.255.255.0"

enum state { WAITING, STARTED, READY, FAILED };

struct service {
    const char *name;
    const char *argv[8];
    bool (*probe)(struct service *service); /* NULL: ready when it has ended well */
    bool after_modules;
    enum state state;
    pid_t pid;
    int64_t deadline_ms;
    int fd; /* the probe's connection */
};

static bool probe_sshd(struct service *service);
static bool probe_libvirtd(struct service *service);

/* libvirtd looks for KVM when it starts, and forgets what it knew about QEMU if that has changed.
 */
static struct service services[] = {
    {.name = "sshd", .argv = {"/usr/sbin/sshd", "-D", "-e"}, .probe = probe_sshd, .fd = -1},
    {.name = "libvirtd",
     .argv = {"/usr/sbin/libvirtd"},
     .probe = probe_libvirtd,
     .after_modules = true,
     .fd = -1},
};
#define SERVICES (sizeof(services) / sizeof(services[0]))

static struct service modules = {.name = "modules", .fd = -1};
static bool started;

/* posix_spawn is vfork underneath: no page tables are copied, which counts on an emulated CPU. */
static int spawn(struct service *service)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, pipe_signal;
    char log[128];

    snprintf(log, sizeof(log), LOG_FOLDER "/%s.log", service->name);
    sigemptyset(&none);
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0640);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &pipe_signal);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int why = posix_spawnp(&service->pid, service->argv[0], &actions, &attributes,
                           (char **)service->argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (why)
        service->pid = 0;
    return why;
}

static void fail(struct service *service, const char *message)
{
    service->state = FAILED;
    if (service->fd >= 0)
        close(service->fd);
    service->fd = -1;
    agent_news_trouble(service->name, message);
}

static void start(struct service *service)
{
    int why = spawn(service);
    char message[200];

    service->state = STARTED;
    service->deadline_ms = agent_now_ms() + READY_DEADLINE_MS;
    if (why) {
        snprintf(message, sizeof(message), "cannot run %s: %s", service->argv[0], strerror(why));
        fail(service, message);
    }
}

/* The last line it wrote; malloc'd, "" if it wrote nothing. */
static char *last_line(const struct service *service)
{
    char path[128], tail[1024];

    snprintf(path, sizeof(path), LOG_FOLDER "/%s.log", service->name);
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    off_t from = size > (off_t)sizeof(tail) - 1 ? size - (off_t)sizeof(tail) + 1 : 0;
    ssize_t n = fd < 0 ? 0 : pread(fd, tail, sizeof(tail) - 1, from);
    while (n > 0 && tail[n - 1] == '\n')
        n--;
    tail[n > 0 ? n : 0] = '\0';
    char *newline = strrchr(tail, '\n');
    return strdup(newline ? newline + 1 : tail);
}

static void report_end(struct service *service, int status)
{
    cleanup_free char *said = last_line(service);
    cleanup_free char *message = NULL;
    int n = WIFSIGNALED(status) ? asprintf(&message, "ended by signal %d; its last words: %s",
                                           WTERMSIG(status), said ? said : "")
                                : asprintf(&message, "ended with status %d; its last words: %s",
                                           WEXITSTATUS(status), said ? said : "");
    fail(service, n < 0 ? "ended" : message);
}

void agent_services_load_modules(bool kvm)
{
    static const struct {
        const char *vendor;
        const char *modules[3];
    } by_vendor[] = {{"AuthenticAMD", {"kvm_amd"}},
                     {"HygonGenuine", {"kvm_amd"}},
                     {"GenuineIntel", {"kvm_intel", "msr"}}, /* msr: to read VMX's capabilities */
                     {"  Shanghai  ", {"kvm_intel", "msr"}}};
    static const char *const always[] = {"modprobe", "-a", "virtio_net"};
    char vendor[13];

    mkdir("/var/log", 0755);
    mkdir(LOG_FOLDER, 0755);
    agent_cpuid_vendor(vendor);
    memcpy(modules.argv, always, sizeof(always));
    for (size_t i = 0; kvm && i < sizeof(by_vendor) / sizeof(by_vendor[0]); i++)
        if (strcmp(by_vendor[i].vendor, vendor) == 0)
            memcpy(modules.argv + 3, by_vendor[i].modules, sizeof(by_vendor[i].modules));
    if (kvm && !modules.argv[3])
        agent_news_trouble("kvm", "no KVM module is known for this processor's vendor");
    start(&modules);
}

static void modules_loaded(void)
{
    cleanup_agent_error struct agent_error error = {0};

    agent_news_phase("modules");
    if (agent_net_up("eth0", ADDRESS, NETMASK, &error) < 0)
        agent_news_trouble("network", error.message);
    agent_fault_boot(AGENT_FAULT_MODULES);
}

void agent_services_start(void)
{
    started = true;
    agent_news_phase("services");
    agent_services_poll();
}

bool agent_services_ended(pid_t pid, int status)
{
    if (pid == modules.pid) {
        modules.pid = 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            modules.state = READY;
        else
            report_end(&modules, status);
        modules_loaded();
        return true;
    }
    for (size_t i = 0; i < SERVICES; i++) {
        if (pid != services[i].pid)
            continue;
        services[i].pid = 0;
        report_end(&services[i], status);
        return true;
    }
    return false;
}

/* A connection to 127.0.0.1:22 is either refused or there, without waiting; the banner comes when
   sshd has got round to it. */
static bool probe_sshd(struct service *service)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(22), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char banner[4] = "";

    if (service->fd < 0) {
        service->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (service->fd < 0)
            return false;
        if (connect(service->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
            close(service->fd);
            service->fd = -1;
            return false;
        }
        fcntl(service->fd, F_SETFL, O_NONBLOCK);
    }
    ssize_t n = recv(service->fd, banner, sizeof(banner), 0);
    if (n < 0 && errno == EAGAIN)
        return false;
    close(service->fd);
    service->fd = -1;
    return n == sizeof(banner) && memcmp(banner, "SSH-", 4) == 0;
}

static bool probe_libvirtd(struct service *service)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/libvirt/libvirt-sock"};
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)service;
    return fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
}

static bool poll_one(struct service *service)
{
    bool modules_done = modules.state == READY || modules.state == FAILED;

    if (service->state == WAITING && (modules_done || !service->after_modules)) {
        start(service);
        return true;
    }
    if (service->state != STARTED)
        return false;
    if (service->probe(service)) {
        service->state = READY;
        agent_news_phase(service->name);
        return true;
    }
    if (agent_now_ms() < service->deadline_ms)
        return false;
    fail(service, "runs, but does not answer");
    return true;
}

bool agent_services_poll(void)
{
    bool changed = false;

    for (size_t i = 0; started && i < SERVICES; i++)
        changed |= poll_one(&services[i]);
    return changed;
}

bool agent_services_settled(void)
{
    bool settled = started && modules.state != STARTED;

    for (size_t i = 0; i < SERVICES; i++)
        settled = settled && (services[i].state == READY || services[i].state == FAILED);
    return settled;
}

json_t *agent_services_state(void)
{
    json_t *state = json_object();

    for (size_t i = 0; started && i < SERVICES; i++)
        json_object_set_new(state, services[i].name, json_boolean(services[i].state == READY));
    return state;
}
