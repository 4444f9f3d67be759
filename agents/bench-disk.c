/*
 * bench-disk.c - single 4 KiB transfers past the page cache: the way of a request through every
 * layer's block device.
 */
#include "benchmark.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define BLOCK 4096UL
#define BLOCKS 2048UL /* 8 MiB */
#define FILL (256UL * BLOCK)

struct file {
    int fd;
    uint64_t seed;
    char *buffer;
};

/* Newer kernels accept O_DIRECT on tmpfs, where it means nothing. */
static bool is_memory(const char *directory)
{
    struct statfs info;

    if (statfs(directory, &info))
        return false;
    return info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC;
}

static int fill_file(struct bench *bench, const struct file *file)
{
    for (unsigned long at = 0; at < BLOCKS * BLOCK; at += FILL)
        if (pwrite(file->fd, file->buffer, FILL, (off_t)at) != (ssize_t)FILL)
            return agent_bench_fail(bench, "fill the scratch file");
    return fsync(file->fd) ? agent_bench_fail(bench, "fsync") : 0;
}

static int prepare_file(struct bench *bench)
{
    static struct file file = {.seed = 3};
    char path[512];

    bench->state = &file;
    if (is_memory(bench->scratch))
        return agent_bench_skip(bench, "%.150s is in memory, not on a disk", bench->scratch);
    snprintf(path, sizeof path, "%s/nestlab-bench-XXXXXX", bench->scratch);
    file.fd = mkostemp(path, O_CLOEXEC | O_DIRECT);
    if (file.fd < 0)
        return agent_bench_skip(bench, "no file with O_DIRECT in %.150s: %s", bench->scratch,
                                strerror(errno));
    unlink(path);
    file.buffer = agent_bench_map(bench, FILL);
    if (!file.buffer)
        return -1;
    memset(file.buffer, 0x5a, FILL);
    return fill_file(bench, &file);
}

static off_t somewhere(struct file *file)
{
    return (off_t)(agent_bench_random(&file->seed) % BLOCKS * BLOCK);
}

static int read_block(struct bench *bench, unsigned long n)
{
    struct file *file = bench->state;

    for (unsigned long i = 0; i < n; i++)
        if (pread(file->fd, file->buffer, BLOCK, somewhere(file)) != (ssize_t)BLOCK)
            return agent_bench_fail(bench, "read of 4 KiB");
    return 0;
}

static int write_block(struct bench *bench, unsigned long n)
{
    struct file *file = bench->state;

    for (unsigned long i = 0; i < n; i++)
        if (pwrite(file->fd, file->buffer, BLOCK, somewhere(file)) != (ssize_t)BLOCK ||
            fdatasync(file->fd))
            return agent_bench_fail(bench, "write of 4 KiB");
    return 0;
}

const struct benchmark agent_bench_disk[] = {
    {
        .name = "disk-read",
        .unit = "us",
        .about = "read 4 KiB at a random place past the page cache: a request to the layer below, "
                 "whose disk is one of the layer below that",
        .version = 1,
        .needs_scratch = true,
        .prepare = prepare_file,
        .operation = read_block,
    },
    {
        .name = "disk-write",
        .unit = "us",
        .about = "write 4 KiB at a random place and flush the disk's cache: as disk-read, with the "
                 "flush going down through all layers",
        .version = 1,
        .needs_scratch = true,
        .prepare = prepare_file,
        .operation = write_block,
    },
    {.name = NULL},
};
