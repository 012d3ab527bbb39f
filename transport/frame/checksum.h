/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checksum.h - checksums of frames, for lanes that have none but Ethernet's frame check sequence
 * (lane.h: needs_checksum).
 *
 * Each switch and network card computes the frame check sequence anew, so it does not detect damage
 * in their memory. The checksum is CRC-32C (crc32c.h) over
 *
 *      header without the field | operation header | payload        flags say FRAME_CHECKED
 *      header of DATA | payload                                     the checksum is between them
 *
 * Padding after a frame is not included. DATA ends where its datagram ends, so its padding, which
 * its sender writes, is included.
 *
 * Pure. Thread-safe.
 */
#ifndef BEOWIRE_FRAME_CHECKSUM_H
#define BEOWIRE_FRAME_CHECKSUM_H

#include "frame.h"

/** Writes the checksum of an outgoing frame and sets its flag. The header of DATA must have the
 * flag already (frame_data_has_checksum()), and room after it.
 *  @param head of the frame, perhaps with data: `head_bytes` @param payload what follows, which is
 *  padding in a frame without payload; NULL if payload_bytes is 0 */
void checksum_write(uint8_t *head, uint32_t head_bytes, const uint8_t *payload,
                    uint32_t payload_bytes);

/** Clears the flag, which a frame that is sent again over another lane may have. */
void checksum_clear(uint8_t *head);

/** Is the checksum of this frame right?
 *  @param data as for frame_decode() @param frame has a checksum; its payload may be in other
 * memory (lane.h) */
bool checksum_is_right(const uint8_t *data, const struct frame *frame);

#endif /* BEOWIRE_FRAME_CHECKSUM_H */
