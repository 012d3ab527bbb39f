/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * proof.h - how CONNECT and ACCEPT prove that their sender may communicate with an endpoint.
 *
 * An endpoint's address has a *secret* of 128 random bits. The application passes on the address,
 * and the secret with it; no frame contains the secret. CONNECT and ACCEPT contain a keyed hash
 * instead: BLAKE2b (RFC 7693) of 16 bytes, with the secret of the endpoint that was asked as the
 * key, over
 *
 *      the nonce of the CONNECT that it answers (ACCEPT only) | header | body, its proof all 0
 *
 * So the sender of a CONNECT must know the secret. The sender of an ACCEPT must know it, too, and
 * must answer this CONNECT, because its nonce is new for each connection.
 *
 * The hash is libsodium's. Pure. Thread-safe.
 */
#ifndef BEOWIRE_ROUTE_PROOF_H
#define BEOWIRE_ROUTE_PROOF_H

#include "frame/address_layout.h"
#include "frame/frame.h"

/** Is the secret known (not all 0)? */
bool proof_secret_is_known(const uint8_t secret[ADDRESS_SECRET_BYTES]);

/** Are these two secrets the same? In constant time. */
bool proof_secrets_equal(const uint8_t a[ADDRESS_SECRET_BYTES],
                         const uint8_t b[ADDRESS_SECRET_BYTES]);

/** Makes a secret from random numbers and other bytes that identify the endpoint, because machines
 *  resumed from one snapshot may get the same random numbers for a while. @param random becomes the
 *  secret */
void proof_mix_secret(uint8_t random[ADDRESS_SECRET_BYTES], const void *also, size_t bytes);

#define PROOF_WITNESS_KEY_BYTES 16

/** The key with which the kernel of this secret's endpoint proves that it is there. */
void proof_witness_key(const uint8_t secret[ADDRESS_SECRET_BYTES],
                       uint8_t key[PROOF_WITNESS_KEY_BYTES]);

/** The incarnation of the endpoint with this secret: a keyed hash, which is public. 0 for one in
 *  2^64: then choose another secret. */
uint64_t proof_incarnation(const uint8_t secret[ADDRESS_SECRET_BYTES]);

/** Writes the proof into a CONNECT or ACCEPT that is otherwise complete.
 *
 *  @param frame its header and body, as on the wire
 *  @param secret of the endpoint that was asked
 *  @param asked ACCEPT: the nonce of the CONNECT that it answers; CONNECT: NULL */
void proof_write(uint8_t *frame, const uint8_t secret[ADDRESS_SECRET_BYTES],
                 const uint8_t asked[FRAME_NONCE_BYTES]);

/** Is the proof of this CONNECT or ACCEPT right? In constant time. False if the secret is not
 *  known. */
bool proof_is_right(const struct frame *frame, const uint8_t secret[ADDRESS_SECRET_BYTES],
                    const uint8_t asked[FRAME_NONCE_BYTES]);

/** Bytes of the key of the next two: random, one for each endpoint, never sent. Their results can
 *  be recomputed, so they need not be stored, and others cannot predict them. */
#define PROOF_OWN_KEY_BYTES 16

/** The nonce of this endpoint for the connection with this own key (SipHash-2-4-128). */
void proof_nonce(const uint8_t key[PROOF_OWN_KEY_BYTES], uint32_t own_key,
                 uint8_t nonce[FRAME_NONCE_BYTES]);

/** The number in the CHALLENGE to a peer over one lane (SipHash-2-4). Never 0. @param own_key of
 *  the connection @param lane its index */
uint64_t proof_challenge(const uint8_t key[PROOF_OWN_KEY_BYTES], uint32_t own_key, unsigned lane);

/** Number `count` of the random numbers derived from a key (SipHash-2-4). Others cannot predict
 *  it. */
uint64_t proof_number(const uint8_t key[PROOF_OWN_KEY_BYTES], uint64_t count);

#endif /* BEOWIRE_ROUTE_PROOF_H */
