/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint_fuzz_say.h - how the peer of endpoint_fuzz.c says a frame: right as the script's steps
 * make it, changed as the script has it, or forged, so that nothing may come of it.
 */
#ifndef BEOWIRE_TESTS_ENDPOINT_FUZZ_SAY_H
#define BEOWIRE_TESTS_ENDPOINT_FUZZ_SAY_H

#include "endpoint_fuzz.h"

struct says {
    enum frame_type type;
    const void *body;
    const uint8_t *payload; /* or NULL: the content of ... */
    uint32_t payload_bytes;
    uint32_t message; /* whose content the payload is, */
    uint64_t offset;  /* from here on */
    uint32_t key;
    uint32_t behind; /* acknowledge so many less than could be */
    uint16_t credit;
    uint16_t flags;
    uint32_t padded_bytes; /* zeros follow, until the frame is so long */
    struct effect effect;  /* but for its sequence */
};

/** Writes the headers of what is said. DATA says nothing of sequences: its body is all of them. */
static void write_head(struct fuzz *fuzz, const struct says *says, uint32_t sequence,
                       uint32_t acknowledgement)
{
    size_t at = says->type == FRAME_DATA ? 0 : sizeof(struct frame_header);

    if (says->type != FRAME_DATA) {
        frame_encode(fuzz->frame,
                     &(struct frame_fields){.type = says->type,
                                            .destination = CLUSTER_ENDPOINT,
                                            .source = CLUSTER_ENDPOINT,
                                            .key = says->key,
                                            .sequence = sequence,
                                            .payload_bytes = (uint16_t)says->payload_bytes});
        frame_stamp(fuzz->frame, says->flags, acknowledgement,
                    (uint16_t)(acknowledgement + says->credit));
    }
    if (says->body != NULL) {
        memcpy(fuzz->frame + at, says->body, frame_head_bytes(says->type) - at);
    }
}

/** What a frame does if it is accepted. */
static void note_effect(struct fuzz *fuzz, uint32_t sequence, const struct effect *effect)
{
    const struct flow *flow = &peer_of(fuzz)->message.flow;

    if (cut_waits(&fuzz->cut, sequence)) {
        fuzz->mangled = true; /* one of two: who knows which */
    }
    /* Credit may be given while those before it are taken. */
    if (sequence - flow->expected < FLOW_WINDOW_FRAMES && !window_set_has(&flow->kept, sequence)) {
        struct effect *noted = &fuzz->effects[sequence % FLOW_WINDOW_FRAMES];
        *noted = *effect;
        noted->sequence = sequence;
        noted->said = true;
    }
}

/** The frame goes over the lane that cuts, as it is. */
static void send_over_cut(struct fuzz *fuzz)
{
    cut_add(&fuzz->cut,
            &(struct lane_incoming){.data = fuzz->frame,
                                    .bytes = fuzz->frame_bytes,
                                    .from = source_of(fuzz, &fuzz->peer_at_cut)},
            fuzz->frame_bytes, fuzz->forgery == FORGED_NOT);
    fuzz_release(&fuzz->lane);
}

/* ---- what nobody may believe --------------------------------------------------------------- */

/** What a frame of the peer can change. */
struct believed {
    enum connection_state state;
    uint32_t expected;
    uint32_t granted;
    uint32_t first;
    uint32_t limit;
    uint64_t dropped; /* since nobody can have sent them who may, or not any more */
};

static struct believed believed_now(struct fuzz *fuzz)
{
    const struct core_peer *peer = peer_of(fuzz);
    const struct flow *flow = &peer->message.flow;
    struct believed now = {
        .state = peer->connection.state,
        .expected = flow->expected,
        .granted = flow->granted,
        .first = flow->first,
        .limit = flow->limit,
        .dropped = fuzz->core->counters.dropped_key + fuzz->core->counters.dropped_source +
                   fuzz->core->counters.dropped_proof + fuzz->core->counters.dropped_seal +
                   fuzz->core->counters.dropped_damaged,
    };

    for (size_t verdict = 0; verdict < FRAME_VERDICTS; verdict++) {
        now.dropped += fuzz->core->counters.dropped[verdict];
    }
    return now;
}

static void check_unbelieved(struct fuzz *fuzz, const struct believed *before)
{
    const struct believed after = believed_now(fuzz);

    require(after.state == before->state && after.expected == before->expected &&
            after.granted == before->granted && after.first == before->first &&
            after.limit == before->limit && after.dropped == before->dropped + 1);
}

/** Gives the frame another key. That of RESET is the one that it echoes. */
static void forge_key(struct fuzz *fuzz, const struct says *says)
{
    struct frame_header *header = (struct frame_header *)(void *)fuzz->frame;
    struct frame_reset *reset = (struct frame_reset *)(void *)(header + 1);
    le32 *key = says->type == FRAME_RESET ? &reset->echoed_key : &header->key;

    *key = to_le32(from_le32(*key) ^ (1 + take_16(fuzz)));
}

/** Seals the frame that is said, if those of the connection are. @return false: they are not, or
 *  not those of its type */
static bool seal_said(struct fuzz *fuzz, bool by_own)
{
    const struct core_peer *peer = sealed_peer(fuzz->core);
    struct seal seal;

    if (peer == NULL || frame_is_never_sealed(frame_type_of(fuzz->frame))) {
        return false;
    }
    begin_peer_seal(&seal, fuzz->core, peer, by_own);
    fuzz->frame = seal_whole(&fuzz->seals, &seal, fuzz->frame, &fuzz->frame_bytes);
    return true;
}

/** Seals the frame so that it is not right: for another connection, or before a bit of it changed.
 *  @param bytes of the frame without its seal and what follows it */
static void forge_seal(struct fuzz *fuzz, const struct says *says, uint32_t bytes)
{
    uint8_t how = take(fuzz);
    uint8_t bit = (uint8_t)(1u << (how & 7));

    if ((how & 8) != 0 && !frame_is_never_sealed(says->type) && sealed_peer(fuzz->core) != NULL) {
        return; /* it has none */
    }
    if (!seal_said(fuzz, (how & 16) != 0)) {
        forge_key(fuzz, says);
        return;
    }
    fuzz->frame[take_16(fuzz) % (bytes + (uint32_t)sizeof(struct frame_seal))] ^= bit;
}

/** Gives the frame that is said its checksum, if those of the connection have one: it is right
 *  whatever else is wrong with the frame. @param bytes of the frame without what follows it */
static void check_said(struct fuzz *fuzz, const struct says *says, uint32_t bytes)
{
    if (has_checksums(fuzz->core) && frame_type_of(fuzz->frame) == says->type &&
        says->type != FRAME_CONNECT && says->type != FRAME_ACCEPT) {
        fuzz->frame = check_whole(fuzz->frame, bytes, &fuzz->frame_bytes);
    }
}

/** What has come comes again: nothing may come of it. */
static void say_again(struct fuzz *fuzz, uint8_t *frame, uint32_t bytes)
{
    const struct core_peer *peer = sealed_peer(fuzz->core);

    if (peer == NULL || peer->connection.state != CONNECTION_OPEN) {
        free(frame);
        return;
    }
    settle(fuzz);
    const struct believed before = believed_now(fuzz);
    fuzz->frame = frame;
    fuzz->frame_bytes = bytes;
    settle(fuzz);
    check_unbelieved(fuzz, &before);
}

/** The peer knows what it has to know. */
static void write_proof(struct fuzz *fuzz, enum frame_type type)
{
    uint8_t nonce[FRAME_NONCE_BYTES];

    if (type == FRAME_CONNECT) {
        proof_write(fuzz->frame, address_layout(&fuzz->core->options.address)->secret, NULL);
    } else if (type == FRAME_ACCEPT) {
        proof_nonce(fuzz->core->proof_key, fuzz->own_key, nonce);
        proof_write(fuzz->frame, address_layout(&fuzz->peer_address)->secret, nonce);
    }
}

/* ---- frames -------------------------------------------------------------------------------- */

/** Says it, with the changes that the script wants. @return true: a sequenced frame was accepted,
 * or is kept. */
static bool say(struct fuzz *fuzz, const struct says *says)
{
    struct core_peer *peer = peer_of(fuzz);
    const struct flow *flow = &peer->message.flow;
    uint32_t expected = flow->expected;
    uint32_t head_bytes = (uint32_t)frame_head_bytes(says->type);
    uint8_t change = take(fuzz); /* 0: none, and the usual end of a script */
    uint32_t acknowledgement = fuzz->highest_sent - says->behind;
    uint32_t sequence = expected + fuzz->ahead;
    bool by_cut = fuzz->cuts && (change & 0x10) != 0;
    bool forged = fuzz->forgery != FORGED_NOT;
    bool sealed = false;
    uint8_t *again = NULL;
    uint32_t again_bytes = 0;
    const struct believed before = believed_now(fuzz);

    fuzz->frame_bytes = head_bytes + says->payload_bytes;
    if (fuzz->frame_bytes < says->padded_bytes) {
        fuzz->frame_bytes = says->padded_bytes;
    }
    fuzz->frame = calloc(1, fuzz->frame_bytes);
    require(fuzz->frame != NULL);
    if ((change & 1) != 0) {
        acknowledgement -= take(fuzz);
    }
    if ((change & 2) != 0) {
        sequence += take(fuzz) - 128u;
    }
    if ((change & 8) != 0) {
        sequence += take(fuzz) % 4;
    }
    if (says->type >= FRAME_SEQUENCED && !forged) {
        note_effect(fuzz, sequence, &says->effect);
    }
    write_head(fuzz, says, sequence, acknowledgement);
    write_proof(fuzz, says->type);
    for (uint32_t i = 0; i < says->payload_bytes; i++) {
        fuzz->frame[head_bytes + i] =
            says->payload != NULL ? says->payload[i] : content(says->message, says->offset + i);
    }
    if (fuzz->forgery == FORGED_SEAL) {
        forge_seal(fuzz, says, head_bytes + says->payload_bytes);
    } else {
        sealed = seal_said(fuzz, (change & 0x40) != 0);
    }
    if (fuzz->forgery == FORGED_KEY) {
        forge_key(fuzz, says);
    } else if ((change & 4) != 0 && !forged) {
        fuzz->mangled = fuzz->mangled || !sealed;
        fuzz->frame[take_16(fuzz) % fuzz->frame_bytes] ^= (uint8_t)(take(fuzz) | 1);
    }
    if (!by_cut && !sealed && (forged || (change & 0x84) != 0x84)) {
        check_said(fuzz, says, head_bytes + says->payload_bytes);
    }
    if (sealed && !forged && !by_cut && (change & 0x80) != 0) {
        again_bytes = fuzz->frame_bytes;
        again = copy_of(fuzz->frame, again_bytes);
    }
    if (by_cut) {
        send_over_cut(fuzz);
        if ((change & 0x20) != 0 && !forged) { /* others will come with it */
            fuzz->ahead += says->type >= FRAME_SEQUENCED;
            return true;
        }
    }
    settle(fuzz);
    if (forged) {
        check_unbelieved(fuzz, &before);
        return false;
    }
    if (again != NULL) {
        say_again(fuzz, again, again_bytes);
    }
    return peer->connection.state == CONNECTION_OPEN &&
           (flow->expected != expected || window_set_has(&flow->kept, sequence));
}

static struct says usual(struct fuzz *fuzz, enum frame_type type, const void *body)
{
    return (struct says){.type = type, .body = body, .key = fuzz->own_key, .credit = 64};
}

/** The peer says this segment of an announced message. */
static void note_segment(struct begun *begun, uint64_t segment)
{
    if (segment < sizeof begun->segments) {
        begun->segments[segment] = true;
    }
    begun->said++;
    begun->sent = 0;
    for (uint64_t i = 0; i < sizeof begun->segments && begun->segments[i]; i++) {
        begun->sent += begun->segment_bytes;
    }
}

#endif /* BEOWIRE_TESTS_ENDPOINT_FUZZ_SAY_H */
