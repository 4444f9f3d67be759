/*
 * meter.c - the meter, a TCG plugin inside the QEMU that emulates L0: counts every instruction of
 * the whole machine, by layer, between the marks around an operation (mark.h), and writes a record
 * of each into a file (meter-file.h).
 *
 *     -plugin file=nestlab-meter.so,out=FILE[,profile=FILE]
 *
 * One vCPU only, which executes all callbacks: nothing here is locked.
 */
#include "mark.h"
#include "meter-file.h"
#include "meter-layers.h"
#include "meter-places.h"
#include "qemu-plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VMRUN_SIZE 3
#define PAGE 4096
/* One per KVM module that was ever loaded at any layer; few are used. */
#define SITES 256

int qemu_plugin_version = QEMU_PLUGIN_VERSION;

struct place {
    struct meter_site site;
    const unsigned char *vmrun; /* in this process's memory */
};

static struct meter_file *file;
static struct meter_places code;
static struct meter_layers layers;
static struct place places[SITES];
static size_t n_places;
static uint64_t executed; /* instructions, of all layers, ever */

static struct {
    bool open;
    unsigned layer;
    struct meter_counts counts;
} begun;

static void complain(const char *trouble)
{
    if (!file->header.trouble[0])
        snprintf(file->header.trouble, sizeof file->header.trouble, "%s", trouble);
}

static void on_vmrun(unsigned vcpu, void *data)
{
    struct place *place = data;

    (void)vcpu;
    meter_layers_vmrun(&layers, &place->site, executed);
    if (layers.too_deep)
        complain("there are more layers than the meter can tell apart");
}

static void on_after(unsigned vcpu, void *data)
{
    const struct place *place = data;

    (void)vcpu;
    meter_layers_after(&layers, &place->site, executed);
}

static void on_return(unsigned vcpu, void *data)
{
    (void)vcpu;
    (void)data;
    meter_layers_return(&layers);
}

/* The marks themselves are not counted. */
static void on_begin(unsigned vcpu, void *data)
{
    (void)vcpu;
    (void)data;
    meter_layers_settle(&layers, executed + 1);
    meter_layers_begin(&layers);
    begun.open = true;
    begun.layer = layers.current;
    begun.counts = layers.counts;
    if (code.profile)
        meter_places_begin(&code);
}

static void on_end(unsigned vcpu, void *data)
{
    uint64_t written = file->header.written;
    struct meter_record *record = &file->ring[written % METER_RECORDS];
    uint64_t total = 0;

    (void)vcpu;
    (void)data;
    if (!begun.open)
        return;
    meter_layers_settle(&layers, executed);
    meter_layers_end(&layers);
    record->sequence = written + 1;
    record->began_at = begun.layer;
    record->ended_at = layers.current;
    record->counts = meter_counts_between(&begun.counts, &layers.counts);
    begun.open = false;
    for (unsigned i = 0; i < METER_LAYERS; i++)
        total += record->counts.instructions[i];
    if (code.profile)
        meter_places_end(&code, total);
    __atomic_store_n(&file->header.written, written + 1, __ATOMIC_RELEASE);
}

static struct place *place_of(const unsigned char *vmrun)
{
    for (size_t i = 0; i < n_places; i++)
        if (places[i].vmrun == vmrun)
            return &places[i];
    return NULL;
}

static void watch_vmrun(struct qemu_plugin_insn *insn)
{
    const unsigned char *address = qemu_plugin_insn_haddr(insn);
    struct place *place = address ? place_of(address) : NULL;

    if (!place) {
        /* The instruction after it is found by its host address, which a page's end would break. */
        if (!address || qemu_plugin_insn_vaddr(insn) % PAGE > PAGE - VMRUN_SIZE - 1) {
            complain("a VMRUN at the end of a page cannot be followed");
            return;
        }
        if (n_places == SITES) {
            complain("there are more VMRUN instructions than the meter has room for");
            return;
        }
        place = &places[n_places++];
        place->vmrun = address;
    }
    qemu_plugin_register_vcpu_insn_exec_cb(insn, on_vmrun, QEMU_PLUGIN_CB_NO_REGS, place);
}

/* VMRUN ends a block, so what follows it begins one. Gives the layer that will execute it: a block
   is translated when it is about to be. */
static unsigned watch_after(struct qemu_plugin_insn *first)
{
    const unsigned char *address = qemu_plugin_insn_haddr(first);
    struct place *place = address && n_places ? place_of(address - VMRUN_SIZE) : NULL;

    if (!place)
        return layers.current;
    qemu_plugin_register_vcpu_insn_exec_cb(first, on_after, QEMU_PLUGIN_CB_NO_REGS, place);
    return place->site.known ? place->site.layer : layers.current;
}

static void watch_place(struct qemu_plugin_insn *insn, unsigned layer)
{
    uint64_t *counter = meter_places_counter(&code, layer, qemu_plugin_insn_vaddr(insn));

    if (counter)
        qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, counter, 1);
}

static qemu_plugin_vcpu_udata_cb *mark_callback(const unsigned char *bytes)
{
    static const unsigned char nop[] = {0x0f, 0x1f, 0x80};
    uint32_t displacement;

    if (memcmp(bytes, nop, sizeof nop) != 0)
        return NULL;
    memcpy(&displacement, bytes + sizeof nop, sizeof displacement);
    if (displacement == (METER_MARK_MAGIC | METER_MARK_BEGIN))
        return on_begin;
    return displacement == (METER_MARK_MAGIC | METER_MARK_END) ? on_end : NULL;
}

/* False: it is a mark, and not part of what is measured. */
static bool watch_instruction(struct qemu_plugin_insn *insn)
{
    static const unsigned char vmrun[] = {0x0f, 0x01, 0xd8}, iretq[] = {0x48, 0xcf};
    const unsigned char *bytes = qemu_plugin_insn_data(insn);
    size_t size = qemu_plugin_insn_size(insn);
    qemu_plugin_vcpu_udata_cb *mark = size == METER_MARK_SIZE ? mark_callback(bytes) : NULL;

    if (mark)
        qemu_plugin_register_vcpu_insn_exec_cb(insn, mark, QEMU_PLUGIN_CB_NO_REGS, NULL);
    else if (size == sizeof vmrun && !memcmp(bytes, vmrun, size))
        watch_vmrun(insn);
    else if (size == sizeof iretq && !memcmp(bytes, iretq, size))
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_return, QEMU_PLUGIN_CB_NO_REGS, NULL);
    return !mark;
}

/* Counted by instruction and not by block: a block that faults is not executed to its end. */
static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    size_t n = qemu_plugin_tb_n_insns(tb);
    unsigned layer = layers.current;

    (void)id;
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

        if (i == 0)
            layer = watch_after(insn);
        if (watch_instruction(insn) && code.profile)
            watch_place(insn, layer);
        qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &executed, 1);
    }
}

/* A file of SIZE zeroes, shared with whoever else maps it; NULL with a message. */
static void *make_file(const char *path, size_t size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *memory = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        fprintf(stderr, "nestlab-meter: cannot make %s: %s\n", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

static int open_file(const char *path)
{
    file = make_file(path, sizeof *file);
    if (!file)
        return -1;
    file->header.version = METER_FILE_VERSION;
    file->header.record_size = sizeof file->ring[0];
    file->header.records = METER_RECORDS;
    memcpy(file->header.magic, METER_FILE_MAGIC, sizeof file->header.magic);
    return 0;
}

static int open_profile(const char *path)
{
    struct meter_profile *profile = make_file(path, sizeof *profile);

    if (!profile)
        return -1;
    if (meter_places_init(&code, profile))
        return 0;
    fprintf(stderr, "nestlab-meter: no memory\n");
    return -1;
}

/* The value of argument NAME, or NULL. */
static const char *argument(int argc, char **argv, const char *name)
{
    size_t length = strlen(name);

    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=')
            return argv[i] + length + 1;
    return NULL;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    const char *out = argument(argc, argv, "out");
    const char *profile = argument(argc, argv, "profile");

    if (!out || argc != 1 + (profile != NULL)) {
        fprintf(stderr, "nestlab-meter: takes the arguments out=FILE and profile=FILE\n");
        return -1;
    }
    if (!info->system_emulation || info->system.max_vcpus != 1) {
        fprintf(stderr, "nestlab-meter: counts for one vCPU, not for %d\n",
                info->system_emulation ? info->system.max_vcpus : 0);
        return -1;
    }
    if (open_file(out) || (profile && open_profile(profile)))
        return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
