/*
 * bzimage.h - for tests: files that look like a bzImage, as far as its header goes.
 */
#ifndef NL_TEST_BZIMAGE_H
#define NL_TEST_BZIMAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The boot sector, four of setup, and CODE bytes (a multiple of 16) of kernel, which are LAST. */
#define BZIMAGE_CODE 0x400
#define BZIMAGE_SIZE (5 * 512 + BZIMAGE_CODE)

/* A kernel of release RELEASE; the file ends after LENGTH bytes. */
static inline void put_bzimage_cut(const char *path, const char *release, char last, size_t length)
{
    unsigned char image[BZIMAGE_SIZE] = {0};
    FILE *file = fopen(path, "w");

    memset(image + BZIMAGE_SIZE - BZIMAGE_CODE, last, BZIMAGE_CODE);
    image[0x1f4] = (BZIMAGE_CODE / 16) & 0xff;
    for (size_t i = 0; i < 4; i++)
        image[0x202 + i] = (unsigned char)"HdrS"[i];
    image[0x20e] = 0x60;
    snprintf((char *)image + 0x260, 64, "%s", release);
    assert_non_null(file);
    assert_int_equal(fwrite(image, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static inline void put_bzimage(const char *path, const char *release, char last)
{
    put_bzimage_cut(path, release, last, BZIMAGE_SIZE);
}

#endif
