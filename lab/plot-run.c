/*
 * plot-run.c - running gnuplot: see plot-svg.h. In a file of its own, which fuzzers replace.
 */
#include "deadline.h"
#include "plot-svg.h"
#include "process.h"

#define TIMEOUT 20.0
#define TIMEOUT_INTERRUPTED 3.0 /* who interrupted a run waits for its report */
#define OUTPUT_LIMIT (64 << 20)

int nl_plot_run(const char *script, char **output, struct nl_error **err)
{
    static const char *const argv[] = {"gnuplot", "--default-settings", "-", NULL};
    /* Decimal points, and no initialisation but the script. */
    static const char *const environment[] = {"LC_ALL=C.UTF-8", NULL};
    struct nl_process process = {
        .argv = argv,
        .environment = environment,
        .input = script,
        .output_limit = OUTPUT_LIMIT,
        .timeout = nl_interrupted() ? TIMEOUT_INTERRUPTED : TIMEOUT,
    };
    int rc;

    /* A run that was interrupted has a report, too. */
    nl_interrupt_shield(true);
    rc = nl_process_run(&process, output, err);
    nl_interrupt_shield(false);
    if (rc < 0)
        nl_hint(err, "is gnuplot installed (package gnuplot-nox)?");
    return rc;
}
