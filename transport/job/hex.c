/* SPDX-License-Identifier: BSD-3-Clause */
#include "hex.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "0123456789abcdef";

void hex_write(const void *data, size_t bytes, char *text)
{
    const uint8_t *from = data;

    for (size_t i = 0; i < bytes; i++) {
        *text++ = digits[from[i] >> 4];
        *text++ = digits[from[i] & 15];
    }
    *text = '\0';
}

static int digit(char text)
{
    const char *found = text == '\0' ? NULL : strchr(digits, text);

    return found == NULL ? -1 : (int)(found - digits);
}

bool hex_read(const char *text, void *data, size_t bytes)
{
    uint8_t *to = data;

    if (strlen(text) != 2 * bytes) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        int high = digit(text[2 * i]);
        int low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        to[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
