/*
 * main.c - nestlab-agent: the roles it plays, told apart by pid and options.
 */
#include "bench.h"
#include "cmdline.h"
#include "exit-reasons.h"
#include "facts.h"
#include "init.h"
#include "kvm.h"
#include "serve.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum role { ROLE_NONE, ROLE_STDIO, ROLE_FACTS, ROLE_PROBE_KVM, ROLE_BENCHMARKS };

struct options {
    enum role role;
    double deadline_s;
    char *layer;
};

enum {
    OPTION_STDIO = 256,
    OPTION_FACTS,
    OPTION_PROBE_KVM,
    OPTION_BENCHMARKS,
    OPTION_DEADLINE,
    OPTION_LAYER
};

static const struct argp_option option_list[] = {
    {"stdio", OPTION_STDIO, NULL, 0, "Serve requests on standard input until it ends", 0},
    {"facts", OPTION_FACTS, NULL, 0, "Print what this machine says of itself, as JSON", 0},
    {"probe-kvm", OPTION_PROBE_KVM, NULL, 0,
     "Print whether /dev/kvm really runs guest code, as JSON; exit status 1 if it does not", 0},
    {"benchmarks", OPTION_BENCHMARKS, NULL, 0, "Print the benchmarks there are, as JSON", 0},
    {"deadline", OPTION_DEADLINE, "SECONDS", 0, "How long --probe-kvm may take (default 5)", 0},
    {"layer", OPTION_LAYER, "NAME", 0, "The layer's name, if the kernel command line has none", 0},
    {}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    static const enum role roles[] = {ROLE_STDIO, ROLE_FACTS, ROLE_PROBE_KVM, ROLE_BENCHMARKS};
    struct options *options = state->input;
    char *end;

    switch (key) {
    case OPTION_STDIO:
    case OPTION_FACTS:
    case OPTION_PROBE_KVM:
    case OPTION_BENCHMARKS:
        options->role = roles[key - OPTION_STDIO];
        return 0;
    case OPTION_DEADLINE:
        options->deadline_s = strtod(arg, &end);
        if (*end || !(options->deadline_s > 0 && options->deadline_s <= 3600))
            argp_error(state, "--deadline is a number of seconds, over 0 and up to 3600");
        return 0;
    case OPTION_LAYER:
        options->layer = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument: %s", arg);
        return 0;
    case ARGP_KEY_END:
        if (options->role == ROLE_NONE)
            argp_error(state, "say --stdio, --facts, --probe-kvm or --benchmarks");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int print_json(json_t *json)
{
    int result = json_dumpf(json, stdout, JSON_INDENT(2));

    json_decref(json);
    return result < 0 || putchar('\n') == EOF || fflush(stdout) != 0 ? 1 : 0;
}

static int print_facts(const struct options *options)
{
    return print_json(agent_facts(options->layer, -1, true));
}

static int print_kvm(const struct options *options)
{
    json_t *facts = agent_kvm_facts(true, options->deadline_s);
    bool ran = json_is_true(json_object_get(json_object_get(facts, "guest"), "ran"));

    return print_json(facts) || !ran;
}

static int print_benchmarks(const struct options *options)
{
    (void)options;
    return print_json(agent_bench_list());
}

/* The link gets file descriptors of its own: whatever else prints or reads must not disturb it. */
static int serve_stdio(const struct options *options)
{
    struct agent_context context = {
        .layer = options->layer, .ready = true, .ready_uptime_s = -1, .services = json_object()};
    struct agent_stream stream = {
        .in = fcntl(0, F_DUPFD_CLOEXEC, 3), .out = fcntl(1, F_DUPFD_CLOEXEC, 3), .news = -1};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (stream.in < 0 || stream.out < 0 || null < 0) {
        fprintf(stderr, "nestlab-agent: standard input and output: %s\n", strerror(errno));
        return 1;
    }
    dup2(null, 0);
    dup2(2, 1);
    agent_exit_reasons_clean();
    agent_serve(&stream, &context);
    agent_exit_reasons_forget();
    json_decref(context.services);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct argp parser = {
        .options = option_list,
        .parser = parse_option,
        .doc = "Answers from inside a layer of a nested virtualization stack: what it is, what it "
               "logs, what things cost. As pid 1 it is a guest's init."};
    static int (*const roles[])(const struct options *options) = {[ROLE_STDIO] = serve_stdio,
                                                                  [ROLE_FACTS] = print_facts,
                                                                  [ROLE_PROBE_KVM] = print_kvm,
                                                                  [ROLE_BENCHMARKS] =
                                                                      print_benchmarks};
    struct options options = {.deadline_s = AGENT_KVM_DEADLINE_S};

    if (agent_bench_child(argc, argv))
        return AGENT_BENCH_CHILD_EXIT;
    if (getpid() == 1)
        agent_init(argc, argv);
    argp_program_version = "nestlab-agent " NL_VERSION;
    argp_parse(&parser, argc, argv, 0, NULL, &options);
    cleanup_free char *named = agent_cmdline_own("nestlab.layer");
    if (!options.layer)
        options.layer = named;
    return roles[options.role](&options);
}
