/*
 * doctor-libvirt.c - see doctor-libvirt.h.
 */
#include "doctor-libvirt.h"
#include "virt-turn.h"

#include <libvirt/virterror.h>
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <string.h>

/* Capabilities of a big host are some hundred KiB. */
#define XML_MAX (16 * 1024 * 1024)

/* One run of calls in a thread that may be left behind: it owns all it needs. */
struct talk {
    char *uri;
    virConnectPtr conn;
    char *message; /* why the connection could not be opened */
    json_t *told;
};

static void free_talk(void *data)
{
    struct talk *talk = data;

    if (talk->conn)
        virConnectClose(talk->conn);
    json_decref(talk->told);
    free(talk->message);
    free(talk->uri);
    free(talk);
}

static void connect_in_thread(void *data)
{
    struct talk *talk = data;

    talk->conn = virConnectOpen(talk->uri);
    if (talk->conn)
        return;
    talk->message = strdup(virGetLastErrorMessage());
    talk->conn = virConnectOpenReadOnly(talk->uri);
}

int nl_doctor_connect(const char *uri, nl_deadline deadline, virConnectPtr *conn,
                      struct nl_error **err)
{
    struct talk *talk = calloc(1, sizeof(*talk));
    int rc = 0;

    if (!talk)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    talk->uri = strdup(uri);
    if (nl_call_with_deadline(connect_in_thread, talk, free_talk, deadline, "connecting to libvirt",
                              err) < 0)
        return -1;
    *conn = nl_steal(&talk->conn);
    if (!*conn)
        rc = nl_fail(err, NL_EXIT_LAB, "%s: %s", uri,
                     talk->message ? talk->message : "unknown libvirt error");
    free_talk(talk);
    return rc;
}

/* The text at an XPath of DOCUMENT, from NODE if it is not NULL; a JSON string, or null. */
static json_t *xml_text(xmlXPathContextPtr context, xmlNodePtr node, const char *path)
{
    json_t *text = NULL;
    xmlXPathObjectPtr object;

    context->node = node ? node : xmlDocGetRootElement(context->doc);
    object = xmlXPathEvalExpression(BAD_CAST path, context);
    if (object && object->type == XPATH_NODESET && object->nodesetval &&
        object->nodesetval->nodeNr > 0) {
        xmlChar *content = xmlNodeGetContent(object->nodesetval->nodeTab[0]);

        text = content ? json_string((const char *)content) : NULL;
        xmlFree(content);
    }
    xmlXPathFreeObject(object);
    return text ? text : json_null();
}

/* What every node at PATH has as its text: an array. */
static json_t *xml_texts(xmlXPathContextPtr context, const char *path)
{
    json_t *texts = json_array();
    xmlXPathObjectPtr object;

    context->node = xmlDocGetRootElement(context->doc);
    object = xmlXPathEvalExpression(BAD_CAST path, context);
    for (int i = 0; object && object->type == XPATH_NODESET && object->nodesetval &&
                    i < object->nodesetval->nodeNr;
         i++)
        json_array_append_new(texts, xml_text(context, object->nodesetval->nodeTab[i], "."));
    xmlXPathFreeObject(object);
    return texts;
}

#define X86_GUEST "/capabilities/guest[os_type='hvm']/arch[@name='x86_64']"

static json_t *read_capabilities(xmlXPathContextPtr context)
{
    return json_pack("{s:o, s:{s:o, s:o, s:o}, s:o, s:o}", "arch",
                     xml_text(context, NULL, "/capabilities/host/cpu/arch"), "cpu", "vendor",
                     xml_text(context, NULL, "/capabilities/host/cpu/vendor"), "model",
                     xml_text(context, NULL, "/capabilities/host/cpu/model"), "features",
                     xml_texts(context, "/capabilities/host/cpu/feature/@name"), "domain_types",
                     xml_texts(context, X86_GUEST "//domain/@type"), "emulator",
                     xml_text(context, NULL, X86_GUEST "/emulator"));
}

json_t *nl_doctor_capabilities(const char *xml)
{
    size_t length = xml ? strlen(xml) : 0;
    xmlXPathContextPtr context;
    json_t *told = NULL;
    xmlDocPtr document;

    if (length == 0 || length > XML_MAX)
        return NULL;
    document = xmlReadMemory(xml, (int)length, NULL, NULL,
                             XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    context = document ? xmlXPathNewContext(document) : NULL;
    if (context && xmlDocGetRootElement(document) &&
        !strcmp((const char *)xmlDocGetRootElement(document)->name, "capabilities"))
        told = read_capabilities(context);
    xmlXPathFreeContext(context);
    xmlFreeDoc(document);
    return told;
}

static json_t *last_error(void)
{
    json_t *text = json_string(virGetLastErrorMessage());

    return text ? text : json_string("unknown libvirt error");
}

/* major * 1000000 + minor * 1000 + micro, as libvirt has it; null when it cannot tell. */
static json_t *version_text(unsigned long version)
{
    if (version == 0)
        return json_null();
    return json_sprintf("%lu.%lu.%lu", version / 1000000, version / 1000 % 1000, version % 1000);
}

/* Can guests of domain type TYPE be given these CPU features? null with an error where libvirt does
   not say. qemu64 and kvm64 are models that every x86 host has all of. */
static json_t *offers(virConnectPtr conn, const char *type, const char *features)
{
    cleanup_free char *xml = NULL;
    int result;

    if (asprintf(&xml, "<cpu mode='custom' match='minimum'><model>%s</model>%s</cpu>",
                 strcmp(type, "kvm") ? "qemu64" : "kvm64", features) < 0)
        return json_null();
    result = virConnectCompareHypervisorCPU(conn, NULL, "x86_64", NULL, type, xml, 0);
    if (result < 0)
        return json_null();
    return json_boolean(result == VIR_CPU_COMPARE_SUPERSET || result == VIR_CPU_COMPARE_IDENTICAL);
}

/* What guests of domain type TYPE get. */
static json_t *domain_type(virConnectPtr conn, const char *type)
{
    cleanup_free char *xml = virConnectGetDomainCapabilities(conn, NULL, "x86_64", NULL, type, 0);
    virErrorPtr error = xml ? NULL : virGetLastError();

    /* "invalid argument" is how libvirt says that the host has no such accelerator; any other error
       is no answer. */
    if (error && error->code == VIR_ERR_INVALID_ARG)
        return json_pack("{s:b, s:o}", "supported", 0, "error", last_error());
    if (!xml)
        return json_pack("{s:n, s:o}", "supported", "error", last_error());
    return json_pack(
        "{s:b, s:n, s:o, s:o, s:o}", "supported", 1, "error", "svm",
        offers(conn, type, "<feature policy='require' name='svm'/>"), "npt",
        offers(conn, type,
               "<feature policy='require' name='svm'/><feature policy='require' name='npt'/>"),
        "vmx", offers(conn, type, "<feature policy='require' name='vmx'/>"));
}

/* Memory that is free, or would be after caches were dropped; null where the host does not say. */
static json_t *available_memory(virConnectPtr conn)
{
    static const char *const counted[] = {VIR_NODE_MEMORY_STATS_FREE, VIR_NODE_MEMORY_STATS_BUFFERS,
                                          VIR_NODE_MEMORY_STATS_CACHED};
    virNodeMemoryStats stats[16];
    unsigned long long available = 0;
    int n = 0;

    /* The first call only counts them: the second wants their exact number. */
    if (virNodeGetMemoryStats(conn, VIR_NODE_MEMORY_STATS_ALL_CELLS, NULL, &n, 0) < 0 ||
        n > (int)(sizeof(stats) / sizeof(stats[0])) ||
        virNodeGetMemoryStats(conn, VIR_NODE_MEMORY_STATS_ALL_CELLS, stats, &n, 0) < 0)
        return json_null();
    for (int i = 0; i < n; i++)
        for (size_t c = 0; c < sizeof(counted) / sizeof(counted[0]); c++)
            if (!strcmp(stats[i].field, counted[c]))
                available += stats[i].value;
    return available ? json_integer((json_int_t)available) : json_null();
}

static json_t *node_facts(virConnectPtr conn)
{
    virNodeInfo info;

    if (virNodeGetInfo(conn, &info) < 0)
        return json_pack("{s:o}", "error", last_error());
    return json_pack("{s:I, s:i, s:o}", "memory_kib", (json_int_t)info.memory, "cpus",
                     (int)info.cpus, "available_kib", available_memory(conn));
}

static void ask_in_thread(void *data)
{
    struct talk *talk = data;
    cleanup_turn struct nl_virt_turn *turn = nl_virt_turn_take(talk->conn);
    unsigned long library = 0, daemon = 0, hypervisor = 0;
    const char *driver = virConnectGetType(talk->conn);
    cleanup_free char *xml = virConnectGetCapabilities(talk->conn);
    json_t *capabilities = nl_doctor_capabilities(xml);

    if (!capabilities)
        capabilities = json_pack("{s:o}", "error", last_error());
    /* What fails leaves 0. */
    virGetVersion(&library, NULL, NULL);
    virConnectGetLibVersion(talk->conn, &daemon);
    virConnectGetVersion(talk->conn, &hypervisor);
    talk->told = json_pack("{s:s?, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o}}", "driver", driver,
                           "library", version_text(library), "daemon", version_text(daemon),
                           "hypervisor", version_text(hypervisor), "host", capabilities, "node",
                           node_facts(talk->conn), "domains", "kvm", domain_type(talk->conn, "kvm"),
                           "qemu", domain_type(talk->conn, "qemu"));
}

int nl_doctor_ask_libvirt(virConnectPtr conn, nl_deadline deadline, json_t **told,
                          struct nl_error **err)
{
    struct talk *talk = calloc(1, sizeof(*talk));

    if (!talk)
        return nl_fail(err, NL_EXIT_LAB, "out of memory");
    if (virConnectRef(conn) == 0)
        talk->conn = conn;
    if (nl_call_with_deadline(ask_in_thread, talk, free_talk, deadline, "asking libvirt", err) < 0)
        return -1;
    *told = nl_steal(&talk->told);
    free_talk(talk);
    return *told ? 0 : nl_fail(err, NL_EXIT_LAB, "out of memory");
}
