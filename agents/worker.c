/*
 * worker.c - see worker.h.
 */
#include "worker.h"

#include "protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(struct agent_context *context, const struct agent_request *request, int to)
{
    size_t length = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    json_t *reply = agent_request_run(context, request);
    char *line = reply ? agent_reply_line(reply, &length) : NULL;
    _exit(line && agent_write_all(to, line, length) == 0 ? 0 : 1);
}

int agent_worker_start(struct agent_worker *worker, struct agent_context *context,
                       struct agent_request *request)
{
    int pipes[2];

    if (pipe2(pipes, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        work(context, request, pipes[1]);
    close(pipes[1]);
    if (pid < 0) {
        int why = errno;
        close(pipes[0]);
        errno = why;
        return -1;
    }
    fcntl(pipes[0], F_SETFL, O_NONBLOCK);
    *worker = (struct agent_worker){
        .pid = pid,
        .fd = pipes[0],
        .request = *request,
        .started_ms = agent_now_ms(),
        .deadline_ms = agent_now_ms() + (int64_t)(agent_request_backstop_s(request) * 1000)};
    *request = (struct agent_request){0};
    return 0;
}

/* 1: the end was reached, 0: more to come, -1: cannot go on. */
static int receive(struct agent_worker *worker)
{
    for (;;) {
        if (worker->size - worker->length < 4096) {
            size_t size = worker->size * 2 + 65536;
            char *grown = size > 2 * (size_t)NL_PROTOCOL_LINE_MAX + 131072
                              ? NULL
                              : realloc(worker->reply, size);
            if (!grown)
                return -1;
            worker->reply = grown;
            worker->size = size;
        }
        ssize_t n = read(worker->fd, worker->reply + worker->length, worker->size - worker->length);
        if (n == 0)
            return 1;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0)
            worker->length += (size_t)n;
    }
}

/* SIGTERM lets "exec" take its program with it; a process that ignores both is left to init. */
static int end_process(pid_t pid)
{
    static const int signals[] = {0, SIGTERM, SIGKILL};
    int status = -1;

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (signals[i])
            kill(pid, signals[i]);
        for (int tries = 0; tries < 100; tries++) {
            if (waitpid(pid, &status, WNOHANG) != 0)
                return status;
            usleep(2000);
        }
    }
    return -1;
}

static void finish(struct agent_worker *worker)
{
    close(worker->fd);
    free(worker->reply);
    agent_request_clear(&worker->request);
    *worker = (struct agent_worker){.fd = -1};
}

static char *error_line(const struct agent_worker *worker, int status, size_t *length)
{
    const char *name = worker->request.operation->name;
    char message[200];

    if (agent_now_ms() >= worker->deadline_ms)
        snprintf(message, sizeof(message), "%s did not end in %.0f s and was killed", name,
                 agent_request_backstop_s(&worker->request));
    else if (status >= 0 && WIFSIGNALED(status))
        snprintf(message, sizeof(message), "%s was ended by signal %d (%s)", name, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(message, sizeof(message), "%s ended without a reply", name);
    cleanup_json json_t *reply = agent_reply_error(worker->request.object, message, NULL);
    return agent_reply_line(reply, length);
}

char *agent_worker_poll(struct agent_worker *worker, size_t *length)
{
    bool late = agent_now_ms() >= worker->deadline_ms;
    int state = receive(worker);
    char *line = NULL;

    if (state == 0 && !late)
        return NULL;
    int status = end_process(worker->pid);
    if (state == 1 && worker->length > 0 && worker->reply[worker->length - 1] == '\n') {
        *length = worker->length;
        line = worker->reply;
        worker->reply = NULL;
    } else {
        line = error_line(worker, status, length);
    }
    finish(worker);
    return line;
}

void agent_worker_stop(struct agent_worker *worker)
{
    if (!worker->pid)
        return;
    kill(worker->pid, SIGTERM);
    end_process(worker->pid);
    finish(worker);
}
