/*
 * shell.h - a terminal in a guest, over the port NL_PROTOCOL_SHELL_PORT.
 */
#ifndef AGENT_SHELL_H
#define AGENT_SHELL_H

#include "util.h"

#include <sys/ioctl.h>

/* Serve one terminal after the other; returns only if the guest has no such port. */
void agent_shell_serve(void);

/* The line that begins a connection, see protocol.h. TERM gets at most SIZE bytes; what is missing
   or out of range keeps a default. -1 if it is not such a line. */
int agent_shell_parse(const char *line, size_t length, struct winsize *window, char *term,
                      size_t size);

#endif
