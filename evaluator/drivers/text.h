/* SPDX-License-Identifier: BSD-3-Clause */
/* text.h - parses numbers in the address of the other end. */
#ifndef BEOWIRE_DRIVERS_TEXT_H
#define BEOWIRE_DRIVERS_TEXT_H

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/** Reads an unsigned number of at most `largest` that is followed by the character `end` (0: the
 *  end of the text), and moves `*text` behind that character. False if there is no such number. */
static inline bool text_number(const char **text, int base, char end, uint64_t largest,
                               uint64_t *value)
{
    char *after = NULL;
    if (!isxdigit((unsigned char)**text)) {
        return false; /* strtoull() would accept a sign or white space */
    }
    errno = 0;
    unsigned long long number = strtoull(*text, &after, base);
    if (errno != 0 || *after != end || number > largest) {
        return false;
    }
    *text = end == '\0' ? after : after + 1;
    *value = number;
    return true;
}

#endif
