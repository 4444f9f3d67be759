/*
 * init.c - see init.h. In an initramfs: mounts, modules, and on to the root disk, or ready as a
 * leaf. On a root disk: what systemd would otherwise do for sshd and libvirtd, in a fraction of the
 * time.
 */
#include "init.h"

#include "bench-boot.h"
#include "cmdline.h"
#include "fault.h"
#include "insmod.h"
#include "net.h"
#include "news.h"
#include "root.h"
#include "seed.h"
#include "services.h"
#include "supervise.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULE_LIST "/etc/nestlab/modules"
#define SWITCHED "--switched"
#define SAVED_NEWS AGENT_RUN "/news.json"

struct mount_point {
    const char *source, *target, *type;
    unsigned long flags;
    const char *data;
};

static const struct mount_point first_mounts[] = {
    {"devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=0755"},
    {"proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
    {"sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
    {},
};

static const struct mount_point leaf_mounts[] = {
    {"devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "mode=0620,gid=5,ptmxmode=0666"},
    {"tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"},
    {},
};

static const struct mount_point hypervisor_mounts[] = {
    {"devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "mode=0620,gid=5,ptmxmode=0666"},
    {"tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"},
    {"tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"},
    {"cgroup2", "/sys/fs/cgroup", "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL},
    {},
};

static void mount_all(const struct mount_point *points)
{
    for (; points->target; points++) {
        mkdir(points->target, 0755);
        if (mount(points->source, points->target, points->type, points->flags, points->data) < 0 &&
            errno != EBUSY)
            agent_news_trouble(points->target, strerror(errno));
    }
}

/* Without /dev/console in the initramfs a kernel starts init with no standard files at all. */
static void open_console(void)
{
    int fd = open("/dev/console", O_RDWR | O_NOCTTY);

    if (fd < 0)
        fd = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++)
        dup2(fd, i);
    if (fd > 2)
        close(fd);
}

static void link_standard_files(void)
{
    static const char *const links[][2] = {{"/proc/self/fd", "/dev/fd"},
                                           {"/proc/self/fd/0", "/dev/stdin"},
                                           {"/proc/self/fd/1", "/dev/stdout"},
                                           {"/proc/self/fd/2", "/dev/stderr"}};

    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
        if (symlink(links[i][0], links[i][1]) < 0 && errno != EEXIST)
            agent_news_trouble(links[i][1], strerror(errno));
}

static void set_environment(void)
{
    setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
    setenv("HOME", "/root", 1);
    setenv("LANG", "C.UTF-8", 1);
}

/* A layer's name becomes part of paths and of /etc/hosts. NULL if there is none that is fit. */
static char *layer_name(void)
{
    char *name = agent_cmdline_own("nestlab.layer");

    if (name && (strlen(name) > 63 || name[0] == '-' || !*name ||
                 name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                   "0123456789-")])) {
        agent_news_trouble("layer", "its name is not fit for a host name");
        free(name);
        return NULL;
    }
    return name;
}

static void set_host_name(const char *layer)
{
    const char *name = layer ? layer : "nestlab";

    if (sethostname(name, strlen(name)) < 0)
        agent_news_trouble("host name", strerror(errno));
}

static void loopback_up(void)
{
    cleanup_agent_error struct agent_error error = {0};

    if (agent_net_up("lo", "127.0.0.1", "255.0.0.0", &error) < 0)
        agent_news_trouble("network", error.message);
}

/* libvirtd looks its own host name up: let the answer be here, not at a name server. */
static void name_in_hosts(const char *layer)
{
    cleanup_free char *hosts = agent_read_file("/etc/hosts", 65536, NULL);
    cleanup_free char *line = NULL;
    int n = asprintf(&line, "127.0.1.1 %s\n", layer ? layer : "nestlab");

    if (n < 0 || (hosts && strstr(hosts, line)))
        return;
    cleanup_close int fd = open("/etc/hosts", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0 || agent_write_all(fd, line, (size_t)n) < 0)
        agent_news_trouble("/etc/hosts", strerror(errno));
}

/* The boot disk may carry files for this layer: LAYER/root/ is laid over /. */
static void copy_layer_files(const char *layer)
{
    cleanup_agent_error struct agent_error error = {0};
    char from[128];

    if (!layer)
        return;
    snprintf(from, sizeof(from), AGENT_BOOT_DISK "/%s/root", layer);
    if (agent_tree_copy(from, "", &error) < 0)
        agent_news_trouble("files of the layer", error.message);
}

static void __attribute__((noreturn)) run_hypervisor(void)
{
    static const char *const folders[] = {"/run/sshd", "/run/lock", "/run/libvirt"};

    agent_news_load(SAVED_NEWS);
    set_environment();
    agent_fault_boot(AGENT_FAULT_ROOT);
    cleanup_free char *kvm = agent_cmdline_own("nestlab.kvm");
    agent_services_load_modules(!kvm || strcmp(kvm, "0") != 0);
    char *layer = layer_name();
    agent_supervise_begin(layer);
    mount_all(hypervisor_mounts);
    link_standard_files();
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        mkdir(folders[i], 0755);
    set_host_name(layer);
    loopback_up();
    copy_layer_files(layer);
    name_in_hosts(layer);
    agent_services_start();
    agent_supervise(AGENT_READY_WITH_SERVICES);
}

static void __attribute__((noreturn)) run_leaf(enum agent_readiness readiness)
{
    char *layer = layer_name();

    set_environment();
    mkdir("/run", 0755);
    mkdir("/tmp", 01777);
    mkdir("/root", 0700);
    mount_all(leaf_mounts);
    agent_supervise_begin(layer);
    link_standard_files();
    set_host_name(layer);
    loopback_up();
    agent_supervise(readiness);
}

static void go_to_root(const char *serial)
{
    cleanup_agent_error struct agent_error error = {0};

    if (agent_root_mount(serial, agent_news_trouble, &error) == 0) {
        agent_news_phase("root");
        agent_news_save("/newroot" SAVED_NEWS);
        agent_root_switch(SWITCHED, &error);
    }
    agent_news_trouble("root disk", error.message ? error.message : "no memory");
}

void agent_init(int argc, char **argv)
{
    /* Jansson would read /dev/urandom for it, and the kernel then spends a second or more on
       gathering randomness before it answers. Nobody attacks hash tables from within. */
    json_object_seed(1);
    umask(022);
    if (argc > 1 && strcmp(argv[1], SWITCHED) == 0)
        run_hypervisor();
    mount_all(first_mounts);
    agent_bench_boot_leave();
    open_console();
    agent_news_phase("init");
    cleanup_agent_error struct agent_error error = {0};
    if (agent_seed_credit(&error) < 0)
        agent_news_trouble("seed", error.message);
    cleanup_free char *cmdline = agent_read_file("/proc/cmdline", 65536, NULL);
    agent_modules_load(MODULE_LIST, cmdline ? cmdline : "", agent_news_trouble);
    agent_news_phase("drivers");
    cleanup_free char *root = agent_cmdline_own("nestlab.root");
    if (!root)
        run_leaf(AGENT_READY_AT_ONCE);
    go_to_root(root);
    /* There is no way there. Stay, so that somebody can ask why. */
    run_leaf(AGENT_NEVER_READY);
}
