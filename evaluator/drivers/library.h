/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * library.h - compares the libraries of both ends, for drivers that need the same at both. The
 * address of an end is "HASH@TITLE": the hash of the library's version text, and its first words.
 */
#ifndef BEOWIRE_DRIVERS_LIBRARY_H
#define BEOWIRE_DRIVERS_LIBRARY_H

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "text.h"

/** Bytes of the title. */
#define LIBRARY_TITLE_BYTES 100

/* FNV-1a of the whole text. */
static inline uint64_t library_hash(const char *text)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);

    for (; *text != '\0'; text++) {
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001B3);
    }
    return hash;
}

/** driver.address() for a library with this version text. */
static inline int library_address(const char *version, char *text, size_t text_bytes)
{
    int used = snprintf(text, text_bytes, "%016" PRIx64 "@%.*s", library_hash(version),
                        LIBRARY_TITLE_BYTES, version);

    if (used < 0 || (size_t)used >= text_bytes) {
        return -ENOSPC;
    }
    for (char *at = text; *at != '\0'; at++) {
        if (*at == '\n' || *at == ',') {
            *at = '\0';
            break;
        }
        if (!isgraph((unsigned char)*at)) {
            *at = '_';
        }
    }
    return 0;
}

/** Compares this end's library with that of the other end. 0; -EINVAL: malformed address; -ELIBBAD:
 *  another library; with `error` set. */
static inline int library_compare(const char *version, const char *peer_address, char *error,
                                  size_t error_bytes)
{
    char own[DRIVER_ADDRESS_BYTES];
    const char *theirs = peer_address;
    uint64_t number;

    if (library_address(version, own, sizeof own) != 0 ||
        !text_number(&theirs, 16, '@', UINT64_MAX, &number)) {
        (void)snprintf(error, error_bytes, "'%.64s' is not the address of another end",
                       peer_address);
        return -EINVAL;
    }
    if (strcmp(own, peer_address) == 0) {
        return 0;
    }
    (void)snprintf(error, error_bytes,
                   "the other node has %.80s, this one %.80s: install the same on both", theirs,
                   strchr(own, '@') + 1);
    return -ELIBBAD;
}

#endif
