/*
 * two-layers.h - for tests: a stack of two layers beside libvirt's test driver, nothing booted.
 * After cmocka.h.
 */
#ifndef NL_TEST_TWO_LAYERS_H
#define NL_TEST_TWO_LAYERS_H

#include "layer.h"

#include <libvirt/virterror.h>
#include <string.h>

struct two {
    struct nl_scenario scenario;
    struct nl_layer_spec specs[2];
    struct nl_layer layers[2];
    struct nl_stack stack;
    virConnectPtr conn;
    virDomainPtr domain; /* the test driver's, which runs; a test gives it to a layer */
};

static inline void ignore_error(void *data, virErrorPtr error)
{
    (void)data;
    (void)error;
}

static inline void two_layers_open(struct two *two)
{
    cleanup_json json_t *scenario = json_pack("{s:[{}, {}]}", "layers");
    char *argv[] = {(char *)"nestlab", NULL};

    memset(two, 0, sizeof(*two));
    virSetErrorFunc(NULL, ignore_error);
    two->specs[0].name = (char *)"L0";
    two->specs[1].name = (char *)"L1";
    two->stack.scenario = &two->scenario;
    two->stack.layers = two->layers;
    two->stack.n_layers = 2;
    two->stack.deadline = nl_deadline_in(60);
    assert_int_equal(nl_document_new(argv, scenario, "test", &two->stack.document, NULL), 0);
    two->conn = virConnectOpen("test:///default");
    assert_non_null(two->conn);
    two->domain = virDomainLookupByName(two->conn, "test");
    assert_non_null(two->domain);
    for (size_t i = 0; i < 2; i++)
        two->layers[i] =
            (struct nl_layer){.stack = &two->stack, .spec = &two->specs[i], .index = i};
}

static inline void two_layers_close(struct two *two)
{
    virDomainFree(two->domain);
    virConnectClose(two->conn);
    nl_document_free(&two->stack.document);
}

#endif
