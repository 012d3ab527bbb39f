/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_peers.h"

#include "lane/shm_segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the table ----------------------------------------------------------------------------- */

void shm_peers_name(struct shm_peer *peer, uint64_t incarnation)
{
    peer->incarnation = incarnation;
    memcpy(peer->address.bytes, &incarnation, sizeof incarnation);
    memcpy(peer->address.bytes + sizeof incarnation, &peer->index, sizeof peer->index);
}

struct shm_peer *shm_peers_at(const struct shm_lane *shm, const struct lane_address *address)
{
    uint32_t index = 0;

    memcpy(&index, address->bytes + sizeof(uint64_t), sizeof index);
    struct shm_peer *peer = index < shm->peers_end ? shm->peers[index] : NULL;
    return peer != NULL && memcmp(&peer->address, address, sizeof *address) == 0 ? peer : NULL;
}

struct shm_peer *shm_peers_find(const struct shm_lane *shm, uint64_t incarnation)
{
    for (uint32_t i = 0; i < shm->peers_end; i++) {
        if (shm->peers[i] != NULL && shm->peers[i]->incarnation == incarnation) {
            return shm->peers[i];
        }
    }
    return NULL;
}

int shm_peers_add(struct shm_lane *shm, uint64_t incarnation, struct shm_peer **added)
{
    uint32_t index = 0;

    while (index < shm->peers_end && shm->peers[index] != NULL) {
        index++;
    }
    if (index == shm->peers_max) {
        return -ENOSPC;
    }
    struct shm_peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL) {
        return -ENOMEM;
    }
    *peer = (struct shm_peer){
        .index = index,
        .outbound = -1,
        .inbound = -1,
    };
    shm_peers_name(peer, incarnation);
    shm->peers[index] = peer;
    shm->peers_end = index == shm->peers_end ? index + 1 : shm->peers_end;
    *added = peer;
    return 0;
}

static void drop(struct shm_lane *shm, struct shm_peer *peer)
{
    shm->peers[peer->index] = NULL;
    while (shm->peers_end > 0 && shm->peers[shm->peers_end - 1] == NULL) {
        shm->peers_end--;
    }
    free(peer);
}

/* ---- polled and quiet rings ---------------------------------------------------------------- */

void shm_peers_poll(struct shm_lane *shm, struct shm_peer *peer)
{
    if (peer->consumer.ring != NULL && !peer->polled) {
        shm_consumer_wake(&peer->consumer);
        peer->polled = true;
        peer->active_at = shm->polls;
        shm->polled[shm->polled_count++] = peer->index;
        shm->quiet_count--;
    }
}

void shm_peers_poll_new(struct shm_lane *shm, struct shm_peer *peer)
{
    peer->polled = true;
    peer->active_at = shm->polls;
    shm->polled[shm->polled_count++] = peer->index;
}

bool shm_peers_quieten(struct shm_lane *shm,
                       bool (*is_idle)(const struct shm_lane *shm, const struct shm_peer *peer))
{
    uint32_t kept = 0;
    bool all = true;

    for (uint32_t i = 0; i < shm->polled_count; i++) {
        struct shm_peer *peer = shm->peers[shm->polled[i]];
        bool quiet = is_idle(shm, peer);
        if (quiet) {
            shm_consumer_sleep(&peer->consumer);
            quiet = shm_consumer_is_empty(&peer->consumer);
            if (!quiet) {
                shm_consumer_wake(&peer->consumer);
                all = false;
            }
        }
        if (quiet) {
            peer->polled = false;
            shm->quiet_count++;
        } else {
            shm->polled[kept++] = peer->index;
        }
    }
    shm->polled_count = kept;
    return all;
}

bool shm_peers_heed_bell(struct shm_lane *shm)
{
    bool any = false;

    for (uint32_t word = 0; word < SHM_BELL_WORDS; word++) {
        uint64_t bits = shm_bell_take(shm->bell, word);
        for (; bits != 0; bits &= bits - 1) {
            any = true;
            uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(bits);
            for (; index < shm->peers_end; index += SHM_BELLS) {
                if (shm->peers[index] != NULL) {
                    shm_peers_poll(shm, shm->peers[index]);
                }
            }
        }
    }
    return any;
}

/** Removes a ring from both lists. */
static void forget_ring(struct shm_lane *shm, struct shm_peer *peer)
{
    uint32_t kept = 0;

    if (!peer->polled) {
        shm->quiet_count--;
    }
    for (uint32_t i = 0; i < shm->polled_count; i++) {
        if (shm->polled[i] != peer->index) {
            shm->polled[kept++] = shm->polled[i];
        }
    }
    shm->polled_count = kept;
    peer->polled = false;
    shm_segment_unmap(peer->consumer.ring, sizeof *peer->consumer.ring);
    peer->consumer = (struct shm_consumer){0};
    peer->left = true;
}

/* ---- ends ---------------------------------------------------------------------------------- */

static void free_producer(const struct shm_lane *shm, struct shm_peer *peer)
{
    if (peer->producer != NULL) {
        if (!shm->forked) {
            shm_producer_withdraw(peer->producer); /* its knowledge of our memory is invalid now */
        }
        shm_segment_unmap(peer->producer->ring, sizeof *peer->producer->ring);
        free(peer->producer);
        peer->producer = NULL;
    }
    shm_segment_unmap(peer->bell, sizeof *peer->bell);
    peer->bell = NULL;
}

void shm_peers_end(struct shm_lane *shm, struct shm_peer *peer)
{
    if (peer->outbound >= 0) {
        close(peer->outbound);
        peer->outbound = -1;
    }
    free_producer(shm, peer);
    if (!peer->ended) {
        peer->ended = true;
        shm->ended_count++;
    }
}

void shm_peers_close_inbound(struct shm_lane *shm, struct shm_peer *peer)
{
    if (peer->inbound >= 0) {
        close(peer->inbound);
        peer->inbound = -1;
    }
    shm_peers_poll(shm, peer); /* until it is empty */
    shm->untidy = true;
}

bool shm_peers_take_ended(struct shm_lane *shm, struct lane_address *address)
{
    for (uint32_t i = 0; shm->ended_count > 0 && i < shm->peers_end; i++) {
        struct shm_peer *peer = shm->peers[i];
        if (peer != NULL && peer->ended && !peer->ended_is_told &&
            (peer->consumer.ring == NULL || shm_consumer_is_empty(&peer->consumer))) {
            peer->ended_is_told = true;
            shm->ended_count--;
            shm_peers_close_inbound(shm, peer);
            *address = peer->address;
            return true;
        }
    }
    return false;
}

void shm_peers_tidy(struct shm_lane *shm)
{
    shm->untidy = false;
    for (uint32_t i = shm->peers_end; i-- > 0;) {
        struct shm_peer *peer = shm->peers[i];
        if (peer == NULL || peer->inbound >= 0) {
            continue;
        }
        if (peer->consumer.ring != NULL) {
            if (!shm_consumer_is_empty(&peer->consumer)) {
                shm->untidy = true;
                continue;
            }
            forget_ring(shm, peer);
        }
        if (peer->outbound < 0 && (peer->ended ? peer->ended_is_told : !peer->wanted)) {
            drop(shm, peer);
        }
    }
}

void shm_peers_close(struct shm_lane *shm)
{
    for (uint32_t i = shm->peers_end; i-- > 0;) {
        struct shm_peer *peer = shm->peers[i];
        if (peer != NULL) {
            shm_peers_end(shm, peer);
            if (peer->inbound >= 0) {
                close(peer->inbound);
            }
            if (peer->consumer.ring != NULL) {
                forget_ring(shm, peer);
            }
            drop(shm, peer);
        }
    }
}
