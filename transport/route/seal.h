/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seal.h - frames that are authenticated one by one, where others can write on the wire as well.
 *
 * Each direction of a connection has a key: BLAKE2b (RFC 7693) of 16 bytes, keyed with the secret
 * of an endpoint (proof.h), over
 *
 *      "beowire seal 1" | nonce of the sender | nonce of the receiver
 *
 * The secret is the receiver's, which whoever has named it knows; else the sender's, which then is
 * known to the receiver, who has asked for the connection. A frame's counter, which its key never
 * sees twice, makes the key of its tag, and the tag is Poly1305 (RFC 8439) by that:
 *
 *      one-time key    SipHash-2-4-128 of (counter | 0) and of (counter | 1), 8 bytes each number
 *      over            header | operation header | payload, as they are on the wire
 *
 * What follows a frame that is padded does not belong to it. DATA ends where its datagram does, so
 * that its padding is part of it, and is its sender's to write.
 *
 * Whoever receives takes no counter twice, and none that is older than SEAL_WINDOW_FRAMES. What is
 * sent is not hidden, only proven. The hashes are libsodium's. Pure. One thread.
 */
#ifndef BEOWIRE_ROUTE_SEAL_H
#define BEOWIRE_ROUTE_SEAL_H

#include "frame/address_layout.h"
#include "frame/frame.h"

/** A frame is believed as long as no more than so many newer ones have come before it: ways differ
 *  in length, and what is on them. Later, it is lost. A power of two. */
#define SEAL_WINDOW_FRAMES 4096

#define SEAL_KEY_BYTES 16

/** The seals of one connection, both directions. */
struct seal {
    uint8_t send_key[SEAL_KEY_BYTES];
    uint8_t receive_keys[2][SEAL_KEY_BYTES]; /**< by enum frame_seal_secret */
    bool receives_by_sender; /**< the peer's secret is known, so that there are both */
    bool sends_by_sender;    /**< it is not, so ours is used */
    uint64_t sent;           /**< counter of the last frame that was sealed */
    uint64_t newest;         /**< highest that has come */
    uint64_t come[SEAL_WINDOW_FRAMES / 64]; /**< bit c % SEAL_WINDOW_FRAMES: counter c has come, for
                                                 those that are not too old */
};

/** One end of a connection. */
struct seal_end {
    const uint8_t *secret; /**< ADDRESS_SECRET_BYTES; all 0: not known */
    const uint8_t *nonce;  /**< FRAME_NONCE_BYTES, of its CONNECT or ACCEPT */
};

/** Begins with keys of this connection, and nothing sent. One's own secret is known. */
void seal_begin(struct seal *seal, const struct seal_end *own, const struct seal_end *peer);

/** Forgets the keys. */
void seal_end(struct seal *seal);

/** Seals a frame that goes out.
 *  @param header of the frame, its seal behind it (frame_copy_for_seal())
 *  @param operation what follows that: the operation header, of `operation_bytes`
 *  @param payload what follows that, as far as it belongs to the frame; NULL if payload_bytes is 0
 */
void seal_write(struct seal *seal, uint8_t *header, const uint8_t *operation,
                size_t operation_bytes, const uint8_t *payload, size_t payload_bytes);

/** Is the frame sealed by the peer, and new? If so, it is not any more. Takes as long whatever is
 *  wrong with the tag. */
bool seal_is_right(struct seal *seal, const struct frame *frame);

#endif /* BEOWIRE_ROUTE_SEAL_H */
