/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of a connection whose frames are sealed (route/seal.h). */
#include "frame_samples.h"

#include "route/seal.h"

#include <stdio.h>
#include <string.h>

#define FIRST_TYPE FRAME_CLOSE

static const uint8_t own_secret[ADDRESS_SECRET_BYTES] = "secret of 815";
static const uint8_t peer_secret[ADDRESS_SECRET_BYTES] = "secret of 4711";
static const uint8_t nobodys_secret[ADDRESS_SECRET_BYTES] = {0};
static const uint8_t own_nonce[] = "nonce of 815 ...";
static const uint8_t peer_nonce[] = "nonce of 4711 ..";

static void begin_seals(struct seal *seal, const uint8_t *secret_of_peer)
{
    seal_begin(seal, &(struct seal_end){.secret = own_secret, .nonce = own_nonce},
               &(struct seal_end){.secret = secret_of_peer, .nonce = peer_nonce});
}

/** Seals a frame, which becomes longer by that. */
static void add_seal(struct sample *sample, struct seal *seal)
{
    const struct sample bare = *sample;
    enum frame_type type = (enum frame_type)frame_type_of(bare.bytes);
    size_t header_bytes = frame_header_bytes(type);
    size_t operation_bytes = frame_operation_bytes(type);
    uint8_t *operation = (uint8_t *)(frame_copy_for_seal(sample->bytes, bare.bytes) + 1);
    uint8_t *payload = operation + operation_bytes;

    memcpy(operation, bare.bytes + header_bytes, bare.length - header_bytes);
    sample->length += (uint32_t)sizeof(struct frame_seal);
    seal_write(seal, sample->bytes, operation, operation_bytes, payload,
               bare.length - header_bytes - operation_bytes);
}

static bool is_let_in(const struct sample *sample)
{
    struct frame frame;

    return frame_decode(sample->bytes, sample->length, &frame) == FRAME_OK && frame.seal != NULL;
}

int write_sealed(void)
{
    struct seal seal;
    struct sample sample;
    struct sample train[3];

    begin_seals(&seal, peer_secret);
    for (unsigned lane = 0; lane < 2; lane++) {
        for (unsigned type = FIRST_TYPE; type < FRAME_TYPES; type++) {
            if (frame_type_name(type) == NULL) {
                continue;
            }
            make(&sample, (enum frame_type)type);
            add_seal(&sample, &seal);
            if (!is_let_in(&sample)) {
                (void)fprintf(stderr, "frame_samples: sealed %s is refused\n",
                              frame_type_name(type));
                return 1;
            }
            if (lane == 0) {
                write_ethernet(&sample);
            } else {
                write_udp(&sample, 1);
            }
        }
    }
    begin_seals(&seal, nobodys_secret);
    make(&train[0], FRAME_DATA);
    make(&train[1], FRAME_DATA);
    make(&train[2], FRAME_FRAGMENT);
    for (unsigned i = 0; i < 3; i++) {
        add_seal(&train[i], &seal);
    }
    write_udp(train, 3);
    return 0;
}

void bad_sealed_reset(struct sample *sample)
{
    struct seal seal;

    begin_seals(&seal, peer_secret);
    make(sample, FRAME_RESET);
    add_seal(sample, &seal);
}

void bad_short_seal(struct sample *sample)
{
    struct seal seal;

    begin_seals(&seal, peer_secret);
    make(sample, FRAME_ACK);
    add_seal(sample, &seal);
    sample->length -= 12;
}
