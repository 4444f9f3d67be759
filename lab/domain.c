/*
 * domain.c - a guest's domain XML: see domain.h.
 *
 * The device list is short on purpose: every device that firmware or kernel probes costs VM exits,
 * and an exit at L2 costs about ten times one at L1.
 */
#include "domain.h"
#include "../agents/protocol.h"

#include <libxml/xmlwriter.h>
#include <string.h>

#define QEMU_NAMESPACE "http://libvirt.org/schemas/domain/qemu/1.0"
/* Far above the slots that libvirt hands out by itself, so that the two never clash. */
#define NETWORK_SLOT "0x1e"

/* Write one element with up to three attributes and no content. */
static void element(xmlTextWriterPtr w, const char *name, const char *const *attributes)
{
    xmlTextWriterStartElement(w, BAD_CAST name);
    for (; attributes && attributes[0]; attributes += 2)
        xmlTextWriterWriteAttribute(w, BAD_CAST attributes[0], BAD_CAST attributes[1]);
    xmlTextWriterEndElement(w);
}

#define EMPTY(w, name, ...) element((w), (name), (const char *const[]){__VA_ARGS__, NULL})
#define TEXT(w, name, text) xmlTextWriterWriteElement((w), BAD_CAST(name), BAD_CAST(text))
#define OPEN(w, name) xmlTextWriterStartElement((w), BAD_CAST(name))
#define ATTRIBUTE(w, name, value) xmlTextWriterWriteAttribute((w), BAD_CAST(name), BAD_CAST(value))
#define CLOSE(w) xmlTextWriterEndElement(w)

static void write_os(xmlTextWriterPtr w, const struct nl_domain *domain)
{
    OPEN(w, "os");
    OPEN(w, "type");
    ATTRIBUTE(w, "arch", "x86_64");
    ATTRIBUTE(w, "machine", domain->machine ? domain->machine : "pc");
    xmlTextWriterWriteString(w, BAD_CAST "hvm");
    CLOSE(w);
    if (domain->firmware) {
        OPEN(w, "loader");
        ATTRIBUTE(w, "readonly", "yes");
        ATTRIBUTE(w, "type", "rom");
        xmlTextWriterWriteString(w, BAD_CAST domain->firmware);
        CLOSE(w);
    }
    TEXT(w, "kernel", domain->kernel);
    if (domain->initrd)
        TEXT(w, "initrd", domain->initrd);
    TEXT(w, "cmdline", domain->command_line);
    CLOSE(w);
}

static void write_feature(xmlTextWriterPtr w, const char *name, bool wanted)
{
    EMPTY(w, "feature", "policy", wanted ? "require" : "disable", "name", name);
}

static void write_virtualization(xmlTextWriterPtr w, const struct nl_domain *domain)
{
    if (!domain->vendor_flag)
        return;
    write_feature(w, domain->vendor_flag, domain->virtualization);
    if (domain->kvm || !domain->virtualization || strcmp(domain->vendor_flag, "svm") != 0)
        return;
    /* TCG's EPYC leaves nested paging out unless asked. */
    write_feature(w, "npt", true);
    /* A real EPYC has it and TCG implements it. Without it STGI and CLGI are exits: L1 had 12.2
       exits for each entry into its guest, 10.1 with it. */
    if (!domain->cpu)
        write_feature(w, "vgif", true);
}

static void write_cpu(xmlTextWriterPtr w, const struct nl_domain *domain)
{
    static const char *const modes[] = {"host-passthrough", "host-model", "maximum"};
    const char *cpu = domain->cpu;
    bool mode = false;

    if (!cpu)
        cpu = domain->kvm ? "host-passthrough" : "EPYC";
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        mode = mode || !strcmp(cpu, modes[i]);
    OPEN(w, "cpu");
    if (mode) {
        ATTRIBUTE(w, "mode", cpu);
    } else {
        ATTRIBUTE(w, "mode", "custom");
        ATTRIBUTE(w, "match", "exact");
        /* TCG lacks about ten features of its own model EPYC, all harmless here; under KVM a
           feature that is not there must be an error. */
        ATTRIBUTE(w, "check", domain->kvm ? "full" : "none");
        OPEN(w, "model");
        ATTRIBUTE(w, "fallback", "forbid");
        xmlTextWriterWriteString(w, BAD_CAST cpu);
        CLOSE(w);
    }
    write_virtualization(w, domain);
    if (!domain->kvm && !domain->cpu) {
        /* Slow under TCG: a system call each. */
        write_feature(w, "rdrand", false);
        /* TCG's SVM does not intercept XSETBV, so KVM in L0 never learns its guest's XCR0 and shows
           it a wrong XSAVE size; the guest's kernel then splats and switches XSAVE off. */
        write_feature(w, "xsave", false);
    }
    for (char *const *f = domain->cpu_features; f && *f; f++)
        write_feature(w, *f + 1, **f == '+');
    CLOSE(w);
}

static void write_disk(xmlTextWriterPtr w, const struct nl_domain_disk *disk, size_t index)
{
    char target[] = "vda";

    target[2] = (char)('a' + index);
    OPEN(w, "disk");
    ATTRIBUTE(w, "type", disk->block ? "block" : "file");
    ATTRIBUTE(w, "device", "disk");
    /* The disks are thrown away after the run: flushes need not reach the platter. */
    EMPTY(w, "driver", "name", "qemu", "type", disk->format, "cache", "unsafe");
    EMPTY(w, "source", disk->block ? "dev" : "file", disk->path);
    EMPTY(w, "target", "dev", target, "bus", "virtio");
    if (disk->read_only)
        element(w, "readonly", NULL);
    TEXT(w, "serial", disk->serial);
    CLOSE(w);
}

static void write_channel(xmlTextWriterPtr w, const char *name)
{
    OPEN(w, "channel");
    ATTRIBUTE(w, "type", "unix");
    EMPTY(w, "target", "type", "virtio", "name", name);
    CLOSE(w);
}

static void write_devices(xmlTextWriterPtr w, const struct nl_domain *domain)
{
    OPEN(w, "devices");
    if (domain->emulator)
        TEXT(w, "emulator", domain->emulator);
    for (size_t i = 0; i < domain->n_disks; i++)
        write_disk(w, &domain->disks[i], i);
    EMPTY(w, "controller", "type", "usb", "model", "none");
    OPEN(w, "serial");
    ATTRIBUTE(w, "type", "pty");
    EMPTY(w, "target", "port", "0");
    CLOSE(w);
    write_channel(w, NL_PROTOCOL_PORT);
    write_channel(w, NL_PROTOCOL_SHELL_PORT);
    EMPTY(w, "memballoon", "model", "none");
    CLOSE(w);
}

/* user,...,hostfwd=tcp:ADDRESS:PORT-:GUEST,...: the caller frees it. */
static char *network_argument(const struct nl_domain *domain)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fputs("user,id=nlnet,restrict=on,ipv6=off", out);
    for (size_t i = 0; i < domain->n_forwards; i++)
        fprintf(out, ",hostfwd=tcp:%s:%d-:%d", domain->forwards[i].address,
                domain->forwards[i].port, domain->forwards[i].guest_port);
    fclose(out);
    return text;
}

static void write_argument(xmlTextWriterPtr w, const char *value)
{
    xmlTextWriterStartElement(w, BAD_CAST "qemu:arg");
    ATTRIBUTE(w, "value", value);
    CLOSE(w);
}

static int write_qemu_arguments(xmlTextWriterPtr w, const struct nl_domain *domain)
{
    cleanup_free char *network = network_argument(domain);

    if (!network)
        return -1;
    xmlTextWriterStartElement(w, BAD_CAST "qemu:commandline");
    if (domain->n_forwards > 0) {
        write_argument(w, "-netdev");
        write_argument(w, network);
        write_argument(w, "-device");
        write_argument(w, "virtio-net-pci,netdev=nlnet,romfile=,addr=" NETWORK_SLOT);
    }
    for (char *const *argument = domain->qemu_arguments; argument && *argument; argument++)
        write_argument(w, *argument);
    CLOSE(w);
    return 0;
}

static int write_domain(xmlTextWriterPtr w, const struct nl_domain *domain)
{
    char number[32];

    OPEN(w, "domain");
    ATTRIBUTE(w, "type", domain->kvm ? "kvm" : "qemu");
    ATTRIBUTE(w, "xmlns:qemu", QEMU_NAMESPACE);
    TEXT(w, "name", domain->name);
    snprintf(number, sizeof(number), "%d", domain->memory_mib);
    OPEN(w, "memory");
    ATTRIBUTE(w, "unit", "MiB");
    xmlTextWriterWriteString(w, BAD_CAST number);
    CLOSE(w);
    snprintf(number, sizeof(number), "%d", domain->vcpus);
    TEXT(w, "vcpu", number);
    write_os(w, domain);
    OPEN(w, "features");
    element(w, "acpi", NULL);
    element(w, "apic", NULL);
    CLOSE(w);
    write_cpu(w, domain);
    OPEN(w, "clock");
    ATTRIBUTE(w, "offset", "utc");
    EMPTY(w, "timer", "name", "hpet", "present", "no");
    CLOSE(w);
    /* A guest that reboots has panicked (panic=-1): its end is the news. */
    TEXT(w, "on_poweroff", "destroy");
    TEXT(w, "on_reboot", "destroy");
    TEXT(w, "on_crash", "destroy");
    write_devices(w, domain);
    if (write_qemu_arguments(w, domain) < 0)
        return -1;
    CLOSE(w);
    return xmlTextWriterEndDocument(w) < 0 ? -1 : 0;
}

int nl_domain_xml(const struct nl_domain *domain, char **xml, struct nl_error **err)
{
    xmlBufferPtr buffer = xmlBufferCreate();
    xmlTextWriterPtr writer = buffer ? xmlNewTextWriterMemory(buffer, 0) : NULL;
    int rc = -1;

    if (writer) {
        xmlTextWriterSetIndent(writer, 1);
        rc = write_domain(writer, domain);
        xmlFreeTextWriter(writer);
    }
    *xml = rc == 0 ? strdup((const char *)xmlBufferContent(buffer)) : NULL;
    if (buffer)
        xmlBufferFree(buffer);
    return *xml ? 0 : nl_fail(err, NL_EXIT_LAB, "cannot write the XML of domain %s", domain->name);
}
