/*
 * seed.c - see seed.h.
 */
#include "seed.h"

#include "cmdline.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* struct rand_pool_info, whose buffer is a flexible array. */
struct pool {
    int entropy_bits;
    int size;
    unsigned char bytes[AGENT_SEED_BYTES];
};

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool agent_seed_parse(const char *text, unsigned char *bytes)
{
    if (strlen(text) != 2 * AGENT_SEED_BYTES)
        return false;
    for (size_t i = 0; i < AGENT_SEED_BYTES; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

int agent_seed_credit(struct agent_error *error)
{
    cleanup_free char *text = agent_cmdline_own("nestlab.seed");
    struct pool pool = {.entropy_bits = 8 * AGENT_SEED_BYTES, .size = AGENT_SEED_BYTES};

    if (!text)
        return 0;
    if (!agent_seed_parse(text, pool.bytes))
        return agent_fail(error, NULL, "nestlab.seed is not %d hex digits", 2 * AGENT_SEED_BYTES);
    cleanup_close int fd = open("/dev/random", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool) < 0)
        return agent_fail(error, NULL, "nestlab.seed: %s", strerror(errno));
    return 0;
}
