/* SPDX-License-Identifier: BSD-3-Clause */
#include "proof.h"

#include <sodium.h>

/** Hashed bytes: both headers. */
#define HEAD_BYTES (sizeof(struct frame_header) + sizeof(struct frame_connect))
#define PROOF_OFFSET (sizeof(struct frame_header) + offsetof(struct frame_connect, proof))

static_assert(ADDRESS_SECRET_BYTES >= crypto_generichash_KEYBYTES_MIN &&
                  FRAME_PROOF_BYTES >= crypto_generichash_BYTES_MIN,
              "libsodium takes such keys and makes such hashes");

bool proof_secret_is_known(const uint8_t secret[ADDRESS_SECRET_BYTES])
{
    return sodium_is_zero(secret, ADDRESS_SECRET_BYTES) == 0;
}

bool proof_secrets_equal(const uint8_t a[ADDRESS_SECRET_BYTES],
                         const uint8_t b[ADDRESS_SECRET_BYTES])
{
    return sodium_memcmp(a, b, ADDRESS_SECRET_BYTES) == 0;
}

void proof_mix_secret(uint8_t random[ADDRESS_SECRET_BYTES], const void *also, size_t bytes)
{
    uint8_t mixed[ADDRESS_SECRET_BYTES];

    (void)crypto_generichash(mixed, sizeof mixed, also, bytes, random, ADDRESS_SECRET_BYTES);
    memcpy(random, mixed, sizeof mixed);
    sodium_memzero(mixed, sizeof mixed);
}

void proof_witness_key(const uint8_t secret[ADDRESS_SECRET_BYTES],
                       uint8_t key[PROOF_WITNESS_KEY_BYTES])
{
    static const uint8_t what[] = {'w', 'i', 't', 'n', 'e', 's', 's'};

    (void)crypto_generichash(key, PROOF_WITNESS_KEY_BYTES, what, sizeof what, secret,
                             ADDRESS_SECRET_BYTES);
}

uint64_t proof_incarnation(const uint8_t secret[ADDRESS_SECRET_BYTES])
{
    static const uint8_t what[] = {'i', 'n', 'c', 'a', 'r', 'n', 'a', 't', 'i', 'o', 'n'};
    uint8_t hash[FRAME_PROOF_BYTES];
    le64 incarnation;

    (void)crypto_generichash(hash, sizeof hash, what, sizeof what, secret, ADDRESS_SECRET_BYTES);
    memcpy(&incarnation, hash, sizeof incarnation);
    return from_le64(incarnation);
}

static void hash_frame(const uint8_t *frame, const uint8_t *secret, const uint8_t *asked,
                       uint8_t proof[FRAME_PROOF_BYTES])
{
    static const uint8_t nothing[FRAME_PROOF_BYTES] = {0};
    const size_t behind = PROOF_OFFSET + FRAME_PROOF_BYTES;
    crypto_generichash_state state;

    (void)crypto_generichash_init(&state, secret, ADDRESS_SECRET_BYTES, FRAME_PROOF_BYTES);
    if (asked != NULL) {
        (void)crypto_generichash_update(&state, asked, FRAME_NONCE_BYTES);
    }
    (void)crypto_generichash_update(&state, frame, PROOF_OFFSET);
    (void)crypto_generichash_update(&state, nothing, sizeof nothing);
    (void)crypto_generichash_update(&state, frame + behind, HEAD_BYTES - behind);
    (void)crypto_generichash_final(&state, proof, FRAME_PROOF_BYTES);
    sodium_memzero(&state, sizeof state);
}

void proof_write(uint8_t *frame, const uint8_t secret[ADDRESS_SECRET_BYTES],
                 const uint8_t asked[FRAME_NONCE_BYTES])
{
    uint8_t proof[FRAME_PROOF_BYTES];

    hash_frame(frame, secret, asked, proof);
    memcpy(frame + PROOF_OFFSET, proof, sizeof proof);
}

bool proof_is_right(const struct frame *frame, const uint8_t secret[ADDRESS_SECRET_BYTES],
                    const uint8_t asked[FRAME_NONCE_BYTES])
{
    uint8_t proof[FRAME_PROOF_BYTES];

    hash_frame(frame_begin(frame), secret, asked, proof);
    return proof_secret_is_known(secret) &&
           sodium_memcmp(proof, frame->connect->proof, sizeof proof) == 0;
}

/** Eight bytes that identify the connection and the purpose. */
struct context {
    le32 own_key;
    le32 lane;
};

void proof_nonce(const uint8_t key[PROOF_OWN_KEY_BYTES], uint32_t own_key,
                 uint8_t nonce[FRAME_NONCE_BYTES])
{
    static_assert(PROOF_OWN_KEY_BYTES == crypto_shorthash_siphashx24_KEYBYTES &&
                      FRAME_NONCE_BYTES == crypto_shorthash_siphashx24_BYTES,
                  "SipHash-2-4-128");
    const struct context of = {.own_key = to_le32(own_key), .lane = to_le32(UINT32_MAX)};

    (void)crypto_shorthash_siphashx24(nonce, (const uint8_t *)&of, sizeof of, key);
}

uint64_t proof_challenge(const uint8_t key[PROOF_OWN_KEY_BYTES], uint32_t own_key, unsigned lane)
{
    static_assert(PROOF_OWN_KEY_BYTES == crypto_shorthash_siphash24_KEYBYTES &&
                      sizeof(le64) == crypto_shorthash_siphash24_BYTES,
                  "SipHash-2-4");
    const struct context of = {.own_key = to_le32(own_key), .lane = to_le32(lane)};
    le64 hash;

    (void)crypto_shorthash_siphash24(hash.bytes, (const uint8_t *)&of, sizeof of, key);
    return from_le64(hash) != 0 ? from_le64(hash) : 1;
}

uint64_t proof_number(const uint8_t key[PROOF_OWN_KEY_BYTES], uint64_t count)
{
    const le64 of = to_le64(count);
    le64 hash;

    (void)crypto_shorthash_siphash24(hash.bytes, of.bytes, sizeof of.bytes, key);
    return from_le64(hash);
}
