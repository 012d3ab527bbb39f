/* SPDX-License-Identifier: BSD-3-Clause */
#include "flood.h"

#include "oracle.h"

#include <errno.h>

/** Messages posted at once. */
#define FLOOD_BURST 64

void flood_open(struct flood *flood, struct workload *workload, uint32_t from, uint32_t to)
{
    *flood = (struct flood){
        .workload = workload,
        .from = from,
        .to = to,
        .active = true,
        .from_generation = workload->cluster->nodes[from].generation,
        .to_generation = workload->cluster->nodes[to].generation,
    };
    for (unsigned i = 0; i < FLOOD_SLOTS; i++) {
        flood->slots[i].context = WORKLOAD_FLOOD;
        flood->slots[i].flood = flood;
    }
}

/** Mostly short, so that they are bundled; each fits into a frame. */
static uint32_t bytes_of(const struct flood *flood, uint32_t serial)
{
    uint32_t bytes = serial % 7 == 0 ? serial % FLOOD_BYTES_MAX : serial % 61;
    uint32_t room = flood->workload->cluster->frame_bytes - FRAME_PADDED_BYTES;

    return bytes < room ? bytes : room;
}

static uint8_t content(uint32_t serial, uint32_t offset)
{
    return (uint8_t)(serial * 31 + offset * 7);
}

static bool both_there(const struct flood *flood)
{
    const struct cluster *cluster = flood->workload->cluster;

    return cluster_is_up(cluster, flood->from) && cluster_is_up(cluster, flood->to) &&
           cluster->nodes[flood->from].generation == flood->from_generation &&
           cluster->nodes[flood->to].generation == flood->to_generation;
}

static bool is_excused(const struct flood *flood)
{
    size_t nodes = flood->workload->cluster->node_count;

    return flood->workload->excuses[flood->from * nodes + flood->to] != 0 || !both_there(flood);
}

static void pour(struct flood *flood)
{
    struct cluster *cluster = flood->workload->cluster;
    struct core_peer *to = cluster_peer(cluster, flood->from, flood->to);
    uint8_t data[FLOOD_BYTES_MAX];

    for (unsigned i = 0; i < FLOOD_BURST && cluster_runs(cluster, flood->from); i++) {
        uint32_t bytes = bytes_of(flood, flood->sent);
        for (uint32_t at = 0; at < bytes; at++) {
            data[at] = content(flood->sent, at);
        }
        int status =
            cluster_inject(cluster, flood->from, to, WORKLOAD_FLOOD_TAG, flood->sent, data, bytes);
        if (status != 0) {
            flood->active = status == -EAGAIN;
            return;
        }
        flood->sent++;
    }
}

static void take(struct flood *flood)
{
    struct cluster *cluster = flood->workload->cluster;
    struct core_peer *from = cluster_peer(cluster, flood->to, flood->from);

    for (unsigned i = 0; i < FLOOD_SLOTS && flood->posted < flood->sent; i++) {
        struct flood_slot *slot = &flood->slots[flood->posted % FLOOD_SLOTS];
        if (slot->posted) {
            return;
        }
        slot->serial = flood->posted;
        if (cluster_receive(cluster, flood->to, from, WORKLOAD_FLOOD_TAG, 0, slot->buffer,
                            sizeof slot->buffer, slot) != 0) {
            return;
        }
        slot->posted = true;
        flood->posted++;
    }
}

void flood_step(struct flood *flood)
{
    const struct cluster *cluster = flood->workload->cluster;

    if (!both_there(flood)) {
        flood->active = false;
        return;
    }
    if (flood->active && cluster_runs(cluster, flood->from)) {
        pour(flood);
    }
    if (flood->draining && cluster_runs(cluster, flood->to)) {
        take(flood);
    }
}

void flood_drain(struct flood *flood)
{
    flood->active = false;
    flood->draining = true;
}

bool flood_is_over(const struct flood *flood)
{
    return !flood->active &&
           (!flood->draining || flood->received == flood->sent || is_excused(flood));
}

void flood_ended(void *context, const struct beowire_completion *done)
{
    struct flood_slot *slot = context;
    struct flood *flood = slot->flood;
    struct workload_verdict *verdict = &flood->workload->verdict;

    slot->posted = false;
    if (done->status != 0) {
        if (!is_excused(flood)) {
            oracle_blame(flood->workload, &verdict->wrong, "a receive of a flood ended with %d",
                         done->status);
        }
        return;
    }
    flood->received++;
    if (done->immediate != slot->serial && !is_excused(flood)) {
        oracle_blame(flood->workload, &verdict->disordered,
                     "message %u of the flood of node %u came in place of %u", done->immediate,
                     flood->from, slot->serial);
        return;
    }
    for (uint32_t at = 0; at < bytes_of(flood, done->immediate) && !is_excused(flood); at++) {
        if (slot->buffer[at] != content(done->immediate, at)) {
            oracle_blame(flood->workload, &verdict->corrupted,
                         "byte %u of message %u of a flood is wrong", at, done->immediate);
            return;
        }
    }
}

void flood_close(struct flood *flood)
{
    if (flood->draining && flood->received != flood->sent && !is_excused(flood)) {
        oracle_blame(flood->workload, &flood->workload->verdict.lost,
                     "of a flood of %u messages %u arrived", flood->sent, flood->received);
    }
}
