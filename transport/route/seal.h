/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seal.h - authenticates each frame, on wires where others can send, too.
 *
 * Each direction of a connection has a key: BLAKE2b (RFC 7693) of 16 bytes, keyed with the secret
 * of an endpoint (proof.h), over
 *
 *      "beowire seal 1" | nonce of the sender | nonce of the receiver
 *
 * Each endpoint chooses its secret, and a peer learns it with the address. The sender of a frame
 * uses the receiver's secret if it knows it. Otherwise the receiver has opened the connection with
 * the sender's address, and the sender uses its own. Each frame has a counter, never reused with a
 * key. It determines a one-time key, with which Poly1305 (RFC 8439) computes the tag:
 *
 *      one-time key    SipHash-2-4-128 of (counter | 0) and of (counter | 1), 8 bytes each number
 *      over            header | operation header | payload, as they are on the wire
 *
 * Padding behind a frame is not covered. DATA ends where its datagram ends, so its padding is
 * covered, and the sender chooses it.
 *
 * The receiver accepts each counter once, and none older than SEAL_WINDOW_FRAMES. Seals
 * authenticate, and do not encrypt. The hashes are libsodium's. Pure. One thread.
 */
#ifndef BEOWIRE_ROUTE_SEAL_H
#define BEOWIRE_ROUTE_SEAL_H

#include "frame/address_layout.h"
#include "frame/frame.h"

/** A frame is accepted if at most this many newer ones have arrived before it, because the delays
 *  of ways differ. Otherwise it is lost. A power of two. */
#define SEAL_WINDOW_FRAMES 4096

#define SEAL_KEY_BYTES 16

/** The seals of one connection, both directions. */
struct seal {
    uint8_t send_key[SEAL_KEY_BYTES];
    uint8_t receive_keys[2][SEAL_KEY_BYTES]; /**< by enum frame_seal_secret */
    bool receives_by_sender; /**< the peer's secret is known, so there are both keys */
    bool sends_by_sender;    /**< the peer's secret is not known, so ours is used */
    uint64_t sent;           /**< counter of the last sealed frame */
    uint64_t newest;         /**< highest received counter */
    uint64_t come[SEAL_WINDOW_FRAMES / 64]; /**< bit c % SEAL_WINDOW_FRAMES: counter c was received,
                                               if it is in the window */
};

/** One end of a connection. */
struct seal_end {
    const uint8_t *secret; /**< ADDRESS_SECRET_BYTES; all 0: unknown */
    const uint8_t *nonce;  /**< FRAME_NONCE_BYTES, of its CONNECT or ACCEPT */
};

/** Computes the keys of a new connection. Our own secret must be known. */
void seal_begin(struct seal *seal, const struct seal_end *own, const struct seal_end *peer);

/** Erases the keys. */
void seal_end(struct seal *seal);

/** Seals an outgoing frame.
 *  @param header of the frame, with the seal behind it (frame_copy_for_seal())
 *  @param operation the operation header, of `operation_bytes`
 *  @param payload the payload, without padding; NULL if payload_bytes is 0 */
void seal_write(struct seal *seal, uint8_t *header, const uint8_t *operation,
                size_t operation_bytes, const uint8_t *payload, size_t payload_bytes);

/** Is the frame sealed by the peer, and new? Records it, so that it is not new again. In constant
 *  time for a wrong tag. */
bool seal_is_right(struct seal *seal, const struct frame *frame);

#endif /* BEOWIRE_ROUTE_SEAL_H */
