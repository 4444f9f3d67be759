/*
 * supervise.c - see supervise.h.
 */
#include "supervise.h"

#include "news.h"
#include "protocol.h"
#include "serve.h"
#include "services.h"
#include "shell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESTARTS_MAX 10
#define RESTART_PAUSE_MS 200
#define PORT_POLL_MS 20

/* A child of pid 1 that must go on: killing it must not bring the guest down. */
struct helper {
    const char *name;
    void (*run)(void);
    pid_t pid;
    int starts;
    bool restart_when_done; /* also when it ends of its own will */
    int64_t restart_ms;     /* 0: not due */
};

static void serve_link(void);

static struct helper helpers[] = {
    {.name = "link", .run = serve_link, .restart_when_done = true},
    {.name = "shell", .run = agent_shell_serve},
};
#define HELPERS (sizeof(helpers) / sizeof(helpers[0]))

static const char *layer_name;
static int news[2] = {-1, -1}; /* [0] is pid 1's */
static int signals = -1;
static bool ready;
static double ready_uptime_s = -1;

/* Ports appear a moment after their driver is loaded. */
static void open_port(struct agent_port *port)
{
    int pause_ms = PORT_POLL_MS;

    while (agent_port_open(port, NL_PROTOCOL_PORT) < 0) {
        usleep((useconds_t)pause_ms * 1000);
        pause_ms = pause_ms < 500 ? pause_ms * 2 : 1000;
    }
}

static void serve_link(void)
{
    struct agent_context context = {
        .layer = layer_name, .in_guest = true, .ready_uptime_s = -1, .services = json_object()};
    struct agent_port port;

    open_port(&port);
    struct agent_stream stream = {.in = port.fd, .out = port.fd, .port = &port, .news = news[1]};
    agent_serve(&stream, &context);
    if (context.poweroff) {
        kill(1, SIGTERM);
        pause();
    }
}

static void start(struct helper *helper)
{
    sigset_t none;

    helper->restart_ms = 0;
    helper->pid = fork();
    if (helper->pid == 0) {
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        helper->run();
        _exit(0);
    }
    if (helper->pid < 0)
        helper->restart_ms = agent_now_ms() + RESTART_PAUSE_MS;
    else
        helper->starts++;
}

static void report_status(void)
{
    cleanup_json json_t *state = agent_services_state();

    agent_news_status(ready, ready_uptime_s, state);
}

static void helper_ended(struct helper *helper, int status)
{
    char message[100];

    helper->pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !helper->restart_when_done)
        return;
    snprintf(message, sizeof(message), "%s ended with wait status 0x%x%s", helper->name,
             (unsigned)status, helper->starts > RESTARTS_MAX ? " too often" : ", restarted");
    /* "agent" tells the runner that nobody answers the question that is open. */
    agent_news_trouble(helper->run == serve_link ? "agent" : helper->name, message);
    report_status();
    if (helper->starts <= RESTARTS_MAX)
        helper->restart_ms = agent_now_ms() + RESTART_PAUSE_MS;
}

static void child_ended(pid_t pid, int status)
{
    for (size_t i = 0; i < HELPERS; i++)
        if (helpers[i].pid == pid) {
            helper_ended(&helpers[i], status);
            return;
        }
    if (agent_services_ended(pid, status))
        report_status();
}

/* Nothing is left to write, and the disk is clean: whoever looks at it later finds what was
 * written. */
static void __attribute__((noreturn)) power_off(void)
{
    agent_klog(6, "power off");
    kill(-1, SIGKILL);
    sync();
    mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY, NULL);
    reboot(RB_POWER_OFF);
    for (;;)
        pause();
}

static void take_signals(void)
{
    struct signalfd_siginfo info;
    int status;

    while (read(signals, &info, sizeof(info)) == sizeof(info))
        if (info.ssi_signo != SIGCHLD)
            power_off();
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        child_ended(pid, status);
}

void agent_supervise_begin(const char *layer)
{
    sigset_t set;

    layer_name = layer;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    reboot(RB_DISABLE_CAD); /* Ctrl-Alt-Del is a SIGINT, not a reset */
    signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, news) < 0)
        agent_klog(3, "no socket pair: %s", strerror(errno));
    for (size_t i = 0; i < HELPERS; i++)
        start(&helpers[i]);
}

static void watch_services(enum agent_readiness readiness)
{
    bool services = readiness == AGENT_READY_WITH_SERVICES;
    bool changed = services && agent_services_poll();

    if (!ready && (services ? agent_services_settled() : readiness == AGENT_READY_AT_ONCE)) {
        cleanup_json json_t *state = agent_services_state();
        ready = true;
        ready_uptime_s = agent_uptime_s();
        agent_news_status(ready, ready_uptime_s, state);
        agent_news_ready(ready_uptime_s, state);
    } else if (changed) {
        report_status();
    }
}

static int wait_ms(enum agent_readiness readiness)
{
    int wait = ready || readiness == AGENT_NEVER_READY ? -1 : AGENT_SERVICES_TICK_MS;

    for (size_t i = 0; i < HELPERS; i++)
        if (helpers[i].restart_ms)
            wait = RESTART_PAUSE_MS;
    return wait;
}

void agent_supervise(enum agent_readiness readiness)
{
    for (;;) {
        take_signals();
        watch_services(readiness);
        for (size_t i = 0; i < HELPERS; i++)
            if (helpers[i].restart_ms && helpers[i].restart_ms <= agent_now_ms())
                start(&helpers[i]);
        agent_news_send(news[0]);
        struct pollfd fds[] = {
            {.fd = signals, .events = POLLIN},
            {.fd = agent_news_waiting() ? news[0] : -1, .events = POLLOUT},
        };
        poll(fds, 2, wait_ms(readiness));
    }
}
