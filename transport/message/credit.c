/* SPDX-License-Identifier: BSD-3-Clause */
/* Credit: how many frames a peer may send, for each of which a chunk is reserved. */
#include "message/internal.h"
#include "message/spare.h"

/** Reserves up to `wanted` chunks for a peer: its own first. @return how many. */
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

uint32_t message_initial_credit(struct message_layer *layer, struct message_peer *peer)
{
    spare_stay_ahead(layer);
    return reserve_chunks(layer, peer, FLOW_INITIAL_CREDIT_FRAMES);
}

/** How much credit a peer should have: what it can use, but no more than its share. */
static uint32_t window_of(const struct message_layer *layer, const struct message_peer *peer)
{
    uint32_t share = LANE_RING_FRAMES / layer->ready_peers;

    share = share > MESSAGE_PEER_CHUNKS ? share : MESSAGE_PEER_CHUNKS;
    return peer->window_frames < share ? peer->window_frames : share;
}

/** How many more frames the pile has room for, beyond those that are there or have credit. */
static uint32_t room_of(const struct message_peer *peer)
{
    return peer->pile_frames > peer->chunks ? peer->pile_frames - peer->chunks : 0;
}

/** @param least fewer than these are not worth it, if it is the pile that has no room for more */
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

/** Does the application wait for something that this peer may have to send: for a message, or for
 *  the peer to take one? */
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
    /* A pile that stays as it is may leave room for a few: each would have to be asked for. And
     * whoever takes only what has come since waits for what is new, not its time. */
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

/** So many frames were accepted, and the chunks that were reserved for `unused` of them are free.
 */
static void accepted(struct message_layer *layer, struct message_peer *peer, uint32_t frames,
                     uint32_t unused)
{
    uint32_t more = FLOW_WINDOW_FRAMES - peer->window_frames;

    message_return_credit(layer, peer, unused);
    /* One more for each frame: the window doubles with each window that is used. */
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
