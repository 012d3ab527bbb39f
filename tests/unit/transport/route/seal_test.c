/* SPDX-License-Identifier: BSD-3-Clause */
#include "route/seal.h"
#include "unit/test.h"

static const uint8_t own_secret[ADDRESS_SECRET_BYTES] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                         8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t peer_secret[ADDRESS_SECRET_BYTES] = {16, 17, 18, 19, 20, 21, 22, 23,
                                                          24, 25, 26, 27, 28, 29, 30, 31};
static const uint8_t unknown[ADDRESS_SECRET_BYTES] = {0};
static const uint8_t own_nonce[] = "nonce of its own";
static const uint8_t peer_nonce[] = "nonce of another";

#define EAGER_BYTES (sizeof(struct frame_header) + sizeof(struct frame_eager))
static const uint8_t payload[] = {'h', 'e', 'l', 'l', 'o'};

/** A sealed frame, and what frame_decode() would make of it. */
struct sample {
    uint8_t bytes[EAGER_BYTES + sizeof(struct frame_seal) + sizeof payload];
    struct frame frame;
};

/** The two ends of a connection. `from` and `to` know each other's secrets unless told otherwise.
 */
struct pair {
    struct seal from;
    struct seal to;
};

static void begin(struct pair *pair, const uint8_t *secret_of_to)
{
    const struct seal_end from = {.secret = own_secret, .nonce = own_nonce};
    const struct seal_end to = {.secret = peer_secret, .nonce = peer_nonce};

    seal_begin(&pair->from, &from, &(struct seal_end){.secret = secret_of_to, .nonce = peer_nonce});
    seal_begin(&pair->to, &to, &from);
}

/** Any frame of this type, EAGER or DATA, sealed. */
static void make(struct sample *sample, struct seal *seal, enum frame_type type)
{
    size_t header_bytes = frame_header_bytes(type);
    size_t operation_bytes = frame_operation_bytes(type);
    uint8_t header[sizeof(struct frame_header)];

    for (size_t i = 0; i < sizeof header; i++) {
        header[i] = (uint8_t)i;
    }
    header[0] = (uint8_t)(FRAME_VERSION << 4 | header_bytes / 4);
    header[1] = (uint8_t)type;
    struct frame_seal *written = frame_copy_for_seal(sample->bytes, header);
    uint8_t *operation = (uint8_t *)(written + 1);
    for (size_t i = 0; i < operation_bytes; i++) {
        operation[i] = (uint8_t)(100 + i);
    }
    memcpy(operation + operation_bytes, payload, sizeof payload);
    seal_write(seal, sample->bytes, operation, operation_bytes, operation + operation_bytes,
               sizeof payload);
    sample->frame = (struct frame){
        .type = type,
        .payload = operation + operation_bytes,
        .payload_bytes = sizeof payload,
        .seal = written,
        .eager = (const struct frame_eager *)(const void *)operation,
    };
}

/* The expected bytes are those of another implementation, in Python, of SipHash and Poly1305. */

TEST(seal_write__as_documented)
{
    static const uint8_t eager[] = {0xFE, 0x81, 0xB8, 0x01, 0xCC, 0x51, 0x05, 0x0D,
                                    0x48, 0xE1, 0x89, 0x89, 0x82, 0x18, 0x2D, 0xC7};
    static const uint8_t data[] = {0x76, 0xDF, 0x1C, 0x2B, 0xFC, 0x7A, 0x2C, 0xCC,
                                   0x99, 0x46, 0x6B, 0x68, 0x17, 0x70, 0x4B, 0x1E};
    static const uint8_t by_sender[] = {0xE9, 0x7F, 0x95, 0xDF, 0xE1, 0x2D, 0xA0, 0xFF,
                                        0x03, 0xEB, 0x45, 0x6C, 0x05, 0x52, 0x7F, 0xB1};
    struct pair pair;
    struct sample sample;

    begin(&pair, peer_secret);
    make(&sample, &pair.from, FRAME_EAGER);
    assert_true(from_le64(sample.frame.seal->counter) == 1);
    assert_memory_equal(sample.frame.seal->tag, eager, sizeof eager);
    make(&sample, &pair.from, FRAME_DATA);
    assert_true(from_le64(sample.frame.seal->counter) == 2);
    assert_memory_equal(sample.frame.seal->tag, data, sizeof data);
    begin(&pair, unknown);
    make(&sample, &pair.from, FRAME_EAGER);
    assert_true(from_le64(sample.frame.seal->counter) == (1 | UINT64_C(1) << 63));
    assert_memory_equal(sample.frame.seal->tag, by_sender, sizeof by_sender);
}

TEST(seal_is_right__of_what_the_other_end_wrote)
{
    const uint8_t *const secrets[] = {peer_secret, unknown};
    struct pair pair;
    struct sample sample;

    for (unsigned i = 0; i < 2; i++) {
        begin(&pair, secrets[i]);
        make(&sample, &pair.from, FRAME_EAGER);
        assert_true(seal_is_right(&pair.to, &sample.frame));
        make(&sample, &pair.to, FRAME_DATA);
        assert_true(seal_is_right(&pair.from, &sample.frame));
    }
}

/** What one end has said is not the other's. */
TEST(seal_is_right__not_of_what_it_wrote_itself)
{
    struct pair pair;
    struct sample sample;

    begin(&pair, peer_secret);
    make(&sample, &pair.from, FRAME_EAGER);
    assert_false(seal_is_right(&pair.from, &sample.frame));
}

TEST(seal_is_right__every_bit_counts)
{
    struct pair pair;
    struct sample sample;

    begin(&pair, peer_secret);
    make(&sample, &pair.from, FRAME_EAGER);
    for (size_t bit = 0; bit < 8 * sizeof sample.bytes; bit++) {
        sample.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (bit / 8 != offsetof(struct frame_header, type)) { /* which the sample does not follow */
            assert_false(seal_is_right(&pair.to, &sample.frame));
        }
        sample.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(seal_is_right(&pair.to, &sample.frame));
}

TEST(seal_is_right__once)
{
    struct pair pair;
    struct sample sample;

    begin(&pair, peer_secret);
    make(&sample, &pair.from, FRAME_EAGER);
    assert_true(seal_is_right(&pair.to, &sample.frame));
    assert_false(seal_is_right(&pair.to, &sample.frame));
}

/** The sender's secret is not known here, so nobody has a right to use it. */
TEST(seal_is_right__by_a_secret_that_is_not_known)
{
    struct pair pair;
    struct sample sample;

    begin(&pair, unknown); /* `from` does not know that of `to`, who seals by it */
    pair.to.sends_by_sender = true;
    make(&sample, &pair.to, FRAME_EAGER);
    assert_false(seal_is_right(&pair.from, &sample.frame));
}

/** As frames that go different ways: each is taken once, in any order, unless it is too old. */
TEST(seal_is_right__late_ones_within_the_window)
{
    enum { FRAMES = SEAL_WINDOW_FRAMES + 2 };
    static struct sample samples[FRAMES];
    struct pair pair;

    begin(&pair, peer_secret);
    for (unsigned i = 0; i < FRAMES; i++) {
        make(&samples[i], &pair.from, FRAME_EAGER);
    }
    assert_true(seal_is_right(&pair.to, &samples[1].frame));
    assert_true(seal_is_right(&pair.to, &samples[0].frame));
    assert_true(seal_is_right(&pair.to, &samples[FRAMES - 1].frame));
    assert_false(seal_is_right(&pair.to, &samples[1].frame)); /* too old by now */
    for (unsigned i = FRAMES - 2; i >= 2; i--) {
        assert_true(seal_is_right(&pair.to, &samples[i].frame));
    }
    for (unsigned i = 0; i < FRAMES; i++) {
        assert_false(seal_is_right(&pair.to, &samples[i].frame));
    }
}

/** Nothing is believed of a counter whose frame is not right. */
TEST(seal_is_right__a_forged_counter_moves_nothing)
{
    struct pair pair;
    struct sample sample;
    struct sample forged;

    begin(&pair, peer_secret);
    make(&forged, &pair.from, FRAME_EAGER);
    ((struct frame_seal *)(void *)(forged.bytes + sizeof(struct frame_header)))->counter =
        to_le64(UINT64_MAX >> 1);
    assert_false(seal_is_right(&pair.to, &forged.frame));
    make(&sample, &pair.from, FRAME_EAGER);
    assert_true(seal_is_right(&pair.to, &sample.frame));
    assert_true(pair.to.newest == 2);
}

/** A jump over more than the window has nothing left over from before. */
TEST(seal_is_right__after_a_long_jump)
{
    struct pair pair;
    struct sample sample;
    struct sample before;

    begin(&pair, peer_secret);
    for (unsigned i = 0; i < 3; i++) {
        make(&sample, &pair.from, FRAME_EAGER);
        assert_true(seal_is_right(&pair.to, &sample.frame));
    }
    pair.from.sent += UINT64_C(10) * SEAL_WINDOW_FRAMES - 1;
    make(&before, &pair.from, FRAME_EAGER); /* its place in the window is that of one above */
    make(&sample, &pair.from, FRAME_EAGER);
    assert_true(seal_is_right(&pair.to, &sample.frame));
    assert_true(seal_is_right(&pair.to, &before.frame));
}

TEST(seal_end__forgets)
{
    static const struct seal nothing = {.sent = 0};
    struct pair pair;

    begin(&pair, peer_secret);
    seal_end(&pair.from);
    assert_memory_equal(&pair.from, &nothing, sizeof nothing);
}
