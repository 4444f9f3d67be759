/*
 * ssh-server.h - an sshd for tests: started on a free loopback port by the current user, in a
 * temporary folder with keys of its own.
 */
#ifndef NL_TEST_SSH_SERVER_H
#define NL_TEST_SSH_SERVER_H

#include "process.h"
#include "ssh.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#define SSHD "/usr/sbin/sshd"

static struct {
    char folder[64];
    pid_t pid;
    char *host_key;
    char *other_key;
    struct nl_ssh_target target;
} server = {.folder = "/tmp/test-ssh-XXXXXX"};

/* A path in the test's folder; the text is one of a few static buffers. */
static const char *in_folder(const char *name)
{
    static char buffers[8][128];
    static size_t next;
    char *path = buffers[next++ % 8];

    snprintf(path, sizeof(buffers[0]), "%s/%s", server.folder, name);
    return path;
}

static void write_pattern(const char *name, size_t size)
{
    FILE *file = fopen(in_folder(name), "w");

    assert_non_null(file);
    for (size_t i = 0; i < size; i++)
        fputc((int)(i * 31 % 257), file);
    assert_int_equal(fclose(file), 0);
}

static char *read_file(const char *name, size_t *size)
{
    FILE *file = fopen(in_folder(name), "r");
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    int c;

    assert_non_null(file);
    while ((c = fgetc(file)) != EOF)
        fputc(c, out);
    fclose(file);
    fclose(out);
    return text;
}

static bool same_files(const char *a, const char *b)
{
    size_t a_size, b_size;
    cleanup_free char *a_text = read_file(a, &a_size);
    cleanup_free char *b_text = read_file(b, &b_size);

    return a_size == b_size && !memcmp(a_text, b_text, a_size);
}

static void make_key(const char *name)
{
    const char *argv[] = {"ssh-keygen",    "-q", "-t", "ed25519", "-N", "", "-f",
                          in_folder(name), NULL};
    struct nl_process process = {.argv = argv};
    cleanup_error struct nl_error *err = NULL;

    if (nl_process_run(&process, NULL, &err) < 0)
        fail_msg("%s", nl_error_message(err));
}

static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static void write_config(int port)
{
    FILE *file = fopen(in_folder("config"), "w");

    assert_non_null(file);
    fprintf(file,
            "ListenAddress 127.0.0.1\nPort %d\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\n"
            "UsePAM no\nStrictModes no\nPasswordAuthentication no\nPrintMotd no\n"
            "Subsystem sftp internal-sftp\nSetEnv HOME=%s\n",
            port, in_folder("host"), in_folder("client.pub"), server.folder);
    fclose(file);
}

static void wait_for_server(void)
{
    for (int i = 0; i < 100; i++) {
        struct nl_ssh *ssh = NULL;

        if (nl_ssh_open(&server.target, nl_deadline_in(10), &ssh, NULL) == 0) {
            nl_ssh_close(&ssh);
            return;
        }
        usleep(100 * 1000);
    }
    fail_msg("sshd did not come up");
}

static int start_server(void **state)
{
    char *argv[] = {SSHD, "-D", "-f", NULL, "-E", NULL, NULL};
    size_t size;

    (void)state;
    assert_non_null(mkdtemp(server.folder));
    /* As root sshd wants its empty folder, which without systemd nobody makes. */
    if (geteuid() == 0 && mkdir("/run/sshd", 0755) < 0 && errno != EEXIST)
        return -1;
    make_key("host");
    make_key("client");
    make_key("other");
    server.host_key = read_file("host.pub", &size);
    server.other_key = read_file("other.pub", &size);
    server.target = (struct nl_ssh_target){.port = free_port(),
                                           .user = strdup(getpwuid(geteuid())->pw_name),
                                           .key = strdup(in_folder("client")),
                                           .host_key = server.host_key};
    write_config(server.target.port);
    argv[3] = (char *)in_folder("config");
    argv[5] = (char *)in_folder("log");
    assert_int_equal(posix_spawn(&server.pid, SSHD, NULL, NULL, argv, environ), 0);
    wait_for_server();
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static int stop_server(void **state)
{
    (void)state;
    kill(server.pid, SIGTERM);
    waitpid(server.pid, NULL, 0);
    free(server.host_key);
    free(server.other_key);
    free((char *)server.target.user);
    free((char *)server.target.key);
    return nftw(server.folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
