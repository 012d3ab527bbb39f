/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint_fuzz_seal.h - the peer's end of a connection of endpoint_fuzz.c whose frames are sealed
 * (route/seal.h): it seals what it says, and looks at the seals of what it hears. All that it knows
 * is what both ends have told each other; the keys follow from that.
 */
#ifndef BEOWIRE_TESTS_ENDPOINT_FUZZ_SEAL_H
#define BEOWIRE_TESTS_ENDPOINT_FUZZ_SEAL_H

#include "core/core.h"
#include "frame/checksum.h"
#include "fuzz.h"
#include "route/address.h"
#include "route/proof.h"

#include <stdlib.h>
#include <string.h>

struct peer_seals {
    uint64_t said;                     /* frames with a seal, of all connections */
    uint64_t heard;                    /* counter of the last that came, ... */
    uint8_t heard_key[SEAL_KEY_BYTES]; /* ... by this key */
};

/** The peer whose frames are sealed now; NULL: none is. */
static const struct core_peer *sealed_peer(const struct core *core)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        if (core->peers[i]->route.seal != NULL) {
            return core->peers[i];
        }
    }
    return NULL;
}

/** Do frames of the connection have checksums? */
static bool has_checksums(const struct core *core)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        if (core->peers[i]->route.checked) {
            return true;
        }
    }
    return false;
}

/** How much of a frame the rest may be. */
static uint32_t room_beside_seal(const struct core *core, uint32_t frame_bytes)
{
    return frame_bytes - (sealed_peer(core) != NULL ? (uint32_t)sizeof(struct frame_seal) : 0) -
           (has_checksums(core) ? (uint32_t)sizeof(le32) : 0);
}

/** Gives a frame its checksum. @param bytes of the frame without what follows it, and changed if it
 *  becomes longer @return that, in exactly as much memory, instead of `frame`, which is freed */
static uint8_t *check_whole(uint8_t *frame, uint32_t bytes, uint32_t *whole_bytes)
{
    if (frame_type_of(frame) != FRAME_DATA) {
        checksum_write(frame, bytes, NULL, 0);
        return frame;
    }
    uint32_t head_bytes = (uint32_t)sizeof(struct frame_data);
    uint32_t checked_bytes = *whole_bytes + (uint32_t)sizeof(le32);
    checked_bytes = checked_bytes < FRAME_PADDED_BYTES ? FRAME_PADDED_BYTES : checked_bytes;
    uint8_t *checked = calloc(1, checked_bytes);
    require(checked != NULL);
    memcpy(checked, frame, head_bytes);
    memcpy(checked + head_bytes + sizeof(le32), frame + head_bytes, *whole_bytes - head_bytes);
    free(frame);
    frame_data_has_checksum((struct frame_data *)(void *)checked);
    checksum_write(checked, checked_bytes, NULL, 0);
    *whole_bytes = checked_bytes;
    return checked;
}

/** Whatever the endpoint says has a checksum if it should, and a right one.
 *  @param data what was decoded */
static void check_heard_checksum(const struct core *core, const uint8_t *data,
                                 const struct frame *frame, bool cut)
{
    require(frame->checksum == NULL || (!cut && checksum_is_right(data, frame)));
    if (!cut && !frame_is_never_sealed(frame->type)) {
        require((frame->checksum != NULL) == has_checksums(core));
    }
}

/** The seals of the peer's end.
 *  @param by_own with its own secret, as one that does not know the endpoint's */
static void begin_peer_seal(struct seal *seal, const struct core *core,
                            const struct core_peer *peer, bool by_own)
{
    static const uint8_t unknown[ADDRESS_SECRET_BYTES];
    const uint8_t *secret = address_layout(&core->options.address)->secret;
    uint8_t nonce[FRAME_NONCE_BYTES];

    proof_nonce(core->proof_key, peer->connection.own_key, nonce);
    seal_begin(seal,
               &(struct seal_end){.secret = address_layout(&peer->address)->secret,
                                  .nonce = peer->connection.peer_nonce},
               &(struct seal_end){.secret = by_own ? unknown : secret, .nonce = nonce});
}

/** Seals a frame. @return that, in exactly as much memory, instead of `frame`, which is freed */
static uint8_t *seal_whole(struct peer_seals *seals, struct seal *seal, uint8_t *frame,
                           uint32_t *bytes)
{
    enum frame_type type = (enum frame_type)frame_type_of(frame);
    size_t header_bytes = frame_header_bytes(type);
    size_t operation_bytes = frame_operation_bytes(type);
    size_t rest = *bytes - header_bytes;
    uint8_t *sealed = malloc(*bytes + sizeof(struct frame_seal));

    require(sealed != NULL);
    uint8_t *operation = (uint8_t *)(frame_copy_for_seal(sealed, frame) + 1);
    memcpy(operation, frame + header_bytes, rest);
    seal->sent = seals->said++;
    seal_write(seal, sealed, operation, operation_bytes, operation + operation_bytes,
               type == FRAME_DATA ? rest : frame_payload_bytes(frame));
    *bytes += (uint32_t)sizeof(struct frame_seal);
    free(frame);
    return sealed;
}

/** Whatever the endpoint says has a seal if it should, which counts each of its frames. */
static void check_heard_seal(struct peer_seals *seals, const struct core *core,
                             const struct frame *frame)
{
    const struct core_peer *peer = sealed_peer(core);
    struct seal seal;

    if (frame_is_never_sealed(frame->type) || peer == NULL) {
        require(frame->seal == NULL);
        return;
    }
    begin_peer_seal(&seal, core, peer, false);
    require(frame->seal != NULL && seal_is_right(&seal, frame));
    const uint8_t *key = seal.receive_keys[FRAME_SEAL_RECEIVER];
    if (memcmp(seals->heard_key, key, sizeof seals->heard_key) != 0) {
        memcpy(seals->heard_key, key, sizeof seals->heard_key);
        seals->heard = 0;
    }
    require(from_le64(frame->seal->counter) == ++seals->heard);
}

#endif /* BEOWIRE_TESTS_ENDPOINT_FUZZ_SEAL_H */
