/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hex.h - converts bytes to text that every launcher can carry.
 */
#ifndef BEOWIRE_JOB_HEX_H
#define BEOWIRE_JOB_HEX_H

#include <stdbool.h>
#include <stddef.h>

/** Writes 2 * bytes lower-case digits and a zero byte. */
void hex_write(const void *data, size_t bytes, char *text);

/** Parses the text of hex_write(). @return false: it is not exactly this many bytes. */
bool hex_read(const char *text, void *data, size_t bytes);

#endif /* BEOWIRE_JOB_HEX_H */
