/*
 * builder.c - nestlab-builder: makes the image that is asked for on standard input, layer by layer,
 * and answers with its digest on standard output. Not for use by hand: `nestlab build` is.
 */
#include "builder.h"
#include "progress.h"

#include <argp.h>
#include <string.h>

struct arguments {
    const char *store, *recipes, *agent;
};

static const struct argp_option options[] = {
    {"store", 's', "DIR", 0, "The store", 0},
    {"recipes", 'r', "DIR", 0, "The folder of recipes", 0},
    {"agent", 'a', "FILE", 0, "The agent to put into images", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 's':
        arguments->store = value;
        return 0;
    case 'r':
        arguments->recipes = value;
        return 0;
    case 'a':
        arguments->agent = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* One layer: its digest, its function, what to call it, and its name in that of the log. */
struct step {
    const char *digest;
    builder_layer *make;
    const char *what;
    const char *layer;
};

static int run_step(struct builder *builder, const struct step *step, struct nl_error **err)
{
    cleanup_entry struct nl_entry *entry = NULL;
    cleanup_free char *log = nl_store_name(builder->store, "logs/%.12s-%s.log",
                                           step->digest ? step->digest : "", step->layer);

    if (!log)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (!step->digest || nl_entry_exists(builder->store, step->digest))
        return 0;
    if (nl_entry_begin(builder->store, step->digest, step->what, &entry, err) < 0)
        return -1;
    if (entry->there)
        return 0;
    unlink(log);
    nl_progress_begin("image %s: %s", builder->request.recipe, step->what);
    if (step->make(builder, entry->folder, log, err) < 0 || nl_entry_commit(entry, err) < 0) {
        nl_progress_end("failed");
        return nl_wrap(err, "%s", step->what);
    }
    nl_progress_end("done");
    return 0;
}

static int run_steps(struct builder *builder, struct nl_error **err)
{
    const struct nl_plan *plan = builder->plan;
    bool own_kernel = nl_request_has_kernel(&builder->request);
    const struct step steps[] = {
        {plan->debian_kernel, builder_make_debian_kernel, "Debian's kernel", "kernel"},
        {own_kernel ? plan->kernel : NULL, builder_make_user_kernel, "the given kernel", "kernel"},
        {plan->busybox, builder_make_busybox, "busybox", "busybox"},
        {plan->scratch, builder_make_scratch, "scratch disk", "scratch"},
        {plan->debian, builder_make_debian, "Debian disk", "debian"},
        {plan->system, builder_make_system, "modules, files and keys", "system"},
        {plan->debs, builder_make_debs, "the given packages", "debs"},
        {plan->image, builder_make_image, "initramfs", "image"},
    };

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (run_step(builder, &steps[i], err) < 0)
            return -1;
    return 0;
}

static int make(struct builder *builder, bool refresh, struct nl_error **err)
{
    if (refresh || (nl_plan_make(builder->store, &builder->request, &builder->plan, err) == 0 &&
                    !builder->plan)) {
        cleanup_recipe struct nl_recipe *recipe = NULL;

        if (nl_recipe_load(builder->store->recipes, builder->request.recipe, &recipe, err) < 0 ||
            builder_resolve(builder, recipe, err) < 0)
            return -1;
        nl_plan_free(&builder->plan);
        if (nl_plan_make(builder->store, &builder->request, &builder->plan, err) < 0)
            return -1;
    }
    if (!builder->plan)
        return *err ? -1 : nl_fail(err, NL_EXIT_LAB, "what apt said does not fit the recipe");
    return run_steps(builder, err);
}

/* The request, with strings that live as long as JSON does. */
static int unpack_request(json_t *json, struct nl_image_request *request,
                          struct nl_kernel_spec *kernel, char **debs, size_t max, bool *refresh,
                          struct nl_error **err)
{
    json_t *list = NULL, *item;
    int again = 0, quiet = 0;
    size_t i;

    if (json_unpack(json, "{s:s, s:b, s?b, s:o, s:{s?s, s?s, s?s}}", "recipe", &request->recipe,
                    "refresh", &again, "quiet", &quiet, "debs", &list, "kernel", "image",
                    &kernel->image, "modules", &kernel->modules, "deb", &kernel->deb) < 0 ||
        json_array_size(list) >= max)
        return nl_fail(err, NL_EXIT_REQUEST, "the request cannot be read");
    json_array_foreach(list, i, item) debs[i] = (char *)json_string_value(item);
    request->kernel = kernel;
    request->debs = debs;
    *refresh = again;
    nl_progress_quiet(quiet);
    return 0;
}

static int answer(const char *digest, const struct nl_error *err)
{
    cleanup_json json_t *json =
        err ? json_pack("{s:s, s:s*, s:i}", "message", nl_error_message(err), "hint",
                        nl_error_hint(err), "status", (int)nl_error_status(err))
            : json_pack("{s:s}", "digest", digest);

    return json && json_dumpf(json, stdout, JSON_COMPACT) == 0 && fflush(stdout) == 0 ? 0 : 1;
}

static int work(const struct arguments *arguments, json_t *json, char **digest,
                struct nl_error **err)
{
    cleanup_store struct nl_store *store = NULL;
    struct builder builder = {0};
    struct nl_kernel_spec kernel = {0};
    char *debs[256] = {NULL};
    bool refresh = false;
    int rc;

    if (nl_interrupt_catch(err) < 0 ||
        unpack_request(json, &builder.request, &kernel, debs, sizeof(debs) / sizeof(debs[0]),
                       &refresh, err) < 0 ||
        nl_store_open(arguments->store, arguments->recipes, arguments->agent, &store, err) < 0)
        return -1;
    builder.store = store;
    rc = make(&builder, refresh, err);
    if (rc == 0)
        *digest = strdup(builder.plan->image);
    nl_plan_free(&builder.plan);
    return rc;
}

/* The system's tools: some are where an ordinary user's PATH does not lead, and mmdebstrap starts a
   Python script for every package, which version managers' wrappers make ten times slower. */
#define TOOLS_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

int main(int argc, char **argv)
{
    static const struct argp argp = {options, parse, NULL, "Make an image (used by nestlab).",
                                     NULL,    NULL,  NULL};
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *digest = NULL;
    cleanup_json json_t *json = NULL;
    struct arguments arguments = {0};
    int status;

    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    setenv("PATH", TOOLS_PATH, 1);
    json = json_loadf(stdin, 0, NULL);
    if (work(&arguments, json, &digest, &err) < 0 && !err)
        nl_fail(&err, NL_EXIT_LAB, "unknown error");
    nl_progress_end("stopped");
    status = answer(digest, err);
    /* Not exit(): libguestfs closes what is open there, and would wait for a call that was given
     * up. */
    _exit(status);
}
