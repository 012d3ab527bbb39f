/* SPDX-License-Identifier: BSD-3-Clause */
/* The peers of an endpoint: named by the application, or met because they have asked; and when they
 * are freed. */
#include "peers/peers.h"
#include "core/core_internal.h"
#include "core/counters.h"
#include "route/address.h"
#include "route/proof.h"

#include <errno.h>
#include <stdlib.h>

/* ---- handles ------------------------------------------------------------------------------- */

/* A handle is the number of a slot, and a generation of that slot. So a freed slot can be reused,
 * and old handles of it are invalid. Slots are reused in the order in which they became free. */

#define NO_SLOT UINT32_MAX

/** Generations that fit beside the slot's number, without BEOWIRE_ANY_PEER. */
#define GENERATIONS (UINT32_MAX >> BEOWIRE_PEER_SLOT_BITS)

int core_open_peers(struct core *core)
{
    uint32_t count = 2 * core->options.peers; /* this many named ones, and as many met */

    core->peers = calloc(count, sizeof(struct core_peer *));
    core->slots = calloc(count, sizeof *core->slots);
    core->touched = calloc(count, sizeof *core->touched);
    core->first_free_slot = core->last_free_slot = NO_SLOT;
    core->forget_at_ns = UINT64_MAX;
    return core->peers == NULL || core->slots == NULL || core->touched == NULL ||
                   map_open(&core->by_key, count) != 0 ||
                   map_open(&core->by_peer_key, count) != 0 ||
                   map_open(&core->by_incarnation, count) != 0
               ? -ENOMEM
               : 0;
}

void core_close_peers(struct core *core)
{
    for (uint32_t i = 0; core->peers != NULL && i < core->peer_count; i++) {
        if (core->peers[i]->doubt != NULL) {
            core_dismiss_witness(core, &core->peers[i]->doubt->stillness);
        }
        free(core->peers[i]->doubt);
        core_end_seals(core->peers[i]);
        free(core->peers[i]);
    }
    free(core->peers);
    free(core->slots);
    free(core->touched);
    map_close(&core->by_key);
    map_close(&core->by_peer_key);
    map_close(&core->by_incarnation);
    core->peers = NULL;
    core->slots = NULL;
    core->touched = NULL;
    core->peer_count = 0;
}

/** @return a new handle of this peer, with its own slot. */
static uint32_t slot_take(struct core *core, struct core_peer *peer)
{
    uint32_t slot = core->first_free_slot;

    if (slot != NO_SLOT) {
        core->first_free_slot = core->slots[slot].next_free;
        core->last_free_slot = slot == core->last_free_slot ? NO_SLOT : core->last_free_slot;
    } else {
        slot = core->slots_used++;
    }
    core->slots[slot].peer = peer;
    return core->slots[slot].generation << BEOWIRE_PEER_SLOT_BITS | slot;
}

static void slot_give(struct core *core, uint32_t handle)
{
    uint32_t slot = BEOWIRE_PEER_SLOT(handle);

    core->slots[slot].peer = NULL;
    core->slots[slot].generation = (core->slots[slot].generation + 1) % GENERATIONS;
    core->slots[slot].next_free = NO_SLOT;
    if (core->last_free_slot != NO_SLOT) {
        core->slots[core->last_free_slot].next_free = slot;
    } else {
        core->first_free_slot = slot;
    }
    core->last_free_slot = slot;
}

/* ---- peers that have gone ------------------------------------------------------------------ */

void core_withdraw_memory(void *context, const struct message_peer *message)
{
    const struct core *core = context;
    const struct core_peer *peer = core->peers[message->index];
    const struct path_lanes *lanes = &core->options.lanes;

    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        if (lane->operations->withdraw != NULL && paths_reaches(&peer->route.paths, i)) {
            lane->operations->withdraw(lane, &peer->route.paths.to[i]);
        }
    }
}

void core_note_gone(struct core *core, struct core_peer *peer)
{
    if (peer->gone && !peer->announced) {
        core->forget_at_ns = 0;
        core_note_deadline(core, 0);
    }
}

void core_fail_peer(struct core *core, struct core_peer *peer, int error)
{
    if (peer->gone) {
        return; /* its resources were freed before */
    }
    core->lane_users[peer->route.paths.fast]--;
    peer->gone = true;
    peer->gone_ns = core->attended_ns;
    core_withdraw_memory(core, &peer->message);
    core_end_doubt(core, peer);
    (void)connection_fail(&peer->connection, error);
    core->counters.peers_failed++;
    core->undelivered = core->undelivered || !message_is_flushed(&peer->message);
    if (peer->credit_reserved && !peer->message.ready) {
        message_peer_never_ready(&core->messages, &peer->message, peer->first_credit);
    }
    message_peer_failed(&core->messages, &peer->message, peer->connection.error);
    core_note_gone(core, peer);
}

/** Can it be freed? It is not named, has failed, and all its messages and completions were
 *  taken. */
static bool is_forgettable(const struct core *core, const struct core_peer *peer)
{
    return !peer->announced && peer->gone && !peer->touched &&
           message_peer_is_unused(&core->messages, &peer->message);
}

static void forget(struct core *core, struct core_peer *peer)
{
    uint32_t index = peer->message.index;
    struct core_peer *last = core->peers[--core->peer_count];

    for (unsigned i = 0; i < counters_count(); i++) {
        if (counters_is_of_flows(i)) {
            core->retired[i] += counters_read_flow(&peer->message.flow, i);
        }
    }
    map_remove(&core->by_incarnation, peer->incarnation, index);
    map_remove(&core->by_key, peer->connection.own_key, index);
    map_remove(&core->by_peer_key, peer->connection.peer_key, index);
    slot_give(core, peer->message.handle);
    if (last != peer) {
        map_change(&core->by_incarnation, last->incarnation, last->message.index, index);
        map_change(&core->by_key, last->connection.own_key, last->message.index, index);
        map_change(&core->by_peer_key, last->connection.peer_key, last->message.index, index);
        for (uint32_t i = 0; last->touched && i < core->touched_count; i++) {
            core->touched[i] = core->touched[i] == last->message.index ? index : core->touched[i];
        }
        last->message.index = index;
        core->peers[index] = last;
    }
    core->counters.peers_forgotten++;
    free(peer->doubt);
    core_end_seals(peer);
    free(peer);
}

void core_forget_peers(struct core *core, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;

    if (now_ns < core->forget_at_ns) {
        core_note_deadline(core, core->forget_at_ns);
        return;
    }
    for (uint32_t i = core->peer_count; i-- > 0;) {
        struct core_peer *peer = core->peers[i];
        if (peer->announced || !peer->gone) {
            continue;
        }
        uint64_t forget_ns = peer->gone_ns + PEER_FORGET_NS;
        if (now_ns >= forget_ns && is_forgettable(core, peer)) {
            forget(core, peer);
        } else {
            /* Unreceived messages may stay forever, so the interval grows. If the room is needed,
             * make_room() frees the peer earlier. */
            forget_ns = now_ns >= forget_ns ? now_ns + (now_ns - peer->gone_ns) : forget_ns;
            next_ns = forget_ns < next_ns ? forget_ns : next_ns;
        }
    }
    core->forget_at_ns = next_ns;
    core_note_deadline(core, next_ns);
}

/** Frees one peer that has gone early, if there is any. */
static bool make_room(struct core *core)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        if (is_forgettable(core, core->peers[i])) {
            forget(core, core->peers[i]);
            return true;
        }
    }
    return false;
}

/** Is there room for one more? Met peers do not use the room of named ones. */
static bool has_room(struct core *core, bool announced)
{
    uint32_t met = core->peer_count - core->announced_peers;

    if (announced) {
        return core->announced_peers < core->options.peers &&
               (core->peer_count < 2 * core->options.peers || make_room(core));
    }
    return met < core->options.peers || make_room(core);
}

void core_drop_unwanted(struct core *core, struct core_peer *peer)
{
    if (peer->announced || message_has_work(&peer->message) || message_depends_on(&peer->message)) {
        return;
    }
    if (peer->connection.state == CONNECTION_NONE) {
        core_fail_peer(core, peer, -ECANCELED);
    } else if (peer->connection.state == CONNECTION_ASKING) {
        /* It may have received our CONNECT, and then has a connection and accepts no other from us.
         * So it is asked, for a limited time. */
        connection_ask(&peer->connection, core->attended_ns | 1);
        core_note_deadline(core, 0);
    }
}

int core_peer_forget(struct core *core, struct core_peer *peer)
{
    if (!peer->announced) {
        return -EINVAL;
    }
    peer->announced = false;
    core->announced_peers--;
    core_drop_unwanted(core, peer);
    core_note_gone(core, peer);
    core_note_deadline(core, 0); /* from now on it is probed at intervals */
    return 0;
}

/* ---- peers that come ----------------------------------------------------------------------- */

static uint32_t new_key(struct core *core)
{
    uint32_t key = 0;

    while (key == 0 || map_find(&core->by_key, key) != MAP_NONE) {
        key = (uint32_t)core->options.random(core->options.random_context);
    }
    return key;
}

/** Makes a peer with this address, which is valid and new. @param lane_index the lane over which it
 *  has asked; PATH_NONE: it is `announced` */
static int make_peer(struct core *core, const struct beowire_address *address, unsigned lane_index,
                     struct core_peer **peer)
{
    bool announced = lane_index == PATH_NONE;
    const struct address_layout *layout = address_layout(address);
    struct paths paths;

    if (!has_room(core, announced)) {
        return -ENOSPC;
    }
    /* A peer whose address is on our host, but that asks from elsewhere, shares no memory with
     * us. */
    paths_find(&paths, &core->options.lanes, layout,
               announced || core->options.lanes.lanes[lane_index]->shares_memory);
    if (paths.fast == PATH_NONE || (!announced && !paths_reaches(&paths, lane_index))) {
        return -EHOSTUNREACH;
    }
    /* A path of its data for each lane of this endpoint. */
    struct core_peer *added =
        calloc(1, sizeof *added + core->options.lanes.count * (size_t)MESSAGE_PATH_BYTES);
    if (added == NULL || !message_admits(&core->messages, core->peer_count + 1)) {
        free(added);
        return -ENOMEM;
    }
    uint32_t index = core->peer_count++;
    message_peer_init(&added->message, index, added + 1);
    added->message.handle = slot_take(core, added);
    core->announced_peers += announced;
    connection_init(&added->connection, new_key(core));
    added->message.destination = from_le16(layout->endpoint);
    added->message.source = core->endpoint;
    added->address = *address;
    added->announced = announced;
    added->incarnation = from_le64(layout->incarnation);
    added->message.ourselves = announced && added->incarnation == core->incarnation;
    added->route.paths = paths;
    added->message.crossing = paths.crossing;
    added->challenge_at_ns = UINT64_MAX;
    convoy_init(&added->route.convoy, (uint8_t)core->messages.limits.burst_frames);
    core->lane_users[paths.fast]++;
    core->peers[index] = added;
    map_add(&core->by_incarnation, added->incarnation, index);
    map_add(&core->by_key, added->connection.own_key, index);
    *peer = added;
    return 0;
}

/** The peer with the incarnation of this address, or NULL. */
static struct core_peer *known_peer(const struct core *core, const struct beowire_address *address)
{
    uint32_t index =
        map_find(&core->by_incarnation, from_le64(address_layout(address)->incarnation));

    return index != MAP_NONE ? core->peers[index] : NULL;
}

/** The application names a known peer. @return 0, or -EINVAL: another one. */
static int announce(struct core *core, struct core_peer *peer,
                    const struct beowire_address *address)
{
    struct address_layout *known = (struct address_layout *)(void *)peer->address.bytes;
    const uint8_t *secret = address_layout(address)->secret;

    if (!beowire_address_same(&peer->address, address)) {
        return -EINVAL;
    }
    if (proof_secret_is_known(secret)) {
        if (proof_secret_is_known(known->secret) && !proof_secrets_equal(known->secret, secret)) {
            return -EINVAL;
        }
        memcpy(known->secret, secret, sizeof known->secret);
        if (!peer->announced && core->announced_peers == core->options.peers) {
            return -ENOSPC;
        }
        core->announced_peers += !peer->announced;
        peer->announced = true;
    }
    return 0;
}

/** Does a peer that the application has not named use the incarnation of this address? */
static bool is_impostor(const struct core_peer *peer, const struct beowire_address *address)
{
    return !peer->announced && !beowire_address_same(&peer->address, address);
}

int core_peer_add(struct core *core, const struct beowire_address *address, struct core_peer **peer)
{
    if (!address_is_valid(address)) {
        return -EINVAL;
    }
    *peer = known_peer(core, address);
    if (*peer != NULL && is_impostor(*peer, address) &&
        proof_secret_is_known(address_layout(address)->secret)) {
        core_fail_peer(core, *peer, -ECONNRESET);
        map_remove(&core->by_incarnation, (*peer)->incarnation, (*peer)->message.index);
        *peer = NULL;
    }
    if (*peer != NULL) {
        return announce(core, *peer, address);
    }
    if (!proof_secret_is_known(address_layout(address)->secret)) {
        return -EACCES;
    }
    return make_peer(core, address, PATH_NONE, peer);
}

int core_peer_meet(struct core *core, const uint8_t place[FRAME_PLACE_BYTES], unsigned lane_index,
                   struct core_peer **peer)
{
    struct beowire_address address = {0};

    memcpy(address.bytes, place, FRAME_PLACE_BYTES);
    if (!address_is_valid(&address)) {
        return -EINVAL;
    }
    *peer = known_peer(core, &address);
    if (*peer != NULL) {
        return beowire_address_same(&(*peer)->address, &address) ? 0 : -EINVAL;
    }
    return make_peer(core, &address, lane_index, peer);
}

/* ---- peers that refuse -------------------------------------------------------------------- */
