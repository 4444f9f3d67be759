/*
 * test-domain.c - the domain XML says what the specification asks for, whatever strings are in it.
 */
#include "domain.h"

#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct nl_domain plain_guest(void)
{
    return (struct nl_domain){
        .name = "nl-L1",
        .kvm = true,
        .vcpus = 1,
        .memory_mib = 512,
        .vendor_flag = "svm",
        .virtualization = true,
        .kernel = "/k",
        .initrd = "/i",
        .command_line = "quiet",
    };
}

/* What the XPath EXPRESSION comes to as a string, over the XML of DOMAIN; the caller frees it. */
static char *evaluate(const struct nl_domain *domain, const char *expression)
{
    cleanup_free char *xml = NULL;
    xmlXPathContextPtr context;
    xmlXPathObjectPtr object;
    xmlDocPtr doc;
    xmlChar *value;
    char *text;

    assert_int_equal(nl_domain_xml(domain, &xml, NULL), 0);
    doc = xmlReadMemory(xml, (int)strlen(xml), "domain.xml", NULL, XML_PARSE_NONET);
    assert_non_null(doc);
    context = xmlXPathNewContext(doc);
    xmlXPathRegisterNs(context, BAD_CAST "qemu",
                       BAD_CAST "http://libvirt.org/schemas/domain/qemu/1.0");
    object = xmlXPathEvalExpression(BAD_CAST expression, context);
    assert_non_null(object);
    value = xmlXPathCastToString(object);
    text = strdup((const char *)value);
    xmlFree(value);
    xmlXPathFreeObject(object);
    xmlXPathFreeContext(context);
    xmlFreeDoc(doc);
    return text;
}

static void expect(const struct nl_domain *domain, const char *expression, const char *value)
{
    cleanup_free char *text = evaluate(domain, expression);

    assert_string_equal(text, value);
}

static void exposes_or_masks_virtualization(void **state)
{
    struct nl_domain domain = plain_guest();

    (void)state;
    expect(&domain, "/domain/@type", "kvm");
    expect(&domain, "/domain/cpu/@mode", "host-passthrough");
    expect(&domain, "/domain/cpu/feature[@name='svm']/@policy", "require");
    domain.virtualization = false;
    expect(&domain, "/domain/cpu/feature[@name='svm']/@policy", "disable");
    domain.vendor_flag = "vmx";
    domain.virtualization = true;
    expect(&domain, "/domain/cpu/feature[@name='vmx']/@policy", "require");
    expect(&domain, "count(/domain/cpu/feature[@name='svm'])", "0");
}

static void emulates_an_epyc_with_nested_paging(void **state)
{
    struct nl_domain domain = plain_guest();

    (void)state;
    domain.kvm = false;
    expect(&domain, "/domain/@type", "qemu");
    expect(&domain, "/domain/cpu/model", "EPYC");
    expect(&domain, "/domain/cpu/@check", "none");
    expect(&domain, "/domain/cpu/feature[@name='npt']/@policy", "require");
    expect(&domain, "/domain/cpu/feature[@name='vgif']/@policy", "require");
    expect(&domain, "/domain/cpu/feature[@name='rdrand']/@policy", "disable");
    expect(&domain, "/domain/cpu/feature[@name='xsave']/@policy", "disable");
}

static void takes_a_model_and_features(void **state)
{
    char *features[] = {"+avx2", "-x2apic", NULL};
    struct nl_domain domain = plain_guest();

    (void)state;
    domain.cpu = "EPYC-Rome";
    domain.cpu_features = features;
    expect(&domain, "/domain/cpu/@mode", "custom");
    expect(&domain, "/domain/cpu/@check", "full");
    expect(&domain, "/domain/cpu/model", "EPYC-Rome");
    expect(&domain, "/domain/cpu/feature[@name='avx2']/@policy", "require");
    expect(&domain, "/domain/cpu/feature[@name='x2apic']/@policy", "disable");
}

static void has_disks_in_order_with_serials(void **state)
{
    struct nl_domain_disk disks[] = {
        {.path = "/own.qcow2", .serial = "nl-L1", .format = "qcow2"},
        {.path = "/dev/vdb",
         .serial = "nl-boot",
         .format = "raw",
         .block = true,
         .read_only = true},
    };
    struct nl_domain domain = plain_guest();

    (void)state;
    domain.disks = disks;
    domain.n_disks = 2;
    expect(&domain, "/domain/devices/disk[1]/source/@file", "/own.qcow2");
    expect(&domain, "/domain/devices/disk[1]/target/@dev", "vda");
    expect(&domain, "/domain/devices/disk[1]/serial", "nl-L1");
    expect(&domain, "count(/domain/devices/disk[1]/readonly)", "0");
    expect(&domain, "/domain/devices/disk[2]/source/@dev", "/dev/vdb");
    expect(&domain, "/domain/devices/disk[2]/target/@dev", "vdb");
    expect(&domain, "count(/domain/devices/disk[2]/readonly)", "1");
}

static void forwards_ports_only_when_asked(void **state)
{
    struct nl_domain_forward forwards[] = {{"127.0.0.1", 5022, 22}, {"127.0.0.1", 5023, 2201}};
    struct nl_domain domain = plain_guest();

    (void)state;
    expect(&domain, "count(//qemu:arg)", "0");
    domain.forwards = forwards;
    domain.n_forwards = 2;
    expect(&domain, "string(//qemu:arg[2]/@value)",
           "user,id=nlnet,restrict=on,ipv6=off,hostfwd=tcp:127.0.0.1:5022-:22,"
           "hostfwd=tcp:127.0.0.1:5023-:2201");
}

static void escapes_what_it_is_given(void **state)
{
    struct nl_domain domain = plain_guest();

    (void)state;
    domain.command_line = "a=\"<&>'\" </cmdline><evil/>";
    expect(&domain, "/domain/os/cmdline", "a=\"<&>'\" </cmdline><evil/>");
    expect(&domain, "count(//evil)", "0");
}

static void boots_by_qboot_when_told(void **state)
{
    struct nl_domain domain = plain_guest();

    (void)state;
    expect(&domain, "count(/domain/os/loader)", "0");
    domain.firmware = "/q.rom";
    expect(&domain, "/domain/os/loader[@type='rom']", "/q.rom");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exposes_or_masks_virtualization),
        cmocka_unit_test(emulates_an_epyc_with_nested_paging),
        cmocka_unit_test(takes_a_model_and_features),
        cmocka_unit_test(has_disks_in_order_with_serials),
        cmocka_unit_test(forwards_ports_only_when_asked),
        cmocka_unit_test(escapes_what_it_is_given),
        cmocka_unit_test(boots_by_qboot_when_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
