/*
 * builder-disk.c - the layers that are disks, written with libguestfs: see builder.h.
 *
 * The appliance boots the kernel that the image gets (Debian's), so that it does not matter which
 * kernels the machine has, or whether an ordinary user can read them; and it uses KVM only where
 * the agent has found that KVM really runs guests.
 */
#include "builder-disk.h"
#include "progress.h"

#include <errno.h>
#include <guestfs.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOB_TIMEOUT_S 1200.0
#define PROBE_TIMEOUT_S 30.0
#define APPLIANCE_MIB 1280
#define BYTES_PER_INODE 32768

#define DEBS_FOLDER "/var/tmp/nestlab-debs"

/* Work on one disk with the appliance up and the disk mounted on /. */
struct job {
    struct builder *builder;
    const char *folder; /* of the entry */
    const char *log;
    const char *base;  /* digest of the disk to lay this one over; NULL: a new file system */
    const char *input; /* a tar file; NULL: none */
    int (*work)(struct job *job, guestfs_h *g, struct nl_error **err);
    char *disk;
    int rc;
    struct nl_error *err;
};

static void close_handle(guestfs_h **g)
{
    if (*g)
        guestfs_close(*g);
}

static int fail(guestfs_h *g, const char *what, struct nl_error **err)
{
    const char *why = guestfs_last_error(g);

    nl_fail(err, NL_EXIT_LAB, "%s: %s", what, why ? why : "unknown error");
    return nl_hint(err, "set LIBGUESTFS_DEBUG=1 to see what libguestfs's appliance says");
}

static void on_progress(guestfs_h *g, void *opaque, uint64_t event, int handle, int flags,
                        const char *buf, size_t buf_len, const uint64_t *numbers, size_t n_numbers)
{
    (void)g;
    (void)opaque;
    (void)event;
    (void)handle;
    (void)flags;
    (void)buf;
    (void)buf_len;
    if (n_numbers >= 4 && numbers[3] > 0)
        nl_progress_update("%d %%", (int)(numbers[2] * 100 / numbers[3]));
}

/* What the appliance's console and QEMU say, into the log: nobody sees it otherwise. */
static void on_message(guestfs_h *g, void *opaque, uint64_t event, int handle, int flags,
                       const char *buf, size_t buf_len, const uint64_t *numbers, size_t n_numbers)
{
    cleanup_fclose FILE *log = fopen(opaque, "ae");

    (void)g;
    (void)event;
    (void)handle;
    (void)flags;
    (void)numbers;
    (void)n_numbers;
    if (log)
        fwrite(buf, 1, buf_len, log);
}

static bool kvm_works(const struct builder *builder)
{
    const char *argv[] = {builder->store->agent, "--probe-kvm", NULL};
    struct nl_process probe = {.argv = argv, .output_limit = 65536, .timeout = PROBE_TIMEOUT_S};

    return nl_process_run(&probe, NULL, NULL) == 0;
}

int builder_appliance_possible(struct nl_error **err)
{
    if (access("/lib/modules", F_OK) == 0)
        return 0;
    nl_fail(err, NL_EXIT_LAB,
            "libguestfs's appliance cannot be made: there is no folder /lib/modules");
    return nl_hint(err,
                   "as root: `mkdir /lib/modules`; supermin, who makes the appliance, wants to "
                   "find it, if only empty");
}

/* What libguestfs and supermin take from the environment. */
static int set_environment(const struct builder *builder, struct nl_error **err)
{
    const char *digest = builder->plan->debian_kernel;
    cleanup_free char *about = nl_store_name(builder->store, "images/%s/image.json", digest);
    cleanup_json json_t *json = about ? json_load_file(about, 0, NULL) : NULL;
    const char *release = json_string_value(json_object_get(json, "kernel_release"));
    cleanup_free char *cache = nl_store_name(builder->store, "appliance");
    cleanup_free char *kernel = nl_store_name(builder->store, "images/%s/kernel", digest);
    cleanup_free char *modules =
        nl_store_name(builder->store, "images/%s/modules/lib/modules/%s", digest, release);

    if (builder_appliance_possible(err) < 0)
        return -1;
    if (!release || !cache || !kernel || !modules)
        return nl_fail(err, NL_EXIT_LAB, "the store's kernel layer %s is damaged", digest);
    if (mkdir(cache, 0755) < 0 && errno != EEXIST)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot make %s", cache);
    setenv("LIBGUESTFS_BACKEND", "direct", 1);
    if (kvm_works(builder))
        unsetenv("LIBGUESTFS_BACKEND_SETTINGS");
    else
        setenv("LIBGUESTFS_BACKEND_SETTINGS", "force_tcg", 1);
    setenv("LIBGUESTFS_CACHEDIR", cache, 1);
    setenv("SUPERMIN_KERNEL", kernel, 1);
    setenv("SUPERMIN_KERNEL_VERSION", release, 1);
    setenv("SUPERMIN_MODULES", modules, 1);
    return 0;
}

static int create_disk(struct job *job, guestfs_h *g, struct nl_error **err)
{
    int64_t size = (int64_t)job->builder->plan->recipe->disk_mib << 20;
    cleanup_free char *backing = NULL;

    if (!job->base)
        return guestfs_disk_create(g, job->disk, "qcow2", size, -1) < 0
                   ? fail(g, "making the disk", err)
                   : 0;
    /* Seen from tmp/DIGEST and from images/DIGEST alike. */
    backing = builder_text("../../images/%s/disk.qcow2", job->base);
    if (!backing)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (guestfs_disk_create(g, job->disk, "qcow2", -1, GUESTFS_DISK_CREATE_BACKINGFILE, backing,
                            GUESTFS_DISK_CREATE_BACKINGFORMAT, "qcow2", -1) < 0)
        return fail(g, "making the disk", err);
    return 0;
}

static int launch(struct job *job, guestfs_h *g, struct nl_error **err)
{
    cleanup_free char *outside = NULL;

    guestfs_set_error_handler(g, NULL, NULL);
    guestfs_set_event_callback(g, on_progress, GUESTFS_EVENT_PROGRESS, 0, NULL);
    guestfs_set_event_callback(g, on_message, GUESTFS_EVENT_APPLIANCE, 0, (void *)job->log);
    if (create_disk(job, g, err) < 0 || builder_outside(job->folder, &outside, err) < 0)
        return -1;
    /* A build that is cut off is thrown away: nothing has to survive a crash. */
    if (guestfs_set_tmpdir(g, outside) < 0 || guestfs_set_smp(g, 2) < 0 ||
        guestfs_set_memsize(g, APPLIANCE_MIB) < 0 ||
        guestfs_add_drive_opts(g, job->disk, GUESTFS_ADD_DRIVE_OPTS_FORMAT, "qcow2",
                               GUESTFS_ADD_DRIVE_OPTS_CACHEMODE, "unsafe", -1) < 0)
        return fail(g, "setting up libguestfs's appliance", err);
    nl_progress_update("starting libguestfs's appliance");
    if (guestfs_launch(g) < 0) {
        const char *why = guestfs_last_error(g);

        nl_fail(err, NL_EXIT_LAB, "libguestfs's appliance does not start: %.*s",
                why ? (int)strcspn(why, "\n") : 0, why ? why : "");
        return nl_hint(err, "what it said is in %s; LIBGUESTFS_DEBUG=1 makes it say more",
                       job->log);
    }
    return 0;
}

static int open_file_system(struct job *job, guestfs_h *g, struct nl_error **err)
{
    /* No journal: guests run on overlays that are thrown away, and it costs exits. No lazy
       initialization: the kernel would do it again in every guest, in the background. */
    if (!job->base &&
        guestfs_mke2fs(g, "/dev/sda", GUESTFS_MKE2FS_FSTYPE, "ext4", GUESTFS_MKE2FS_LABEL,
                       "nestlab", GUESTFS_MKE2FS_BYTESPERINODE, (int64_t)BYTES_PER_INODE,
                       GUESTFS_MKE2FS_RESERVEDBLOCKSPERCENTAGE, 0, GUESTFS_MKE2FS_HASJOURNAL, 0,
                       GUESTFS_MKE2FS_LAZYITABLEINIT, 0, -1) < 0)
        return fail(g, "making the file system", err);
    return guestfs_mount(g, "/dev/sda", "/") < 0 ? fail(g, "mounting the disk", err) : 0;
}

static int do_job(struct job *job, struct nl_error **err)
{
    NL_CLEANUP(close_handle) guestfs_h *g = guestfs_create();

    if (!g)
        return nl_fail_errno(err, NL_EXIT_LAB, errno, "cannot start libguestfs");
    if (launch(job, g, err) < 0 || open_file_system(job, g, err) < 0)
        return -1;
    nl_progress_update("writing files");
    if (job->input && guestfs_tar_in(g, job->input, "/") < 0)
        return fail(g, "writing files", err);
    if (job->work && job->work(job, g, err) < 0)
        return -1;
    if (guestfs_umount_all(g) < 0 || guestfs_shutdown(g) < 0)
        return fail(g, "closing the disk", err);
    return 0;
}

static void run_in_thread(void *data)
{
    struct job *job = data;

    job->rc = do_job(job, &job->err);
}

static void free_job(void *data)
{
    struct job *job = data;

    free(job->disk);
    nl_error_free(&job->err);
    free(job);
}

/* Nothing in libguestfs takes a deadline: so it works in a thread, which is left behind when it is
   too late; the program ends then, and libguestfs's recovery process ends the appliance. */
static int run_job(const struct job *template, struct nl_error **err)
{
    struct job *job = malloc(sizeof(*job));
    int rc;

    if (!job)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    *job = *template;
    job->disk = builder_text("%s/disk.qcow2", job->folder);
    if (!job->disk || set_environment(job->builder, err) < 0) {
        free_job(job);
        return -1;
    }
    if (nl_call_with_deadline(run_in_thread, job, free_job, nl_deadline_in(JOB_TIMEOUT_S),
                              "writing the disk", err) < 0)
        return -1;
    rc = job->rc;
    if (rc < 0 && err)
        *err = nl_steal(&job->err);
    free_job(job);
    return rc;
}

int builder_disk_from_tar(struct builder *builder, const char *folder, const char *tar,
                          const char *log, struct nl_error **err)
{
    struct job job = {.builder = builder, .folder = folder, .log = log, .input = tar};

    return run_job(&job, err);
}

/* A file for the guest, with its folder. */
static int put_text(guestfs_h *g, const char *target, const char *text, int mode,
                    struct nl_error **err)
{
    if (guestfs_write(g, target, text, strlen(text)) < 0 || guestfs_chmod(g, mode, target) < 0)
        return fail(g, target, err);
    return 0;
}

static int put_file(guestfs_h *g, const char *source, const char *target, int mode,
                    struct nl_error **err)
{
    cleanup_free char *parent = strdup(target);
    char *slash = parent ? strrchr(parent, '/') : NULL;

    if (slash && slash != parent) {
        *slash = '\0';
        if (guestfs_mkdir_p(g, parent) < 0)
            return fail(g, parent, err);
    }
    if (guestfs_upload(g, source, target) < 0 || guestfs_chmod(g, mode, target) < 0)
        return fail(g, target, err);
    return 0;
}

static int put_keys(const struct nl_store *store, guestfs_h *g, struct nl_error **err)
{
    cleanup_free char *authorized = builder_text("%s nestlab\n", store->client_public);
    cleanup_free char *host = builder_text("%s nestlab\n", store->host_key);

    if (!authorized || !host)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (guestfs_mkdir_p(g, "/root/.ssh") < 0 || guestfs_chmod(g, 0700, "/root/.ssh") < 0)
        return fail(g, "/root/.ssh", err);
    if (put_text(g, "/root/.ssh/authorized_keys", authorized, 0600, err) < 0 ||
        put_text(g, "/etc/ssh/ssh_host_ed25519_key.pub", host, 0644, err) < 0)
        return -1;
    return put_file(g, store->host_key_file, "/etc/ssh/ssh_host_ed25519_key", 0600, err);
}

/* QEMU's driver in libvirt does not start without the user that it was built for. */
static int add_users(char *const *users, guestfs_h *g, struct nl_error **err)
{
    for (; *users; users++) {
        char *argv[] = {"/usr/sbin/useradd",
                        "--system",
                        "--user-group",
                        "--no-create-home",
                        "--home-dir",
                        "/nonexistent",
                        "--shell",
                        "/usr/sbin/nologin",
                        "--",
                        *users,
                        NULL};
        cleanup_free char *output = NULL;

        nl_progress_update("user %s", *users);
        output = guestfs_command(g, argv);
        if (!output)
            return fail(g, *users, err);
    }
    return 0;
}

static int system_work(struct job *job, guestfs_h *g, struct nl_error **err)
{
    const struct nl_plan *plan = job->builder->plan;
    cleanup_free char *machine = builder_text("%.32s\n", plan->system);

    if (add_users(plan->recipe->users, g, err) < 0)
        return -1;
    for (size_t i = 0; i < plan->recipe->n_files; i++) {
        const struct nl_recipe_file *file = &plan->recipe->files[i];

        nl_progress_update("%s", file->target);
        if (put_file(g, file->source, file->target, file->mode, err) < 0)
            return -1;
    }
    if (!machine || put_text(g, "/etc/machine-id", machine, 0444, err) < 0)
        return -1;
    return put_keys(job->builder->store, g, err);
}

static int copy_manifest(const struct builder *builder, const char *from, const char *folder,
                         struct nl_error **err)
{
    cleanup_free char *path = nl_store_name(builder->store, "images/%s/manifest.json", from);

    return builder_write_json(folder, "manifest.json", path ? json_load_file(path, 0, NULL) : NULL,
                              err);
}

static int write_about(const char *folder, const char *layer, const char *base,
                       struct nl_error **err)
{
    return builder_write_json(folder, "image.json",
                              json_pack("{s:s, s:s}", "layer", layer, "over", base), err);
}

int builder_make_system(struct builder *builder, const char *folder, const char *log,
                        struct nl_error **err)
{
    const struct nl_plan *plan = builder->plan;
    cleanup_free char *modules = nl_store_name(builder->store, "images/%s/modules", plan->kernel);
    cleanup_free char *tar = builder_text("%s/modules.tar", folder);
    struct job job = {.builder = builder,
                      .folder = folder,
                      .log = log,
                      .base = plan->debian,
                      .work = system_work};

    if (!modules || !tar)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (access(modules, F_OK) == 0) {
        cleanup_free char *below = builder_text("%s/lib/modules", modules);

        if (!below || builder_pack_tree(below, "./usr/lib/modules", tar, err) < 0)
            return -1;
        job.input = tar;
    }
    if (run_job(&job, err) < 0)
        return -1;
    unlink(tar);
    if (copy_manifest(builder, plan->debian, folder, err) < 0)
        return -1;
    return write_about(folder, "system", plan->debian, err);
}

static int put_debs(struct job *job, guestfs_h *g, struct nl_error **err)
{
    size_t n = 0;

    if (guestfs_mkdir_p(g, DEBS_FOLDER) < 0)
        return fail(g, DEBS_FOLDER, err);
    for (char *const *deb = job->builder->request.debs; *deb; deb++) {
        cleanup_free char *target = builder_text(DEBS_FOLDER "/%03zu.deb", n++);

        nl_progress_update("%s", *deb);
        if (!target || guestfs_upload(g, *deb, target) < 0)
            return fail(g, *deb, err);
    }
    return 0;
}

/* Add what LINE says, without what dpkg puts around it. */
static void add_complaint(char *text, size_t size, char *line)
{
    char *start = line + strspn(line, " \t");
    char *however = strstr(start, "; however:");
    size_t used = strlen(text);

    if (however)
        *however = '\0';
    start[strcspn(start, "\n")] = '\0';
    if (used + strlen(start) + 3 < size)
        sprintf(text + used, "%s%s", used ? "; " : "", start);
}

/* dpkg's own words in its log: the lines that say why, or else that something is wrong. */
static char *dpkg_complaint(const char *log)
{
    static const char *const telling[] = {" depends on ",        " conflicts with ",
                                          "trying to overwrite", "does not match system",
                                          "dpkg: error",         "dpkg-deb: error"};
    static const size_t n_reasons = 4;
    cleanup_fclose FILE *in = fopen(log, "re");
    cleanup_free char *line = NULL;
    char reasons[600] = "", others[600] = "";
    size_t size = 0;

    while (in && getline(&line, &size, in) > 0) {
        for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++) {
            if (!strstr(line, telling[i]))
                continue;
            add_complaint(i < n_reasons ? reasons : others, sizeof(reasons), line);
            break;
        }
    }
    return strdup(reasons[0] ? reasons : others[0] ? others : "dpkg failed");
}

static int debs_work(struct job *job, guestfs_h *g, struct nl_error **err)
{
    /* A constant: no name of a file that somebody gave us is in it. */
    static const char script[] = "export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "
                                 "DEBIAN_FRONTEND=noninteractive; cd " DEBS_FOLDER
                                 "; dpkg --force-confold --install ./*.deb >log 2>&1 </dev/null; "
                                 "echo $?";
    cleanup_free char *status = NULL, *packages = NULL, *complaint = NULL;

    if (put_debs(job, g, err) < 0)
        return -1;
    nl_progress_update("dpkg --install");
    status = guestfs_sh(g, script);
    if (!status)
        return fail(g, "dpkg", err);
    if (guestfs_download(g, DEBS_FOLDER "/log", job->log) < 0)
        return fail(g, "dpkg's log", err);
    if (strcmp(status, "0\n") != 0) {
        complaint = dpkg_complaint(job->log);
        nl_fail(err, NL_EXIT_REQUEST, "%s", complaint ? complaint : "dpkg failed");
        return nl_hint(err,
                       "give the packages it needs too (there is no network in the image's "
                       "build); dpkg's output is in %s",
                       job->log);
    }
    if (guestfs_rm_rf(g, DEBS_FOLDER) < 0)
        return fail(g, DEBS_FOLDER, err);
    packages = builder_text("%s/status", job->folder);
    if (!packages || guestfs_download(g, "/var/lib/dpkg/status", packages) < 0)
        return fail(g, "dpkg's status", err);
    return 0;
}

int builder_make_debs(struct builder *builder, const char *folder, const char *log,
                      struct nl_error **err)
{
    const struct nl_plan *plan = builder->plan;
    struct job job = {
        .builder = builder, .folder = folder, .log = log, .base = plan->system, .work = debs_work};
    cleanup_free char *status = builder_text("%s/status", folder), *text = NULL;

    if (!status)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (run_job(&job, err) < 0 || builder_read_text(status, &text, err) < 0)
        return -1;
    unlink(status);
    if (builder_write_json(folder, "manifest.json", builder_dpkg_manifest(text), err) < 0)
        return -1;
    return write_about(folder, "debs", plan->system, err);
}
