/*
 * work-wait.c - what is told while an agent works: see work-wait.h.
 */
#include "work-wait.h"
#include "layer.h"
#include "progress.h"
#include "watch.h"

char *nl_work_wait_text(const struct nl_work_wait *wait, double seconds, uint64_t done)
{
    cleanup_free char *count = NULL;
    char *text = NULL;

    /* The meter may have recorded what was not asked for: who reads its records finds that. */
    if (wait->operations > 0 && done <= (uint64_t)wait->operations &&
        asprintf(&count, "%llu of %lld operations, ", (unsigned long long)done,
                 (long long)wait->operations) < 0)
        return NULL;
    if (asprintf(&text, "%s: %s%.0f s of at most %.0f s", wait->what, count ? count : "", seconds,
                 wait->limit_s) < 0)
        return NULL;
    return text;
}

/* Reads memory that QEMU shares: the guest does not notice. */
static uint64_t recorded(const struct nl_work_wait *wait)
{
    uint64_t written = 0;

    if (wait->operations == 0 || nl_meter_written(wait->layer->stack->meter, &written, NULL) < 0)
        return wait->before;
    return written;
}

static int tick(void *data, struct nl_error **err)
{
    const struct nl_work_wait *wait = data;
    double seconds = (double)(nl_now_ms() - wait->began_ms) / 1000.0;
    cleanup_free char *text = nl_work_wait_text(wait, seconds, recorded(wait) - wait->before);

    if (text)
        nl_progress_update("%s", text);
    return nl_watch_tick(wait->layer, err);
}

int nl_work_ask(struct nl_work_wait *wait, const char *op, json_t *arguments, nl_deadline deadline,
                json_t **result, struct nl_error **err)
{
    struct nl_layer *layer = wait->layer;
    double left_s = nl_deadline_left_ms(layer->stack->deadline) / 1000.0;
    int rc;

    /* The run's own deadline may come first. */
    wait->limit_s = left_s < wait->limit_s ? left_s : wait->limit_s;
    wait->began_ms = nl_now_ms();
    wait->before = recorded(wait);
    nl_progress_update("%s", wait->what);
    nl_link_watch(layer->link, tick, wait);
    rc = nl_link_ask(layer->link, op, arguments, deadline, result, err);
    nl_layer_watch(layer);
    return rc;
}
