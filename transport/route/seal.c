/* SPDX-License-Identifier: BSD-3-Clause */
#include "seal.h"

#include "route/proof.h"

#include <sodium.h>

static_assert(SEAL_KEY_BYTES == crypto_shorthash_siphashx24_KEYBYTES &&
                  crypto_onetimeauth_KEYBYTES == 2 * crypto_shorthash_siphashx24_BYTES &&
                  sizeof((struct frame_seal){0}.tag) == crypto_onetimeauth_BYTES,
              "two hashes make a key");

/** The bit of a counter that says from whose secret its key is derived. */
#define SECRET_BIT 63

/** A piece of the sealed bytes. */
struct piece {
    const uint8_t *data;
    size_t bytes;
};

#define PIECES 3

static void make_key(uint8_t key[SEAL_KEY_BYTES], const uint8_t *secret, const uint8_t *from,
                     const uint8_t *to)
{
    static const uint8_t what[] = {'b', 'e', 'o', 'w', 'i', 'r', 'e',
                                   ' ', 's', 'e', 'a', 'l', ' ', '1'};
    crypto_generichash_state state;

    (void)crypto_generichash_init(&state, secret, ADDRESS_SECRET_BYTES, SEAL_KEY_BYTES);
    (void)crypto_generichash_update(&state, what, sizeof what);
    (void)crypto_generichash_update(&state, from, FRAME_NONCE_BYTES);
    (void)crypto_generichash_update(&state, to, FRAME_NONCE_BYTES);
    (void)crypto_generichash_final(&state, key, SEAL_KEY_BYTES);
    sodium_memzero(&state, sizeof state);
}

void seal_begin(struct seal *seal, const struct seal_end *own, const struct seal_end *peer)
{
    bool known = proof_secret_is_known(peer->secret);

    *seal = (struct seal){.receives_by_sender = known, .sends_by_sender = !known};
    make_key(seal->send_key, known ? peer->secret : own->secret, own->nonce, peer->nonce);
    make_key(seal->receive_keys[FRAME_SEAL_RECEIVER], own->secret, peer->nonce, own->nonce);
    if (known) {
        make_key(seal->receive_keys[FRAME_SEAL_SENDER], peer->secret, peer->nonce, own->nonce);
    }
}

void seal_end(struct seal *seal)
{
    sodium_memzero(seal, sizeof *seal);
}

static void make_tag(uint8_t tag[crypto_onetimeauth_BYTES], const uint8_t key[SEAL_KEY_BYTES],
                     uint64_t counter, const struct piece pieces[PIECES])
{
    struct {
        le64 counter;
        le64 half;
    } of = {.counter = to_le64(counter)};
    uint8_t once[crypto_onetimeauth_KEYBYTES];
    crypto_onetimeauth_state state;

    for (unsigned half = 0; half < 2; half++) {
        of.half = to_le64(half);
        (void)crypto_shorthash_siphashx24(once + half * crypto_shorthash_siphashx24_BYTES,
                                          (const uint8_t *)&of, sizeof of, key);
    }
    (void)crypto_onetimeauth_init(&state, once);
    for (unsigned i = 0; i < PIECES; i++) {
        (void)crypto_onetimeauth_update(&state, pieces[i].data, pieces[i].bytes);
    }
    (void)crypto_onetimeauth_final(&state, tag);
}

void seal_write(struct seal *seal, uint8_t *header, const uint8_t *operation,
                size_t operation_bytes, const uint8_t *payload, size_t payload_bytes)
{
    size_t header_bytes = frame_header_bytes((enum frame_type)frame_type_of(header));
    struct frame_seal *written = (void *)(header + header_bytes);
    const struct piece pieces[PIECES] = {
        {header, header_bytes}, {operation, operation_bytes}, {payload, payload_bytes}};
    uint64_t counter = ++seal->sent | (uint64_t)seal->sends_by_sender << SECRET_BIT;

    written->counter = to_le64(counter);
    make_tag(written->tag, seal->send_key, counter, pieces);
}

/** The word and bit of a counter in the window. */
static uint64_t *come_at(struct seal *seal, uint64_t counter, uint64_t *bit)
{
    *bit = UINT64_C(1) << counter % 64;
    return &seal->come[counter / 64 % (SEAL_WINDOW_FRAMES / 64)];
}

/** Is the counter within the window, and not received yet? */
static bool is_new(struct seal *seal, uint64_t counter)
{
    uint64_t bit = 0;

    if (counter > seal->newest) {
        return true;
    }
    return counter != 0 && seal->newest - counter < SEAL_WINDOW_FRAMES &&
           (*come_at(seal, counter, &bit) & bit) == 0;
}

static void note(struct seal *seal, uint64_t counter)
{
    uint64_t bit = 0;

    if (counter > seal->newest) {
        uint64_t passed = counter - seal->newest;
        for (uint64_t i = passed < SEAL_WINDOW_FRAMES ? passed : SEAL_WINDOW_FRAMES; i > 0; i--) {
            uint64_t *word = come_at(seal, counter - i + 1, &bit);
            *word &= ~bit;
        }
        seal->newest = counter;
    }
    uint64_t *word = come_at(seal, counter, &bit);
    *word |= bit;
}

bool seal_is_right(struct seal *seal, const struct frame *frame)
{
    size_t header_bytes = frame_header_bytes(frame->type);
    const struct piece pieces[PIECES] = {
        {(const uint8_t *)frame->seal - header_bytes, header_bytes},
        {(const uint8_t *)frame->connect, frame_operation_bytes(frame->type)},
        {frame->payload, frame->payload_bytes}};
    uint64_t sealed = from_le64(frame->seal->counter);
    uint64_t counter = sealed & ~(UINT64_C(1) << SECRET_BIT);
    enum frame_seal_secret secret = (enum frame_seal_secret)(sealed >> SECRET_BIT);
    uint8_t tag[crypto_onetimeauth_BYTES];

    if ((secret == FRAME_SEAL_SENDER && !seal->receives_by_sender) || !is_new(seal, counter)) {
        return false;
    }
    make_tag(tag, seal->receive_keys[secret], sealed, pieces);
    if (sodium_memcmp(tag, frame->seal->tag, sizeof tag) != 0) {
        return false;
    }
    note(seal, counter);
    return true;
}
