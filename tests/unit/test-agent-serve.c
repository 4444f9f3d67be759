/*
 * test-agent-serve.c - the whole agent behind a socket pair: order, events, workers that die,
 * programs and their limits, files.
 */
#include "lines.h"
#include "protocol.h"
#include "serve.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <poll.h>
#include <unistd.h>
#include <cmocka.h>

#define PATIENCE_MS 20000

struct served {
    pid_t pid;
    int link, news;
    struct agent_lines lines;
};

static void serve_in_child(int link, int news)
{
    struct agent_context context = {
        .layer = "L1", .in_guest = news >= 0, .ready_uptime_s = -1, .services = json_object()};
    struct agent_stream stream = {.in = link, .out = link, .news = news};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    agent_serve(&stream, &context);
    json_decref(context.services);
    _exit(context.poweroff ? 55 : 0);
}

static int set_up(void **state)
{
    struct served *served = calloc(1, sizeof(*served));
    int link[2], news[2];

    if (!served || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, news) < 0)
        return -1;
    served->pid = fork();
    if (served->pid == 0) {
        close(link[0]);
        close(news[0]);
        serve_in_child(link[1], news[1]);
    }
    close(link[1]);
    close(news[1]);
    served->link = link[0];
    served->news = news[0];
    served->lines.max = NL_PROTOCOL_LINE_MAX;
    *state = served;
    return served->pid < 0 ? -1 : 0;
}

/* Its wait status, once it has ended by itself. */
static int wait_for_end(struct served *served)
{
    int status = -1;

    for (int ms = 0; ms < PATIENCE_MS; ms += 5) {
        if (waitpid(served->pid, &status, WNOHANG) == served->pid) {
            served->pid = 0;
            return status;
        }
        usleep(5000);
    }
    return -1;
}

static int tear_down(void **state)
{
    struct served *served = *state;

    if (served->pid) {
        kill(served->pid, SIGKILL);
        waitpid(served->pid, NULL, 0);
    }
    if (served->link >= 0)
        close(served->link);
    close(served->news);
    agent_lines_clear(&served->lines);
    free(served);
    return 0;
}

static void say(struct served *served, const char *text)
{
    assert_int_equal(send(served->link, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* The next object from the agent; NULL when nothing came in PATIENCE_MS. */
static json_t *hear_within(struct served *served, int patience_ms)
{
    char buffer[65536], *line;
    size_t length;

    for (;;) {
        if (agent_lines_next(&served->lines, &line, &length) == AGENT_LINE)
            return json_loadb(line, length, 0, NULL);
        struct pollfd fd = {.fd = served->link, .events = POLLIN};
        if (poll(&fd, 1, patience_ms) <= 0)
            return NULL;
        ssize_t n = recv(served->link, buffer, sizeof(buffer), 0);
        if (n <= 0)
            return NULL;
        agent_lines_feed(&served->lines, buffer, (size_t)n);
    }
}

static json_t *hear(struct served *served)
{
    json_t *object = hear_within(served, PATIENCE_MS);

    assert_non_null(object);
    return object;
}

static json_t *ask(struct served *served, const char *line)
{
    say(served, line);
    say(served, "\n");
    return hear(served);
}

static json_int_t id_of(const json_t *reply)
{
    return json_integer_value(json_object_get(reply, "id"));
}

static const json_t *result(const json_t *reply)
{
    if (!json_is_true(json_object_get(reply, "ok")))
        fail_msg("%s",
                 json_string_value(json_object_get(json_object_get(reply, "error"), "message")));
    return json_object_get(reply, "result");
}

static const char *message(const json_t *reply)
{
    assert_true(json_is_false(json_object_get(reply, "ok")));
    return json_string_value(json_object_get(json_object_get(reply, "error"), "message"));
}

static const char *string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void test_order(void **state)
{
    struct served *served = *state;

    /* The first takes longest; a request after it must not overtake it. */
    say(served,
        "{\"id\":1,\"op\":\"exec\",\"argv\":[\"sleep\",\"0.2\"]}\n{\"id\":2,\"op\":\"hello\"}\n"
        "nonsense\n{\"id\":3,\"op\":\"hel");
    for (json_int_t id = 1; id <= 2; id++) {
        cleanup_json json_t *reply = hear(served);
        assert_int_equal(id_of(reply), id);
        result(reply);
    }
    cleanup_json json_t *refused = hear(served);
    assert_true(json_is_null(json_object_get(refused, "id")));
    say(served, "lo\"}\n");
    cleanup_json json_t *last = hear(served);
    assert_int_equal(id_of(last), 3);
}

static void test_exec(void **state)
{
    cleanup_json json_t *reply = ask(
        *state,
        "{\"id\":1,\"op\":\"exec\",\"argv\":[\"sh\",\"-c\",\"cat; pwd; echo $WORD >&2; exit 7\"],"
        "\"input\":\"in\\n\",\"environment\":{\"WORD\":\"err\"},\"directory\":\"/usr\"}");
    const json_t *r = result(reply);

    assert_int_equal(json_integer_value(json_object_get(r, "exit")), 7);
    assert_true(json_is_null(json_object_get(r, "signal")));
    assert_true(json_is_false(json_object_get(r, "timed_out")));
    assert_true(json_is_false(json_object_get(r, "truncated")));
    assert_string_equal(string(r, "stdout"), "in\n/usr\n");
    assert_string_equal(string(r, "stderr"), "err\n");
}

static void test_exec_timeout_takes_the_group(void **state)
{
    cleanup_json json_t *reply = ask(
        *state, "{\"id\":1,\"op\":\"exec\",\"argv\":[\"sh\",\"-c\",\"sleep 60 & echo $!; wait\"],"
                "\"timeout_s\":0.3}");
    const json_t *r = result(reply);
    pid_t grandchild = atoi(string(r, "stdout"));

    assert_true(json_is_true(json_object_get(r, "timed_out")));
    assert_true(json_is_null(json_object_get(r, "exit")));
    assert_int_equal(json_integer_value(json_object_get(r, "signal")), SIGKILL);
    assert_true(json_number_value(json_object_get(r, "seconds")) < 5);
    assert_true(grandchild > 1);
    for (int tries = 0; tries < 200 && kill(grandchild, 0) == 0; tries++) {
        char path[64], text[200] = "";
        snprintf(path, sizeof(path), "/proc/%d/stat", grandchild);
        FILE *stat = fopen(path, "r");
        if (stat && fgets(text, sizeof(text), stat) && strstr(text, ") Z")) {
            fclose(stat);
            return; /* dead, and nobody has reaped it here */
        }
        if (stat)
            fclose(stat);
        usleep(10000);
    }
    assert_int_equal(kill(grandchild, 0), -1);
}

static void test_exec_output(void **state)
{
    cleanup_json json_t *reply =
        ask(*state, "{\"id\":1,\"op\":\"exec\",\"argv\":[\"sh\",\"-c\","
                    "\"printf 12345678; printf 'a\\\\377\\\\000' >&2\"],\"output_limit\":5}");
    const json_t *r = result(reply);

    assert_string_equal(string(r, "stdout"), "12345");
    assert_string_equal(string(r, "stderr"), "a\\xff\\x00");
    assert_true(json_is_true(json_object_get(r, "truncated")));
}

/* A program that leaves something behind that holds its output open must not be waited for. */
static void test_exec_leftovers(void **state)
{
    cleanup_json json_t *reply =
        ask(*state, "{\"id\":1,\"op\":\"exec\",\"argv\":[\"sh\",\"-c\",\"sleep 60 & echo x\"]}");
    const json_t *r = result(reply);

    assert_int_equal(json_integer_value(json_object_get(r, "exit")), 0);
    assert_string_equal(string(r, "stdout"), "x\n");
    assert_true(json_number_value(json_object_get(r, "seconds")) < 10);
}

static void test_exec_cannot_run(void **state)
{
    cleanup_json json_t *missing =
        ask(*state, "{\"id\":1,\"op\":\"exec\",\"argv\":[\"/nonexistent/program\"]}");
    cleanup_json json_t *folder = ask(
        *state, "{\"id\":2,\"op\":\"exec\",\"argv\":[\"true\"],\"directory\":\"/nonexistent\"}");
    cleanup_json json_t *killed =
        ask(*state, "{\"id\":3,\"op\":\"exec\",\"argv\":[\"sh\",\"-c\",\"kill -9 $$\"]}");

    assert_non_null(strstr(message(missing), "/nonexistent/program"));
    assert_non_null(message(folder));
    assert_int_equal(json_integer_value(json_object_get(result(killed), "signal")), SIGKILL);
}

static void test_worker_dies(void **state)
{
    /* The program's parent is the worker. */
    cleanup_json json_t *reply = ask(
        *state, "{\"id\":1,\"op\":\"exec\",\"argv\":[\"sh\",\"-c\",\"kill -9 $PPID; sleep 9\"]}");
    cleanup_json json_t *next = ask(*state, "{\"id\":2,\"op\":\"hello\"}");

    assert_int_equal(id_of(reply), 1);
    assert_non_null(strstr(message(reply), "signal 9"));
    result(next);
}

static void test_heartbeat(void **state)
{
    struct served *served = *state;
    cleanup_json json_t *on = ask(served, "{\"id\":1,\"op\":\"heartbeat\",\"interval_s\":0.1}");

    result(on);
    /* Also while a request is under way. */
    say(served, "{\"id\":2,\"op\":\"exec\",\"argv\":[\"sleep\",\"0.5\"]}\n");
    int beats = 0;
    for (;;) {
        cleanup_json json_t *heard = hear(served);
        if (id_of(heard) == 2)
            break;
        assert_string_equal(string(heard, "event"), "heartbeat");
        beats++;
    }
    assert_in_range(beats, 2, 6);
    say(served, "{\"id\":3,\"op\":\"heartbeat\",\"interval_s\":0}\n");
    for (json_int_t id = 0; id != 3;) {
        cleanup_json json_t *heard = hear(served);
        id = id_of(heard);
    }
    assert_null(hear_within(served, 400));
}

static void test_news(void **state)
{
    struct served *served = *state;
    static const char event[] = "{\"event\":\"phase\",\"name\":\"services\",\"uptime_s\":1.5}";
    static const char status[] =
        "{\"status\":{\"ready\":true,\"ready_uptime_s\":2.5,\"services\":{\"sshd\":true}}}";

    send(served->news, event, strlen(event), 0);
    cleanup_json json_t *heard = hear(served);
    assert_string_equal(string(heard, "name"), "services");
    send(served->news, "{broken", 7, 0);
    send(served->news, status, strlen(status), 0);
    /* The status is for the agent itself; it shows in the next hello after it was taken. */
    for (int tries = 0; tries < 100; tries++) {
        cleanup_json json_t *reply = ask(served, "{\"id\":1,\"op\":\"hello\"}");
        if (json_is_true(json_object_get(result(reply), "ready"))) {
            const json_t *services = json_object_get(result(reply), "services");
            assert_true(json_is_true(json_object_get(services, "sshd")));
            return;
        }
        usleep(10000);
    }
    fail_msg("never ready");
}

static void test_long_line(void **state)
{
    struct served *served = *state;
    cleanup_free char *noise = malloc(1 << 20);

    memset(noise, '{', 1 << 20);
    for (int i = 0; i <= NL_PROTOCOL_LINE_MAX >> 20; i++)
        for (size_t sent = 0; sent < 1 << 20;) {
            ssize_t n = send(served->link, noise + sent, (1 << 20) - sent, MSG_NOSIGNAL);
            assert_true(n > 0);
            sent += (size_t)n;
        }
    say(served, "\n");
    cleanup_json json_t *refused = hear(served);
    assert_true(json_is_null(json_object_get(refused, "id")));
    cleanup_json json_t *next = ask(served, "{\"id\":2,\"op\":\"hello\"}");
    result(next);
}

static void test_files(void **state)
{
    struct served *served = *state;
    char folder[] = "/tmp/test-agent-serve.XXXXXX", path[64], line[300];
    struct stat about;

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/a/b", folder);
    snprintf(line, sizeof(line),
             "{\"id\":1,\"op\":\"put\",\"path\":\"%s\",\"mode\":420,\"data\":\"aGVsbG8=\"}", path);
    for (int i = 0; i < 2; i++) { /* the second replaces the first */
        cleanup_json json_t *put = ask(served, line);
        assert_int_equal(json_integer_value(json_object_get(result(put), "size")), 5);
    }
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0644);
    snprintf(line, sizeof(line),
             "{\"id\":2,\"op\":\"put\",\"path\":\"%s\",\"data\":\"IQ==\",\"append\":true}", path);
    cleanup_json json_t *more = ask(served, line);
    assert_int_equal(json_integer_value(json_object_get(result(more), "size")), 6);
    snprintf(line, sizeof(line),
             "{\"id\":3,\"op\":\"get\",\"path\":\"%s\",\"offset\":1,\"limit\":3}", path);
    cleanup_json json_t *part = ask(served, line);
    assert_string_equal(string(result(part), "data"), "ZWxs");
    assert_true(json_is_false(json_object_get(result(part), "eof")));
    assert_int_equal(json_integer_value(json_object_get(result(part), "size")), 6);
    snprintf(line, sizeof(line),
             "{\"id\":4,\"op\":\"get\",\"path\":\"%s\",\"offset\":4,\"limit\":2}", path);
    cleanup_json json_t *rest = ask(served, line);
    assert_string_equal(string(result(rest), "data"), "byE=");
    assert_true(json_is_true(json_object_get(result(rest), "eof")));
    /* Nothing but the file is left: no temporary ones. */
    unlink(path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_end_of_input(void **state)
{
    struct served *served = *state;

    /* What was asked is answered, also a last line without a newline; then it ends. */
    say(served,
        "{\"id\":1,\"op\":\"exec\",\"argv\":[\"sleep\",\"0.1\"]}\n{\"id\":2,\"op\":\"hello\"}");
    shutdown(served->link, SHUT_WR);
    cleanup_json json_t *first = hear(served);
    cleanup_json json_t *second = hear(served);
    assert_int_equal(id_of(first), 1);
    assert_int_equal(id_of(second), 2);
    assert_int_equal(wait_for_end(served), 0);
}

static void test_peer_dies(void **state)
{
    struct served *served = *state;

    say(served, "{\"id\":1,\"op\":\"exec\",\"argv\":[\"sleep\",\"60\"]}\n");
    usleep(100000);
    close(served->link);
    served->link = -1;
    int64_t begun = agent_now_ms();
    assert_int_equal(wait_for_end(served), 0);
    assert_true(agent_now_ms() - begun < 5000);
}

static void test_poweroff(void **state)
{
    struct served *served = *state;
    cleanup_json json_t *reply = ask(served, "{\"id\":1,\"op\":\"poweroff\"}");

    result(reply);
    int status = wait_for_end(served);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 55);
}

/* It is told what is under way, at once; other questions wait their turn, and what comes behind one
   that waits. */
static void test_ping(void **state)
{
    struct served *served = *state;
    cleanup_json json_t *idle = ask(served, "{\"id\":\"ping-1\",\"op\":\"ping\"}");
    json_t *heard[4];

    assert_true(json_is_null(json_object_get(result(idle), "busy")));
    assert_true(json_is_object(json_object_get(result(idle), "services")));
    say(served, "{\"id\":2,\"op\":\"exec\",\"argv\":[\"sleep\",\"1\"]}\n"
                "{\"id\":\"ping-3\",\"op\":\"ping\"}\n"
                "{\"id\":4,\"op\":\"benches\"}\n{\"id\":\"ping-5\",\"op\":\"ping\"}\n");
    for (size_t i = 0; i < 4; i++)
        heard[i] = hear(served);
    assert_string_equal(json_string_value(json_object_get(heard[0], "id")), "ping-3");
    assert_string_equal(json_string_value(json_object_get(result(heard[0]), "busy")), "exec");
    assert_true(json_number_value(json_object_get(result(heard[0]), "busy_s")) < 1);
    assert_int_equal(id_of(heard[1]), 2);
    assert_int_equal(id_of(heard[2]), 4);
    assert_string_equal(json_string_value(json_object_get(heard[3], "id")), "ping-5");
    assert_true(json_is_null(json_object_get(result(heard[3]), "busy")));
    for (size_t i = 0; i < 4; i++)
        json_decref(heard[i]);
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(test_order),
        SERVED(test_ping),
        SERVED(test_exec),
        SERVED(test_exec_timeout_takes_the_group),
        SERVED(test_exec_output),
        SERVED(test_exec_leftovers),
        SERVED(test_exec_cannot_run),
        SERVED(test_worker_dies),
        SERVED(test_heartbeat),
        SERVED(test_news),
        SERVED(test_long_line),
        SERVED(test_files),
        SERVED(test_end_of_input),
        SERVED(test_peer_dies),
        SERVED(test_poweroff),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
