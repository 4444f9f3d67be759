/*
 * test-link.c - links against agents that misbehave. The fake agent (fake-agent.h) is this
 * program itself, started by nl_link_open_local() with FAKE in its environment.
 */
#include "link.h"
#include "protocol.h"

#include "fake-agent.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct nl_link *open_link(const char *mode, nl_link_event *on_event, void *data)
{
    cleanup_error struct nl_error *err = NULL;
    struct nl_link *link = NULL;

    setenv("FAKE", mode, 1);
    assert_int_equal(nl_link_open_local("/proc/self/exe", on_event, data, &link, &err), 0);
    unsetenv("FAKE");
    return link;
}

static const char *said(const json_t *result)
{
    return json_string_value(json_object_get(result, "said"));
}

static void assert_says(struct nl_link *link, const char *op, double seconds, const char *text)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *result = NULL;

    if (nl_link_ask(link, op, NULL, nl_deadline_in(seconds), &result, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    assert_string_equal(said(result), text);
}

static void assert_fails(struct nl_link *link, const char *op, double seconds, const char *part)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *result = NULL;

    assert_int_equal(nl_link_ask(link, op, NULL, nl_deadline_in(seconds), &result, &err), -1);
    assert_null(result);
    if (!strstr(nl_error_message(err), part))
        fail_msg("\"%s\" is not in \"%s\"", part, nl_error_message(err));
}

static void test_arguments_arrive(void **state)
{
    cleanup_link struct nl_link *link = open_link("", NULL, NULL);
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *result = NULL;
    json_t *arguments =
        json_pack("{s:s, s:[i,i], s:i}", "name", "caf\xc3\xa9\n", "list", 1, 2, "id", 7);

    (void)state;
    assert_int_equal(nl_link_ask(link, "echo", arguments, nl_deadline_in(5), &result, &err), 0);
    assert_string_equal(json_string_value(json_object_get(result, "op")), "echo");
    assert_string_equal(json_string_value(json_object_get(result, "name")), "caf\xc3\xa9\n");
    assert_int_equal(json_array_size(json_object_get(result, "list")), 2);
    assert_int_not_equal(json_integer_value(json_object_get(result, "id")), 7);
}

static void test_many_ids(void **state)
{
    cleanup_link struct nl_link *link = open_link("", NULL, NULL);
    json_int_t last = 0;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        cleanup_json json_t *result = NULL;
        json_int_t id;

        assert_int_equal(
            nl_link_ask(link, "echo", json_pack("{s:i}", "n", i), nl_deadline_in(5), &result, NULL),
            0);
        assert_int_equal(json_integer_value(json_object_get(result, "n")), i);
        id = json_integer_value(json_object_get(result, "id"));
        assert_true(id > last);
        last = id;
    }
}

static void test_late_reply_is_dropped(void **state)
{
    cleanup_link struct nl_link *link = open_link("", NULL, NULL);

    (void)state;
    assert_fails(link, "late", 0.1, "never said anything");
    assert_says(link, "events", 5, "done");
    assert_fails(link, "late", 0.1, "last heard");
    usleep(600 * 1000);
    assert_says(link, "noise", 5, "right");
}

static void test_noise_and_long_lines(void **state)
{
    cleanup_link struct nl_link *link = open_link("", NULL, NULL);
    cleanup_json json_t *result = NULL;

    (void)state;
    assert_says(link, "noise", 5, "right");
    assert_says(link, "overlong", 20, "after it");
    assert_int_equal(nl_link_ask(link, "longest", NULL, nl_deadline_in(20), &result, NULL), 0);
    assert_true(json_string_length(json_object_get(result, "text")) > NL_PROTOCOL_LINE_MAX - 100);
    assert_says(link, "noise", 5, "right");
}

struct seen {
    pthread_mutex_t lock;
    char names[256];
    size_t length;
};

static void on_event(const json_t *event, void *data)
{
    struct seen *seen = data;

    pthread_mutex_lock(&seen->lock);
    seen->length += (size_t)snprintf(seen->names + seen->length, sizeof(seen->names) - seen->length,
                                     "%s ", json_string_value(json_object_get(event, "name")));
    pthread_mutex_unlock(&seen->lock);
}

static void test_events_in_between(void **state)
{
    struct seen seen = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct nl_link *link = open_link("", on_event, &seen);

    (void)state;
    assert_says(link, "events", 5, "done");
    assert_says(link, "noise", 5, "right"); /* now "three" has come too */
    nl_link_close(&link);
    assert_null(link);
    assert_string_equal(seen.names, "one two three ");
}

static void test_refusal_is_passed_on(void **state)
{
    cleanup_link struct nl_link *link = open_link("", NULL, NULL);
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    assert_int_equal(nl_link_ask(link, "refuse", NULL, nl_deadline_in(5), NULL, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "no such file"));
    assert_string_equal(nl_error_hint(err), "look");
    assert_true(nl_link_alive(link));
}

static void test_reply_without_result(void **state)
{
    cleanup_link struct nl_link *link = open_link("", NULL, NULL);
    cleanup_json json_t *result = NULL;

    (void)state;
    assert_int_equal(nl_link_ask(link, "no-result", NULL, nl_deadline_in(5), &result, NULL), 0);
    assert_true(json_is_object(result));
}

static void test_end_in_the_middle(void **state)
{
    cleanup_link struct nl_link *link = open_link("", NULL, NULL);
    int64_t start = nl_now_ms();

    (void)state;
    assert_true(nl_link_alive(link));
    assert_fails(link, "half", 20, "the agent's stream ended");
    assert_true(nl_now_ms() - start < 5000);
    assert_false(nl_link_alive(link));
    assert_fails(link, "echo", 20, "the agent's stream ended");
}

static void test_deadline(void **state)
{
    cleanup_link struct nl_link *link = open_link("", NULL, NULL);
    int64_t start = nl_now_ms();
    int64_t took;

    (void)state;
    assert_int_equal(nl_link_last_heard_ms(link), 0);
    assert_fails(link, "silent", 0.5, "asking for silent: no answer before its deadline");
    took = nl_now_ms() - start;
    assert_in_range(took, 450, 2000);
    assert_says(link, "noise", 5, "right");
    assert_true(nl_link_last_heard_ms(link) >= start);
}

/* A guest that never reads: what is asked piles up in the queue, and neither asking nor closing
   waits for it. */
static void test_deaf(void **state)
{
    struct nl_link *link = open_link("deaf", NULL, NULL);
    cleanup_free char *big = malloc(8 * 1024 * 1024 + 1);
    bool full = false;
    int64_t start;

    (void)state;
    memset(big, 'x', 8 * 1024 * 1024);
    big[8 * 1024 * 1024] = '\0';
    for (int i = 0; i < 6 && !full; i++) {
        cleanup_error struct nl_error *err = NULL;

        assert_int_equal(nl_link_ask(link, "echo", json_pack("{s:s}", "data", big),
                                     nl_deadline_in(0.1), NULL, &err),
                         -1);
        full = strstr(nl_error_message(err), "does not read") != NULL;
    }
    assert_true(full);
    start = nl_now_ms();
    nl_link_close(&link);
    assert_true(nl_now_ms() - start < 4000);
}

static void test_stubborn_agent_is_killed(void **state)
{
    struct nl_link *link = open_link("stubborn", NULL, NULL);
    int64_t start;

    (void)state;
    assert_says(link, "noise", 5, "right");
    start = nl_now_ms();
    nl_link_close(&link);
    assert_true(nl_now_ms() - start < 4000);
}

static void test_too_long_a_question(void **state)
{
    cleanup_link struct nl_link *link = open_link("", NULL, NULL);
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *big = malloc(NL_PROTOCOL_LINE_MAX + 1);

    (void)state;
    memset(big, 'x', NL_PROTOCOL_LINE_MAX);
    big[NL_PROTOCOL_LINE_MAX] = '\0';
    assert_int_equal(
        nl_link_ask(link, "echo", json_pack("{s:s}", "data", big), nl_deadline_in(5), NULL, &err),
        -1);
    assert_non_null(strstr(nl_error_message(err), "longer than a line may be"));
    assert_says(link, "noise", 5, "right");
}

static int count_tick(void *data, struct nl_error **err)
{
    int *left = data;

    if (--*left > 0)
        return 0;
    return nl_fail(err, NL_EXIT_LAB, "the guest is gone");
}

static void test_hello_is_repeated(void **state)
{
    cleanup_link struct nl_link *link = open_link("slow-start", NULL, NULL);
    cleanup_json json_t *result = NULL;
    int left = 100;

    (void)state;
    assert_int_equal(nl_link_hello(link, nl_deadline_in(10), count_tick, &left, &result, NULL), 0);
    assert_string_equal(json_string_value(json_object_get(result, "op")), "hello");
    assert_in_range(left, 90, 99);
    assert_says(link, "noise", 5, "right");
}

/* The reply to the first hello comes after the second was sent: it must do. */
static void test_hello_takes_the_first_answer(void **state)
{
    cleanup_link struct nl_link *link = open_link("slow", NULL, NULL);
    int64_t start = nl_now_ms();

    (void)state;
    assert_int_equal(nl_link_hello(link, nl_deadline_in(10), NULL, NULL, NULL, NULL), 0);
    assert_true(nl_now_ms() - start < 3200);
}

/* Not after the deadline, which may be minutes away; and the new agent answers the next one. */
static void test_an_agent_that_dies_does_not_answer(void **state)
{
    cleanup_link struct nl_link *link = open_link("", NULL, NULL);

    (void)state;
    assert_fails(link, "die", 30, "signal 9, restarted");
    assert_says(link, "late", 5, "late");
}

static void test_hello_ends(void **state)
{
    cleanup_link struct nl_link *link = open_link("deaf", NULL, NULL);
    cleanup_error struct nl_error *err = NULL;
    cleanup_error struct nl_error *late = NULL;
    int left = 2;

    (void)state;
    assert_int_equal(nl_link_hello(link, nl_deadline_in(30), count_tick, &left, NULL, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "the guest is gone"));
    assert_int_equal(nl_link_hello(link, nl_deadline_in(0.7), NULL, NULL, NULL, &late), -1);
    assert_non_null(strstr(nl_error_message(late), "never said anything"));
}

static void write_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    for (size_t i = 0; i < size; i++)
        fputc((int)(i * 7), file);
    assert_int_equal(fclose(file), 0);
}

static void test_put_file(void **state)
{
    static const size_t sizes[] = {0, 1, 2, 3, 96 * 1024 - 1, 96 * 1024, 96 * 1024 + 1, 1000000};
    cleanup_link struct nl_link *link = open_link("", NULL, NULL);
    char path[] = "/tmp/test-link-XXXXXX";
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    close(mkstemp(path));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        write_file(path, sizes[i]);
        assert_int_equal(nl_link_put_file(link, path, "there", 0644, nl_deadline_in(20), NULL), 0);
    }
    assert_int_equal(nl_link_put_file(link, path, "lie", 0644, nl_deadline_in(20), &err), -1);
    assert_non_null(strstr(nl_error_message(err), "another number of bytes"));
    unlink(path);
    nl_error_free(&err);
    assert_int_equal(nl_link_put_file(link, path, "there", 0644, nl_deadline_in(20), &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
}

static void test_no_agent(void **state)
{
    cleanup_error struct nl_error *err = NULL;
    struct nl_link *link = NULL;

    (void)state;
    assert_int_equal(nl_link_open_local("/nonexistent/agent", NULL, NULL, &link, &err), -1);
    assert_null(link);
}

static size_t open_files(void)
{
    cleanup_closedir DIR *dir = opendir("/proc/self/fd");
    size_t n = 0;

    while (readdir(dir))
        n++;
    return n;
}

static void test_nothing_is_left_open(void **state)
{
    size_t before = open_files();

    (void)state;
    for (int i = 0; i < 20; i++) {
        struct nl_link *link = open_link("", NULL, NULL);

        assert_says(link, "noise", 5, "right");
        nl_link_close(&link);
    }
    /* A helper thread may still be on its way out. */
    for (int i = 0; i < 100 && open_files() > before; i++)
        usleep(20 * 1000);
    /* Fewer: one of the test before this was, when they were counted. */
    assert_true(open_files() <= before);
}

/* Last: an interrupt stays. */
static void test_interrupt_wakes(void **state)
{
    cleanup_link struct nl_link *link = open_link("", NULL, NULL);
    cleanup_error struct nl_error *err = NULL;
    int64_t start = nl_now_ms();

    (void)state;
    assert_int_equal(nl_interrupt_catch(NULL), 0);
    raise(SIGTERM);
    assert_int_equal(nl_link_ask(link, "silent", NULL, nl_deadline_in(20), NULL, &err), -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_INTERRUPTED);
    assert_true(nl_now_ms() - start < 2000);
}

/* What a tick finds out while a question is open. */
struct ticks {
    struct nl_link *link;
    int n;
    bool pong;
};

static int ping_once(void *data, struct nl_error **err)
{
    struct ticks *ticks = data;
    cleanup_json json_t *pong = NULL;

    if (++ticks->n == 1)
        return nl_link_ping(ticks->link, err);
    ticks->pong = nl_link_pong(ticks->link, nl_deadline_in(5), &pong, err) == 1 &&
                  !strcmp(json_string_value(json_object_get(pong, "busy")), "silent");
    return nl_fail(err, NL_EXIT_LAB, "enough of it");
}

/* A ping is answered while a question is open, is no answer to that, and a tick ends the wait. */
static void test_ping_while_a_question_is_open(void **state)
{
    cleanup_link struct nl_link *link = open_link("", NULL, NULL);
    struct ticks ticks = {.link = link};

    (void)state;
    nl_link_watch(link, ping_once, &ticks);
    assert_fails(link, "silent", 30, "enough of it");
    assert_int_equal(ticks.n, 2);
    assert_true(ticks.pong);
    nl_link_watch(link, NULL, NULL);
    assert_says(link, "late", 30, "late");
}

static void test_no_pong(void **state)
{
    cleanup_link struct nl_link *deaf = open_link("deaf", NULL, NULL);
    cleanup_link struct nl_link *dead = open_link("", NULL, NULL);
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    assert_int_equal(nl_link_ping(deaf, &err), 0);
    assert_int_equal(nl_link_pong(deaf, nl_deadline_in(0.3), NULL, &err), 0);
    assert_fails(dead, "half", 30, "stream ended");
    assert_int_equal(nl_link_pong(dead, nl_deadline_in(30), NULL, &err), -1);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments_arrive),
        cmocka_unit_test(test_many_ids),
        cmocka_unit_test(test_late_reply_is_dropped),
        cmocka_unit_test(test_noise_and_long_lines),
        cmocka_unit_test(test_events_in_between),
        cmocka_unit_test(test_refusal_is_passed_on),
        cmocka_unit_test(test_reply_without_result),
        cmocka_unit_test(test_end_in_the_middle),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_deaf),
        cmocka_unit_test(test_stubborn_agent_is_killed),
        cmocka_unit_test(test_too_long_a_question),
        cmocka_unit_test(test_hello_is_repeated),
        cmocka_unit_test(test_hello_takes_the_first_answer),
        cmocka_unit_test(test_an_agent_that_dies_does_not_answer),
        cmocka_unit_test(test_hello_ends),
        cmocka_unit_test(test_put_file),
        cmocka_unit_test(test_no_agent),
        cmocka_unit_test(test_nothing_is_left_open),
        cmocka_unit_test(test_ping_while_a_question_is_open),
        cmocka_unit_test(test_no_pong),
        cmocka_unit_test(test_interrupt_wakes),
    };
    const char *mode = getenv("FAKE");

    if (mode)
        return argc == 2 && !strcmp(argv[1], "--stdio") ? fake_agent(mode) : 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
