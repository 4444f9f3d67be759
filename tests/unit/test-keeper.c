/*
 * test-keeper.c - a keeper that serves, and its clients.
 */
#include "keeper.h"
#include "dig.h"
#include "fake-keeper.h"
#include "keeper-client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

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

static void test_ask(void **state)
{
    struct served served = serve();
    cleanup_close int fd = dial(&served);
    cleanup_json json_t *facts =
        ask(fd, json_pack("{s:s, s:s, s:s}", "op", "ask", "layer", "L1", "question", "facts"));
    cleanup_json json_t *machine =
        ask(fd, json_pack("{s:s, s:s, s:s, s:f}", "op", "ask", "layer", "L1", "question", "machine",
                          "timeout_s", 5.0));

    (void)state;
    assert_int_equal(nl_dig_number(facts, "exit", 0), 7);
    assert_int_equal(nl_dig_number(machine, "exit", 0), 7);
    assert_refused(fd,
                   json_pack("{s:s, s:s, s:s}", "op", "ask", "layer", "L1", "question", "poweroff"),
                   "none of facts, machine");
    assert_refused(fd, json_pack("{s:s, s:s}", "op", "ask", "layer", "L1"), "question");
    assert_refused(fd,
                   json_pack("{s:s, s:s, s:s}", "op", "ask", "layer", "L0", "question", "facts"),
                   "no agent");
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

/* Processor time of a process so far, in clock ticks. */
static long ticks(pid_t pid)
{
    char path[64];
    cleanup_free char *text = NULL;
    long user = -1, kernel = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    text = read_text(path);
    assert_int_equal(sscanf(strrchr(text, ')') + 1,
                            " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &kernel),
                     2);
    return user + kernel;
}

static void test_idle_costs_nothing(void **state)
{
    struct served served = serve();
    cleanup_close int idle = dial(&served);
    long before;

    (void)state;
    json_decref(ask(idle, json_pack("{s:s}", "op", "status")));
    before = ticks(served.pid);
    sleep(2);
    /* At most 2 % of a core. */
    assert_true(ticks(served.pid) - before <= 2 * sysconf(_SC_CLK_TCK) / 50);
    bring_down(&served);
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
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_status_and_down),
        IN_FOLDER(test_exec),
        IN_FOLDER(test_ask),
        IN_FOLDER(test_hanging_agent),
        IN_FOLDER(test_malformed_requests),
        IN_FOLDER(test_overlong_request),
        IN_FOLDER(test_many_clients),
        IN_FOLDER(test_signal_ends_it),
        IN_FOLDER(test_idle_costs_nothing),
        IN_FOLDER(test_console_that_takes_nothing),
        IN_FOLDER(test_outermost_end),
        IN_FOLDER(test_no_keeper),
        IN_FOLDER(test_bad_keeper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
