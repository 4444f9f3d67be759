/*
 * news.h - what pid 1 has to tell the runner: kept here until the process that serves the link
 * takes it, so that nothing is lost before that process exists or while it is restarted.
 */
#ifndef AGENT_NEWS_H
#define AGENT_NEWS_H

#include "util.h"

/* Events as in protocol.h; the kernel's log gets a line too. */
void agent_news_phase(const char *name);
void agent_news_trouble(const char *name, const char *message);
void agent_news_ready(double uptime_s, const json_t *services);

/* For the serving process itself, see serve.c. */
void agent_news_status(bool ready, double ready_uptime_s, const json_t *services);

/* Hand over what SOCKET (packets, non-blocking) takes; the rest stays. */
void agent_news_send(int socket);
bool agent_news_waiting(void);

/* Carry the queue over an exec. */
void agent_news_save(const char *path);
void agent_news_load(const char *path);

#endif
