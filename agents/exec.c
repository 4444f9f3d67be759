/*
 * exec.c - see exec.h.
 */
#include "exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define DRAIN_MS 500
#define BUSYBOX "/bin/busybox"

/* One of the program's outputs. */
struct sink {
    int fd;
    char *bytes;
    size_t length, limit;
    bool truncated;
};

struct run {
    char **argv;
    const char *directory;
    const json_t *environment;
    const char *input;
    size_t input_left;
    double timeout_s;
    pid_t pid;
    int input_fd, report_fd;
    struct sink output, errors;
};

static void run_clear(struct run *run)
{
    int fds[] = {run->input_fd, run->report_fd, run->output.fd, run->errors.fd};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(run->argv);
    free(run->output.bytes);
    free(run->errors.bytes);
}

static int parse_argv(const json_t *list, struct run *run, struct agent_error *error)
{
    static const char hint[] = "\"argv\" is a non-empty array of strings";
    size_t n = json_array_size(list);

    if (n == 0)
        return agent_fail(error, hint, "no program to run");
    run->argv = calloc(n + 1, sizeof(char *));
    if (!run->argv)
        return agent_fail(error, NULL, "no memory");
    for (size_t i = 0; i < n; i++) {
        run->argv[i] = (char *)json_string_value(json_array_get(list, i));
        if (!run->argv[i])
            return agent_fail(error, hint, "argument %zu is not a string", i);
    }
    if (!run->argv[0][0])
        return agent_fail(error, hint, "the program's name is empty");
    return 0;
}

static int parse_environment(const json_t *environment, struct run *run, struct agent_error *error)
{
    const char *name;
    json_t *value;

    if (environment && !json_is_object(environment))
        return agent_fail(error, NULL, "\"environment\" is not an object");
    json_object_foreach((json_t *)environment, name, value)
    {
        if (!json_is_string(value) || !*name || strchr(name, '='))
            return agent_fail(error, "names without '=', values that are strings",
                              "bad environment variable \"%s\"", name);
    }
    run->environment = environment;
    return 0;
}

/* The optional number KEY, within 0..MAX. */
static int parse_number(const json_t *request, const char *key, double max, double *value,
                        struct agent_error *error)
{
    const json_t *number = json_object_get(request, key);

    if (!number || json_is_null(number))
        return 0;
    *value = json_number_value(number);
    if (!json_is_number(number) || !(*value > 0) || *value > max)
        return agent_fail(error, NULL, "\"%s\" is not a number over 0 and up to %.0f", key, max);
    return 0;
}

static int parse_text(const json_t *request, const char *key, const char **text,
                      struct agent_error *error)
{
    const json_t *value = json_object_get(request, key);

    if (!value || json_is_null(value))
        return 0;
    *text = json_string_value(value);
    return *text ? 0 : agent_fail(error, NULL, "\"%s\" is not a string", key);
}

static int parse(const json_t *request, struct run *run, struct agent_error *error)
{
    double limit = AGENT_EXEC_OUTPUT;

    run->timeout_s = AGENT_EXEC_TIMEOUT_S;
    if (parse_argv(json_object_get(request, "argv"), run, error) < 0 ||
        parse_environment(json_object_get(request, "environment"), run, error) < 0 ||
        parse_text(request, "directory", &run->directory, error) < 0 ||
        parse_text(request, "input", &run->input, error) < 0 ||
        parse_number(request, "timeout_s", AGENT_EXEC_TIMEOUT_MAX_S, &run->timeout_s, error) < 0 ||
        parse_number(request, "output_limit", AGENT_EXEC_OUTPUT_MAX, &limit, error) < 0)
        return -1;
    run->input_left = run->input ? strlen(run->input) : 0;
    run->output.limit = run->errors.limit = (size_t)limit;
    return 0;
}

/* In the child: become the program, or say why not. */
static void become(const struct run *run, const int *ends, int report)
{
    const char *name;
    sigset_t none;
    json_t *value;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    for (int i = 0; i < 3; i++)
        dup2(ends[i], i);
    json_object_foreach((json_t *)run->environment, name, value)
    {
        setenv(name, json_string_value(value), 1);
    }
    if (!run->directory || chdir(run->directory) == 0) {
        execvp(run->argv[0], run->argv);
        if (errno == ENOENT && !strchr(run->argv[0], '/') && access(BUSYBOX, X_OK) == 0)
            execv(BUSYBOX, run->argv);
    }
    int why = errno;
    agent_write_all(report, &why, sizeof(why));
    _exit(127);
}

static void close_all(int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static int start(struct run *run, struct agent_error *error)
{
    /* Pairs: input, output, errors, and the report of a failed exec. */
    int fds[8] = {-1, -1, -1, -1, -1, -1, -1, -1};

    for (int i = 0; i < 8; i += 2) {
        if (pipe2(fds + i, O_CLOEXEC) < 0) {
            close_all(fds, 8);
            return agent_fail(error, NULL, "no pipes: %s", strerror(errno));
        }
    }
    run->pid = fork();
    if (run->pid == 0)
        become(run, (int[]){fds[0], fds[3], fds[5]}, fds[7]);
    if (run->pid < 0) {
        close_all(fds, 8);
        return agent_fail(error, NULL, "cannot fork: %s", strerror(errno));
    }
    close_all((int[]){fds[0], fds[3], fds[5], fds[7]}, 4);
    run->input_fd = fds[1];
    run->output.fd = fds[2];
    run->errors.fd = fds[4];
    run->report_fd = fds[6];
    for (int i = 1; i < 5; i++)
        if (i != 3)
            fcntl(fds[i], F_SETFL, O_NONBLOCK);
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Read what is there; past the limit it is thrown away, so that the program does not block. */
static void drain(struct sink *sink)
{
    char buffer[65536];
    ssize_t n;

    while (sink->fd >= 0 && (n = read(sink->fd, buffer, sizeof(buffer))) != 0) {
        if (n < 0) {
            if (errno == EINTR)
                continue;
            if (errno != EAGAIN)
                close_fd(&sink->fd);
            return;
        }
        size_t room = sink->limit - sink->length;
        size_t take = (size_t)n < room ? (size_t)n : room;
        sink->truncated |= take < (size_t)n;
        char *grown = take ? realloc(sink->bytes, sink->length + take) : NULL;
        if (!grown)
            continue;
        memcpy(grown + sink->length, buffer, take);
        sink->bytes = grown;
        sink->length += take;
    }
    close_fd(&sink->fd);
}

static void feed(struct run *run)
{
    while (run->input_fd >= 0 && run->input_left > 0) {
        ssize_t n = write(run->input_fd, run->input, run->input_left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            break;
        run->input += n;
        run->input_left -= (size_t)n;
    }
    close_fd(&run->input_fd);
}

/* SIGCHLD only wakes; SIGTERM says that nobody wants the result any more. */
static void take_signals(const struct run *run, int signals)
{
    struct signalfd_siginfo info;

    while (read(signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGTERM) {
            kill(-run->pid, SIGKILL);
            _exit(1);
        }
    }
}

/* Move bytes until the program has ended and its outputs are closed, or time is up. Returns the
   wait status; TIMED_OUT tells. */
static int follow(struct run *run, int signals, bool *timed_out)
{
    int64_t until = agent_now_ms() + (int64_t)(run->timeout_s * 1000);
    bool ended = false;
    int status = 0;

    while (!ended || run->output.fd >= 0 || run->errors.fd >= 0) {
        struct pollfd fds[] = {
            {.fd = signals, .events = POLLIN},
            {.fd = run->output.fd, .events = POLLIN},
            {.fd = run->errors.fd, .events = POLLIN},
            {.fd = run->input_fd, .events = POLLOUT},
        };
        int64_t left = until - agent_now_ms();
        if (left <= 0 && ended)
            break;
        if (left <= 0) {
            *timed_out = true;
            kill(-run->pid, SIGKILL);
            until = agent_now_ms() + DRAIN_MS;
            waitpid(run->pid, &status, 0);
            ended = true;
            continue;
        }
        poll(fds, 4, left > 3600000 ? 3600000 : (int)left);
        feed(run);
        drain(&run->output);
        drain(&run->errors);
        take_signals(run, signals);
        if (!ended && waitpid(run->pid, &status, WNOHANG) == run->pid) {
            ended = true;
            until = agent_now_ms() + DRAIN_MS;
        }
    }
    /* What it left running in its group goes with it. */
    kill(-run->pid, SIGKILL);
    return status;
}

/* The first bytes of the program, as text that ends; empty where it cannot be read. */
static void read_start(const struct run *run, char *start, size_t size)
{
    cleanup_close int folder =
        open(run->directory ? run->directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_close int fd = folder < 0 ? -1 : openat(folder, run->argv[0], O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, start, size - 1);

    start[n > 0 ? n : 0] = '\0';
}

/* The kernel says "No such file" also of what a program that is there needs to start. */
static int fail_to_find(const struct run *run, struct agent_error *error)
{
    const char *name = run->argv[0];
    char start[256];

    if (run->directory && access(run->directory, X_OK) < 0)
        return agent_fail(error, NULL, "cannot run %s: there is no folder %s", name,
                          run->directory);
    if (!strchr(name, '/'))
        return agent_fail(error, NULL, "cannot run %s: there is no program of that name", name);
    read_start(run, start, sizeof(start));
    if (memcmp(start, "\177ELF", 4) == 0)
        return agent_fail(error,
                          "link it statically (gcc -static), or run it in a layer that has the "
                          "libraries: a leaf has none",
                          "cannot run %s: the file is there, but not the dynamic loader that it "
                          "was linked for",
                          name);
    if (strncmp(start, "#!", 2) == 0)
        return agent_fail(error, "a leaf has busybox: #!/bin/sh",
                          "cannot run %s: the file is there, but not its interpreter %.*s", name,
                          (int)strcspn(start + 2, "\n"), start + 2);
    return agent_fail(error,
                      "paths are the layer's own; a scenario's command takes files along by "
                      "\"files\"",
                      "cannot run %s: there is no such file", name);
}

static int fail_to_run(const struct run *run, int why, struct agent_error *error)
{
    if (why == ENOENT)
        return fail_to_find(run, error);
    return agent_fail(
        error, why == EACCES ? "make it executable (chmod +x) before it is taken along" : NULL,
        "cannot run %s: %s", run->argv[0], strerror(why));
}

static json_t *describe(const struct run *run, int status, bool timed_out, double seconds)
{
    return json_pack(
        "{s:o, s:o, s:b, s:f, s:o, s:o, s:b}", "exit",
        WIFEXITED(status) && !timed_out ? json_integer(WEXITSTATUS(status)) : json_null(), "signal",
        WIFSIGNALED(status) ? json_integer(WTERMSIG(status)) : json_null(), "timed_out", timed_out,
        "seconds", seconds, "stdout", agent_json_text(run->output.bytes, run->output.length),
        "stderr", agent_json_text(run->errors.bytes, run->errors.length), "truncated",
        run->output.truncated || run->errors.truncated);
}

int agent_exec(const json_t *request, json_t **result, struct agent_error *error)
{
    AGENT_CLEANUP(run_clear)
    struct run run = {.input_fd = -1, .report_fd = -1, .output.fd = -1, .errors.fd = -1};
    bool timed_out = false;
    sigset_t set;
    int why;

    if (parse(request, &run, error) < 0)
        return -1;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    cleanup_close int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        return agent_fail(error, NULL, "signalfd: %s", strerror(errno));
    int64_t begun = agent_now_ms();
    if (start(&run, error) < 0)
        return -1;
    /* Closed by a successful exec, so this does not wait for the program. */
    if (read(run.report_fd, &why, sizeof(why)) == sizeof(why)) {
        waitpid(run.pid, NULL, 0);
        return fail_to_run(&run, why, error);
    }
    int status = follow(&run, signals, &timed_out);
    *result = describe(&run, status, timed_out, (double)(agent_now_ms() - begun) / 1000);
    return *result ? 0 : agent_fail(error, NULL, "no memory");
}
