/*
 * cmd-build.c - nestlab build: make images now instead of when a run asks for them.
 */
#include "cmd.h"
#include "deadline.h"
#include "image.h"

#include <argp.h>

struct arguments {
    const char *store;
    bool refresh;
    bool json;
    char **names;
};

enum { OPTION_REFRESH = 0x100 };

static const struct argp_option options[] = {
    NL_OPTION_STORE,
    {"refresh", OPTION_REFRESH, NULL, 0, "Ask apt again which versions of the packages there are",
     0},
    {"json", 'j', NULL, 0, "Print one JSON array that describes the images", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 's':
        arguments->store = value;
        return 0;
    case OPTION_REFRESH:
        arguments->refresh = true;
        return 0;
    case 'j':
        arguments->json = true;
        return 0;
    case ARGP_KEY_ARGS:
        arguments->names = state->argv + state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int build_one(struct nl_store *store, const char *name, const struct arguments *arguments,
                     json_t *list, struct nl_error **err)
{
    struct nl_image_request request = {.recipe = name};
    cleanup_image struct nl_image *image = NULL;
    bool built = false;

    if (nl_image_ensure(store, &request, arguments->refresh, &image, &built, err) < 0)
        return -1;
    if (arguments->json)
        return json_array_append_new(
            list, json_pack("{s:s, s:s, s:b, s:s?, s:s, s:s?, s:s, s:s?, s:s, s:O}", "recipe",
                            image->recipe, "digest", image->digest, "built", built, "disk",
                            image->disk, "kernel", image->kernel, "vmlinux", image->vmlinux,
                            "initrd", image->initrd, "scratch", image->scratch, "kernel_release",
                            image->kernel_release, "about", image->about));
    printf("%-12s %.12s  Linux %s  %s\n", image->recipe, image->digest, image->kernel_release,
           built ? "made" : "was there");
    return 0;
}

static int build(const struct arguments *arguments, struct nl_error **err)
{
    cleanup_store struct nl_store *store = NULL;
    NL_CLEANUP(nl_cleanup_strvp) char **all = NULL;
    cleanup_json json_t *list = json_array();
    char **names = arguments->names;

    if (nl_store_open(arguments->store, NULL, NULL, &store, err) < 0 ||
        nl_store_recipes(store, &all, err) < 0)
        return -1;
    for (char **name = names && *names ? names : all; *name; name++)
        if (build_one(store, *name, arguments, list, err) < 0)
            return -1;
    if (arguments->json && (json_dumpf(list, stdout, JSON_INDENT(2)) < 0 || putchar('\n') == EOF))
        return nl_fail(err, NL_EXIT_LAB, "cannot write the description of the images");
    return 0;
}

int nl_cmd_build(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[NAME...]",
        "Make the images NAME (all, if none is named) if they are not in the store already.",
        NULL,
        NULL,
        NULL};
    struct arguments arguments = {0};
    cleanup_error struct nl_error *err = NULL;

    /* Before anything else: an interrupt at any time leads to the same exit status. */
    if (nl_interrupt_catch(&err) < 0) {
        nl_error_print(err);
        return NL_EXIT_LAB;
    }
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (build(&arguments, &err) < 0) {
        nl_error_print(err);
        return (int)nl_error_status(err);
    }
    return NL_EXIT_PASSED;
}
