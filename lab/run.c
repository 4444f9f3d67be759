/*
 * run.c - one run from a scenario to its report: see run.h.
 */
#include "run.h"
#include "earlier-run.h"
#include "fault-inject.h"
#include "folders.h"
#include "headline.h"
#include "keeper.h"
#include "l0.h"
#include "metered-marks.h"
#include "profile.h"
#include "progress.h"
#include "report-files.h"
#include "report.h"
#include "run-findings.h"
#include "work-meter.h"
#include "work.h"

#include <errno.h>
#include <string.h>

#define DEFAULT_OUT "nestlab-out"

/* What a run owns, but for its options. */
struct run {
    const struct nl_run_options *options;
    struct nl_scenario *scenario; /* the options' */
    struct nl_store *store;
    struct nl_document *document;
    struct nl_rundir *rundir;
    struct nl_stack *stack;
    struct nl_rules_ahead *rules;
    char *out;
    char *undo; /* what enabling nesting changed on this machine */
};

static void free_run(struct run *run)
{
    cleanup_error struct nl_error *err = NULL;

    nl_stack_free(&run->stack);
    if (run->rundir && nl_rundir_remove(&run->rundir, &err) < 0)
        nl_error_print(err);
    nl_error_free(&err);
    /* What was changed on this machine is put back, also after an interrupt. */
    nl_interrupt_shield(true);
    if (nl_l0_restore(run->undo, &err) < 0)
        nl_error_print(err);
    nl_interrupt_shield(false);
    nl_rules_ahead_free(&run->rules);
    nl_document_free(&run->document);
    nl_store_close(&run->store);
    free(run->out);
    free(run->undo);
}

int nl_run_check_out(const char *out, struct nl_error **err)
{
    return nl_check_folders(out ? out : DEFAULT_OUT, NL_EXIT_REQUEST, err);
}

/* The output folder, absolute: QEMU and the keeper run elsewhere. */
static int choose_out(struct run *run, struct nl_error **err)
{
    cleanup_free char *wanted = NULL;

    if (run->options->out)
        wanted = strdup(run->options->out);
    else if (asprintf(&wanted, DEFAULT_OUT "/%s", nl_document_id(run->document)) < 0)
        wanted = NULL;
    if (!wanted)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (nl_make_folders(wanted, NL_EXIT_REQUEST, err) < 0)
        return -1;
    run->out = access(wanted, W_OK | X_OK) == 0 ? realpath(wanted, NULL) : NULL;
    return run->out
               ? 0
               : nl_fail_errno(err, NL_EXIT_REQUEST, errno, "cannot use the folder %s", wanted);
}

/* A folder of one name for every run, as CI servers have it, is not to hold the logs of two. */
static int replace_earlier(struct run *run, struct nl_error **err)
{
    cleanup_free char *id = NULL;

    if (nl_earlier_run_remove(run->out, &id, err) < 0)
        return -1;
    if (id)
        nl_progress_note("%s: replacing the results of run %s",
                         run->options->out ? run->options->out : run->out, id);
    return 0;
}

/* Its id names the output folder as well, which may hold an earlier run of the same name and day.
 */
static int make_rundir(struct run *run, struct nl_error **err)
{
    for (int i = 0; i < 100; i++) {
        cleanup_free char *out = NULL;

        if (nl_rundir_create(run->scenario->name, &run->rundir, err) < 0)
            return -1;
        if (asprintf(&out, DEFAULT_OUT "/%s", nl_rundir_id(run->rundir)) < 0)
            return nl_fail(err, NL_EXIT_LAB, "out of memory");
        if (run->options->out || access(out, F_OK) < 0)
            return 0;
        if (nl_rundir_remove(&run->rundir, err) < 0)
            return -1;
    }
    return nl_fail(err, NL_EXIT_LAB, "too many runs of that name and day in " DEFAULT_OUT);
}

/* What an earlier runner that was killed left behind goes first. */
static void collect_left_behind(void)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_json json_t *removed = NULL;
    json_t *one;
    size_t i;

    if (nl_rundir_collect(false, &removed, &err) < 0)
        nl_progress_note("cannot clean up after an earlier run: %s", nl_error_message(err));
    json_array_foreach(removed, i, one)
    {
        nl_progress_note("removed what the run %s left behind",
                         json_string_value(json_object_get(one, "id")));
    }
}

/* "auto" does not take this machine when the scenario asks of L0 what only a guest can have, or for
   the meter. */
static int choose_l0(struct run *run, bool *local, char **why, struct nl_error **err)
{
    bool meter = run->scenario->meter.benchmarks;
    const char *key = meter ? "meter" : nl_scenario_needs_guest(run->scenario);

    if (!key || strcmp(run->scenario->l0, "auto") != 0)
        return nl_l0_choose(run->scenario->l0, nl_store_agent(run->store), local, why, err);
    *local = false;
    if ((meter ? asprintf(why, "the meter counts what an emulated processor executes")
               : asprintf(why, "the scenario's \"%s\" for L0 needs a guest", key)) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    return 0;
}

/* Everything up to the stack, which is not started yet. Errors here are the request's or the
   machine's: there is no document to tell them in. */
static int set_up(struct run *run, struct nl_error **err)
{
    const struct nl_run_options *options = run->options;
    cleanup_json json_t *scenario = NULL;
    cleanup_free char *why = NULL;
    bool local = false;

    if (nl_store_open(options->store, NULL, NULL, &run->store, err) < 0)
        return -1;
    /* The run folder first: where there can be none, nothing is left behind either. */
    if (make_rundir(run, err) < 0)
        return -1;
    if (options->demo) /* only to look at: no need to slow it down */
        nl_strv_free(nl_steal(&run->scenario->meter.benchmarks));
    collect_left_behind();
    if (options->enable_nesting && nl_l0_enable_nesting(&run->undo, err) < 0)
        return -1;
    if (choose_l0(run, &local, &why, err) < 0)
        return -1;
    nl_progress_note("%s: L0 is %s (%s)", run->scenario->name, local ? "this machine" : "emulated",
                     why);
    scenario = nl_scenario_to_json(run->scenario);
    if (nl_document_new(options->argv, scenario, nl_rundir_id(run->rundir), &run->document, err) <
        0)
        return -1;
    nl_document_l0(run->document, run->scenario->l0, local ? "local" : "emulated", why);
    if (choose_out(run, err) < 0 || replace_earlier(run, err) < 0)
        return -1;
    return nl_stack_new(run->scenario, run->store, run->rundir, run->document, run->out, local,
                        &run->stack, err);
}

static int timed(struct run *run, const char *name,
                 int (*work)(struct nl_stack *stack, struct nl_error **err), struct nl_error **err)
{
    int phase = nl_document_phase_begin(run->document, NULL, name);
    int rc = work(run->stack, err);

    nl_document_phase_end(run->document, phase);
    return rc;
}

/* What to call the end of the step that ERR ended. */
static const char *outcome(const struct nl_error *err)
{
    return nl_error_status(err) == NL_EXIT_INTERRUPTED ? "interrupted" : "failed";
}

/* At once, since what comes now may take a while; at length it is in the report. */
static void tell_failure(const struct run *run, const struct nl_error *err)
{
    cleanup_free char *text = nl_headline(nl_error_message(err), nl_document_id(run->document));

    nl_progress_end("%s", outcome(err));
    nl_progress_note("%s", text ? text : "out of memory");
}

/* Up, work, evidence. Whatever happens is in the document afterwards. */
static int use_stack(struct run *run, struct nl_error **err)
{
    cleanup_error struct nl_error *collecting = NULL;
    int rc;

    run->rules = nl_rules_ahead();
    rc = nl_stack_up(run->stack, err);

    if (rc == 0)
        rc = nl_stack_save_state(run->stack, "running", "work", err);
    if (rc == 0)
        rc = nl_fault_inject(run->stack, NL_FAULT_RUNNING, NULL, err);
    if (rc == 0 && !run->options->demo)
        rc = timed(run, "benchmarks", nl_work_benchmarks, err);
    if (rc == 0 && run->stack->meter)
        rc = timed(run, "meter", nl_work_meter, err);
    if (rc == 0 && !run->options->demo)
        rc = timed(run, "commands", nl_work_commands, err);
    if (rc == 0)
        rc = nl_interrupt_check(err);
    if (rc < 0)
        tell_failure(run, *err);
    if (nl_interrupted())
        return rc < 0 ? -1 : nl_interrupt_check(err);
    if (timed(run, "collect", nl_work_collect, &collecting) < 0) {
        bool late = nl_stack_explain_late(run->stack, &collecting);

        tell_failure(run, collecting);
        nl_document_fail(run->document, NULL, "collect", late ? "timeout" : "error", collecting,
                         NULL);
    }
    return rc;
}

static void take_down(struct run *run)
{
    int phase = nl_document_phase_begin(run->document, NULL, "down");

    nl_progress_begin("taking the stack down");
    nl_stack_down(run->stack);
    nl_progress_end("done");
    nl_document_phase_end(run->document, phase);
}

static int find(struct run *run, struct nl_error **err)
{
    int phase = nl_document_phase_begin(run->document, NULL, "findings");
    int rc =
        nl_run_findings(run->rules, run->document, run->out, nl_stack_outermost(run->stack), err);

    nl_document_phase_end(run->document, phase);
    return rc;
}

/* What was to be counted and was not, though the run got to its end; also with --quiet. The exit
   status that the run has, which is STATUS but where that was all that it was for. */
static enum nl_exit tell_missing(const struct run *run, enum nl_exit status)
{
    const json_t *document = nl_document_json(run->document);
    cleanup_free char *why =
        run->options->profile && status == NL_EXIT_PASSED ? nl_profile_missing(document) : NULL;
    cleanup_error struct nl_error *err = NULL;

    if (why) {
        nl_fail(&err, NL_EXIT_LAB, "there is no profile: %s", why);
        status = NL_EXIT_LAB;
    } else if ((status == NL_EXIT_PASSED || status == NL_EXIT_CHECK_FAILED) &&
               nl_metered_nothing(document)) {
        nl_fail(&err, status,
                "warning: nothing was counted: every benchmark that was to be metered "
                "was left out; the report says why");
    }
    if (err)
        nl_error_print(err);
    return status;
}

/* Document and reports. */
static enum nl_exit conclude(struct run *run)
{
    cleanup_error struct nl_error *err = NULL;
    int rc;

    /* Neither failure keeps the other from being told, or the document from being judged. */
    if (nl_report_logs(run->document, run->out, &err) < 0) {
        nl_error_print(err);
        nl_document_fail(run->document, NULL, "report", "error", err, NULL);
        nl_error_free(&err);
    }
    if (find(run, &err) < 0) {
        nl_error_print(err);
        nl_error_free(&err);
    }
    if (nl_document_finish(run->document, &err) < 0) {
        nl_error_print(err);
        nl_error_free(&err);
    }
    rc = nl_report_files(run->document, run->out, &err);
    if (rc < 0)
        nl_error_print(err);
    else
        printf("document.json, report.html, junit.xml, consoles and kernel logs: %s\n\n", run->out);
    nl_report_text(nl_document_json(run->document), stdout, nl_report_wants_colour(stdout));
    fflush(stdout);
    /* Last, since drawing its plots takes a while. */
    nl_error_free(&err);
    if (nl_report_page(run->document, run->out, &err) < 0) {
        nl_error_print(err);
        rc = -1;
    }
    if (rc < 0)
        return NL_EXIT_LAB;
    return tell_missing(run, nl_document_exit(nl_document_json(run->document)));
}

/* In a keeper: the run is over, the stack stays until somebody asks for its end. */
static void keep(struct run *run, enum nl_exit status)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *log = nl_rundir_file(run->rundir, "keeper.log");
    const char *why = "";

    printf("\nThe stack %s stays up: `nestlab shell L%zu`, `nestlab list`, `nestlab down`.\n",
           nl_rundir_id(run->rundir), run->stack->n_layers - 1);
    fflush(stdout);
    if (nl_stack_save_state(run->stack, "kept", NULL, &err) < 0 ||
        nl_keeper_released(status, log, &err) < 0 || nl_keeper_serve(run->stack, &why, &err) < 0)
        nl_error_print(err);
    nl_error_free(&err);
    nl_stack_save_state(run->stack, "stopping", why, &err);
}

enum nl_exit nl_run(const struct nl_run_options *options)
{
    NL_CLEANUP(free_run) struct run run = {.options = options, .scenario = options->scenario};
    cleanup_error struct nl_error *err = NULL;
    bool is_up, late;
    enum nl_exit status;

    if (nl_interrupt_catch(&err) < 0 || nl_interrupt_check(&err) < 0 || set_up(&run, &err) < 0) {
        nl_progress_end("%s", outcome(err));
        nl_error_print(err);
        return nl_error_status(err);
    }
    is_up = use_stack(&run, &err) == 0;
    if (!is_up) {
        /* Where nobody has told it yet. */
        late = nl_stack_explain_late(run.stack, &err);
        nl_document_fail(run.document, NULL, "run", late ? "timeout" : "error", err, NULL);
    }
    if (nl_interrupted())
        nl_document_interrupted(run.document);
    nl_run_keep_logs(run.document, run.out, run.rundir, nl_stack_outermost(run.stack));
    if (is_up && options->kept) {
        status = conclude(&run);
        keep(&run, status);
        nl_stack_down(run.stack);
        return status;
    }
    take_down(&run);
    return conclude(&run);
}
