/*
 * fuzz-keeper.c - libFuzzer target: any bytes as what a client says to the keeper of a stack, and
 * as what a keeper answers its client.
 *
 * The stack has a layer without agent, domain and console: requests are read, and refused. Every
 * answer to a client is a line of JSON with "ok".
 */
#include "keeper-client.h"
#include "keeper-service.h"
#include "rundir.h"

#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define BYTES_MAX 4096
#define ANSWERS_MAX (BYTES_MAX * 1024) /* each byte may be a line of its own */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char runs[] = "/tmp/fuzz-keeper-XXXXXX";
static struct nl_rundir *rundir;

static void remove_all(void)
{
    nl_rundir_remove(&rundir, NULL);
    rmdir(runs);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (!mkdtemp(runs) || setenv("NESTLAB_RUNS", runs, 1) < 0 ||
        nl_rundir_create("fuzz", &rundir, NULL) < 0)
        abort();
    atexit(remove_all);
    return 0;
}

static void make_pair(int pair[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        abort();
}

static void check_answers(const char *text, size_t length)
{
    while (length > 0) {
        const char *newline = memchr(text, '\n', length);
        size_t n = newline ? (size_t)(newline - text) : 0;
        cleanup_json json_t *answer = newline ? json_loadb(text, n, 0, NULL) : NULL;

        if (!json_is_boolean(json_object_get(answer, "ok")))
            abort();
        text += n + 1;
        length -= n + 1;
    }
}

/* What the keeper answered. */
struct answers {
    int fd;
    size_t length;
    char text[ANSWERS_MAX];
};

/* Meanwhile: a socket takes only so many answers that nobody reads. */
static void *read_answers(void *data)
{
    struct answers *answers = data;
    ssize_t n;

    while ((n = recv(answers->fd, answers->text + answers->length, ANSWERS_MAX - answers->length,
                     0)) > 0)
        answers->length += (size_t)n;
    return NULL;
}

static void ask_keeper(const uint8_t *data, size_t size)
{
    static struct answers answers;
    struct nl_layer_spec spec = {.name = (char *)"L0"};
    struct nl_layer layer = {
        .spec = &spec, .state = NL_LAYER_UP, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct nl_stack stack = {.layers = &layer, .n_layers = 1, .rundir = rundir};
    struct nl_keeper_busy busy = {0};
    cleanup_close int down_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct nl_keeper keeper = {
        .stack = &stack, .down_fd = down_fd, .lock = PTHREAD_MUTEX_INITIALIZER, .busy = &busy};
    struct nl_keeper_client client = {.keeper = &keeper};
    pthread_t reader;
    int pair[2];

    make_pair(pair);
    client.fd = pair[1];
    answers.fd = pair[0];
    answers.length = 0;
    if (size && write(pair[0], data, size) != (ssize_t)size)
        abort();
    shutdown(pair[0], SHUT_WR);
    if (pthread_create(&reader, NULL, read_answers, &answers))
        abort();
    nl_keeper_converse(&client);
    pthread_join(reader, NULL);
    check_answers(answers.text, answers.length);
    if (!client.done || busy.with[NL_KEEPER_AGENT] || busy.with[NL_KEEPER_SHELL])
        abort();
    close(pair[0]);
    close(pair[1]);
}

static void answer_client(const uint8_t *data, size_t size)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *result = NULL;
    int pair[2], rc;

    make_pair(pair);
    if (size && write(pair[1], data, size) != (ssize_t)size)
        abort();
    shutdown(pair[1], SHUT_WR);
    rc = nl_keeper_ask(pair[0], json_pack("{s:s}", "op", "status"), nl_deadline_in(5), &result,
                       &err);
    if ((rc < 0) != (err != NULL))
        abort();
    close(pair[0]);
    close(pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size = size < BYTES_MAX ? size : BYTES_MAX;
    ask_keeper(data, size);
    answer_client(data, size);
    return 0;
}
