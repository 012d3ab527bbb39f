/* SPDX-License-Identifier: BSD-3-Clause */
/* Credit: the number of frames that a peer may send. A chunk is reserved for each. */
#include "message/internal.h"
#include "message/spare.h"

/** Reserves up to `wanted` chunks for a peer, its own first. @return their number. */
static uint32_t reserve_chunks(struct message_layer *layer, struct message_peer *peer,
                               uint32_t wanted)
{
    uint32_t own = peer->chunks < MESSAGE_PEER_CHUNKS ? MESSAGE_PEER_CHUNKS - peer->chunks : 0;
    uint32_t shared = wanted > own ? wanted - own : 0;

    if (shared > layer->chunks_shared) {
        shared = layer->chunks_shared;
        wanted = own + shared;
    }
    layer->chunks_shared -= shared;
    peer->chunks += wanted;
    return wanted;
}

void message_return_credit(struct message_layer *layer, struct message_peer *peer, uint32_t frames)
{
    uint32_t own = peer->chunks < MESSAGE_PEER_CHUNKS ? peer->chunks : MESSAGE_PEER_CHUNKS;
    uint32_t shared = peer->chunks - own;

    layer->chunks_shared += frames < shared ? frames : shared;
    peer->chunks -= frames;
}

/** Credit that each of so many peers may have. If many are on other hosts (`far`), all may send at
 *  once what they have credit for, and a port of a switch has room for so many frames of these. */
static uint32_t share_of(uint32_t peers, uint32_t far, uint32_t frame_bytes)
{
    uint32_t share = LANE_RING_FRAMES / peers;

    if (far > PULL_FREE_PEERS) {
        uint32_t room = PULL_CROWD_SHARED_BYTES / 2 / frame_bytes / far;
        room = room < PULL_UNASKED_FRAMES_MIN ? room : PULL_UNASKED_FRAMES_MIN - 1;
        share = share < room ? share : room;
    }
    return share > MESSAGE_PEER_CHUNKS ? share : MESSAGE_PEER_CHUNKS;
}

uint32_t message_initial_credit(struct message_layer *layer, struct message_peer *peer,
                                uint32_t frame_bytes)
{
    uint32_t peers = layer->ready_peers + ++layer->first_credits;
    uint32_t far = frame_bytes != 0 ? layer->far_peers + layer->first_credits : 0;
    uint32_t share = share_of(peers, far, frame_bytes);

    spare_stay_ahead(layer);
    return reserve_chunks(layer, peer,
                          share < FLOW_INITIAL_CREDIT_FRAMES ? share : FLOW_INITIAL_CREDIT_FRAMES);
}

void message_peer_never_ready(struct message_layer *layer, struct message_peer *peer,
                              uint32_t granted)
{
    layer->first_credits--;
    message_return_credit(layer, peer, granted);
}

/** Credit that a peer should have: as much as it can use, up to its share. */
static uint32_t window_of(const struct message_layer *layer, const struct message_peer *peer)
{
    uint32_t share =
        share_of(layer->ready_peers, peer->shares_memory ? 0 : layer->far_peers, peer->frame_bytes);

    return peer->window_frames < share ? peer->window_frames : share;
}

/** Frames for which the pile has room, beyond those present or granted. */
static uint32_t room_of(const struct message_peer *peer)
{
    return peer->pile_frames > peer->chunks ? peer->pile_frames - peer->chunks : 0;
}

/** @param least the smallest useful number, if the pile limits it */
static void renew_credit(struct message_layer *layer, struct message_peer *peer, uint32_t least)
{
    uint32_t wanted = peer->flow.expected + window_of(layer, peer);

    if (!sequence_before(peer->flow.granted, wanted)) {
        return;
    }
    uint32_t more = wanted - peer->flow.granted;
    uint32_t room = room_of(peer);
    if (more > room) {
        more = room >= least ? room : 0;
    }
    flow_grant(&peer->flow, peer->flow.granted + reserve_chunks(layer, peer, more));
}

void message_renew_credit(struct message_layer *layer, struct message_peer *peer)
{
    renew_credit(layer, peer, MESSAGE_PILE_STEP_FRAMES);
}

/** May the application be waiting for this peer: for a message from it, or for it to receive
 *  one? */
static bool is_waited_for(const struct message_layer *layer, const struct message_peer *peer)
{
    if (peer->posted > 0 || peer->flow.starved || layer->sought) {
        return true;
    }
    for (const struct list *link = layer->posted.next; link != &layer->posted; link = link->next) {
        if (LIST_ENTRY(link, const struct operation, link)->peer == NULL) {
            return true;
        }
    }
    return false;
}

void message_starving(struct message_layer *layer, struct message_peer *peer)
{
    if (peer->flow.granted != peer->flow.expected) {
        return;
    }
    bool stands = !peer->drained;
    /* If the pile does not shrink, granting a few frames is not worth it, because the peer would
     * have to ask for each. And an application that takes only new messages waits for a later
     * one. */
    if (stands && room_of(peer) < MESSAGE_PILE_STEP_FRAMES &&
        peer->pile_frames <= MESSAGE_CHUNKS + layer->chunks_added) {
        peer->pile_frames *= 4;
    }
    peer->drained = false;
    peer->has_starved = true;
    peer->starved_at = peer->flow.expected;
    spare_stay_ahead(layer);
    renew_credit(layer, peer, 1);
    if (stands && peer->flow.granted == peer->flow.expected && is_waited_for(layer, peer) &&
        spare_add_chunks(layer)) {
        renew_credit(layer, peer, 1);
    }
    layer->sought = false;
}

/** This many frames were accepted, and the chunks reserved for `unused` of them are free. */
static void accepted(struct message_layer *layer, struct message_peer *peer, uint32_t frames,
                     uint32_t unused)
{
    uint32_t more = FLOW_WINDOW_FRAMES - peer->window_frames;

    message_return_credit(layer, peer, unused);
    /* One more for each frame, so the window doubles with each window that is used. */
    peer->window_frames += frames < more ? frames : more;
    message_renew_credit(layer, peer);
}

void message_frame_accepted(struct message_layer *layer, struct message_peer *peer, bool reserved)
{
    accepted(layer, peer, 1, layer->frame_kept || !reserved ? 0 : 1);
}

void message_frames_continued(struct message_layer *layer, struct message_peer *peer,
                              uint32_t frames)
{
    accepted(layer, peer, frames, frames);
}
