/* SPDX-License-Identifier: BSD-3-Clause */
/* fill.h - content of messages that no layer can compress or share. */
#ifndef BEOWIRE_ENGINE_FILL_H
#define BEOWIRE_ENGINE_FILL_H

#include <stdint.h>

/** Fills `bytes` bytes, a multiple of 8, with content that differs from byte to byte and from block
 *  to block, and so touches each page. The same for the same number of bytes. */
void fill_content(uint8_t *data, uint64_t bytes);

#endif
