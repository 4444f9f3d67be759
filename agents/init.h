/*
 * init.h - the agent as pid 1 of a guest: a leaf or a hypervisor layer.
 */
#ifndef AGENT_INIT_H
#define AGENT_INIT_H

/* Does not return. */
void agent_init(int argc, char **argv) __attribute__((noreturn));

#endif
