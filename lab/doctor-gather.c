/*
 * doctor-gather.c - what can be learned of a machine, a layer, a host: see doctor.h. A step that
 * fails takes nothing else with it: its reason is kept in its place.
 */
#include "choose.h"
#include "dig.h"
#include "doctor-libvirt.h"
#include "doctor.h"
#include "image-plan.h"
#include "keeper-client.h"
#include "link.h"
#include "process.h"
#include "rundir.h"
#include "virt.h"

#include <string.h>

#define HELLO_S 10.0
#define FACTS_S 30.0
/* It starts up to two QEMUs, each twice; inside guests each start takes seconds. */
#define MACHINE_S 100.0
#define CONNECT_S 30.0
/* libvirt starts every QEMU it finds before it answers for the first time. */
#define LIBVIRT_S 90.0
#define KEEPER_S 3.0
#define BUILDER_S 20.0

static json_t *new_gathered(const char *kind, const char *name)
{
    /* A URI may be no UTF-8. */
    json_t *text = json_string(name);

    return json_pack("{s:i, s:s, s:{s:s, s:o}, s:{}}", "doctor", 1, "version", NL_VERSION,
                     "subject", "kind", kind, "name", text ? text : json_null(), "unknown");
}

/* Keep VALUE (consumed) as the part PART, or why there is none. */
static void keep(json_t *gathered, const char *part, json_t *value, const struct nl_error *err)
{
    json_t *why;

    if (value && !json_is_null(value)) {
        json_object_set_new(gathered, part, value);
        return;
    }
    json_decref(value);
    why = json_string(err ? nl_error_message(err) : "no answer");
    json_object_set_new(json_object_get(gathered, "unknown"), part,
                        why ? why : json_string("for a reason that is no text"));
}

/* Ask the local agent one question. */
static void ask_local(struct nl_link *link, const char *question, json_t *arguments, double seconds,
                      json_t *gathered)
{
    cleanup_error struct nl_error *err = NULL;
    json_t *said = NULL;

    nl_link_ask(link, question, arguments, nl_deadline_in(seconds), &said, &err);
    keep(gathered, question, said, err);
}

static void ask_agent_here(const char *agent, const json_t *lab, json_t *gathered)
{
    cleanup_error struct nl_error *err = NULL;
    json_t *paths =
        json_pack("[s?, s?]", nl_dig_string(lab, "store", NULL), nl_dig_string(lab, "runs", NULL));
    cleanup_link struct nl_link *link = NULL;

    if (nl_link_open_local(agent, NULL, NULL, &link, &err) < 0 ||
        nl_link_hello(link, nl_deadline_in(HELLO_S), NULL, NULL, NULL, &err) < 0) {
        json_decref(paths);
        keep(gathered, "facts", NULL, err);
        keep(gathered, "machine", NULL, err);
        return;
    }
    ask_local(link, "facts", NULL, FACTS_S, gathered);
    ask_local(link, "machine", json_pack("{s:o}", "paths", paths), MACHINE_S, gathered);
}

/* How far the image of RECIPE is: "there"; "layers", which take a second to put together (as after
   a change of the agent); "no", which takes minutes and a Debian mirror. */
static const char *image_state(struct nl_store *store, const char *recipe)
{
    const struct nl_image_request request = {.recipe = recipe};
    cleanup_plan struct nl_plan *plan = NULL;

    if (nl_plan_make(store, &request, &plan, NULL) < 0 || !plan)
        return "no";
    if (nl_entry_exists(store, plan->image))
        return "there";
    const char *layers[] = {plan->kernel, plan->system, plan->busybox, plan->scratch};
    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++)
        if (layers[i] && !nl_entry_exists(store, layers[i]))
            return "no";
    return "layers";
}

/* Which images are in the store. One that is not there yet is not made. */
static json_t *look_at_images(const char *path)
{
    cleanup_store struct nl_store *store = NULL;
    cleanup_free char *keys = NULL;

    if (asprintf(&keys, "%s/keys", path) < 0)
        return json_null();
    if (access(keys, R_OK | X_OK) < 0 || nl_store_open(path, NULL, NULL, &store, NULL) < 0)
        return json_pack("{s:s, s:s}", "hypervisor", "no", "leaf", "no");
    return json_pack("{s:s, s:s}", "hypervisor", image_state(store, "hypervisor"), "leaf",
                     image_state(store, "leaf"));
}

/* Does the builder start? A library that it lacks keeps it from it. */
static json_t *look_at_builder(void)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *path = NULL;
    cleanup_free char *output = NULL;

    if (nl_store_find_program("nestlab-builder", &path, &err) == 0) {
        const char *argv[] = {path, "--help", NULL};
        struct nl_process process = {.argv = argv, .output_limit = 65536, .timeout = BUILDER_S};

        nl_process_run(&process, &output, &err);
    }
    return json_pack("{s:s?, s:s?}", "path", path, "error", err ? nl_error_message(err) : NULL);
}

static json_t *look_at_lab(const struct nl_rundir *rundir, const struct nl_error *no_rundir,
                           const char *given_store)
{
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *runs = rundir ? strdup(nl_rundir_path(rundir)) : NULL;
    cleanup_free char *store = given_store ? realpath(given_store, NULL) : NULL;
    json_t *images;

    if (runs && strrchr(runs, '/'))
        *strrchr(runs, '/') = '\0';
    /* A store that is not there yet is named as it was given. */
    if (given_store && !store)
        store = strdup(given_store);
    else if (!given_store)
        nl_store_default_path(&store, &err);
    images = store ? look_at_images(store) : json_null();
    return json_pack("{s:s?, s:s?, s:s?, s:s?, s:o, s:o}", "runs", runs, "runs_error",
                     no_rundir ? nl_error_message(no_rundir) : NULL, "store", store, "store_error",
                     err ? nl_error_message(err) : NULL, "images", images, "builder",
                     look_at_builder());
}

/* As a run does it: the embedded QEMU driver, in the run folder. */
static void look_at_libvirt(const struct nl_rundir *rundir, const struct nl_error *no_rundir,
                            json_t *gathered)
{
    cleanup_error struct nl_error *err = NULL;
    virConnectPtr conn = NULL;
    json_t *told = NULL;

    if (!rundir) {
        keep(gathered, "libvirt", NULL, no_rundir);
        return;
    }
    cleanup_free char *log = nl_rundir_file(rundir, "libvirt.log");
    cleanup_free char *root = nl_rundir_file(rundir, "embed");

    bool opens = nl_virt_start(log, &err) == 0 && nl_virt_open_embed(root, &conn, &err) == 0;
    json_object_set_new(gathered, "embedded", json_pack("{s:b}", "opens", opens));
    if (opens)
        nl_doctor_ask_libvirt(conn, nl_deadline_in(LIBVIRT_S), &told, &err);
    nl_virt_close(&conn);
    keep(gathered, "libvirt", told, err);
}

int nl_doctor_machine(const char *store, json_t **gathered, struct nl_error **err)
{
    cleanup_error struct nl_error *no_rundir = NULL;
    cleanup_error struct nl_error *no_agent = NULL;
    cleanup_json json_t *all = new_gathered("machine", "this machine");
    struct nl_rundir *rundir = NULL;
    cleanup_free char *agent = NULL;
    json_t *lab;

    nl_rundir_create("doctor", &rundir, &no_rundir);
    lab = look_at_lab(rundir, no_rundir, store);
    keep(all, "lab", lab, NULL);
    if (nl_store_find_program("nestlab-agent", &agent, &no_agent) == 0) {
        ask_agent_here(agent, json_object_get(all, "lab"), all);
    } else {
        keep(all, "facts", NULL, no_agent);
        keep(all, "machine", NULL, no_agent);
    }
    if (!nl_interrupted())
        look_at_libvirt(rundir, no_rundir, all);
    if (rundir)
        nl_rundir_remove(&rundir, NULL);
    if (nl_interrupt_check(err) < 0)
        return -1;
    *gathered = nl_steal(&all);
    return 0;
}

/* One question to a layer's agent, through the keeper: each on a connection of its own, so that one
   that is not answered does not silence the next. */
static void ask_layer(const json_t *run, const char *layer, const char *question, double seconds,
                      json_t *gathered, struct nl_error **err)
{
    cleanup_error struct nl_error *why = NULL;
    json_t *said = NULL;
    cleanup_close int fd = -1;

    if (nl_keeper_connect(nl_dig_string(run, "path", ""), nl_deadline_in(KEEPER_S), &fd, &why) == 0)
        nl_keeper_ask(fd,
                      json_pack("{s:s, s:s, s:s, s:f}", "op", "ask", "layer", layer, "question",
                                question, "timeout_s", seconds),
                      nl_deadline_in(seconds + 15), &said, &why);
    keep(gathered, question, said, why);
    if (why && !*err)
        *err = nl_steal(&why);
}

int nl_doctor_layer(const char *layer, const char *stack, json_t **gathered, struct nl_error **err)
{
    cleanup_error struct nl_error *first = NULL;
    cleanup_json json_t *all = NULL;
    cleanup_json json_t *run = NULL;
    cleanup_free char *name = NULL;
    const json_t *found = NULL;
    const char *id;

    if (nl_choose_run(stack, &run, err) < 0 || nl_choose_layer(run, layer, &found, err) < 0)
        return -1;
    id = nl_dig_string(run, "id", "?");
    layer = nl_dig_string(found, "name", layer);
    if (!nl_dig_true(run, "state.kept")) {
        nl_fail(err, NL_EXIT_REQUEST, "%s of %s can be looked at only when the stack is kept",
                layer, id);
        return nl_hint(err, "start it with `nestlab up` or `nestlab run --keep`");
    }
    if (asprintf(&name, "%s of %s", layer, id) < 0)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    all = new_gathered("layer", name);
    ask_layer(run, layer, "facts", FACTS_S, all, &first);
    if (!nl_interrupted())
        ask_layer(run, layer, "machine", MACHINE_S, all, &first);
    if (nl_interrupt_check(err) < 0)
        return -1;
    if (!nl_dig(all, "facts") && !nl_dig(all, "machine")) {
        *err = nl_steal(&first);
        return nl_wrap(err, "looking into %s", name);
    }
    *gathered = nl_steal(&all);
    return 0;
}

int nl_doctor_uri(const char *uri, json_t **gathered, struct nl_error **err)
{
    cleanup_json json_t *all = new_gathered("uri", uri);
    virConnectPtr conn = NULL;
    json_t *told = NULL;
    int rc;

    if (!strchr(uri, ':')) {
        nl_fail(err, NL_EXIT_REQUEST, "%s is no libvirt URI", uri);
        return nl_hint(err, "such as qemu:///system or qemu+ssh://HOST/system; a layer of a kept "
                            "stack: --in LN");
    }
    if (nl_virt_start("/dev/null", err) < 0 ||
        nl_doctor_connect(uri, nl_deadline_in(CONNECT_S), &conn, err) < 0)
        return -1;
    rc = nl_doctor_ask_libvirt(conn, nl_deadline_in(LIBVIRT_S), &told, err);
    nl_virt_close(&conn);
    if (rc < 0)
        return -1;
    keep(all, "libvirt", told, NULL);
    *gathered = nl_steal(&all);
    return 0;
}
