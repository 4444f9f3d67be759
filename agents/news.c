/*
 * news.c - see news.h.
 */
#include "news.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Against a service that fails again and again; the first ones tell most. */
#define QUEUE_MAX 1000

static json_t *queue;

static void add(json_t *news)
{
    if (!queue)
        queue = json_array();
    if (json_array_size(queue) < QUEUE_MAX)
        json_array_append_new(queue, news);
    else
        json_decref(news);
}

void agent_news_phase(const char *name)
{
    double uptime_s = agent_uptime_s();

    agent_klog(6, "phase %s", name);
    add(json_pack("{s:s, s:s, s:f}", "event", "phase", "name", name, "uptime_s", uptime_s));
}

void agent_news_trouble(const char *name, const char *message)
{
    agent_klog(3, "%s: %s", name, message);
    add(json_pack("{s:s, s:o, s:o}", "event", "trouble", "name", agent_json_string(name), "message",
                  agent_json_string(message)));
}

void agent_news_ready(double uptime_s, const json_t *services)
{
    agent_klog(6, "ready");
    add(json_pack("{s:s, s:f, s:o}", "event", "ready", "uptime_s", uptime_s, "services",
                  json_deep_copy(services)));
}

void agent_news_status(bool ready, double ready_uptime_s, const json_t *services)
{
    add(json_pack("{s:{s:b, s:o, s:o}}", "status", "ready", ready, "ready_uptime_s",
                  ready ? json_real(ready_uptime_s) : json_null(), "services",
                  json_deep_copy(services)));
}

void agent_news_send(int socket)
{
    while (agent_news_waiting()) {
        cleanup_free char *packet = json_dumps(json_array_get(queue, 0), JSON_COMPACT);
        if (packet && send(socket, packet, strlen(packet), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
            errno != EMSGSIZE)
            return;
        json_array_remove(queue, 0);
    }
}

bool agent_news_waiting(void)
{
    return json_array_size(queue) > 0;
}

void agent_news_save(const char *path)
{
    json_dump_file(queue, path, JSON_COMPACT);
}

void agent_news_load(const char *path)
{
    cleanup_json json_t *saved = json_load_file(path, 0, NULL);
    json_t *news;
    size_t i;

    json_array_foreach(saved, i, news)
    {
        add(json_incref(news));
    }
    unlink(path);
}
