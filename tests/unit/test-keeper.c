/*
 * test-keeper.c - the keeper: becoming one, being released, serving its socket.
 *
 * The stacks here have no guests: layers with a console fed by hand, and an agent that is a script.
 */
#include "keeper.h"
#include "dig.h"
#include "keeper-client.h"
#include "rundir-guests.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

static char base[64];

static int set_up(void **state)
{
    char runs[80];

    (void)state;
    strcpy(base, "/tmp/nlt-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    snprintf(runs, sizeof(runs), "%s/runs", base);
    setenv("NESTLAB_RUNS", runs, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return nl_rundir_tree(base, true, NULL) < 0 ? -1 : 0;
}

static char *in_base(const char *name)
{
    char *path = NULL;

    assert_true(asprintf(&path, "%s/%s", base, name) > 0);
    return path;
}

static char *read_text(const char *path)
{
    char text[4096];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

    if (file)
        fclose(file);
    text[n] = '\0';
    return strdup(text);
}

/* Is PID gone within some seconds? It is no child of ours. */
static bool ends(pid_t pid)
{
    for (int i = 0; i < 500; i++) {
        if (kill(pid, 0) < 0)
            return true;
        usleep(10000);
    }
    return false;
}

/* --- becoming a keeper --- */

enum keeper_does {
    RELEASE,     /* release the command with status 1, then write to standard output */
    EXIT_EARLY,  /* end before */
    DIE,         /* be killed before */
    WAIT_SIGNAL, /* wait for an interrupt, then exit */
    IGNORE_ALL,  /* wait, deaf */
};

static void keeper_part(enum keeper_does what, const char *log)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *pid_file = in_base("pid");
    FILE *file;

    if (nl_interrupt_catch(NULL) < 0)
        _exit(99);
    file = fopen(pid_file, "w");
    fprintf(file, "%d %d", (int)getpid(), (int)getsid(0));
    fclose(file);
    printf("before\n");
    fflush(stdout);
    switch (what) {
    case RELEASE:
        if (nl_keeper_released(1, log, &err) < 0)
            _exit(98);
        printf("after\n");
        fflush(stdout);
        nl_sleep(20, NULL);
        _exit(0);
    case EXIT_EARLY:
        _exit(3);
    case DIE:
        raise(SIGKILL);
        break;
    case WAIT_SIGNAL:
        _exit(nl_sleep(20, NULL) < 0 ? NL_EXIT_INTERRUPTED : 97);
    case IGNORE_ALL:
        for (int i = 0; i < 20; i++)
            sleep(1);
        _exit(96);
    }
}

/* The user's command, in a process of its own; its standard output is a file. */
static pid_t start_command(enum keeper_does what)
{
    cleanup_free char *out = in_base("out");
    cleanup_free char *log = in_base("log");
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        cleanup_error struct nl_error *err = NULL;
        bool in_keeper = false;
        int status = 77;
        int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        dup2(fd, 1);
        dup2(fd, 2);
        if (nl_keeper_fork(&in_keeper, &status, &err) < 0)
            nl_error_print(err);
        if (in_keeper)
            keeper_part(what, log);
        _exit(status);
    }
    return pid;
}

static int end_of(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static pid_t keeper_pid(pid_t *session)
{
    cleanup_free char *path = in_base("pid");
    int pid = 0, sid = 0;

    for (int i = 0; i < 500; i++) {
        cleanup_free char *text = read_text(path);

        if (sscanf(text, "%d %d", &pid, &sid) == 2)
            break;
        usleep(10000);
    }
    if (session)
        *session = sid;
    assert_true(pid > 0);
    return pid;
}

static void test_release(void **state)
{
    cleanup_free char *out = in_base("out");
    cleanup_free char *log = in_base("log");
    cleanup_free char *said = NULL;
    pid_t keeper, session;

    (void)state;
    assert_int_equal(end_of(start_command(RELEASE)), 1);
    keeper = keeper_pid(&session);
    assert_int_equal(session, keeper);
    assert_int_equal(kill(keeper, 0), 0);
    for (int i = 0; i < 500; i++) {
        free(said);
        said = read_text(log);
        if (said[0])
            break;
        usleep(10000);
    }
    assert_string_equal(said, "after\n");
    free(said);
    said = read_text(out);
    assert_string_equal(said, "before\n");
    kill(keeper, SIGTERM);
    assert_true(ends(keeper));
}

static void test_early_end(void **state)
{
    (void)state;
    assert_int_equal(end_of(start_command(EXIT_EARLY)), 3);
}

static void test_death(void **state)
{
    cleanup_free char *out = in_base("out");
    cleanup_free char *said = NULL;

    (void)state;
    assert_int_equal(end_of(start_command(DIE)), NL_EXIT_LAB);
    said = read_text(out);
    assert_non_null(strstr(said, "killed by signal 9"));
    assert_non_null(strstr(said, "nestlab gc"));
}

static void test_signals_are_passed_on(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        cleanup_free char *pid_file = in_base("pid");
        pid_t command;

        unlink(pid_file);
        command = start_command(WAIT_SIGNAL);
        keeper_pid(NULL);
        kill(command, signals[i]);
        assert_int_equal(end_of(command), NL_EXIT_INTERRUPTED);
    }
}

static void test_killed_command_interrupts_the_keeper(void **state)
{
    pid_t command = start_command(WAIT_SIGNAL);
    pid_t keeper = keeper_pid(NULL);

    (void)state;
    kill(command, SIGKILL);
    waitpid(command, NULL, 0);
    assert_true(ends(keeper));
}

static void test_waiting_costs_nothing(void **state)
{
    pid_t command = start_command(IGNORE_ALL);
    pid_t keeper = keeper_pid(NULL);
    struct rusage usage;
    double cpu;

    (void)state;
    kill(command, SIGINT);
    usleep(700000);
    /* Still waiting for the keeper, without spinning. */
    assert_int_equal(waitpid(command, NULL, WNOHANG), 0);
    kill(keeper, SIGKILL);
    assert_int_equal(wait4(command, NULL, 0, &usage), command);
    cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
          (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    assert_true(cpu < 0.2);
}

static void test_release_without_a_keeper(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *log = in_base("log");

    (void)state;
    assert_int_equal(nl_keeper_released(0, log, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "no keeper"));
}

/* --- serving --- */

struct served {
    pid_t pid; /* the process that serves; its exit status says why it ended */
    char id[64];
    char path[128];
};

/* An agent whose every answer is the words it was asked to run. */
static char *write_agent(void)
{
    char *path = in_base("agent");
    FILE *file = fopen(path, "w");

    fputs("#!/bin/sh\n"
          "while read -r line; do\n"
          "  id=$(printf %s \"$line\" | sed 's/.*\"id\": *\\([0-9]*\\).*/\\1/')\n"
          "  case $line in *sleep*) sleep 30;; esac\n"
          "  printf '{\"id\":%s,\"ok\":true,\"result\":{\"exit\":7,\"stdout\":\"hello\"}}\\n' $id\n"
          "done\n",
          file);
    fclose(file);
    chmod(path, 0700);
    return path;
}

static void serve_in_child(int channel, const char *console_file, const char *agent)
{
    struct nl_layer_spec specs[] = {{.name = (char *)"L0"}, {.name = (char *)"L1"}};
    struct nl_scenario scenario = {.layers = specs, .n_layers = 2};
    struct nl_layer layers[2] = {
        {.spec = &specs[0], .index = 0, .state = NL_LAYER_UP, .lock = PTHREAD_MUTEX_INITIALIZER},
        {.spec = &specs[1],
         .index = 1,
         .state = NL_LAYER_UP,
         .trouble = (char *)"bad \xff byte",
         .lock = PTHREAD_MUTEX_INITIALIZER},
    };
    struct nl_stack stack = {.scenario = &scenario, .layers = layers, .n_layers = 2};
    const char *why = "";

    if (nl_rundir_create("keeper", &stack.rundir, NULL) < 0 ||
        nl_console_open_detached(console_file, &layers[0].console, NULL) < 0 ||
        nl_link_open_local(agent, NULL, NULL, &layers[1].link, NULL) < 0)
        _exit(90);
    dprintf(channel, "%s %s\n", nl_rundir_id(stack.rundir), nl_rundir_path(stack.rundir));
    close(channel);
    if (nl_keeper_serve(&stack, &why, NULL) < 0)
        _exit(91);
    nl_link_close(&layers[1].link);
    nl_console_close(&layers[0].console);
    nl_rundir_remove(&stack.rundir, NULL);
    _exit(strcmp(why, "asked to") == 0 ? 10 : strcmp(why, "a signal") == 0 ? 11 : 12);
}

static struct served serve(void)
{
    cleanup_free char *console_file = in_base("console");
    cleanup_free char *agent = write_agent();
    struct served served = {0};
    char text[256] = "";
    int ends_of_pipe[2];

    assert_int_equal(pipe(ends_of_pipe), 0);
    fflush(NULL);
    served.pid = fork();
    if (served.pid == 0) {
        close(ends_of_pipe[0]);
        serve_in_child(ends_of_pipe[1], console_file, agent);
    }
    close(ends_of_pipe[1]);
    assert_true(read(ends_of_pipe[0], text, sizeof(text) - 1) > 0);
    close(ends_of_pipe[0]);
    assert_int_equal(sscanf(text, "%63s %127s", served.id, served.path), 2);
    return served;
}

static int dial(const struct served *served)
{
    int fd = -1;

    assert_int_equal(nl_keeper_connect(served->path, nl_deadline_in(5), &fd, NULL), 0);
    return fd;
}

static json_t *ask(int fd, json_t *request)
{
    json_t *result = NULL;
    cleanup_error struct nl_error *err = NULL;

    if (nl_keeper_ask(fd, request, nl_deadline_in(10), &result, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    return result;
}

static void assert_refused(int fd, json_t *request, const char *message)
{
    cleanup_error struct nl_error *err = NULL;

    assert_int_equal(nl_keeper_ask(fd, request, nl_deadline_in(10), NULL, &err), -1);
    assert_non_null(strstr(nl_error_message(err), message));
}

static void bring_down(const struct served *served)
{
    cleanup_close int fd = dial(served);

    json_decref(ask(fd, json_pack("{s:s}", "op", "down")));
    assert_int_equal(end_of(served->pid), 10);
    assert_int_equal(access(served->path, F_OK), -1);
}

static void test_status_and_down(void **state)
{
    struct served served = serve();
    cleanup_close int fd = dial(&served);
    cleanup_json json_t *status = NULL;
    json_t *layers;
    struct stat st;
    char path[256];

    (void)state;
    for (int i = 0; i < 3; i++) {
        json_decref(status);
        status = ask(fd, json_pack("{s:s}", "op", "status"));
    }
    assert_string_equal(nl_dig_string(status, "id", ""), served.id);
    assert_int_equal(nl_dig_number(status, "pid", 0), served.pid);
    layers = json_object_get(status, "layers");
    assert_int_equal(json_array_size(layers), 2);
    assert_string_equal(nl_dig_string(json_array_get(layers, 1), "name", ""), "L1");
    assert_string_equal(nl_dig_string(json_array_get(layers, 1), "state", ""), "up");
    assert_string_equal(nl_dig_string(json_array_get(layers, 1), "trouble", ""), "bad \\xff byte");
    snprintf(path, sizeof(path), "%s/keeper.sock", served.path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    bring_down(&served);
}

static void test_exec(void **state)
{
    struct served served = serve();
    cleanup_close int fd = dial(&served);
    cleanup_json json_t *result =
        ask(fd, json_pack("{s:s, s:s, s:[s]}", "op", "exec", "layer", "L1", "argv", "true"));

    (void)state;
    assert_int_equal(nl_dig_number(result, "exit", 0), 7);
    assert_refused(fd, json_pack("{s:s, s:s, s:[s]}", "op", "exec", "layer", "L0", "argv", "true"),
                   "no agent");
    assert_refused(fd, json_pack("{s:s, s:s, s:[s]}", "op", "exec", "layer", "L9", "argv", "true"),
                   "no layer L9");
    assert_refused(fd, json_pack("{s:s, s:s}", "op", "exec", "layer", "L1"), "argv");
    assert_refused(fd, json_pack("{s:s}", "op", "exec"), "names no layer");
    assert_refused(fd,
                   json_pack("{s:s, s:s, s:[s], s:f}", "op", "exec", "layer", "L1", "argv", "true",
                             "timeout_s", -1.0),
                   "timeout_s");
    assert_refused(fd, json_pack("{s:s, s:s}", "op", "shell", "layer", "L1"), "not a guest");
    assert_refused(fd, json_pack("{s:s, s:s}", "op", "console", "layer", "L1"), "no serial");
    bring_down(&served);
}

/* A question that the agent does not answer holds up neither others nor the end. */
static void test_hanging_agent(void **state)
{
    struct served served = serve();
    cleanup_close int hung = dial(&served);
    cleanup_close int other = dial(&served);
    static const char request[] =
        "{\"op\":\"exec\",\"layer\":\"L1\",\"argv\":[\"sleep\"],\"timeout_s\":60}\n";
    int64_t start;

    (void)state;
    assert_int_equal(write(hung, request, strlen(request)), strlen(request));
    usleep(200000);
    json_decref(ask(other, json_pack("{s:s}", "op", "status")));
    assert_refused(other,
                   json_pack("{s:s, s:s, s:[s]}", "op", "exec", "layer", "L1", "argv", "true"),
                   "in use");
    start = nl_now_ms();
    bring_down(&served);
    assert_true(nl_now_ms() - start < 8000);
}

static void test_malformed_requests(void **state)
{
    static const char *const garbage[] = {"\n",
                                          "hello\n",
                                          "{}\n",
                                          "[]\n",
                                          "{\"op\":7}\n",
                                          "{\"op\":\"\xff\"}\n",
                                          "{\"op\":\"fly\"}\n",
                                          "null\n",
                                          "{\"op\":\"status\"\n",
                                          "{\"op\":\"status\",\"op\":\"down\"}\n"};
    struct served served = serve();
    cleanup_close int fd = dial(&served);

    (void)state;
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        cleanup_json json_t *reply = NULL;
        char line[512];
        size_t n = 0;

        assert_true(write(fd, garbage[i], strlen(garbage[i])) > 0);
        while (n < sizeof(line) - 1 && read(fd, line + n, 1) == 1 && line[n] != '\n')
            n++;
        line[n] = '\0';
        reply = json_loads(line, 0, NULL);
        assert_true(json_is_false(json_object_get(reply, "ok")));
        assert_non_null(nl_dig_string(reply, "error.message", NULL));
    }
    /* Two in one piece are both answered. */
    assert_true(write(fd, "{\"op\":\"status\"}\n{\"op\":", 22) == 22);
    assert_true(write(fd, "\"status\"}\n", 10) == 10);
    for (int lines = 0; lines < 2;) {
        char byte;

        assert_int_equal(read(fd, &byte, 1), 1);
        lines += byte == '\n';
    }
    bring_down(&served);
}

static void test_overlong_request(void **state)
{
    struct served served = serve();
    cleanup_close int fd = dial(&served);
    char block[65536];
    ssize_t n = 0;

    (void)state;
    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 100 && n >= 0; i++)
        n = send(fd, block, sizeof(block), MSG_NOSIGNAL);
    assert_int_equal(n, -1);
    bring_down(&served);
}

static void test_many_clients(void **state)
{
    struct served served = serve();
    cleanup_json json_t *status = NULL;
    char byte;
    int fds[40];

    (void)state;
    /* They say nothing; some are one too many and are sent away. */
    for (int i = 0; i < 40; i++)
        fds[i] = dial(&served);
    {
        struct pollfd last = {.fd = fds[39], .events = POLLIN};

        assert_int_equal(poll(&last, 1, 5000), 1);
        assert_int_equal(read(fds[39], &byte, 1), 1);
        assert_int_equal(byte, '{');
    }
    status = ask(fds[0], json_pack("{s:s}", "op", "status"));
    assert_non_null(status);
    for (int i = 0; i < 40; i++)
        close(fds[i]);
    /* Their seats are free again. */
    for (int i = 0; i < 40; i++) {
        int fd = dial(&served);

        close(fd);
        usleep(5000);
    }
    usleep(100000);
    bring_down(&served);
}

static void test_signal_ends_it(void **state)
{
    struct served served = serve();
    cleanup_close int idle = dial(&served);

    (void)state;
    json_decref(ask(idle, json_pack("{s:s}", "op", "status")));
    kill(served.pid, SIGINT);
    assert_int_equal(end_of(served.pid), 11);
}

static void test_idle_costs_nothing(void **state)
{
    struct served served = serve();
    cleanup_close int idle = dial(&served);
    struct rusage usage;

    (void)state;
    json_decref(ask(idle, json_pack("{s:s}", "op", "status")));
    sleep(2);
    kill(served.pid, SIGTERM);
    assert_int_equal(wait4(served.pid, NULL, 0, &usage), served.pid);
    assert_true(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec == 0 &&
                usage.ru_utime.tv_usec + usage.ru_stime.tv_usec < 200000);
}

static void test_console_that_takes_nothing(void **state)
{
    struct served served = serve();
    cleanup_close int fd = dial(&served);
    char byte;

    (void)state;
    json_decref(ask(fd, json_pack("{s:s, s:s}", "op", "console", "layer", "L0")));
    assert_int_equal(write(fd, "x", 1), 1);
    /* A detached console refuses input: the connection ends. */
    assert_int_equal(read(fd, &byte, 1), 0);
    bring_down(&served);
}

/* A stack whose outermost console has ended, and that has no domain to say otherwise. */
static void test_outermost_end(void **state)
{
    struct nl_layer_spec spec = {.name = (char *)"L0"};
    struct nl_layer layer = {.spec = &spec, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct nl_stack stack = {.layers = &layer, .n_layers = 1};
    cleanup_free char *console_file = in_base("console");
    const char *why = "";
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        if (nl_rundir_create("end", &stack.rundir, NULL) < 0 ||
            nl_console_open_detached(console_file, &layer.console, NULL) < 0)
            _exit(90);
        nl_console_feed(layer.console, "", 0);
        _exit(nl_keeper_serve(&stack, &why, NULL) < 0 ||
              strcmp(why, "the outermost guest ended") != 0);
    }
    assert_int_equal(end_of(pid), 0);
}

static void test_no_keeper(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    int64_t start = nl_now_ms();
    int fd = -1;

    (void)state;
    assert_int_equal(nl_keeper_connect(base, nl_deadline_in(0.2), &fd, &err), -1);
    assert_true(nl_now_ms() - start >= 200);
    assert_int_equal(fd, -1);
    assert_non_null(nl_error_hint(err));
}

/* A keeper that answers nonsense, or nothing. */
static void test_bad_keeper(void **state)
{
    static const char *const answers[] = {"", "\n", "nonsense\n", "{\"ok\":1}\n",
                                          "{\"ok\":false}\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        cleanup_error struct nl_error *err = NULL;
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        assert_int_equal(write(pair[1], answers[i], strlen(answers[i])), strlen(answers[i]));
        shutdown(pair[1], SHUT_WR);
        assert_int_equal(nl_keeper_ask(pair[0], json_object(), nl_deadline_in(5), NULL, &err), -1);
        close(pair[0]);
        close(pair[1]);
    }
    {
        cleanup_error struct nl_error *err = NULL;
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        assert_int_equal(nl_keeper_ask(pair[0], json_object(), nl_deadline_in(0.2), NULL, &err),
                         -1);
        assert_non_null(strstr(nl_error_message(err), "does not answer"));
        close(pair[0]);
        close(pair[1]);
    }
}

int main(void)
{
#define WITH_BASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_BASE(test_release),
        WITH_BASE(test_early_end),
        WITH_BASE(test_death),
        WITH_BASE(test_signals_are_passed_on),
        WITH_BASE(test_killed_command_interrupts_the_keeper),
        WITH_BASE(test_waiting_costs_nothing),
        WITH_BASE(test_release_without_a_keeper),
        WITH_BASE(test_status_and_down),
        WITH_BASE(test_exec),
        WITH_BASE(test_hanging_agent),
        WITH_BASE(test_malformed_requests),
        WITH_BASE(test_overlong_request),
        WITH_BASE(test_many_clients),
        WITH_BASE(test_signal_ends_it),
        WITH_BASE(test_idle_costs_nothing),
        WITH_BASE(test_console_that_takes_nothing),
        WITH_BASE(test_outermost_end),
        WITH_BASE(test_no_keeper),
        WITH_BASE(test_bad_keeper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
