/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checksum.h - frames whose bytes are compared, over lanes on which nothing above Ethernet's frame
 * check sequence does that (lane.h: needs_checksum).
 *
 * A frame check sequence is made anew by each switch, and by the network card: what their memory
 * damages has a right one. The checksum is CRC-32C (crc32c.h) over
 *
 *      header without the field | operation header | payload        flags say FRAME_CHECKED
 *      header of DATA | payload                                     the checksum is between them
 *
 * What follows a frame that is padded does not belong to it. DATA ends where its datagram does, so
 * its padding belongs to it, and is its sender's to write.
 *
 * Pure. Thread-safe.
 */
#ifndef BEOWIRE_FRAME_CHECKSUM_H
#define BEOWIRE_FRAME_CHECKSUM_H

#include "frame.h"

/** Writes the checksum of a frame that goes out, and says that it is there. Of DATA its header has
 *  to say so already (frame_data_has_checksum()), and has room behind it.
 *  @param head of the frame, and perhaps data behind it: `head_bytes` @param payload what follows;
 *  of a frame without payload it does not belong to it; NULL if payload_bytes is 0 */
void checksum_write(uint8_t *head, uint32_t head_bytes, const uint8_t *payload,
                    uint32_t payload_bytes);

/** Says that there is none: one that was sent over another lane before may have had it. */
void checksum_clear(uint8_t *head);

/** Is the checksum of this frame right?
 *  @param data what was given to frame_decode() @param frame has a checksum; its payload may lie
 *  elsewhere (lane.h) */
bool checksum_is_right(const uint8_t *data, const struct frame *frame);

#endif /* BEOWIRE_FRAME_CHECKSUM_H */
