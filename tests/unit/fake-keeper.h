/*
 * fake-keeper.h - for tests: a keeper that serves a stack without guests: L0 has a console fed by
 * hand, L1 an agent that is a script.
 */
#ifndef NL_TEST_FAKE_KEEPER_H
#define NL_TEST_FAKE_KEEPER_H

#include "keeper.h"
#include "deadline.h"
#include "folder.h"
#include "keeper-client.h"

#include <sys/prctl.h>
#include <sys/stat.h>

struct served {
    pid_t pid; /* the process that serves; its exit status says why it ended */
    char id[64];
    char path[128];
};

/* An agent whose every answer is the words it was asked to run. */
static inline char *write_agent(void)
{
    char *path = in_base("agent");
    FILE *file = fopen(path, "w");

    fputs("#!/bin/sh\n"
          "while read -r line; do\n"
          "  id=$(printf %s \"$line\" | sed 's/.*\"id\": *\\([0-9]*\\).*/\\1/')\n"
          "  case $line in *sleep*) sleep 30;; esac\n"
          "  printf '{\"id\":%s,\"ok\":true,\"result\":{\"exit\":7,\"stdout\":\"hello\"}}\\n' $id\n"
          "done\n",
          file);
    fclose(file);
    chmod(path, 0700);
    return path;
}

/* As a stack that is kept has it. */
static inline void save_kept_state(struct nl_stack *stack, const char *console_file)
{
    json_t *layers =
        json_pack("[{s:s, s:s, s:i, s:s, s:s}, {s:s, s:s, s:i, s:s}]", "name", "L0", "state", "up",
                  "ssh_port", 60000, "console_file", console_file, "image", "hypervisor", "name",
                  "L1", "state", "starting", "ssh_port", 0, "image", "leaf");

    nl_rundir_save_state(stack->rundir,
                         json_pack("{s:s, s:s, s:b, s:i, s:s, s:s, s:s, s:s, s:o}", "scenario",
                                   "fake", "status", "kept", "kept", 1, "pid", (int)getpid(),
                                   "started", "2026-01-01T00:00:00Z", "l0", "emulated", "key",
                                   "/the key", "out", "/the/out", "layers", layers),
                         NULL);
}

static inline void serve_in_child(int channel, const char *console_file, const char *agent)
{
    struct nl_layer_spec specs[] = {{.name = (char *)"L0"}, {.name = (char *)"L1"}};
    struct nl_scenario scenario = {.layers = specs, .n_layers = 2};
    struct nl_layer layers[2] = {
        {.spec = &specs[0], .index = 0, .state = NL_LAYER_UP, .lock = PTHREAD_MUTEX_INITIALIZER},
        {.spec = &specs[1],
         .index = 1,
         .state = NL_LAYER_UP,
         .trouble = (char *)"bad \xff byte",
         .lock = PTHREAD_MUTEX_INITIALIZER},
    };
    struct nl_stack stack = {.scenario = &scenario, .layers = layers, .n_layers = 2};
    const char *why = "";

    if (nl_rundir_create("keeper", &stack.rundir, NULL) < 0 ||
        nl_console_open_detached(console_file, &layers[0].console, NULL) < 0 ||
        nl_link_open_local(agent, NULL, NULL, &layers[1].link, NULL) < 0)
        _exit(90);
    save_kept_state(&stack, console_file);
    dprintf(channel, "%s %s\n", nl_rundir_id(stack.rundir), nl_rundir_path(stack.rundir));
    close(channel);
    if (nl_keeper_serve(&stack, &why, NULL) < 0)
        _exit(91);
    nl_link_close(&layers[1].link);
    nl_console_close(&layers[0].console);
    nl_rundir_remove(&stack.rundir, NULL);
    _exit(strcmp(why, "asked to") == 0 ? 10 : strcmp(why, "a signal") == 0 ? 11 : 12);
}

static inline struct served serve(void)
{
    cleanup_free char *console_file = in_base("console");
    cleanup_free char *agent = write_agent();
    struct served served = {0};
    char text[256] = "";
    int ends_of_pipe[2];
    int fd = -1;

    assert_int_equal(pipe(ends_of_pipe), 0);
    fflush(NULL);
    served.pid = fork();
    if (served.pid == 0) {
        /* A test that fails leaves none behind, not even a stopped one. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends_of_pipe[0]);
        serve_in_child(ends_of_pipe[1], console_file, agent);
    }
    close(ends_of_pipe[1]);
    assert_true(read(ends_of_pipe[0], text, sizeof(text) - 1) > 0);
    close(ends_of_pipe[0]);
    assert_int_equal(sscanf(text, "%63s %127s", served.id, served.path), 2);
    assert_int_equal(nl_keeper_connect(served.path, nl_deadline_in(10), &fd, NULL), 0);
    close(fd);
    return served;
}

#endif
