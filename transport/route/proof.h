/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * proof.h - how CONNECT and ACCEPT show that their sender may talk to an endpoint.
 *
 * An endpoint's address has a *secret* of 128 random bits. It travels only with the address, by
 * whatever the application carries that with, and never in a frame. CONNECT and ACCEPT carry a
 * keyed hash instead: BLAKE2b (RFC 7693) of 16 bytes, the key being the secret of the endpoint that
 * was asked, over
 *
 *      the nonce of the CONNECT that it answers (ACCEPT only) | header | body, its proof all 0
 *
 * Whoever asks has to know the secret; what answers is either the endpoint or somebody else who
 * knows it, and answers this question, since the asking end's nonce is new for each connection.
 *
 * The hash is libsodium's. Pure. Thread-safe.
 */
#ifndef BEOWIRE_ROUTE_PROOF_H
#define BEOWIRE_ROUTE_PROOF_H

#include "frame/address_layout.h"
#include "frame/frame.h"

/** A secret that stands for "not known". */
bool proof_secret_is_known(const uint8_t secret[ADDRESS_SECRET_BYTES]);

/** Are these two secrets the same? Takes as long whatever they are. */
bool proof_secrets_equal(const uint8_t a[ADDRESS_SECRET_BYTES],
                         const uint8_t b[ADDRESS_SECRET_BYTES]);

/** Makes a secret of random numbers, and of what else tells the endpoint from others: machines that
 *  were resumed from one snapshot may get the same random numbers for a while.
 *  @param random becomes the secret */
void proof_mix_secret(uint8_t random[ADDRESS_SECRET_BYTES], const void *also, size_t bytes);

#define PROOF_WITNESS_KEY_BYTES 16

/** The key by which the kernel of the endpoint with this secret proves that it is there. */
void proof_witness_key(const uint8_t secret[ADDRESS_SECRET_BYTES],
                       uint8_t key[PROOF_WITNESS_KEY_BYTES]);

/** The incarnation of the endpoint with this secret: a keyed hash that anybody may see. 0 for one
 * in 2^64: then choose another secret. */
uint64_t proof_incarnation(const uint8_t secret[ADDRESS_SECRET_BYTES]);

/** Writes the proof into a CONNECT or ACCEPT that is otherwise complete.
 *
 * @param frame its header and body, as they go over the wire
 * @param secret of the endpoint that was asked
 * @param asked ACCEPT: the nonce of the CONNECT that it answers; CONNECT: NULL */
void proof_write(uint8_t *frame, const uint8_t secret[ADDRESS_SECRET_BYTES],
                 const uint8_t asked[FRAME_NONCE_BYTES]);

/** Is the proof of this CONNECT or ACCEPT right? Takes as long whatever is wrong. False if the
 *  secret is not known. */
bool proof_is_right(const struct frame *frame, const uint8_t secret[ADDRESS_SECRET_BYTES],
                    const uint8_t asked[FRAME_NONCE_BYTES]);

/** Length of the key of the next two, in bytes: random, one an endpoint, and told to nobody. What
 *  they give need not be remembered, and nobody can tell it from what he has seen. */
#define PROOF_OWN_KEY_BYTES 16

/** The nonce of this endpoint for the connection with this key of its own (SipHash-2-4-128). */
void proof_nonce(const uint8_t key[PROOF_OWN_KEY_BYTES], uint32_t own_key,
                 uint8_t nonce[FRAME_NONCE_BYTES]);

/** The number in the CHALLENGE that goes to a peer over one lane (SipHash-2-4). Never 0.
 *  @param own_key of the connection @param lane its index */
uint64_t proof_challenge(const uint8_t key[PROOF_OWN_KEY_BYTES], uint32_t own_key, unsigned lane);

/** The `count`th of the random numbers that follow from a key (SipHash-2-4), which nobody else can
 *  predict. */
uint64_t proof_number(const uint8_t key[PROOF_OWN_KEY_BYTES], uint64_t count);

#endif /* BEOWIRE_ROUTE_PROOF_H */
