/*
 * base64.c - see base64.h.
 */
#include "base64.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *agent_base64_encode(const void *bytes, size_t length)
{
    const unsigned char *in = bytes;
    char *text = malloc((length + 2) / 3 * 4 + 1);
    char *out = text;

    if (!text)
        return NULL;
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t group = (uint32_t)in[i] << 16 | (uint32_t)(left > 1 ? in[i + 1] : 0) << 8 |
                         (left > 2 ? in[i + 2] : 0);
        *out++ = alphabet[group >> 18];
        *out++ = alphabet[group >> 12 & 63];
        *out++ = left > 1 ? alphabet[group >> 6 & 63] : '=';
        *out++ = left > 2 ? alphabet[group & 63] : '=';
    }
    *out = '\0';
    return text;
}

static int digit(char c)
{
    const char *at = c ? strchr(alphabet, c) : NULL;

    return at ? (int)(at - alphabet) : -1;
}

unsigned char *agent_base64_decode(const char *text, size_t text_length, size_t *length)
{
    size_t padding = 0, used = 0;

    if (text_length % 4 != 0)
        return NULL;
    while (padding < 2 && padding < text_length && text[text_length - 1 - padding] == '=')
        padding++;
    unsigned char *bytes = malloc(text_length / 4 * 3 + 1);
    if (!bytes)
        return NULL;
    for (size_t i = 0; i < text_length; i += 4) {
        uint32_t group = 0;
        for (size_t k = 0; k < 4; k++) {
            int value = i + k >= text_length - padding ? 0 : digit(text[i + k]);
            if (value < 0) {
                free(bytes);
                return NULL;
            }
            group = group << 6 | (uint32_t)value;
        }
        bytes[used++] = (unsigned char)(group >> 16);
        bytes[used++] = (unsigned char)(group >> 8);
        bytes[used++] = (unsigned char)group;
    }
    *length = used - padding;
    return bytes;
}
