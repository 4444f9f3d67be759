/*
 * doctor-software.c - rows on QEMU, libvirt, and what nestlab itself brings: images and their
 * builder.
 */
#include "dig.h"
#include "doctor-row.h"

#include <string.h>

/* What nestlab is developed and tested with: older ones may do. */
#define QEMU_TESTED "7.2.0"
#define LIBVIRT_TESTED "9.0.0"

/* The first QEMU that answered; else the first there is; NULL: none. */
static const json_t *find_qemu(const struct nl_look *look)
{
    const json_t *all = nl_dig(look->machine, "qemu");
    json_t *qemu;
    size_t i;

    json_array_foreach(all, i, qemu)
    {
        if (nl_dig(qemu, "version"))
            return qemu;
    }
    return json_array_get(all, 0);
}

static bool lists(const json_t *list, const char *word)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (json_is_string(item) && !strcmp(json_string_value(item), word))
            return true;
    }
    return false;
}

static void judge_qemu(const struct nl_look *look, struct nl_row *row)
{
    const json_t *qemu = find_qemu(look);
    const char *version = nl_dig_string(qemu, "version", NULL);
    const char *path = nl_dig_string(qemu, "path", "?");

    if (!nl_dig(look->machine, "qemu")) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "nobody could look for it");
    } else if (!qemu) {
        nl_row_says(row, NL_DOCTOR_MISSING, "there is no qemu-system-x86_64");
        nl_row_install(look, row, "qemu-system-x86", "qemu-kvm");
    } else if (!version) {
        nl_row_says(row, NL_DOCTOR_MISSING, "%s does not answer: %s", path,
                    nl_dig_string(qemu, "error", "unknown reason"));
        nl_row_install(look, row, "qemu-system-x86", "qemu-kvm");
    } else if (!lists(nl_dig(qemu, "machines"), "pc")) {
        nl_row_says(row, NL_DOCTOR_WARN, "%s, version %s, has no machine type pc", path, version);
        nl_row_fix(row, "name another machine type: --machine LN=q35");
    } else if (nl_version_number(version) < nl_version_number(QEMU_TESTED)) {
        nl_row_says(row, NL_DOCTOR_WARN,
                    "%s, version %s: older than what nestlab is tested with (%s)", path, version,
                    QEMU_TESTED);
        nl_row_install(look, row, "qemu-system-x86", "qemu-kvm");
    } else {
        nl_row_says(row, NL_DOCTOR_OK, "%s, version %s", path, version);
    }
}

static void judge_qemu_uri(const struct nl_look *look, struct nl_row *row)
{
    const char *emulator = nl_dig_string(look->libvirt, "host.emulator", NULL);
    const char *version = nl_dig_string(look->libvirt, "hypervisor", NULL);
    bool is_qemu = nl_dig_is(look->libvirt, "driver", "QEMU");

    if (!is_qemu) {
        nl_row_says(row, NL_DOCTOR_MISSING, "libvirt's driver there is %s, not QEMU's",
                    nl_dig_string(look->libvirt, "driver", "an unknown one"));
        nl_row_fix(row, "use a URI of the QEMU driver, such as qemu:///system");
    } else if (emulator) {
        nl_row_says(row, NL_DOCTOR_OK, "%s%s%s", emulator, version ? ", version " : "",
                    version ? version : "");
    } else if (nl_dig(look->libvirt, "host.domain_types")) {
        nl_row_says(row, NL_DOCTOR_MISSING, "libvirt finds no QEMU for x86-64 guests");
        nl_row_fix(row, "on that host; Debian: apt-get install qemu-system-x86");
    } else {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "libvirt does not tell its capabilities: %s",
                    nl_dig_string(look->libvirt, "host.error", "unknown reason"));
    }
}

static void judge_tcg(const struct nl_look *look, struct nl_row *row)
{
    const json_t *qemu = find_qemu(look);
    const json_t *epyc = nl_dig(qemu, "tcg_epyc");
    const char *version = nl_dig_string(qemu, "version", NULL);

    if (!version) {
        nl_row_says(row,
                    qemu || !nl_dig(look->machine, "qemu") ? NL_DOCTOR_UNKNOWN : NL_DOCTOR_MISSING,
                    "there is no QEMU that could be asked");
    } else if (nl_dig_true(epyc, "svm") && nl_dig_true(epyc, "npt")) {
        nl_row_says(row, NL_DOCTOR_OK, "TCG of QEMU %s emulates an EPYC with svm and npt", version);
    } else {
        nl_row_says(row, NL_DOCTOR_MISSING, "%s%s",
                    epyc ? "TCG emulates no EPYC with svm and npt" : "no TCG with a model EPYC: ",
                    epyc ? "" : nl_dig_string(qemu, "tcg_error", "QEMU does not list it"));
        nl_row_install(look, row, "qemu-system-x86", "qemu-system-x86-core");
    }
}

static void judge_tcg_uri(const struct nl_look *look, struct nl_row *row)
{
    const json_t *qemu = nl_dig(look->libvirt, "domains.qemu");

    if (nl_dig_true(qemu, "npt")) {
        nl_row_says(row, NL_DOCTOR_OK, "its TCG domains can have svm and npt");
    } else if (nl_dig(qemu, "supported") && !nl_dig_true(qemu, "supported")) {
        nl_row_says(row, NL_DOCTOR_MISSING, "libvirt offers no TCG domains: %s",
                    nl_dig_string(qemu, "error", "unknown reason"));
        nl_row_fix(row, "on that host; Debian: apt-get install qemu-system-x86");
    } else if (nl_dig(qemu, "npt")) {
        nl_row_says(row, NL_DOCTOR_MISSING, "its TCG domains cannot have svm and npt");
        nl_row_fix(row, "use a newer QEMU there");
    } else {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "libvirt does not say: %s",
                    nl_dig_string(qemu, "error", "it compares no CPUs"));
    }
}

static void judge_quick_boot(const struct nl_look *look, struct nl_row *row)
{
    if (!nl_dig(look->machine, "qboot"))
        return;
    if (nl_dig_true(look->machine, "qboot.exists")) {
        nl_row_says(row, NL_DOCTOR_OK, "qboot.rom is there");
        return;
    }
    nl_row_says(row, NL_DOCTOR_WARN,
                "no /usr/share/qemu/qboot.rom: guests boot by SeaBIOS, slower");
    nl_row_install(look, row, "qemu-system-data", "qemu-common");
}

static void fix_libvirt(const struct nl_look *look, struct nl_row *row)
{
    nl_row_install(look, row, "libvirt-daemon-system libvirt-daemon-driver-qemu",
                   "libvirt-daemon-driver-qemu");
}

/* This machine: the embedded driver was opened, as a run does. */
static void judge_embedded(const struct nl_look *look, struct nl_row *row)
{
    const char *version = nl_dig_string(look->libvirt, "library", "?");
    const char *why = nl_dig_string(look->all, "unknown.libvirt", NULL);

    if (!look->libvirt && nl_dig(look->all, "embedded") &&
        !nl_dig_true(look->all, "embedded.opens")) {
        nl_row_says(row, NL_DOCTOR_MISSING, "%s", why ? why : "the embedded driver does not open");
        /* It is there, and found no place for its files. */
        if (why && strstr(why, "Failed to create"))
            nl_row_fix(row, "HOME and XDG_CACHE_HOME must name folders that can be written to");
        else
            fix_libvirt(look, row);
    } else if (!look->libvirt) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "%s", why ? why : "nobody could look");
    } else if (nl_version_number(version) < nl_version_number(LIBVIRT_TESTED)) {
        nl_row_says(row, NL_DOCTOR_WARN,
                    "version %s; the embedded driver opens; older than what nestlab is tested with "
                    "(%s)",
                    version, LIBVIRT_TESTED);
    } else {
        nl_row_says(row, NL_DOCTOR_OK, "version %s; the embedded QEMU driver opens", version);
    }
}

/* A layer: its daemon boots the next. */
static void judge_daemon(const struct nl_look *look, struct nl_row *row)
{
    const char *version = nl_dig_string(look->machine, "libvirt.library.version", NULL);
    const char *daemon = nl_dig_string(look->machine, "libvirt.daemon", NULL);

    if (!nl_dig(look->machine, "libvirt")) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "nobody could look for it");
    } else if (!nl_dig(look->machine, "libvirt.library")) {
        nl_row_says(row, NL_DOCTOR_MISSING, "there is no libvirt");
        fix_libvirt(look, row);
    } else if (!nl_dig(look->machine, "libvirt.qemu_driver") || !daemon) {
        nl_row_says(row, NL_DOCTOR_MISSING, "version %s, without %s", version ? version : "?",
                    daemon ? "its QEMU driver" : "its daemon");
        fix_libvirt(look, row);
    } else {
        nl_row_says(row, NL_DOCTOR_OK, "version %s, QEMU driver, %s%s", version ? version : "?",
                    daemon, nl_dig(look->machine, "libvirt.socket") ? ", which listens" : "");
    }
}

static void judge_libvirt_uri(const struct nl_look *look, struct nl_row *row)
{
    const char *daemon = nl_dig_string(look->libvirt, "daemon", NULL);

    nl_row_says(row, NL_DOCTOR_OK, "answers%s%s", daemon ? ", version " : "", daemon ? daemon : "");
}

/* libvirt must take what QEMU can do: of domains under TCG, and of those under KVM where the device
   opens. */
static void judge_domains(const struct nl_look *look, struct nl_row *row)
{
    bool tcg = nl_dig_true(look->libvirt, "domains.qemu.supported");
    bool kvm = nl_dig_true(look->libvirt, "domains.kvm.supported");
    bool expected = nl_dig_true(look->facts, "kvm.device.opens");

    if (look->of == NL_OF_LAYER || !look->libvirt)
        return;
    if (tcg && (kvm || !expected)) {
        nl_row_says(row, NL_DOCTOR_OK, "libvirt starts guests under TCG%s", kvm ? " and KVM" : "");
        return;
    }
    row->blocks = (tcg ? 0 : NL_FOR_EMULATED) | (kvm ? 0 : NL_FOR_LOCAL);
    nl_row_says(row, NL_DOCTOR_MISSING, "libvirt starts no guests under %s: %s",
                tcg ? "KVM" : "TCG",
                nl_dig_string(look->libvirt, tcg ? "domains.kvm.error" : "domains.qemu.error",
                              "unknown reason"));
    nl_row_install(look, row, "qemu-system-x86", "qemu-kvm");
}

/* Are both images as STATE says ("there", "layers"), or further? */
static bool images_are(const struct nl_look *look, const char *state)
{
    static const char *const images[] = {"images.hypervisor", "images.leaf"};

    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
        if (!nl_dig_is(look->lab, images[i], "there") && !nl_dig_is(look->lab, images[i], state))
            return false;
    return true;
}

static void judge_images(const struct nl_look *look, struct nl_row *row)
{
    const char *why = nl_dig_string(look->lab, "builder.error", NULL);
    const char *store = nl_dig_string(look->lab, "store", "?");

    if (nl_dig(look->lab, "store_error")) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "there is no store to look in");
    } else if (images_are(look, "there")) {
        nl_row_says(row, NL_DOCTOR_OK, "hypervisor and leaf are in the store %s", store);
    } else if (!why && images_are(look, "layers")) {
        nl_row_says(row, NL_DOCTOR_OK,
                    "all they are made of is in the store %s: the first run puts them together, in "
                    "seconds",
                    store);
    } else if (!why) {
        nl_row_says(row, NL_DOCTOR_OK,
                    "not yet in the store %s: the first run makes them, in minutes, from a Debian "
                    "mirror",
                    store);
    } else {
        nl_row_says(row, NL_DOCTOR_MISSING,
                    "not in the store %s, and nestlab-builder cannot make them: %s", store, why);
        nl_row_install(look, row, "libguestfs0 supermin mmdebstrap", "libguestfs supermin");
    }
}

/* What nestlab-builder runs; its libraries are proved by its starting. */
static void judge_builder(const struct nl_look *look, struct nl_row *row)
{
    static const struct {
        const char *program;
        const char *package;
    } needed[] = {
        {"mmdebstrap", "mmdebstrap"}, {"apt-get", "apt"},      {"supermin", "supermin"},
        {"qemu-img", "qemu-utils"},   {"mke2fs", "e2fsprogs"}, {"depmod", "kmod"},
    };
    const char *why = nl_dig_string(look->lab, "builder.error", NULL);
    enum nl_doctor_verdict bad = images_are(look, "layers") ? NL_DOCTOR_WARN : NL_DOCTOR_MISSING;

    if (why) {
        nl_row_says(row, bad, "%s%s", why, bad == NL_DOCTOR_WARN ? "; the images are there" : "");
        nl_row_install(look, row, "libguestfs0", "libguestfs");
        return;
    }
    if (!nl_dig(look->machine, "programs")) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "nobody could look for the programs it runs");
        return;
    }
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        char path[64];

        snprintf(path, sizeof(path), "programs.%s", needed[i].program);
        if (nl_dig(look->machine, path))
            continue;
        nl_row_says(row, bad, "nestlab-builder starts, but there is no %s%s", needed[i].program,
                    bad == NL_DOCTOR_WARN ? "; the images are there" : "");
        nl_row_install(look, row, needed[i].package, needed[i].package);
        return;
    }
    nl_row_says(row, NL_DOCTOR_OK, "nestlab-builder starts, and the programs it runs are there");
}

static void judge_appliance(const struct nl_look *look, struct nl_row *row)
{
    const json_t *kernels = nl_dig(look->machine, "kernels");
    json_t *kernel;
    size_t i;

    if (!kernels) {
        nl_row_says(row, NL_DOCTOR_UNKNOWN, "nobody could look into /boot");
        return;
    }
    if (json_is_false(nl_dig(look->machine, "module_folder"))) {
        nl_row_says(row, images_are(look, "layers") ? NL_DOCTOR_WARN : NL_DOCTOR_MISSING,
                    "there is no folder /lib/modules, which supermin, who makes libguestfs's "
                    "appliance, wants to find, if only empty");
        nl_row_fix(row, "mkdir /lib/modules");
        return;
    }
    json_array_foreach(kernels, i, kernel)
    {
        if (!nl_dig_true(kernel, "readable") || !nl_dig_true(kernel, "modules"))
            continue;
        nl_row_says(row, NL_DOCTOR_OK, "%s; nestlab-builder boots the one in its store",
                    nl_dig_string(kernel, "path", "?"));
        return;
    }
    nl_row_says(row, NL_DOCTOR_OK,
                "%s; nestlab-builder does without: it boots the one in its store",
                json_array_size(kernels) ? "none in /boot that is readable and has its modules"
                                         : "none in /boot");
}

const struct nl_row_kind nl_rows_software[] = {
    {"qemu", "QEMU for x86-64", NL_OF_ALL, NL_FOR_BOTH, "machine", "its answers over QMP",
     judge_qemu, judge_qemu_uri},
    {"qemu-svm", "a QEMU whose TCG emulates SVM, for an emulated L0", NL_OF_ALL, NL_FOR_EMULATED,
     "machine", "QMP: query-cpu-definitions under TCG", judge_tcg, judge_tcg_uri},
    {"quick-boot", "firmware that enters a kernel at once, for speed", NL_OF_MACHINE, 0, "machine",
     "/usr/share/qemu/qboot.rom", judge_quick_boot, NULL},
    {"libvirt", "libvirt with its QEMU driver", NL_OF_MACHINE | NL_OF_URI, NL_FOR_BOTH, NULL,
     "opening its embedded QEMU driver", judge_embedded, judge_libvirt_uri},
    {"libvirt", "libvirt with its QEMU driver", NL_OF_LAYER, NL_FOR_BOTH, "machine", "its files",
     judge_daemon, NULL},
    {"domains", "libvirt that starts guests with that QEMU", NL_OF_MACHINE, NL_FOR_BOTH, NULL,
     "virConnectGetDomainCapabilities", judge_domains, NULL},
    {"images", "images, or the means to make them", NL_OF_MACHINE, NL_FOR_BOTH, "lab", "the store",
     judge_images, NULL},
    {"builder", "nestlab-builder and what it runs, to make images", NL_OF_MACHINE, 0, "lab",
     "starting it, and PATH", judge_builder, NULL},
    {"appliance", "a kernel for libguestfs", NL_OF_MACHINE, NL_FOR_BOTH, "machine",
     "/boot, /lib/modules", judge_appliance, NULL},
    {0},
};
