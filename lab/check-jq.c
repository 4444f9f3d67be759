/*
 * check-jq.c - jq programs in a child process: see check-jq.h.
 *
 * The child writes one line of JSON per evaluation to a pipe. When it dies or is late, the
 * evaluation it was at is an error and another child goes on with the next one.
 */
#include "check-jq.h"
#include "deadline.h"
#include "dig.h"

#include <errno.h>
#include <fcntl.h>
#include <jq.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Room for a message and all evidence, each of their bytes escaped as \u00NN. */
#define LINE_MAX_BYTES 131072
#define MESSAGE_MAX_BYTES 2000
#define EVIDENCE_MAX 20
#define EVIDENCE_MAX_BYTES 400
#define MEMORY_LIMIT (512UL << 20)

/* What is put around a program. The parentheses keep `import` out: a document is no place to read
   files from. */
#define OPENING "\n. as {$document, $layer, $below, $layers, $lists} | $document | (\n"
#define CLOSING "\n)"

static const char *const verdicts[] = {"pass", "fail", "error", "skip"};

struct job {
    const json_t *document;
    const json_t *lists;
    const char *prelude;
    const struct nl_jq_check *checks;
    size_t n;
    struct nl_jq_limits limits;
    bool compile_only;
};

struct compiled {
    const char *program;
    jq_state *jq; /* NULL: it does not compile */
    char *message;
};

/* TEXT as a JSON string of at most MOST bytes and a mark; it is UTF-8, and stays so. */
static json_t *cut_text(const char *text, size_t most)
{
    size_t cut = most;

    if (strlen(text) <= most)
        return json_string(text);
    while (cut > 0 && ((unsigned char)text[cut] & 0xc0) == 0x80)
        cut--;
    return json_sprintf("%.*s ...", (int)cut, text);
}

static json_t *outcome(const char *verdict, const char *message)
{
    return json_pack("{s:s, s:o}", "verdict", verdict, "message",
                     message ? cut_text(message, MESSAGE_MAX_BYTES) : json_null());
}

/* Below: the child. */

static jv to_jv(const json_t *json)
{
    cleanup_free char *text = json_dumps(json, JSON_ENCODE_ANY);

    return text ? jv_parse(text) : jv_null();
}

/* libjq 1.6 calls it for `debug` without looking whether there is one. */
static void on_debug(void *data, jv message)
{
    (void)data;
    jv_free(message);
}

static int lines_in(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Keeps the first message: later ones are consequences ("1 compile error"). */
static void on_message(void *data, jv message)
{
    char **first = data;
    jv text = jq_format_error(message);

    if (!*first && jv_get_kind(text) == JV_KIND_STRING)
        *first = strdup(jv_string_value(text));
    jv_free(text);
}

/* "jq: error: WHAT (Unix shell quoting issues?) at <top-level>, line 81:\n..." as the program's
   author wants to read it: without the shell, and counted from the program's own first line. */
static json_t *compile_error(const struct job *job, const char *message)
{
    static const char prefix[] = "jq: error: ";
    const char *place = message ? strstr(message, " at <top-level>, line ") : NULL;
    const char *shell = message ? strstr(message, " (Unix shell") : NULL;
    cleanup_json json_t *text = NULL;
    int line;

    if (!place)
        return outcome("error", message ? message : "the program does not compile");
    line =
        atoi(place + strlen(" at <top-level>, line ")) - lines_in(job->prelude) - lines_in(OPENING);
    if (strncmp(message, prefix, strlen(prefix)) == 0)
        message += strlen(prefix);
    shell = shell && shell < place ? shell : place;
    text = json_sprintf("line %d of the program: %.*s", line < 1 ? 1 : line,
                        (int)(shell > message ? shell - message : 0), message);
    return outcome("error", json_string_value(text));
}

static void compile(const struct job *job, const char *program, struct compiled *compiled)
{
    cleanup_free char *text = NULL;

    *compiled = (struct compiled){.program = program, .jq = jq_init()};
    if (!compiled->jq || asprintf(&text, "%s" OPENING "%s" CLOSING, job->prelude, program) < 0)
        _exit(1);
    jq_set_error_cb(compiled->jq, on_message, &compiled->message);
    jq_set_debug_cb(compiled->jq, on_debug, NULL);
    if (!jq_compile(compiled->jq, text))
        jq_teardown(&compiled->jq);
}

/* The strings in "evidence", as far as there is room; NULL: the program gave none. */
static json_t *own_evidence(const json_t *given)
{
    const json_t *strings = nl_dig(given, "evidence");
    json_t *evidence = json_array();
    size_t i;
    json_t *string;

    json_array_foreach(strings, i, string)
    {
        if (json_is_string(string) && json_array_size(evidence) < EVIDENCE_MAX)
            json_array_append_new(evidence,
                                  cut_text(json_string_value(string), EVIDENCE_MAX_BYTES));
    }
    if (json_array_size(evidence) > 0)
        return evidence;
    json_decref(evidence);
    return NULL;
}

/* {"verdict", "message", "evidence"} as the program gave it. Consumes VALUE. */
static json_t *own_verdict(jv value)
{
    cleanup_json json_t *given = NULL;
    jv text = jv_dump_string(value, 0);
    const json_t *message;
    json_t *evidence;
    json_t *result;

    given = json_loads(jv_string_value(text), 0, NULL);
    jv_free(text);
    message = nl_dig(given, "message");
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
        if (nl_dig_is(given, "verdict", verdicts[i]) && (!message || json_is_string(message))) {
            result = outcome(verdicts[i], json_string_value(message));
            evidence = own_evidence(given);
            if (evidence)
                json_object_set_new(result, "evidence", evidence);
            return result;
        }
    return outcome("error", "the program gave an object that is not {\"verdict\": \"pass\", "
                            "\"fail\", \"error\" or \"skip\", \"message\": a string}");
}

/* Consumes VALUE, a valid one. */
static json_t *judge(jv value)
{
    json_t *result;

    switch (jv_get_kind(value)) {
    case JV_KIND_TRUE:
        result = outcome("pass", NULL);
        break;
    case JV_KIND_FALSE:
        result = outcome("fail", NULL);
        break;
    case JV_KIND_STRING:
        result = outcome("fail", jv_string_value(value));
        break;
    case JV_KIND_OBJECT:
        return own_verdict(value);
    case JV_KIND_NULL:
        result = outcome("error", "the program gave null: what it looks at is not there");
        break;
    default:
        result = outcome("error", "the program gave neither a boolean, a string nor an object");
    }
    jv_free(value);
    return result;
}

static json_t *failed_program(jv invalid)
{
    json_t *result;
    jv message = jv_invalid_get_msg(invalid);

    if (jv_get_kind(message) == JV_KIND_NULL) {
        jv_free(message);
        return outcome("error", "the program gave no verdict");
    }
    if (jv_get_kind(message) != JV_KIND_STRING)
        message = jv_dump_string(message, 0);
    result = outcome("error", jv_string_value(message));
    jv_free(message);
    return result;
}

/* Consumes INPUT. */
static json_t *run_program(jq_state *jq, jv input)
{
    jv first, second;

    jq_start(jq, input, 0);
    first = jq_next(jq);
    if (!jv_is_valid(first))
        return failed_program(first);
    second = jq_next(jq);
    if (!jv_is_valid(second) && !jv_invalid_has_msg(jv_copy(second))) {
        jv_free(second);
        return judge(first);
    }
    jv_free(first);
    if (!jv_is_valid(second))
        return failed_program(second);
    jv_free(second);
    return outcome("error", "the program gave more than one verdict");
}

static jv layer_or_null(jv layers, int index)
{
    if (index < 0 || index >= jv_array_length(jv_copy(layers)))
        return jv_null();
    return jv_array_get(jv_copy(layers), index);
}

static jv input_for(jv document, jv lists, int layer)
{
    jv layers = jv_object_get(jv_copy(document), jv_string("layers"));
    jv input = jv_object();

    if (jv_get_kind(layers) != JV_KIND_ARRAY) {
        jv_free(layers);
        layers = jv_array();
    }
    input = jv_object_set(input, jv_string("layer"), layer_or_null(layers, layer));
    input = jv_object_set(input, jv_string("below"), layer_or_null(layers, layer - 1));
    input = jv_object_set(input, jv_string("document"), jv_copy(document));
    input = jv_object_set(input, jv_string("lists"), jv_copy(lists));
    return jv_object_set(input, jv_string("layers"), layers);
}

static void write_line(int fd, const json_t *result)
{
    cleanup_free char *text = json_dumps(result, JSON_COMPACT);

    if (!text || dprintf(fd, "%s\n", text) < 0)
        _exit(1);
}

/* An address space of MEMORY_LIMIT more than there is now: a sanitizer's shadow is in it already.
 */
static void limit_memory(void)
{
    unsigned long pages = 0;
    cleanup_fclose FILE *file = fopen("/proc/self/statm", "re");
    struct rlimit limit;

    if (!file || fscanf(file, "%lu", &pages) != 1)
        return;
    limit.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + MEMORY_LIMIT;
    limit.rlim_max = limit.rlim_cur;
    setrlimit(RLIMIT_AS, &limit);
    limit = (struct rlimit){0, 0};
    setrlimit(RLIMIT_CORE, &limit);
}

/* A program may print (`stderr`) and read the environment (`env`): neither is its business. */
static void seal_off(pid_t parent)
{
    static char *nothing[] = {NULL};
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    /* Handlers of the program around would run in here: a crash of the child must be its end. */
    for (int number = 1; number < NSIG; number++)
        signal(number, number == SIGINT ? SIG_IGN : SIG_DFL);
    environ = nothing;
    for (int fd = 0; fd <= 2 && null_fd >= 0; fd++)
        dup2(null_fd, fd);
    limit_memory();
}

__attribute__((noreturn)) static void child_main(const struct job *job, size_t from, int fd)
{
    struct compiled *cache = calloc(job->n, sizeof(*cache));
    jv document = to_jv(job->document);
    jv lists = to_jv(job->lists);

    if (!cache || !jv_is_valid(document))
        _exit(1);
    for (size_t i = from; i < job->n; i++) {
        struct compiled *entry = cache;
        json_t *result;

        while (entry->program && entry->program != job->checks[i].program)
            entry++;
        if (!entry->program)
            compile(job, job->checks[i].program, entry);
        if (!entry->jq)
            result = compile_error(job, entry->message);
        else if (job->compile_only)
            result = outcome("pass", NULL);
        else
            result = run_program(entry->jq, input_for(document, lists, job->checks[i].layer));
        write_line(fd, result);
        json_decref(result);
    }
    _exit(0);
}

/* Below: the parent. */

struct child {
    pid_t pid;
    int fd;
    char line[LINE_MAX_BYTES];
    size_t used;
};

static void child_end(struct child *child)
{
    if (child->pid > 0) {
        kill(child->pid, SIGKILL);
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        close(child->fd);
    }
    child->pid = 0;
    child->used = 0;
}

static int child_start(const struct job *job, size_t from, struct child *child,
                       struct nl_error **err)
{
    pid_t parent = getpid();
    int pipe_fds[2];

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make a pipe for the checks");
    child->pid = fork();
    if (child->pid == 0) {
        seal_off(parent);
        child_main(job, from, pipe_fds[1]);
    }
    close(pipe_fds[1]);
    child->fd = pipe_fds[0];
    if (child->pid < 0) {
        close(child->fd);
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot start a process for the checks");
    }
    return 0;
}

/* Take one line out of what was read; NULL if there is no whole one yet. */
static json_t *take_line(struct child *child)
{
    char *end = memchr(child->line, '\n', child->used);
    json_t *result;

    if (!end)
        return NULL;
    result = json_loadb(child->line, (size_t)(end - child->line), 0, NULL);
    child->used -= (size_t)(end + 1 - child->line);
    memmove(child->line, end + 1, child->used);
    return result ? result : outcome("error", "the program's verdict got lost");
}

/* The next outcome, or one that says why there is none; then the child is gone. */
static json_t *next_outcome(struct child *child, nl_deadline deadline, double each_s)
{
    cleanup_free char *message = NULL;
    json_t *result;

    while (!(result = take_line(child))) {
        cleanup_error struct nl_error *ignored = NULL;
        int ready = nl_wait_readable(child->fd, deadline, &ignored);
        ssize_t n = 0;

        if (ready == 1 && child->used < sizeof(child->line))
            n = read(child->fd, child->line + child->used, sizeof(child->line) - child->used);
        if (n > 0) {
            child->used += (size_t)n;
            continue;
        }
        child_end(child);
        if (ready == 1)
            return outcome("error", "the program used too much memory or crashed");
        if (asprintf(&message, "the program did not end within %.3g s", each_s) < 0)
            message = NULL;
        return outcome("error", message);
    }
    return result;
}

static int evaluate(const struct job *job, struct child *child, json_t *results,
                    struct nl_error **err)
{
    nl_deadline end = nl_deadline_in(job->limits.total_s);

    for (size_t i = 0; i < job->n; i++) {
        nl_deadline deadline = nl_deadline_in(job->limits.each_s);

        if (nl_deadline_left_ms(end) == 0) {
            json_array_append_new(results, outcome("error", "not evaluated: no time was left"));
            continue;
        }
        if (child->pid <= 0 && child_start(job, i, child, err) < 0)
            return -1;
        json_array_append_new(results, next_outcome(child, deadline < end ? deadline : end,
                                                    fmin(job->limits.each_s, job->limits.total_s)));
    }
    return 0;
}

static int run_job(const struct job *job, json_t **results, struct nl_error **err)
{
    cleanup_free struct child *child = calloc(1, sizeof(*child));
    cleanup_json json_t *array = json_array();
    int rc;

    if (!child || !array)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    /* The checks of an interrupted run are worth the moment they take. */
    nl_interrupt_shield(true);
    rc = evaluate(job, child, array, err);
    nl_interrupt_shield(false);
    child_end(child);
    if (rc == 0)
        *results = nl_steal(&array);
    return rc;
}

int nl_jq_evaluate(const json_t *document, const json_t *lists, const char *prelude,
                   const struct nl_jq_check *checks, size_t n, const struct nl_jq_limits *limits,
                   json_t **results, struct nl_error **err)
{
    struct job job = {document, lists, prelude, checks, n, *limits, false};

    return run_job(&job, results, err);
}

int nl_jq_compile(const char *prelude, const char *const *programs, size_t n,
                  const struct nl_jq_limits *limits, json_t **results, struct nl_error **err)
{
    cleanup_free struct nl_jq_check *checks = calloc(n + 1, sizeof(*checks));
    cleanup_json json_t *nothing = json_object();
    struct job job = {nothing, nothing, prelude, checks, n, *limits, true};

    if (!checks || !nothing)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    for (size_t i = 0; i < n; i++)
        checks[i] = (struct nl_jq_check){programs[i], -1};
    return run_job(&job, results, err);
}
