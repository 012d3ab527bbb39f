/* SPDX-License-Identifier: BSD-3-Clause */
/* The sender's side of long messages: requests of receivers. */
#include "message/internal.h"
#include "pull/pull.h"

#include <assert.h>
#include <errno.h>

/** The announced send, offered put or granted get with this name, or NULL. */
static struct operation *find_announced(struct message_layer *layer,
                                        const struct message_peer *peer, uint32_t message)
{
    struct operation *operation = operation_named(layer, peer, message);

    return operation != NULL && operation->state == OPERATION_ANNOUNCED ? operation : NULL;
}

/** Bits of the segments from `offset` to the end of the message. */
static uint64_t segments_there(const struct operation *operation, uint64_t offset)
{
    uint64_t segments =
        (operation->bytes - offset + operation->segment_bytes - 1) / operation->segment_bytes;

    return segments >= 64 ? UINT64_MAX : (UINT64_C(1) << segments) - 1;
}

/** Bits of the segments of a block. */
static uint64_t whole_block(const struct operation *operation)
{
    return UINT64_MAX >> (64 - pull_block_segments(operation->segment_bytes));
}

int serve_add(struct message_layer *layer, struct message_peer *peer, uint32_t message,
              uint64_t offset, uint64_t wanted, uint8_t lane)
{
    const struct operation *operation = find_announced(layer, peer, message);

    if (operation == NULL) {
        return -ENOENT;
    }
    if (offset >= operation->bytes || offset % operation->segment_bytes != 0 || wanted == 0 ||
        (wanted & ~segments_there(operation, offset)) != 0) {
        return -EPROTO;
    }
    for (struct list *link = layer->requests.next; link != &layer->requests; link = link->next) {
        struct request *request = LIST_ENTRY(link, struct request, link);
        if (request->message == message && request->offset == offset && request->peer == peer) {
            request->wanted |= wanted; /* requested again before it was answered */
            request->lane = lane;
            return 0;
        }
    }
    if (list_is_empty(&layer->free_requests) || peer->requests == PULL_REQUESTS_PER_PEER) {
        layer->counters.requests_dropped++;
        return 0; /* the receiver will ask again */
    }
    struct request *request = LIST_ENTRY(layer->free_requests.next, struct request, link);
    list_remove(&request->link);
    request->peer = peer;
    request->message = message;
    request->behind = peer->flow.next;
    request->offset = offset;
    request->wanted = wanted;
    request->lane = lane;
    list_append(&layer->requests, &request->link);
    peer->requests++;
    return 0;
}

int serve_pull(struct message_layer *layer, struct message_peer *peer, const struct frame *frame)
{
    const struct frame_pull *pull = frame->pull;
    uint32_t message = from_le32(pull->message);
    uint64_t offset = from_le64(pull->offset);
    struct operation *operation = find_announced(layer, peer, message);
    uint8_t lane = pull_lane_of(layer, peer, pull->lane_kind, pull->lane_rail);

    if (operation == NULL) {
        return -ENOENT;
    }
    if (lane == LANES_MAX) {
        return -EPROTO;
    }
    if ((peer->usable_lanes >> lane & 1) == 0) {
        return -ENOENT;
    }
    if (offset < operation->pushed) {
        /* Unasked blocks found no receive, or were lost. */
        operation->pushed = 0;
        peer->unasked_credit =
            (int8_t)(peer->unasked_credit - (peer->unasked_credit > -PULL_UNASKED_CREDIT ? 2 : 0));
    } else if (offset == 0 && (from_le64(pull->wanted) & 1) != 0 &&
               operation->bytes > operation->segment_bytes &&
               peer->unasked_credit < PULL_UNASKED_CREDIT) {
        peer->unasked_credit++;
    }
    uint64_t block_bytes =
        (uint64_t)pull_block_segments(operation->segment_bytes) * operation->segment_bytes;
    uint64_t wanted = from_le64(pull->wanted);
    if (from_le16(pull->more) >= FRAME_PULL_BLOCKS_MAX) {
        return -EPROTO;
    }
    for (unsigned i = 0; i <= from_le16(pull->more); i++) {
        int status = serve_add(layer, peer, message, offset, wanted, lane);
        if (status != 0) {
            return status;
        }
        offset += block_bytes;
        wanted = segments_there(operation, offset) & whole_block(operation);
    }
    return 0;
}

static void forget(struct message_layer *layer, struct request *request)
{
    assert(request->peer->requests > 0);
    request->peer->requests--;
    list_remove(&request->link);
    list_prepend(&layer->free_requests, &request->link);
}

/** Length of the run of set bits that begins with the lowest. */
static unsigned run_of(uint64_t wanted)
{
    uint64_t run = wanted >> (unsigned)__builtin_ctzll(wanted);

    return ~run == 0 ? 64 : (unsigned)__builtin_ctzll(~run);
}

/** The next request, if it is for the segments from `offset` to the end of the message over the
 *  same lane; or NULL. */
static struct request *end_of_message(struct message_layer *layer,
                                      const struct operation *operation,
                                      const struct request *request, uint64_t offset)
{
    struct request *next = LIST_ENTRY(request->link.next, struct request, link);

    return request->link.next != &layer->requests && next->peer == request->peer &&
                   next->message == request->message && next->lane == request->lane &&
                   next->offset == offset && offset < operation->bytes &&
                   next->wanted == segments_there(operation, offset)
               ? next
               : NULL;
}

/** Fills in the first run of the request's segments. If little of the message remains after it,
 *  both are sent together, or in two equal parts: a small last part would not arrive sooner,
 *  because the receiver is still busy with the one before. */
static void fill_batch(struct message_layer *layer, const struct operation *operation,
                       struct request *request, struct pull_batch *batch)
{
    assert(request->wanted != 0); /* strike_out() forgets a request that is answered */
    unsigned from = (unsigned)__builtin_ctzll(request->wanted);
    unsigned most = pull_block_segments(operation->segment_bytes);
    unsigned run = run_of(request->wanted);
    unsigned segments = run < most ? run : most;
    uint64_t offset = request->offset + (uint64_t)from * operation->segment_bytes;
    struct request *rest = NULL;

    if (segments == (unsigned)__builtin_popcountll(request->wanted)) {
        rest = end_of_message(layer, operation, request,
                              offset + (uint64_t)segments * operation->segment_bytes);
    }
    if (rest != NULL) {
        unsigned both = segments + run_of(rest->wanted);
        if (both <= pull_block_segments(operation->segment_bytes)) {
            segments = both;
        } else {
            segments = (both + 1) / 2 < segments ? (both + 1) / 2 : segments;
            rest = NULL;
        }
    }
    uint64_t bytes = (uint64_t)segments * operation->segment_bytes;
    assert(offset < operation->bytes); /* serve_add() refused what is behind the end */
    uint64_t left = operation->bytes - offset;
    *batch = (struct pull_batch){
        .peer = request->peer,
        .message = request->message,
        .lane = request->lane,
        .offset = offset,
        .segment_bytes = operation->segment_bytes,
        .bytes = bytes < left ? bytes : left,
        .source = operation->source + offset,
        .request = request,
        .rest = rest,
    };
}

/** Has what announces this unasked data not left yet, because a lane had no room? The receiver
 * would drop the data, and wait for it. */
static bool waits_for_announce(const struct operation *operation, const struct request *request)
{
    return request->peer->waits_for_lane && request->offset < operation->pushed &&
           !sequence_before(request->behind, request->peer->flow.highest);
}

bool serve_next(struct message_layer *layer, uint32_t busy, struct pull_batch *batch)
{
    struct list *link = layer->requests.next;

    while (link != &layer->requests) {
        struct request *request = LIST_ENTRY(link, struct request, link);
        const struct operation *operation = find_announced(layer, request->peer, request->message);
        link = link->next;
        if (operation == NULL || (request->peer->usable_lanes >> request->lane & 1) == 0) {
            forget(layer, request); /* it has ended, or the lane is down: the receiver asks again */
        } else if ((busy >> request->lane & 1) == 0 && !waits_for_announce(operation, request)) {
            fill_batch(layer, operation, request, batch);
            return true;
        }
    }
    return false;
}

/** Removes this many sent segments from the request. @return the excess. */
static uint32_t strike_out(struct message_layer *layer, struct request *request, uint32_t frames)
{
    for (; frames > 0 && request->wanted != 0; frames--) {
        request->wanted &= request->wanted - 1;
    }
    if (request->wanted == 0) {
        forget(layer, request);
    }
    return frames;
}

void serve_sent(struct message_layer *layer, const struct pull_batch *batch, uint32_t frames)
{
    layer->counters.data_frames_sent += frames;
    frames = strike_out(layer, batch->request, frames);
    if (frames > 0 && batch->rest != NULL) {
        (void)strike_out(layer, batch->rest, frames);
    }
}

void serve_forget(struct message_layer *layer, const struct message_peer *peer)
{
    struct list *link = layer->requests.next;

    while (link != &layer->requests) {
        struct request *request = LIST_ENTRY(link, struct request, link);
        link = link->next;
        if (request->peer == peer) {
            forget(layer, request);
        }
    }
}
