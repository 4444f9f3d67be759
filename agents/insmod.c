/*
 * insmod.c - see insmod.h.
 */
#include "insmod.h"

#include "cmdline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/module.h, since Linux 5.17. */
#ifndef MODULE_INIT_COMPRESSED_FILE
#define MODULE_INIT_COMPRESSED_FILE 4
#endif

char *agent_module_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = strdup(slash ? slash + 1 : path);

    if (!name)
        return NULL;
    name[strcspn(name, ".")] = '\0';
    for (char *c = name; *c; c++)
        if (*c == '-')
            *c = '_';
    return name;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* 0, or what went wrong as errno. */
static int load(const char *path, const char *parameters)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    int flags = ends_with(path, ".ko") ? 0 : MODULE_INIT_COMPRESSED_FILE;

    if (fd < 0)
        return errno;
    if (syscall(SYS_finit_module, fd, parameters, flags) < 0 && errno != EEXIST)
        return errno;
    return 0;
}

int agent_modules_load(const char *list, const char *cmdline,
                       void (*trouble)(const char *name, const char *message))
{
    cleanup_free char *text = agent_read_file(list, 65536, NULL);
    char *rest = text;
    int count = 0;

    for (char *line; (line = strsep(&rest, "\n"));) {
        line += strspn(line, " \t");
        line[strcspn(line, " \t\r#")] = '\0';
        if (!*line)
            continue;
        cleanup_free char *name = agent_module_name(line);
        cleanup_free char *parameters = name ? agent_cmdline_parameters(cmdline, name) : NULL;
        int why = parameters ? load(line, parameters) : ENOMEM;
        if (why == 0)
            count++;
        else
            trouble(name ? name : line, strerror(why));
    }
    return count;
}
