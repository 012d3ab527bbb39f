/* SPDX-License-Identifier: BSD-3-Clause */
/* fill.h - contents of messages that no layer can compress or share. */
#ifndef BEOWIRE_ENGINE_FILL_H
#define BEOWIRE_ENGINE_FILL_H

#include <stdint.h>

/** Fills `bytes` bytes, a multiple of 8, with contents that differ from byte to byte and from block
 *  to block. Every page is written. The contents depend on `bytes` only. */
void fill_content(uint8_t *data, uint64_t bytes);

#endif
