/*
 * bench-run.c - run one benchmark in a process of its own and make a result of what it measured.
 *
 * The process leaves its figures in memory that it shares with the agent: what it had measured, and
 * what it was doing, is known even if it crashes or hangs; and no write to a pipe comes between two
 * samples.
 */
#include "bench-run.h"
#include "bench-batch.h"
#include "bench-meter.h"
#include "bench-precision.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum stage { PREPARING, CALIBRATING, WARMING_UP, SAMPLING, FINISHING, DONE };

static const char *const stage_names[] = {
    "preparing", "calibrating", "warming up", "sampling", "finishing", "ending",
};

struct outcome {
    volatile enum stage stage;
    volatile long count; /* of samples */
    long warmup;         /* batches */
    double operations;   /* done in all, also for calibration and warm-up */
    int verdict;         /* 0, or as agent_bench_skip() and agent_bench_fail() return */
    char reason[256];
    unsigned long batch;
    double batch_ns; /* the median time of a batch */
    double clock_ns;
    long switches; /* involuntary, while sampling */
    double samples[NL_PROTOCOL_SAMPLES_MAX];
    double walls[NL_PROTOCOL_SAMPLES_MAX]; /* what the batch of each took, in ns */
};

struct run {
    const struct benchmark *benchmark;
    const struct bench_options *options;
    struct bench bench;
    struct outcome *outcome;
    struct bench_batch length; /* of a batch */
    double limit_ns;           /* where the budget ends */
    double last_ns;            /* where no batch may begin any more */
};

static double unit_ns(const char *unit)
{
    return !strcmp(unit, "ms") ? 1e6 : !strcmp(unit, "us") ? 1e3 : 1;
}

double agent_bench_value(const struct benchmark *benchmark, double elapsed_ns, unsigned long n)
{
    double each = elapsed_ns / (double)n;

    if (benchmark->bytes > 0)
        return benchmark->bytes / each * 1e3; /* bytes per ns are thousands of MB/s */
    return each / unit_ns(benchmark->unit);
}

int agent_bench_vcpus(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

/* The smallest step that reading it twice shows: what a reading costs, or how coarse it is. A mean
   would count the interruptions of a busy layer. A clock that counts ticks stands for millions of
   readings. */
static double measure_clock(void)
{
    double last = agent_bench_now_ns(), step = INFINITY;

    for (int i = 0; i < 1000 || (isinf(step) && i < 10000000); i++) {
        double now = agent_bench_now_ns();

        if (now > last)
            step = fmin(step, now - last);
        last = now;
    }
    return step;
}

/* Inside of what is timed: of what a benchmark times by itself, too. */
static void add_exits(struct run *run, unsigned long n)
{
    double start = agent_bench_now_ns();

    agent_bench_add_exits(n * run->options->extra_exits);
    run->bench.own_ns += agent_bench_now_ns() - start;
}

/* One batch. WALL_NS is what it took, VALUE_NS what counts. */
static int time_batch(struct run *run, unsigned long n, double *wall_ns, double *value_ns)
{
    const struct benchmark *benchmark = run->benchmark;
    struct bench *bench = &run->bench;
    double start;
    int status;

    if (benchmark->reset && (status = benchmark->reset(bench, n)) != 0)
        return status;
    bench->own_ns = 0;
    start = agent_bench_now_ns();
    status = benchmark->operation(bench, n);
    if (run->options->extra_exits > 0)
        add_exits(run, n);
    *wall_ns = agent_bench_now_ns() - start;
    run->outcome->operations += (double)n;
    *value_ns = benchmark->self_timed ? bench->own_ns : *wall_ns;
    return status;
}

static int try_batch(void *data, unsigned long n, double *wall_ns)
{
    double value;

    return time_batch(data, n, wall_ns, &value);
}

/* A quarter of the budget is the most it may cost. */
static int calibrate(struct run *run)
{
    struct outcome *outcome = run->outcome;
    double stop = run->limit_ns - run->options->budget_s * 0.75e9;
    unsigned long batch;
    int status;

    run->length = agent_bench_batch(run->options, outcome->clock_ns);
    status = agent_bench_calibrate(&run->length, run->benchmark->max_batch, stop, try_batch, run,
                                   &batch);
    outcome->batch = batch;
    return status;
}

/* Looked at now and then: each look sorts all samples. */
static bool is_precise(const struct run *run)
{
    const struct bench_options *options = run->options;
    long count = run->outcome->count, most = options->samples * AGENT_BENCH_MORE;

    if (options->precision <= 0 || count >= most || count >= NL_PROTOCOL_SAMPLES_MAX)
        return true;
    return count % options->samples == 0 &&
           agent_bench_half_width(run->outcome->samples, count) <= options->precision;
}

/* Within the budget; beyond it for what a judgement takes at least, as long as the deadline is not
   near. */
static bool wants_more(const struct run *run, double batch_ns)
{
    double now = agent_bench_now_ns();

    if (run->outcome->count >= run->options->samples && is_precise(run))
        return false;
    if (now < run->limit_ns)
        return true;
    return run->outcome->count < NL_PROTOCOL_SAMPLES_MIN && now + 2 * batch_ns < run->last_ns;
}

/* Every try of a batch may have been interrupted: the first samples show it. They are thrown away
   then, and the batch grows. */
static bool grow_batch(struct run *run)
{
    struct outcome *outcome = run->outcome;
    double median;
    unsigned long next;

    if (outcome->count != NL_PROTOCOL_SAMPLES_MIN || agent_bench_now_ns() >= run->limit_ns)
        return false;
    median = agent_bench_median(outcome->walls, outcome->count);
    next =
        agent_bench_next_batch(outcome->batch, median, run->length.aim, run->benchmark->max_batch);
    if (!agent_bench_is_short(median, run->length.least) || next <= outcome->batch)
        return false;
    outcome->batch = next;
    outcome->count = 0;
    return true;
}

static int take_sample(struct run *run, double *wall)
{
    struct outcome *outcome = run->outcome;
    double value;
    int status = time_batch(run, outcome->batch, wall, &value);

    if (status)
        return status;
    if (value <= 0) {
        snprintf(run->bench.reason, sizeof run->bench.reason,
                 "the clock did not move during a batch of %lu", outcome->batch);
        return -1;
    }
    outcome->samples[outcome->count] = agent_bench_value(run->benchmark, value, outcome->batch);
    outcome->walls[outcome->count] = *wall;
    outcome->count++;
    return 0;
}

static int take_samples(struct run *run)
{
    struct outcome *outcome = run->outcome;
    double wall, value;
    int status;

    outcome->stage = WARMING_UP;
    while (outcome->warmup < run->options->warmup && agent_bench_now_ns() < run->limit_ns) {
        if ((status = time_batch(run, outcome->batch, &wall, &value)) != 0)
            return status;
        outcome->warmup++;
    }
    outcome->stage = SAMPLING;
    do {
        status = take_sample(run, &wall);
        if (status)
            return status;
    } while (grow_batch(run) || wants_more(run, wall));
    outcome->batch_ns = agent_bench_median(outcome->walls, outcome->count);
    return 0;
}

static int take_times(struct run *run)
{
    struct outcome *outcome = run->outcome;
    struct rusage before, after;
    int status;

    outcome->stage = CALIBRATING;
    outcome->clock_ns = measure_clock();
    run->limit_ns = agent_bench_now_ns() + run->options->budget_s * 1e9;
    if (isinf(outcome->clock_ns)) {
        agent_bench_skip(&run->bench, "the clock does not move");
        return -1;
    }
    status = calibrate(run);
    if (status)
        return status;
    getrusage(RUSAGE_SELF, &before);
    status = take_samples(run);
    getrusage(RUSAGE_SELF, &after);
    outcome->switches = after.ru_nivcsw - before.ru_nivcsw;
    return status;
}

static int take_marked(struct run *run)
{
    struct outcome *outcome = run->outcome;

    outcome->stage = SAMPLING;
    outcome->batch = 1;
    run->limit_ns = agent_bench_now_ns() + run->options->budget_s * 1e9;
    return agent_bench_metered(run->benchmark, &run->bench, run->options, run->limit_ns,
                               &outcome->warmup, &outcome->count);
}

static int measure(struct run *run)
{
    int status;

    run->last_ns = agent_bench_now_ns() + run->options->deadline_s * 1e9;
    status = run->benchmark->prepare ? run->benchmark->prepare(&run->bench) : 0;
    if (status)
        return status;
    status = run->options->metered ? take_marked(run) : take_times(run);
    run->outcome->stage = FINISHING;
    if (run->benchmark->finish)
        run->benchmark->finish(&run->bench);
    return status;
}

/* The last CPU that may be used: the first one serves most devices' interrupts. */
static void choose_cpus(struct bench *bench)
{
    cpu_set_t set;

    bench->cpu = bench->other_cpu = -1;
    if (sched_getaffinity(0, sizeof set, &set))
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set)) {
            bench->other_cpu = bench->cpu;
            bench->cpu = cpu;
        }
    agent_bench_pin(bench->cpu);
}

/* Nothing that the agent has open, catches or blocks may reach into the measurement, or the other
   way round: standard output may be the link. */
static void leave_agent(pid_t agent)
{
    const struct rlimit no_core = {0, 0};
    sigset_t none;
    int null;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != agent)
        _exit(1);
    setpgid(0, 0);
    for (int signal_number = 1; signal_number < NSIG; signal_number++)
        signal(signal_number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setrlimit(RLIMIT_CORE, &no_core);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        if (null >= 0)
            dup2(null, fd);
        else
            close(fd);
}

static _Noreturn void be_child(struct run *run, pid_t agent)
{
    leave_agent(agent);
    choose_cpus(&run->bench);
    run->outcome->verdict = measure(run);
    memcpy(run->outcome->reason, run->bench.reason, sizeof run->outcome->reason);
    run->outcome->stage = DONE;
    _exit(0);
}

/* Wait for the end of the process, which shows as the end of the pipe that only it and its helpers
   hold. False: it was still running when the time was up. */
static bool wait_for_end(int fd, double seconds)
{
    double limit = agent_bench_now_ns() + seconds * 1e9;
    struct pollfd end = {.fd = fd, .events = POLLIN};
    double left;

    while ((left = limit - agent_bench_now_ns()) > 0)
        if (poll(&end, 1, (int)ceil(left / 1e6)) > 0)
            return true;
    return false;
}

static int complain(char **error, const struct run *run, bool ended, int status)
{
    const struct outcome *outcome = run->outcome;
    const char *doing = stage_names[outcome->stage];
    char what[128];

    if (outcome->stage == DONE)
        return asprintf(error, "benchmark \"%s\": %s", run->benchmark->name, outcome->reason);
    if (!ended)
        snprintf(what, sizeof what, "did not end within its deadline");
    else if (WIFSIGNALED(status))
        snprintf(what, sizeof what, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(what, sizeof what, "ended unexpectedly with status %d", WEXITSTATUS(status));
    return asprintf(error, "benchmark \"%s\" %s while %s, after %ld of %ld samples",
                    run->benchmark->name, what, doing, outcome->count, run->options->samples);
}

static json_t *clock_source(void)
{
    cleanup_free char *name =
        agent_read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");

    return agent_json_string(name);
}

json_t *agent_bench_skipped(const struct benchmark *benchmark, const char *reason)
{
    return json_pack("{s:s, s:s, s:s, s:i, s:b, s:s, s:o, s:i, s:i, s:[], s:n, s:s}", "name",
                     benchmark->name, "unit", benchmark->unit, "about", benchmark->about, "version",
                     benchmark->version, "higher_is_better", benchmark->higher_is_better, "clock",
                     "CLOCK_MONOTONIC", "clock_source", clock_source(), "vcpus",
                     agent_bench_vcpus(), "warmup", 0, "samples", "short", "skipped", reason);
}

/* Fewer samples than asked for are never silent. */
static json_t *say_short(const struct run *run)
{
    char text[160];

    if (run->outcome->count >= run->options->samples)
        return json_null();
    snprintf(text, sizeof text,
             "%ld of %ld samples within the budget of %g s, each of %lu operation%s%s",
             run->outcome->count, run->options->samples, run->options->budget_s,
             run->outcome->batch, run->outcome->batch == 1 ? "" : "s",
             run->outcome->count < NL_PROTOCOL_SAMPLES_MIN ? ": too few to judge by" : "");
    return json_string(text);
}

/* What the meter counted is not known here: only how many operations it saw. */
static json_t *make_metered(const struct run *run)
{
    const struct outcome *outcome = run->outcome;

    return json_pack("{s:s, s:i, s:o, s:i, s:i, s:o, s:n}", "name", run->benchmark->name, "version",
                     run->benchmark->version, "repeats",
                     run->benchmark->repeats > 0 ? json_real(run->benchmark->repeats) : json_null(),
                     "operations", (int)outcome->count, "warmup", (int)outcome->warmup, "short",
                     say_short(run), "skipped");
}

static json_t *make_result(const struct run *run, double seconds)
{
    const struct outcome *outcome = run->outcome;
    struct bench_batch length = agent_bench_batch(run->options, outcome->clock_ns);
    json_t *result = agent_bench_skipped(run->benchmark, "");
    json_t *samples = json_object_get(result, "samples");

    for (long i = 0; i < outcome->count; i++)
        json_array_append_new(samples, json_real(outcome->samples[i]));
    json_object_set_new(result, "skipped", json_null());
    json_object_set_new(result, "short", say_short(run));
    json_object_set_new(result, "warmup", json_integer(outcome->warmup));
    json_object_set_new(result, "operations", json_integer((json_int_t)outcome->operations));
    json_object_set_new(result, "batch", json_integer((json_int_t)outcome->batch));
    json_object_set_new(result, "batch_ns", json_real(outcome->batch_ns));
    json_object_set_new(result, "short_batch",
                        agent_bench_short_batch(&length, outcome->batch, outcome->batch_ns));
    json_object_set_new(result, "clock_resolution_ns", json_real(outcome->clock_ns));
    json_object_set_new(result, "involuntary_switches", json_integer(outcome->switches));
    json_object_set_new(result, "seconds", json_real(seconds));
    return result;
}

/* Run the child to its end; the exit status it had, and whether it ended by itself. */
static int supervise(struct run *run, bool *ended, int *status)
{
    pid_t agent = getpid(), pid;
    int fds[2];

    if (pipe2(fds, O_CLOEXEC))
        return -1;
    run->bench.alive_fd = fds[1];
    pid = fork();
    if (pid == 0)
        be_child(run, agent);
    close(fds[1]);
    if (pid > 0) {
        setpgid(pid, pid);
        *ended = wait_for_end(fds[0], run->options->deadline_s);
        kill(-pid, SIGKILL);
        while (waitpid(pid, status, 0) < 0 && errno == EINTR)
            ;
    }
    close(fds[0]);
    return pid < 0 ? -1 : 0;
}

int agent_bench_run(const struct benchmark *benchmark, const struct bench_options *options,
                    const char *scratch, json_t **result, char **error)
{
    struct run run = {.benchmark = benchmark,
                      .options = options,
                      .bench = {.scratch = scratch, .guest = options->guest}};
    double start = agent_bench_now_ns();
    bool ended = false;
    int status = 0, said = 0;

    *result = NULL;
    *error = NULL;
    run.outcome =
        mmap(NULL, sizeof *run.outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run.outcome == MAP_FAILED || supervise(&run, &ended, &status))
        said = asprintf(error, "cannot start the benchmark: %s", strerror(errno));
    else if (run.outcome->stage != DONE || run.outcome->verdict < 0)
        said = complain(error, &run, ended, status);
    else if (run.outcome->verdict > 0)
        *result = agent_bench_skipped(benchmark, run.outcome->reason);
    else if (options->metered)
        *result = make_metered(&run);
    else
        *result = make_result(&run, (agent_bench_now_ns() - start) / 1e9);
    if (said < 0)
        *error = NULL;
    if (run.outcome != MAP_FAILED)
        munmap(run.outcome, sizeof *run.outcome);
    return *result ? 0 : -1;
}
