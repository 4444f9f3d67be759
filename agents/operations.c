/*
 * operations.c - the table of operations, and those that are small enough to live in it.
 */
#include "bench.h"
#include "clock.h"
#include "dispatch.h"
#include "exec.h"
#include "exit-reasons.h"
#include "facts.h"
#include "fault.h"
#include "files.h"
#include "find-disk.h"
#include "kmsg.h"
#include "machine.h"
#include "protocol.h"
#include "symbols.h"

#include <stdlib.h>
#include <unistd.h>

#define HEARTBEAT_MIN_S 0.1
#define HEARTBEAT_MAX_S 3600.0

static int op_hello(struct agent_context *context, const json_t *request, json_t **result,
                    struct agent_error *error)
{
    cleanup_free char *boot_id = agent_read_line("/proc/sys/kernel/random/boot_id");
    json_t *names = json_array();

    (void)request;
    (void)error;
    for (const struct agent_operation *o = agent_operations; o->name; o++)
        json_array_append_new(names, json_string(o->name));
    *result = json_pack("{s:s, s:i, s:o, s:i, s:o, s:f, s:b, s:O?, s:o, s:o}", "agent", NL_VERSION,
                        "protocol", NL_PROTOCOL_VERSION, "layer", agent_json_string(context->layer),
                        "pid", (int)getpid(), "boot_id", agent_json_string(boot_id), "uptime_s",
                        agent_uptime_s(), "ready", context->ready, "services", context->services,
                        "operations", names, "disks", agent_disks());
    return 0;
}

static int op_facts(struct agent_context *context, const json_t *request, json_t **result,
                    struct agent_error *error)
{
    const json_t *guest = json_object_get(request, "kvm_guest");

    if (guest && !json_is_boolean(guest))
        return agent_fail(error, NULL, "\"kvm_guest\" is not true or false");
    *result = agent_facts(context->layer, context->ready_uptime_s, !json_is_false(guest));
    return 0;
}

static int op_machine(struct agent_context *context, const json_t *request, json_t **result,
                      struct agent_error *error)
{
    const json_t *paths = json_object_get(request, "paths");

    (void)context;
    if (paths && !json_is_array(paths))
        return agent_fail(error, NULL, "\"paths\" is not an array");
    *result = agent_machine(paths);
    return 0;
}

static int op_log(struct agent_context *context, const json_t *request, json_t **result,
                  struct agent_error *error)
{
    const json_t *since = json_object_get(request, "since");

    (void)context;
    if (since && (!json_is_integer(since) || json_integer_value(since) < 0))
        return agent_fail(error, NULL, "\"since\" is not a whole number from 0");
    return agent_kmsg_read("/dev/kmsg", json_integer_value(since), result, error);
}

static int op_bench(struct agent_context *context, const json_t *request, json_t **result,
                    struct agent_error *error)
{
    const char *name = json_string_value(json_object_get(request, "name"));
    cleanup_free char *why = NULL;

    if (!name)
        return agent_fail(error, "operation \"benches\" lists them", "\"name\" is not a string");
    if (agent_bench(name, request, result, &why) < 0)
        return agent_fail(error, NULL, "%s", why ? why : "no memory");
    json_object_set_new(*result, "layer", agent_json_string(context->layer));
    return 0;
}

static int op_benches(struct agent_context *context, const json_t *request, json_t **result,
                      struct agent_error *error)
{
    (void)context;
    (void)request;
    (void)error;
    *result = json_pack("{s:o}", "benchmarks", agent_bench_list());
    return 0;
}

static int op_clock(struct agent_context *context, const json_t *request, json_t **result,
                    struct agent_error *error)
{
    (void)context;
    (void)error;
    *result = agent_clock(json_is_true(json_object_get(request, "rate")));
    return 0;
}

static int op_exec(struct agent_context *context, const json_t *request, json_t **result,
                   struct agent_error *error)
{
    (void)context;
    return agent_exec(request, result, error);
}

static int op_put(struct agent_context *context, const json_t *request, json_t **result,
                  struct agent_error *error)
{
    (void)context;
    return agent_put(request, result, error);
}

static int op_get(struct agent_context *context, const json_t *request, json_t **result,
                  struct agent_error *error)
{
    (void)context;
    return agent_get(request, result, error);
}

static int op_heartbeat(struct agent_context *context, const json_t *request, json_t **result,
                        struct agent_error *error)
{
    const json_t *interval = json_object_get(request, "interval_s");
    double seconds = json_number_value(interval);

    if (!json_is_number(interval) ||
        (seconds != 0 && !(seconds >= HEARTBEAT_MIN_S && seconds <= HEARTBEAT_MAX_S)))
        return agent_fail(error, "0 stops it", "\"interval_s\" is not a number from %g to %g",
                          HEARTBEAT_MIN_S, HEARTBEAT_MAX_S);
    context->heartbeat_s = seconds;
    *result = json_object();
    return 0;
}

static int op_ping(struct agent_context *context, const json_t *request, json_t **result,
                   struct agent_error *error)
{
    (void)request;
    (void)error;
    *result = json_pack("{s:f, s:s?, s:f, s:O}", "uptime_s", agent_uptime_s(), "busy",
                        context->busy, "busy_s", context->busy_s, "services", context->services);
    return 0;
}

static int op_exit_reasons(struct agent_context *context, const json_t *request, json_t **result,
                           struct agent_error *error)
{
    const json_t *count = json_object_get(request, "count");
    const char *uuid = json_string_value(json_object_get(request, "uuid"));

    if (!json_is_boolean(count))
        return agent_fail(error, NULL, "\"count\" is not true or false");
    if (json_is_false(count) && !uuid)
        return agent_fail(error, "the domain's, as libvirt has it", "\"uuid\" is not a string");
    if (json_is_false(count))
        return agent_exit_reasons_end(uuid, result, error);
    *result = json_object();
    return agent_exit_reasons_begin(context->in_guest, error);
}

static int op_symbols(struct agent_context *context, const json_t *request, json_t **result,
                      struct agent_error *error)
{
    (void)context;
    return agent_symbols("/proc/kallsyms", json_object_get(request, "addresses"), result, error);
}

static int op_poweroff(struct agent_context *context, const json_t *request, json_t **result,
                       struct agent_error *error)
{
    (void)request;
    if (!context->in_guest)
        return agent_fail(error, "only an agent that is its guest's init does that",
                          "this agent does not power off the machine it runs on");
    context->poweroff = true;
    *result = json_object();
    return 0;
}

static int op_fault(struct agent_context *context, const json_t *request, json_t **result,
                    struct agent_error *error)
{
    const char *name = json_string_value(json_object_get(request, "name"));

    if (!context->in_guest)
        return agent_fail(error, "only an agent that is its guest's init does that",
                          "this agent does no harm to the machine it runs on");
    if (!name)
        return agent_fail(error, NULL, "\"name\" is not a string");
    *result = json_object();
    return agent_fault_asked(name, error);
}

const struct agent_operation agent_operations[] = {
    {.name = "hello", .run = op_hello},
    {.name = "facts", .run = op_facts, .apart = true},
    {.name = "machine", .run = op_machine, .apart = true},
    {.name = "log", .run = op_log},
    {.name = "bench", .run = op_bench, .apart = true},
    {.name = "benches", .run = op_benches},
    {.name = "clock", .run = op_clock},
    {.name = "exec", .run = op_exec, .apart = true},
    {.name = "put", .run = op_put, .apart = true},
    {.name = "get", .run = op_get, .apart = true},
    {.name = "heartbeat", .run = op_heartbeat},
    {.name = "ping", .run = op_ping, .at_once = true},
    {.name = "exit-reasons", .run = op_exit_reasons},
    {.name = "symbols", .run = op_symbols, .apart = true},
    {.name = "poweroff", .run = op_poweroff},
    {.name = "fault", .run = op_fault, .apart = true},
    {},
};
