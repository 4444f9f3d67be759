/*
 * test-ssh.c - SSH against a real sshd, run by the current user on a loopback port with keys made
 * for the test; skipped where there is no sshd.
 */
#include "link.h"
#include "ssh.h"

#include "ssh-server.h"

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/ioctl.h>
#include <termios.h>

static struct nl_ssh *open_session(void)
{
    cleanup_error struct nl_error *err = NULL;
    struct nl_ssh *ssh = NULL;

    if (nl_ssh_open(&server.target, nl_deadline_in(20), &ssh, &err) < 0)
        fail_msg("%s", nl_error_message(err));
    return ssh;
}

static void assert_refused(const struct nl_ssh_target *target, double seconds, const char *part)
{
    cleanup_error struct nl_error *err = NULL;
    struct nl_ssh *ssh = NULL;

    assert_int_equal(nl_ssh_open(target, nl_deadline_in(seconds), &ssh, &err), -1);
    assert_null(ssh);
    if (!strstr(nl_error_message(err), part))
        fail_msg("\"%s\" is not in \"%s\"", part, nl_error_message(err));
}

static char *read_all(struct nl_ssh_channel *channel, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    char buffer[4096];
    ssize_t n;

    while ((n = nl_ssh_channel_read(channel, buffer, sizeof(buffer))) > 0)
        fwrite(buffer, 1, (size_t)n, out);
    assert_int_equal(n, 0);
    fclose(out);
    return text;
}

static void test_exec(void **state)
{
    static const struct {
        const char *command;
        const char *output;
        int status;
    } cases[] = {
        {"echo out; echo err >&2; exit 3", "out\n", 3},
        {"true", "", 0},
        {"exit 255", "", 255},
        {"head -c 200000 /dev/zero >&2; echo done", "done\n", 0},
        {"sleep 0.3; echo late", "late\n", 0},
    };
    cleanup_ssh struct nl_ssh *ssh = open_session();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_free char *text = NULL;
        struct nl_ssh_channel *channel = NULL;
        int status = -1;
        size_t length;

        assert_int_equal(nl_ssh_exec(ssh, cases[i].command, nl_deadline_in(10), &channel, NULL), 0);
        text = read_all(channel, &length);
        assert_string_equal(text, cases[i].output);
        assert_int_equal(nl_ssh_channel_status(channel, nl_deadline_in(5), &status, NULL), 0);
        assert_int_equal(status, cases[i].status);
        nl_ssh_channel_close(&channel);
    }
}

static void test_killed_command_has_no_status(void **state)
{
    cleanup_ssh struct nl_ssh *ssh = open_session();
    struct nl_ssh_channel *channel = NULL;
    cleanup_error struct nl_error *err = NULL;
    cleanup_error struct nl_error *late = NULL;
    char c;
    int status;

    (void)state;
    assert_int_equal(nl_ssh_exec(ssh, "kill -9 $$", nl_deadline_in(10), &channel, NULL), 0);
    assert_int_equal(nl_ssh_channel_read(channel, &c, 1), 0);
    assert_int_equal(nl_ssh_channel_status(channel, nl_deadline_in(5), &status, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "without a status"));
    nl_ssh_channel_close(&channel);
    assert_int_equal(nl_ssh_exec(ssh, "sleep 30", nl_deadline_in(10), &channel, NULL), 0);
    assert_int_equal(nl_ssh_channel_status(channel, nl_deadline_in(0.3), &status, &late), -1);
    assert_non_null(strstr(nl_error_message(late), "deadline"));
    nl_ssh_channel_close(&channel);
}

#define BIG (5 * 1024 * 1024)

static void *write_big(void *data)
{
    struct nl_ssh_channel *channel = data;
    char buffer[10000];

    for (size_t done = 0; done < BIG;) {
        size_t take = BIG - done < sizeof(buffer) ? BIG - done : sizeof(buffer);
        ssize_t n;

        for (size_t i = 0; i < take; i++)
            buffer[i] = (char)((done + i) % 251);
        n = nl_ssh_channel_write(channel, buffer, take);
        if (n < 0)
            return NULL;
        done += (size_t)n;
    }
    nl_ssh_channel_end_input(channel, NULL);
    return NULL;
}

/* Writing and reading at the same time from two threads, more than the windows hold. */
static void test_both_ways_at_once(void **state)
{
    cleanup_ssh struct nl_ssh *ssh = open_session();
    struct nl_ssh_channel *channel = NULL;
    cleanup_free char *text = NULL;
    pthread_t thread;
    size_t length;

    (void)state;
    assert_int_equal(nl_ssh_exec(ssh, "cat", nl_deadline_in(10), &channel, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, write_big, channel), 0);
    text = read_all(channel, &length);
    pthread_join(thread, NULL);
    assert_int_equal(length, BIG);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] != i % 251)
            fail_msg("byte %zu differs", i);
    nl_ssh_channel_close(&channel);
}

static void *stop_soon(void *data)
{
    usleep(300 * 1000);
    nl_ssh_channel_stop(data);
    return NULL;
}

static void test_stop_wakes_a_reader(void **state)
{
    cleanup_ssh struct nl_ssh *ssh = open_session();
    struct nl_ssh_channel *channel = NULL;
    int64_t start = nl_now_ms();
    pthread_t thread;
    char c;

    (void)state;
    assert_int_equal(nl_ssh_exec(ssh, "sleep 30", nl_deadline_in(10), &channel, NULL), 0);
    pthread_create(&thread, NULL, stop_soon, channel);
    assert_int_equal(nl_ssh_channel_read(channel, &c, 1), 0);
    assert_int_equal(nl_ssh_channel_write(channel, "x", 1), -1);
    pthread_join(thread, NULL);
    assert_true(nl_now_ms() - start < 5000);
    nl_ssh_channel_close(&channel);
}

static void test_files(void **state)
{
    cleanup_ssh struct nl_ssh *ssh = open_session();
    cleanup_error struct nl_error *err = NULL;
    struct stat st;

    (void)state;
    write_pattern("local", 1000003);
    assert_int_equal(
        nl_ssh_put(ssh, in_folder("local"), in_folder("remote"), 0640, nl_deadline_in(20), &err),
        0);
    assert_int_equal(stat(in_folder("remote"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(
        nl_ssh_get(ssh, in_folder("remote"), in_folder("back"), nl_deadline_in(20), &err), 0);
    assert_true(same_files("local", "back"));
    /* A shorter file over a longer one. */
    write_pattern("local", 10);
    assert_int_equal(
        nl_ssh_put(ssh, in_folder("local"), in_folder("remote"), 0755, nl_deadline_in(20), &err),
        0);
    assert_true(same_files("local", "remote"));
    assert_int_equal(stat(in_folder("remote"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);

    assert_int_equal(nl_ssh_get(ssh, in_folder("none"), in_folder("got"), nl_deadline_in(20), &err),
                     -1);
    assert_non_null(strstr(nl_error_message(err), "no such file"));
    assert_int_equal(access(in_folder("got"), F_OK), -1);
    nl_error_free(&err);
    assert_int_equal(
        nl_ssh_put(ssh, in_folder("local"), "/proc/none", 0644, nl_deadline_in(20), &err), -1);
    nl_error_free(&err);
    assert_int_equal(
        nl_ssh_put(ssh, in_folder("none"), in_folder("remote"), 0644, nl_deadline_in(20), &err),
        -1);
    assert_int_equal(nl_error_status(err), NL_EXIT_REQUEST);
}

static void test_other_host_key_is_refused(void **state)
{
    struct nl_ssh_target target = server.target;

    (void)state;
    target.host_key = server.other_key;
    assert_refused(&target, 20, "host key is not the pinned one");
    target.host_key = "ssh-ed25519 nonsense";
    assert_refused(&target, 20, "not a public key");
    target.host_key = "";
    assert_refused(&target, 20, "not a public key");
}

static void test_other_client_key_is_refused(void **state)
{
    struct nl_ssh_target target = server.target;

    (void)state;
    target.key = in_folder("other");
    assert_refused(&target, 20, "refused the key");
    target.key = "/nonexistent";
    assert_refused(&target, 20, "not a private key");
}

/* A listening socket that never accepts: the kernel completes the connection all the same. */
static int mute_server(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 5), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static void test_mute_port(void **state)
{
    struct nl_ssh_target target = server.target;
    int64_t start = nl_now_ms();
    int fd = mute_server(&target.port);
    int64_t took;

    (void)state;
    assert_refused(&target, 1.0, "no answer before its deadline");
    took = nl_now_ms() - start;
    assert_in_range(took, 900, 3000);
    close(fd);
    assert_refused(&target, 5.0, "cannot connect");
    target.port = 70000;
    assert_refused(&target, 5.0, "not a port");
}

static void *talk_rubbish(void *data)
{
    int fd = accept(*(int *)data, NULL, NULL);
    char noise[20000];

    memset(noise, '\0', sizeof(noise));
    send(fd, "SSH-2.0-odd\r\n", 13, MSG_NOSIGNAL);
    send(fd, noise, sizeof(noise), MSG_NOSIGNAL);
    usleep(200 * 1000);
    close(fd);
    return NULL;
}

static void test_rubbish(void **state)
{
    struct nl_ssh_target target = server.target;
    int fd = mute_server(&target.port);
    pthread_t thread;

    (void)state;
    pthread_create(&thread, NULL, talk_rubbish, &fd);
    assert_refused(&target, 5.0, "the SSH handshake");
    pthread_join(thread, NULL);
    close(fd);
}

#define FAKE_AGENT "sed -u 's/.*\"id\":\\([0-9]*\\).*/{\"id\":\\1,\"ok\":true,\"result\":{}}/'"

static void test_link(void **state)
{
    cleanup_ssh struct nl_ssh *ssh = open_session();
    struct nl_link *link = NULL;
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    assert_int_equal(nl_link_open_ssh(ssh, FAKE_AGENT, NULL, NULL, &link, &err), 0);
    assert_int_equal(nl_link_hello(link, nl_deadline_in(10), NULL, NULL, NULL, &err), 0);
    for (int i = 0; i < 200; i++)
        assert_int_equal(nl_link_ask(link, "x", NULL, nl_deadline_in(5), NULL, &err), 0);
    /* A file over the same session, while the link's threads use it. */
    write_pattern("local", 300000);
    assert_int_equal(
        nl_ssh_put(ssh, in_folder("local"), in_folder("remote"), 0644, nl_deadline_in(20), &err),
        0);
    assert_true(same_files("local", "remote"));
    assert_int_equal(nl_link_ask(link, "x", NULL, nl_deadline_in(5), NULL, &err), 0);
    nl_link_close(&link);
    assert_int_equal(nl_link_open_ssh(ssh, "exit 1", NULL, NULL, &link, &err), 0);
    assert_int_equal(nl_link_hello(link, nl_deadline_in(10), NULL, NULL, NULL, &err), -1);
    assert_non_null(strstr(nl_error_message(err), "stream ended"));
    nl_link_close(&link);
}

/* The process that serves a session is stopped, as in a guest that hangs. */
static void test_hung_server(void **state)
{
    cleanup_ssh struct nl_ssh *ssh = open_session();
    struct nl_ssh_channel *channel = NULL;
    struct nl_link *link = NULL;
    cleanup_error struct nl_error *err = NULL;
    cleanup_free char *text = NULL;
    int64_t start;
    size_t length;
    pid_t pid;

    (void)state;
    assert_int_equal(nl_ssh_exec(ssh, "echo $PPID", nl_deadline_in(10), &channel, NULL), 0);
    text = read_all(channel, &length);
    nl_ssh_channel_close(&channel);
    pid = atoi(text);
    assert_true(pid > 1);
    assert_int_equal(nl_link_open_ssh(ssh, FAKE_AGENT, NULL, NULL, &link, &err), 0);
    kill(pid, SIGSTOP);
    start = nl_now_ms();
    assert_int_equal(nl_link_ask(link, "x", NULL, nl_deadline_in(0.5), NULL, &err), -1);
    nl_error_free(&err);
    write_pattern("local", 10);
    assert_int_equal(
        nl_ssh_put(ssh, in_folder("local"), in_folder("remote"), 0644, nl_deadline_in(0.5), &err),
        -1);
    assert_non_null(strstr(nl_error_message(err), "deadline"));
    nl_link_close(&link);
    nl_ssh_close(&ssh);
    assert_true(nl_now_ms() - start < 8000);
    kill(pid, SIGCONT);
}

/* --- the shell, on a pty of its own --- */

/* Runs nl_ssh_shell in a child under a pty; PTY gets the other end. */
static pid_t start_shell(const char *command, int *pty)
{
    struct winsize size = {.ws_row = 33, .ws_col = 77};
    pid_t pid = forkpty(pty, NULL, NULL, &size);
    struct nl_ssh *ssh = NULL;
    int status = -1;

    if (pid != 0)
        return pid;
    setenv("TERM", "vt100", 1);
    if (nl_interrupt_catch(NULL) < 0 ||
        nl_ssh_open(&server.target, nl_deadline_in(20), &ssh, NULL) < 0 ||
        nl_ssh_shell(ssh, command, &status, NULL) < 0)
        status = 99;
    nl_ssh_close(&ssh);
    _exit(status);
}

/* Read from the pty until TEXT has come. */
static void expect(int pty, const char *text)
{
    char seen[65536] = "";
    size_t n = 0;
    nl_deadline deadline = nl_deadline_in(20);

    while (!strstr(seen, text)) {
        ssize_t got = -1;

        if (n < sizeof(seen) - 1 && nl_wait_readable(pty, deadline, NULL) == 1)
            got = read(pty, seen + n, sizeof(seen) - 1 - n);
        if (got <= 0)
            fail_msg("\"%s\" did not come, but \"%s\"", text, seen);
        n += (size_t)got;
        seen[n] = '\0';
    }
}

static bool echoes(int pty)
{
    struct termios mode;

    assert_int_equal(tcgetattr(pty, &mode), 0);
    return mode.c_lflag & ECHO;
}

static int exit_of(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* sshd gives a new terminal to the group tty, and gives up where it may not: as an ordinary user on
   a devpts that is not mounted with that group already. */
static void need_terminals(void)
{
    const struct group *tty = getgrnam("tty");
    int pty = posix_openpt(O_RDWR | O_NOCTTY);
    struct stat st;

    if (geteuid() == 0) {
        close(pty);
        return;
    }
    if (pty < 0 || !tty || stat(ptsname(pty), &st) < 0 || st.st_gid != tty->gr_gid) {
        print_message("skipped: /dev/pts is not mounted with the group tty, so that an ordinary "
                      "user's sshd can make no terminal\n");
        close(pty);
        skip();
    }
    close(pty);
}

static void test_shell(void **state)
{
    struct winsize size = {.ws_row = 44, .ws_col = 99};
    int pty;

    need_terminals();
    pid_t pid = start_shell("stty size; echo term=$TERM; read a; echo got=$a; "
                            "read b; stty size; exit 7",
                            &pty);

    (void)state;
    expect(pty, "33 77\r\nterm=vt100");
    assert_false(echoes(pty));
    assert_int_equal(write(pty, "w\xc3\xb6rd\r", 6), 6);
    expect(pty, "got=w\xc3\xb6rd");
    assert_int_equal(ioctl(pty, TIOCSWINSZ, &size), 0);
    usleep(500 * 1000);
    assert_int_equal(write(pty, "\r", 1), 1);
    expect(pty, "44 99");
    assert_int_equal(exit_of(pid), 7);
    assert_true(echoes(pty));
    close(pty);
}

static void test_shell_is_left(void **state)
{
    int pty;

    need_terminals();
    pid_t pid = start_shell("echo ready; cat", &pty);

    (void)state;
    expect(pty, "ready");
    assert_false(echoes(pty));
    assert_int_equal(write(pty, "\x1d", 1), 1);
    assert_int_equal(exit_of(pid), 0);
    assert_true(echoes(pty));
    close(pty);
}

static void test_shell_is_interrupted(void **state)
{
    int pty;

    need_terminals();
    pid_t pid = start_shell("echo ready; sleep 30", &pty);

    (void)state;
    expect(pty, "ready");
    kill(pid, SIGTERM);
    assert_int_equal(exit_of(pid), 99);
    assert_true(echoes(pty));
    close(pty);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_killed_command_has_no_status),
        cmocka_unit_test(test_both_ways_at_once),
        cmocka_unit_test(test_stop_wakes_a_reader),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_other_host_key_is_refused),
        cmocka_unit_test(test_other_client_key_is_refused),
        cmocka_unit_test(test_mute_port),
        cmocka_unit_test(test_rubbish),
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_hung_server),
        cmocka_unit_test(test_shell),
        cmocka_unit_test(test_shell_is_left),
        cmocka_unit_test(test_shell_is_interrupted),
    };

    signal(SIGPIPE, SIG_IGN);
    if (access(SSHD, X_OK) < 0) {
        puts("skipped: there is no " SSHD);
        return 0;
    }
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
