/*
 * cmdline.h - the kernel command line: our own keys, and the parameters of a module.
 *
 * Parsed as the kernel does: blanks separate, double quotes protect blanks, '-' and '_' in names
 * are the same, "--" ends it.
 */
#ifndef AGENT_CMDLINE_H
#define AGENT_CMDLINE_H

/* The value of KEY (the last one wins), malloc'd; "" for a key without "="; NULL if absent. */
char *agent_cmdline_value(const char *cmdline, const char *key);

/* All "MODULE.PARAMETER=VALUE" as "PARAMETER=VALUE PARAMETER=VALUE", fit for finit_module(2), which
   does not look at the command line itself. Malloc'd, "" if there are none, NULL without memory. */
char *agent_cmdline_parameters(const char *cmdline, const char *module);

/* The value of KEY in /proc/cmdline. */
char *agent_cmdline_own(const char *key);

#endif
