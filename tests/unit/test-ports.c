/*
 * test-ports.c - reserved ports: unique among many at once, refused to others, usable by whoever
 * binds them the way QEMU does.
 */
#include "ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <cmocka.h>

#define RUNS 12
#define PORTS 25

static int bind_port(int port, bool reuse)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int saved;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    if (reuse)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int connect_port(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    cleanup_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(fd, (struct sockaddr *)&address, sizeof(address));
}

/* One run of several at once: reserves, tells its ports, and keeps them until the pipe is closed.
 */
static void run_child(int out, int hold)
{
    int ports[PORTS], holders[PORTS];
    char c;

    if (nl_ports_reserve(ports, PORTS, holders, NULL) < 0 ||
        write(out, ports, sizeof(ports)) != sizeof(ports))
        _exit(1);
    _exit(read(hold, &c, 1) == 0 ? 0 : 1);
}

static void test_many_at_once(void **state)
{
    static bool seen[65536];
    int out[2], hold[2];
    pid_t pids[RUNS];

    (void)state;
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(hold), 0);
    for (size_t i = 0; i < RUNS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            close(hold[1]);
            run_child(out[1], hold[0]);
        }
    }
    for (size_t i = 0; i < RUNS; i++) {
        int ports[PORTS];

        assert_int_equal(read(out[0], ports, sizeof(ports)), sizeof(ports));
        for (size_t j = 0; j < PORTS; j++) {
            assert_in_range(ports[j], 1, 65535);
            assert_false(seen[ports[j]]);
            seen[ports[j]] = true;
        }
    }
    close(hold[1]);
    for (size_t i = 0; i < RUNS; i++) {
        int status;

        waitpid(pids[i], &status, 0);
        assert_int_equal(status, 0);
    }
    close(hold[0]);
    close(out[0]);
    close(out[1]);
}

static void test_qemu_takes_it_while_it_is_held(void **state)
{
    int port, holder, listener, other;

    (void)state;
    assert_int_equal(nl_ports_reserve(&port, 1, &holder, NULL), 0);
    assert_int_equal(bind_port(port, false), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(connect_port(port), -1);
    listener = bind_port(port, true);
    assert_true(listener >= 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(connect_port(port), 0);
    /* A second QEMU is refused. */
    other = bind_port(port, true);
    assert_true(other < 0 || listen(other, 1) < 0);
    if (other >= 0)
        close(other);
    /* The port stays held when QEMU ends, and is free when the holder goes. */
    close(listener);
    assert_int_equal(bind_port(port, false), -1);
    close(holder);
}

static void test_released_port_is_free(void **state)
{
    int port, holder, fd;

    (void)state;
    assert_int_equal(nl_ports_reserve(&port, 1, &holder, NULL), 0);
    close(holder);
    fd = bind_port(port, false);
    assert_true(fd >= 0);
    close(fd);
}

static int next_fd(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

static void test_failure_holds_nothing(void **state)
{
    int before = next_fd();
    struct rlimit old, low;
    int ports[PORTS], holders[PORTS];
    cleanup_error struct nl_error *err = NULL;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &old);
    low = old;
    low.rlim_cur = (rlim_t)before + 5;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(nl_ports_reserve(ports, PORTS, holders, &err), -1);
    setrlimit(RLIMIT_NOFILE, &old);
    assert_non_null(strstr(nl_error_message(err), "cannot reserve a port"));
    assert_int_equal(next_fd(), before);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_qemu_takes_it_while_it_is_held),
        cmocka_unit_test(test_released_port_is_free),
        cmocka_unit_test(test_failure_holds_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
