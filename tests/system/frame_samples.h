/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame_samples.h - frames that frame_samples writes, and those of them that network cards cut.
 */
#ifndef BEOWIRE_TESTS_FRAME_SAMPLES_H
#define BEOWIRE_TESTS_FRAME_SAMPLES_H

#include "frame/frame.h"

#include <stdint.h>

#define ETHERNET_BYTES 14
#define KEY 0x11223344
#define SEQUENCE 1000

struct sample {
    uint8_t bytes[512];
    uint32_t length;
};

/** Writes a packet of the capture, from its Ethernet header on. */
void write_packet(const uint8_t *packet, uint32_t bytes);

/** Writes the frame as an Ethernet frame. */
void write_ethernet(const struct sample *sample);

/** Writes up to three frames in one datagram, one after the other. */
void write_udp(const struct sample *samples, unsigned count);

struct frame_header *header_of(struct sample *sample);

/** What follows the header. */
void *body_of(struct sample *sample);

/** Begins a frame: header and payload; what is between is 0. */
void begin(struct sample *sample, enum frame_type type, const char *payload);

/** Makes the frame of a type. */
void make(struct sample *sample, enum frame_type type);

/* frame_samples_sealed.c: frames with seals. */

/** One of each type that may have one, first as Ethernet frames, then as UDP datagrams; then a
 * train in one datagram. Returns the program's exit status. */
int write_sealed(void);

/** RESET with a seal, which it may not have. */
void bad_sealed_reset(struct sample *sample);

/** ACK that ends in the middle of its seal. */
void bad_short_seal(struct sample *sample);

/* frame_samples_checked.c: frames with checksums. */

/** One of each type that may have one, as Ethernet frames, and then all of them again with a bit
 * flipped. Returns the program's exit status. */
int write_checked(void);

/* frame_samples_cut.c: what network cards cut. Each returns the program's exit status. */

/** DATA, with what TCP would make something of: a message that begins where the one before was,
 *  segments that come again and too early, ports of others. */
int write_tso_good(void);

/** Frames that only follow one another, a message, and that again but from its second frame on. */
int write_tso_frames(void);

/** Such as a receiver drops. */
int write_tso_bad(void);

/** frame_samples_document.c: prints docs/protocol-examples.txt, blocks of lines with an empty
 *  line behind each. Returns the program's exit status. */
int write_document(void);

#endif /* BEOWIRE_TESTS_FRAME_SAMPLES_H */
