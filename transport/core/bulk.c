/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of long messages: chooses its lanes, sends and receives its frames. */
#include "core/control.h"
#include "core/core_internal.h"
#include "pull/pull.h"

#include <errno.h>

/** Bytes sent before anything else gets a turn: the two halves of a short message, or one run of a
 * long one. On a slow link this takes a while, in which peers wait for requests. */
#define BYTES_AT_ONCE (PULL_BLOCK_BYTES * 3 / 4)

/** Blocks requested before anything else gets a turn. Sending a PULL takes as long as receiving a
 *  third of its block, and the first block may have arrived meanwhile. */
#define ASKS_AT_ONCE 4

/** How well the lane carries bulk here: its own rank, unless measurements have shown that on this
 * interface single frames are quicker than joined ones. Then lanes of single frames have the
 * highest rank, as the best lanes of other rails, because only lanes of equal rank are used
 * together. Lanes that join frames come after them. */
static enum lane_bulk bulk_of(const struct core *core, const struct lane *lane)
{
    if ((core->options.packet_bulk_rails & 1u << lane->rail) == 0) {
        return lane->bulk;
    }
    switch (lane->bulk) {
    case LANE_BULK_FRAMES:
        return LANE_BULK_CUT;
    case LANE_BULK_CUT:
        return LANE_BULK_TRAINS;
    case LANE_BULK_TRAINS:
        return LANE_BULK_FRAMES;
    default:
        return lane->bulk;
    }
}

void core_find_convoy(struct core *core, struct core_peer *peer)
{
    convoy_find(&peer->route.convoy, &peer->route.paths, &core->options.lanes);
    peer->route.gathers = convoy_gathers(&peer->route.convoy);
    peer->message.gathers = peer->route.gathers;
    peer->message.trains = convoy_has_trains(&peer->route.convoy);
}

void core_choose_bulk_lanes(struct core *core, struct core_peer *peer)
{
    const struct path_lanes *lanes = &core->options.lanes;
    uint32_t best = 0;
    uint32_t usable = 0;

    for (unsigned worse = 0; worse < LANE_BULK_KINDS; worse++) {
        enum lane_bulk bulk = LANE_BULK_KINDS - 1 - worse;
        for (unsigned i = 0; i < lanes->count; i++) {
            if (bulk_of(core, lanes->lanes[i]) == bulk &&
                paths_is_usable(&peer->route.paths, lanes, i)) {
                usable |= 1u << i;
            }
        }
        best = best == 0 ? usable : best;
    }
    core_find_convoy(core, peer);
    pull_set_lanes(&core->messages, &peer->message, best, usable);
    peer->message.cut = best != 0 && lanes->lanes[__builtin_ctz(best)]->cuts;
    message_peer_shares_memory(&core->messages, &peer->message,
                               paths_share_memory(&peer->route.paths, lanes));
    core_choose_one_sided(core, peer);
}

int core_read_memory(void *context, const struct message_peer *peer, uint64_t address, void *target,
                     uint64_t bytes)
{
    const struct core *core = context;
    const struct paths *paths = &core->peers[peer->index]->route.paths;
    struct lane *lane = core->options.lanes.lanes[paths->fast];

    if (lane->operations->read_memory == NULL) {
        return -EOPNOTSUPP;
    }
    return lane->operations->read_memory(lane, &paths->to[paths->fast], address, target, bytes);
}

void core_expect(struct core *core, unsigned lane_index)
{
    struct lane *lane = core->options.lanes.lanes[lane_index];
    struct lane_expectation expectation = {0};
    const struct message_peer *peer = NULL;

    if (lane->operations->expect == NULL) {
        return;
    }
    bool expects = core->messages.lanes[lane_index].blocks > 0 &&
                   pull_expect(&core->messages, (uint8_t)lane_index, &expectation, &peer);
    if (expects) {
        expectation.from = core->peers[peer->index]->route.paths.to[lane_index];
        expectation.key = core->peers[peer->index]->connection.own_key;
        expectation.head_bytes += route_seal_bytes(&core->peers[peer->index]->route) +
                                  route_checksum_bytes(&core->peers[peer->index]->route, lane);
    }
    if (expects || core->expecting[lane_index]) {
        lane->operations->expect(lane, &expectation);
    }
    core->expecting[lane_index] = expects;
}

/** Sends a run by one call, over a lane that cuts it. @return how many segments. */
static uint32_t send_run(struct core *core, const struct pull_batch *batch)
{
    struct {
        _Alignas(8) uint8_t room[LANE_HEADROOM];
        struct frame_data head;
    } first;
    struct core_peer *peer = core->peers[batch->peer->index];
    const struct lane_outgoing outgoing = {
        .head = (uint8_t *)&first.head,
        .head_bytes = sizeof first.head,
        .payload = batch->source,
        .payload_bytes = (uint32_t)batch->bytes,
        .segment_bytes = batch->segment_bytes,
    };

    first.head = frame_encode_data(peer->message.destination, peer->message.key, batch->message);
    frame_data_set_segment(&first.head, (uint32_t)(batch->offset / batch->segment_bytes));
    return core_send(core, peer, batch->lane, &outgoing, 1) *
           lane_segments(outgoing.payload_bytes, outgoing.segment_bytes);
}

/** The header of DATA, on the stack, with what may follow it. */
struct data_head {
    _Alignas(8) uint8_t room[LANE_HEADROOM];
    struct frame_data head;
    le32 checksum;
};

/** The same for a payload so short that Ethernet pads it. */
struct short_data {
    _Alignas(8) uint8_t room[LANE_HEADROOM];
    uint8_t frame[FRAME_PADDED_BYTES];
};

/** Pads a frame that Ethernet would pad, so that the receiver checks the same bytes. */
static void pad(struct lane_outgoing *outgoing, struct short_data *padded)
{
    if (outgoing->head_bytes + outgoing->payload_bytes >= FRAME_PADDED_BYTES) {
        return;
    }
    memset(padded->frame, 0, sizeof padded->frame);
    memcpy(padded->frame, outgoing->head, outgoing->head_bytes);
    memcpy(padded->frame + outgoing->head_bytes, outgoing->payload, outgoing->payload_bytes);
    *outgoing = (struct lane_outgoing){.head = padded->frame, .head_bytes = sizeof padded->frame};
}

/** Sends the first frames of a run, as many as the lane prefers. @return how many. */
static uint32_t send_batch(struct core *core, const struct pull_batch *batch)
{
    struct data_head heads[64];
    struct short_data padded;
    struct lane_outgoing outgoing[64];
    struct core_peer *peer = core->peers[batch->peer->index];
    const struct lane *lane = core->options.lanes.lanes[batch->lane];
    uint32_t most = lane->batch_frames < 64 ? lane->batch_frames : 64;
    uint32_t count = 0;
    uint32_t checksum_bytes = route_checksum_bytes(&peer->route, lane);
    /* The same for all, except for the segment. */
    struct frame_data head =
        frame_encode_data(peer->message.destination, peer->message.key, batch->message);
    if (checksum_bytes > 0) {
        frame_data_has_checksum(&head);
    }
    uint32_t segment = (uint32_t)(batch->offset / batch->segment_bytes);

    for (uint64_t done = 0; done < batch->bytes && count < most; count++) {
        uint64_t left = batch->bytes - done;
        uint32_t bytes = left < batch->segment_bytes ? (uint32_t)left : batch->segment_bytes;
        heads[count].head = head;
        frame_data_set_segment(&heads[count].head, segment + count);
        outgoing[count] = (struct lane_outgoing){
            .head = (uint8_t *)&heads[count].head,
            .head_bytes = (uint32_t)sizeof head + checksum_bytes,
            .payload = batch->source + done,
            .payload_bytes = bytes,
        };
        done += bytes;
    }
    if (checksum_bytes > 0 && count > 0) { /* only the message's last segment may be so short */
        pad(&outgoing[count - 1], &padded);
    }
    return core_send(core, peer, batch->lane, outgoing, count);
}

/** @return whether a lane has taken a frame. */
static bool serve(struct core *core)
{
    struct pull_batch batch;
    uint32_t busy = 0;
    uint64_t taken = 0;

    while (taken < BYTES_AT_ONCE && serve_next(&core->messages, busy, &batch)) {
        bool cuts = core->options.lanes.lanes[batch.lane]->cuts;
        uint32_t sent = cuts ? send_run(core, &batch) : send_batch(core, &batch);
        if (sent == 0) {
            busy |= 1u << batch.lane;
        } else {
            serve_sent(&core->messages, &batch, sent);
            taken += (uint64_t)sent * batch.segment_bytes;
        }
    }
    return taken > 0;
}

/** @return whether a lane has taken a request. */
static bool request(struct core *core, uint64_t now_ns)
{
    struct pull_ask ask;
    uint32_t busy = 0;
    unsigned taken = 0;

    pull_retry(&core->messages);
    while (taken < ASKS_AT_ONCE && pull_ask(&core->messages, now_ns, &ask)) {
        struct core_peer *peer = core->peers[ask.peer->index];
        uint32_t lane = UINT32_C(1) << peer->route.paths.fast;
        if ((busy & lane) == 0 && control_send_pull(core, peer, &ask)) {
            taken++;
        } else {
            busy |= lane;
            pull_refused(&core->messages, &ask);
        }
    }
    return taken > 0;
}

void core_bulk(struct core *core, uint64_t now_ns)
{
    bool moves = request(core, now_ns);
    const struct message_peer *read = NULL; /* its memory was read, so it is not asked by PULL */
    while ((read = message_take_pulled(&core->messages)) != NULL) {
        core_touch(core, core->peers[read->index]);
        core_note_deadline(core, now_ns);
    }
    moves |= serve(core);
    core->bulk_is_stuck = !moves && core_has_bulk(core);
    core_note_deadline(core, core_has_bulk(core) ? now_ns : pull_deadline(&core->messages));
}

int core_receive_bulk(struct core *core, struct core_peer *peer, const struct frame *frame,
                      unsigned lane_index, uint64_t now_ns)
{
    struct message_layer *layer = &core->messages;

    if (frame->type == FRAME_PULL) {
        int status = serve_pull(layer, &peer->message, frame);
        core->counters.dropped_data_unknown += status == -ENOENT;
        return status == -ENOENT ? 0 : status;
    }
    enum pull_verdict verdict =
        pull_data(layer, &peer->message, frame, (uint8_t)lane_index, now_ns);
    (void)message_take_pulled(layer); /* it is this peer, touched anyway */
    switch (verdict) {
    case PULL_PLACED:
        break;
    case PULL_UNKNOWN:
        core->counters.dropped_data_unknown++;
        break;
    case PULL_DUPLICATE:
        core->counters.dropped_data_duplicate++;
        break;
    case PULL_INVALID:
        return -EPROTO;
    }
    return 0;
}
