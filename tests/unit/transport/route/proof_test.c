/* SPDX-License-Identifier: BSD-3-Clause */
#include "route/proof.h"
#include "unit/test.h"

#define HEAD_BYTES (sizeof(struct frame_header) + sizeof(struct frame_connect))
#define PROOF_OFFSET (sizeof(struct frame_header) + offsetof(struct frame_connect, proof))

static const uint8_t secret[ADDRESS_SECRET_BYTES] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                     8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t asked[FRAME_NONCE_BYTES] = "the nonce: 16 B";

/** A frame with any bytes, and what frame_decode() would make of it. */
struct sample {
    uint8_t bytes[HEAD_BYTES];
    struct frame frame;
};

static void make(struct sample *sample)
{
    for (size_t i = 0; i < HEAD_BYTES; i++) {
        sample->bytes[i] = (uint8_t)(i * 7 + 3);
    }
    sample->frame = (struct frame){
        .connect = (const struct frame_connect *)(sample->bytes + sizeof(struct frame_header))};
}

/* The expected bytes are those of another implementation (Python's hashlib.blake2b). */

TEST(proof_incarnation__as_documented)
{
    assert_true(proof_incarnation(secret) == UINT64_C(0x4A53854B14855DDF));
}

TEST(proof_write__as_documented)
{
    static const uint8_t connect[] = {0xE9, 0xA7, 0xFD, 0x82, 0x0B, 0xEB, 0xD0, 0x3C,
                                      0x0B, 0xE3, 0x37, 0xAA, 0x3F, 0x81, 0x4C, 0xA8};
    static const uint8_t accept[] = {0x3D, 0x24, 0xBB, 0x16, 0xE2, 0x64, 0x6E, 0x51,
                                     0xA5, 0x6F, 0xFF, 0xD7, 0x07, 0x8E, 0x8B, 0x6E};
    struct sample sample;

    make(&sample);
    proof_write(sample.bytes, secret, NULL);
    assert_memory_equal(sample.bytes + PROOF_OFFSET, connect, sizeof connect);
    proof_write(sample.bytes, secret, asked);
    assert_memory_equal(sample.bytes + PROOF_OFFSET, accept, sizeof accept);
}

TEST(proof_is_right__of_what_was_written)
{
    struct sample sample;

    make(&sample);
    proof_write(sample.bytes, secret, NULL);
    assert_true(proof_is_right(&sample.frame, secret, NULL));
    assert_false(proof_is_right(&sample.frame, secret, asked));
    proof_write(sample.bytes, secret, asked);
    assert_true(proof_is_right(&sample.frame, secret, asked));
    assert_false(proof_is_right(&sample.frame, secret, NULL));
}

TEST(proof_is_right__every_bit_counts)
{
    uint8_t other[ADDRESS_SECRET_BYTES];
    struct sample sample;

    make(&sample);
    proof_write(sample.bytes, secret, NULL);
    for (size_t bit = 0; bit < 8 * HEAD_BYTES; bit++) {
        sample.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(proof_is_right(&sample.frame, secret, NULL));
        sample.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * sizeof other; bit++) {
        memcpy(other, secret, sizeof other);
        other[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(proof_is_right(&sample.frame, other, NULL));
    }
}

TEST(proof_is_right__nobody_knows_no_secret)
{
    static const uint8_t unknown[ADDRESS_SECRET_BYTES] = {0};
    struct sample sample;

    assert_false(proof_secret_is_known(unknown));
    assert_true(proof_secret_is_known(secret));
    assert_true(proof_secrets_equal(secret, secret));
    assert_false(proof_secrets_equal(secret, unknown));
    make(&sample);
    proof_write(sample.bytes, unknown, NULL);
    assert_false(proof_is_right(&sample.frame, unknown, NULL));
}

TEST(proof_challenge__is_anothers_for_each_way)
{
    uint8_t nonce[FRAME_NONCE_BYTES];
    uint8_t other[FRAME_NONCE_BYTES];

    assert_true(proof_challenge(secret, 5, 0) == proof_challenge(secret, 5, 0));
    assert_true(proof_challenge(secret, 5, 0) != proof_challenge(secret, 5, 1));
    assert_true(proof_challenge(secret, 5, 0) != proof_challenge(secret, 6, 0));
    assert_true(proof_challenge(secret, 5, 0) != proof_challenge(asked, 5, 0));
    proof_nonce(secret, 5, nonce);
    proof_nonce(secret, 6, other);
    assert_memory_not_equal(nonce, other, sizeof nonce);
}

TEST(proof_mix_secret__same_random_numbers_do_not_make_the_same_secret)
{
    uint8_t a[ADDRESS_SECRET_BYTES] = {1};
    uint8_t b[ADDRESS_SECRET_BYTES] = {1};
    uint8_t c[ADDRESS_SECRET_BYTES] = {2};

    proof_mix_secret(a, "one", 3);
    proof_mix_secret(b, "two", 3);
    proof_mix_secret(c, "one", 3);
    assert_false(proof_secrets_equal(a, b));
    assert_false(proof_secrets_equal(a, c));
}

TEST(proof_number__each_key_has_its_own)
{
    const uint8_t a[PROOF_OWN_KEY_BYTES] = {1};
    const uint8_t b[PROOF_OWN_KEY_BYTES] = {2};

    assert_int_equal(proof_number(a, 7), proof_number(a, 7));
    assert_int_not_equal(proof_number(a, 7), proof_number(a, 8));
    assert_int_not_equal(proof_number(a, 7), proof_number(b, 7));
}
