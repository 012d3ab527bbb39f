/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side: requests of peers for our memory, and their answers. */
#include "pull/pull.h"
#include "remote/remote.h"

#include "lane/copy.h"
#include "message/internal.h"
#include "message/outgoing.h"
#include "pull/one_sided.h"
#include "remote/atomic.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/** Results in one slim frame. */
#define RESULTS_MAX                                                                                \
    ((FRAME_POOL_SLIM_BYTES - sizeof(struct frame_header)) / sizeof(struct frame_result))

/** Keeps a request, with the chunk reserved for its (first) frame, until the answer. */
static struct inbound *remember(struct message_layer *layer, struct message_peer *peer,
                                uint32_t name)
{
    struct inbound *inbound = inbound_take(layer);

    inbound->peer = peer;
    inbound->name = name;
    inbound_keep(layer, inbound, NULL, 0);
    return inbound;
}

static void answer(struct message_layer *layer, struct inbound *inbound, enum inbound_answer how,
                   enum frame_status status)
{
    assert(list_is_empty(&inbound->done)); /* a request is answered once */
    inbound->answer = (uint8_t)how;
    inbound->status = (uint8_t)status;
    layer->counters.remote_refused += status != FRAME_STATUS_OK;
    list_append(&inbound->peer->dones, &inbound->done);
}

/* ---- requests in --------------------------------------------------------------------------- */

/** Looks up the memory of a request, before anything is kept of it. An unknown key counts as a
 *  guess. @return 0; -EPROTO: too many guesses */
static int look_up(struct message_layer *layer, struct message_peer *peer,
                   const struct region_range *range, uint8_t **at, enum frame_status *status)
{
    *status = region_find(&layer->regions, range, at);
    if (*status == FRAME_STATUS_OK || region_is_known(&layer->regions, range->key)) {
        return 0;
    }
    layer->counters.remote_guesses++;
    return ++peer->guesses < REMOTE_GUESSES_MAX ? 0 : -EPROTO;
}

/** Is it the next frame of the put that has begun, or the first of one? */
static bool is_next_of_put(const struct inbound *begun, const struct region_range *range,
                           uint32_t request, uint32_t offset)
{
    return begun == NULL
               ? offset == 0
               : offset == begun->received && request == begun->name && range->key == begun->key &&
                     range->bytes == begun->bytes && range->address == begun->remote_address;
}

static int arrive_put(struct message_layer *layer, struct message_peer *peer,
                      const struct frame *frame)
{
    const struct frame_put *put = frame->put;
    uint32_t offset = from_le32(put->offset);
    uint32_t request = from_le32(put->request);
    const struct region_range range = {
        .key = from_le64(put->key),
        .address = from_le64(put->address),
        .bytes = from_le32(put->bytes),
        .access = BEOWIRE_MEMORY_WRITE,
    };
    struct inbound *inbound = peer->put;
    uint8_t *target = NULL;
    /* If a frame of the put was refused, so is the whole put. */
    enum frame_status status = inbound != NULL ? inbound->status : FRAME_STATUS_OK;

    if (!is_next_of_put(inbound, &range, request, offset) ||
        (status == FRAME_STATUS_OK && look_up(layer, peer, &range, &target, &status) != 0)) {
        return -EPROTO;
    }
    if (inbound == NULL) {
        inbound = remember(layer, peer, request);
        inbound->key = range.key;
        inbound->remote_address = range.address;
        inbound->bytes = range.bytes;
    }
    if (status == FRAME_STATUS_OK && frame->payload_bytes > 0) {
        copy_bytes(target + offset, frame->payload, frame->payload_bytes);
    }
    inbound->status = (uint8_t)status;
    inbound->received = offset + frame->payload_bytes;
    assert(inbound->received <= inbound->bytes); /* frame_decode() has checked that */
    peer->put = inbound->received < range.bytes ? inbound : NULL;
    if (peer->put != NULL) {
        return 0;
    }
    inbound->immediate = from_le32(put->immediate);
    inbound->notify = (from_le16(put->flags) & FRAME_PUT_NOTIFY) != 0;
    layer->counters.remote_puts += status == FRAME_STATUS_OK;
    answer(layer, inbound, ANSWER_RESULT, status);
    return 0;
}

static int arrive_offer(struct message_layer *layer, struct message_peer *peer,
                        const struct frame *frame)
{
    const struct frame_offer *offer = frame->offer;
    uint32_t name = from_le32(offer->message);
    const struct region_range range = {
        .key = from_le64(offer->key),
        .address = from_le64(offer->remote_address),
        .bytes = from_le64(offer->bytes),
        .access = BEOWIRE_MEMORY_WRITE,
    };

    uint8_t *target = NULL;
    enum frame_status status = FRAME_STATUS_OK;

    if (!inbound_can_pull(peer, name, range.bytes, from_le16(offer->segment_bytes)) ||
        look_up(layer, peer, &range, &target, &status) != 0) {
        return -EPROTO;
    }
    struct inbound *inbound = remember(layer, peer, name);
    inbound->key = range.key;
    inbound->bytes = range.bytes;
    inbound->expected_bytes = range.bytes;
    inbound->immediate = from_le32(offer->immediate);
    inbound->notify = (from_le16(offer->flags) & FRAME_PUT_NOTIFY) != 0;
    inbound->segment_bytes = from_le16(offer->segment_bytes);
    inbound->announced = true;
    inbound->address = from_le64(offer->address);
    inbound->target = target;
    if (status != FRAME_STATUS_OK) {
        answer(layer, inbound, ANSWER_DONE, status);
        return 0;
    }
    layer->counters.remote_puts++;
    list_append(&peer->inbound, &inbound->of_peer);
    uint8_t lane = pull_lane_of(layer, peer, offer->lane_kind, offer->lane_rail);
    inbound_fetch(layer, inbound, lane < LANES_MAX ? from_le32(offer->unasked_bytes) : 0, lane);
    return 0;
}

/** The bytes of a get or a granted get. */
static struct region_range range_of(const struct inbound *inbound)
{
    return (struct region_range){
        .key = inbound->key,
        .address = inbound->remote_address,
        .bytes = inbound->bytes,
        .access = BEOWIRE_MEMORY_READ,
    };
}

static int arrive_get(struct message_layer *layer, struct message_peer *peer,
                      const struct frame *frame)
{
    const struct region_range range = {
        .key = from_le64(frame->get->key),
        .address = from_le64(frame->get->address),
        .bytes = from_le64(frame->get->bytes),
        .access = BEOWIRE_MEMORY_READ,
    };
    uint8_t *source = NULL;
    enum frame_status status = FRAME_STATUS_OK;

    if (look_up(layer, peer, &range, &source, &status) != 0) {
        return -EPROTO;
    }
    struct inbound *inbound = remember(layer, peer, from_le32(frame->get->request));
    inbound->reads = true;
    inbound->key = range.key;
    inbound->remote_address = range.address;
    inbound->bytes = range.bytes;
    if (status == FRAME_STATUS_OK &&
        (inbound->bytes > BEOWIRE_MESSAGE_BYTES_MAX ||
         !message_has_numbers(inbound->bytes, (uint16_t)outgoing_room(peer, FRAME_DATA)))) {
        status = FRAME_STATUS_REFUSED;
    }
    layer->counters.remote_gets += status == FRAME_STATUS_OK;
    if (status != FRAME_STATUS_OK || inbound->bytes == 0) {
        answer(layer, inbound, ANSWER_RESULT, status);
    } else {
        answer(layer, inbound,
               inbound->bytes > outgoing_eager_bytes(layer, inbound->peer) ? ANSWER_GRANT
                                                                           : ANSWER_MEMORY,
               status);
    }
    return 0;
}

/** Looks up the target of an atomic operation, and its status. @return 0, or as look_up() */
static int find_target(struct message_layer *layer, struct message_peer *peer,
                       const struct frame *frame, uint32_t bytes, uint8_t **target,
                       enum frame_status *status)
{
    const struct frame_atomic *atomic = frame->atomic;
    bool fetch = (from_le16(atomic->flags) & FRAME_ATOMIC_FETCH) != 0;
    bool modifies = atomic->operation != BEOWIRE_ATOMIC_READ;
    const struct region_range range = {
        .key = from_le64(atomic->key),
        .address = from_le64(atomic->address),
        .bytes = bytes,
        .access = (modifies ? BEOWIRE_MEMORY_WRITE : 0u) | (fetch ? BEOWIRE_MEMORY_READ : 0u),
    };

    *status = FRAME_STATUS_REFUSED;
    return bytes > layer->chunk_bytes ? 0 : look_up(layer, peer, &range, target, status);
}

static int arrive_atomic(struct message_layer *layer, struct message_peer *peer,
                         const struct frame *frame)
{
    const struct frame_atomic *atomic = frame->atomic;
    uint32_t count = from_le16(atomic->count);
    uint32_t bytes = count * atomic_type_bytes(atomic->type);
    bool fetch = (from_le16(atomic->flags) & FRAME_ATOMIC_FETCH) != 0;
    uint32_t operand_bytes = atomic_has_operand(atomic->operation) ? bytes : 0;
    uint32_t compare_bytes = atomic_has_compare(atomic->operation) ? bytes : 0;
    enum frame_status status = FRAME_STATUS_OPERATION;
    uint8_t *target = NULL;

    if (atomic_is_supported(atomic->operation, atomic->type)) {
        if (frame->payload_bytes != operand_bytes + compare_bytes ||
            find_target(layer, peer, frame, bytes, &target, &status) != 0) {
            return -EPROTO;
        }
    }
    struct inbound *inbound = remember(layer, peer, from_le32(atomic->request));
    if (status == FRAME_STATUS_OK) {
        atomic_apply(atomic->operation, atomic->type,
                     &(struct atomic_arrays){
                         .target = target,
                         .operand = operand_bytes > 0 ? frame->payload : NULL,
                         .compare = compare_bytes > 0 ? frame->payload + operand_bytes : NULL,
                         .old = fetch ? inbound->chunks->data : NULL,
                         .count = count,
                     });
        layer->counters.remote_atomics++;
    }
    bool replies = status == FRAME_STATUS_OK && fetch && bytes > 0;
    inbound->reads = fetch;
    inbound->bytes = bytes;
    answer(layer, inbound, replies ? ANSWER_KEPT : ANSWER_RESULT, status);
    return 0;
}

int remote_request(struct message_layer *layer, struct message_peer *peer,
                   const struct frame *frame)
{
    if (!peer->remote_memory) {
        return -EPROTO;
    }
    switch (frame->type) {
    case FRAME_PUT:
        return arrive_put(layer, peer, frame);
    case FRAME_OFFER:
        return arrive_offer(layer, peer, frame);
    case FRAME_GET:
        return arrive_get(layer, peer, frame);
    default:
        return arrive_atomic(layer, peer, frame);
    }
}

/* ---- answers out --------------------------------------------------------------------------- */

/** Counts a request that was performed. */
static void count(struct message_layer *layer, const struct inbound *inbound)
{
    layer->counters.remote_read += inbound->reads;
    layer->counters.remote_written += !inbound->reads;
}

void remote_answered(struct message_layer *layer, struct inbound *inbound)
{
    list_remove(&inbound->done);
    if (inbound->status == FRAME_STATUS_OK) {
        count(layer, inbound);
    }
    if (inbound->notify && inbound->status == FRAME_STATUS_OK) {
        list_remove(&inbound->of_peer);
        list_append(&layer->notices, &inbound->arrival);
    } else {
        inbound_free(layer, inbound);
    }
}

/** Pushes one frame with all results at the head of the list. */
static bool push_results(struct message_layer *layer, struct message_peer *peer)
{
    uint32_t most = outgoing_room(peer, FRAME_RESULT) / (uint32_t)sizeof(struct frame_result);
    uint32_t count = 0;

    most = most < RESULTS_MAX ? most : (uint32_t)RESULTS_MAX;
    for (const struct list *link = peer->dones.next; link != &peer->dones && count < most;
         link = link->next) {
        if (LIST_ENTRY(link, struct inbound, done)->answer != ANSWER_RESULT) {
            break;
        }
        count++;
    }
    struct flow_frame *frame =
        outgoing_begin(layer, peer, FRAME_RESULT, count * (uint32_t)sizeof(struct frame_result), 0);
    if (frame == NULL) {
        return false;
    }
    struct frame_result *results = outgoing_header(frame);
    for (uint32_t i = 0; i < count; i++) {
        struct inbound *inbound = LIST_ENTRY(peer->dones.next, struct inbound, done);
        results[i] = (struct frame_result){
            .request = to_le32(inbound->name),
            .status = to_le32(inbound->status),
        };
        remote_answered(layer, inbound);
    }
    flow_push(&peer->flow, frame);
    return true;
}

static bool push_reply(struct message_layer *layer, struct message_peer *peer,
                       struct inbound *inbound, const uint8_t *data)
{
    uint64_t left = inbound->bytes - inbound->received;
    uint32_t room = outgoing_room(peer, FRAME_REPLY);
    uint32_t bytes = left < room ? (uint32_t)left : room;
    struct flow_frame *frame = outgoing_begin(layer, peer, FRAME_REPLY, bytes, 0);

    if (frame == NULL) {
        return false;
    }
    struct frame_reply *reply = outgoing_header(frame);
    *reply = (struct frame_reply){
        .request = to_le32(inbound->name),
        .offset = to_le32((uint32_t)inbound->received),
    };
    copy_bytes(reply + 1, data + inbound->received, bytes);
    flow_push(&peer->flow, frame);
    inbound->received += bytes;
    if (inbound->received == inbound->bytes) {
        count(layer, inbound);
        inbound_free(layer, inbound);
    }
    return true;
}

/** May the peer pull one more get? */
static bool can_serve(const struct message_layer *layer, const struct message_peer *peer)
{
    return peer->served < REMOTE_SERVED_PER_PEER &&
           (layer->served_used < REMOTE_SERVED || !list_is_empty(&layer->free_served));
}

/** Grants wait until other gets were pulled. Other answers must not wait behind them, because the
 *  peer's grants to us may wait for our DONE. @return true: another answer is now first; false:
 *  there is none. */
static bool overtake_grants(struct message_peer *peer)
{
    for (struct list *link = peer->dones.next; link != &peer->dones; link = link->next) {
        if (LIST_ENTRY(link, struct inbound, done)->answer != ANSWER_GRANT) {
            list_remove(link);
            list_prepend(&peer->dones, link);
            return true;
        }
    }
    return false;
}

/** can_serve() was true. */
static struct operation *take_served(struct message_layer *layer)
{
    struct operation *served = operation_take(&layer->free_served);

    return served != NULL ? served : &layer->served_memory[layer->served_used++];
}

/** Lets the peer pull the get. The request's chunk is kept until it has. */
static bool push_grant(struct message_layer *layer, struct message_peer *peer,
                       struct inbound *inbound, const uint8_t *source)
{
    if (!can_serve(layer, peer)) {
        return overtake_grants(peer);
    }
    struct flow_frame *frame = outgoing_begin(layer, peer, FRAME_GRANT, 0, 0);
    if (frame == NULL) {
        return false;
    }
    struct operation *served = take_served(layer);
    *served = (struct operation){
        .state = OPERATION_ANNOUNCED,
        .kind = BEOWIRE_GET,
        .peer = peer,
        .context = inbound,
        .bytes = inbound->bytes,
        .source = source,
        .generation = (uint16_t)(served->generation + 1),
        .segment_bytes = outgoing_segment(peer),
    };
    list_remove(&inbound->done);
    list_append(&layer->served, &served->link);
    peer->served++;
    uint64_t unasked = 0;
    uint64_t address = one_sided_offer(layer, peer, served);
    uint8_t lane = outgoing_unasked(layer, peer, served, served->bytes, &unasked);
    served->pushed = unasked;
    struct frame_grant *grant = outgoing_header(frame);
    *grant = (struct frame_grant){
        .address = to_le64(address),
        .request = to_le32(inbound->name),
        .message = to_le32(message_name(layer, served)),
        .unasked_bytes = to_le32((uint32_t)unasked),
        .segment_bytes = to_le16(served->segment_bytes),
        .lane_kind = unasked > 0 ? layer->lanes[lane].kind : LANE_NONE,
        .lane_rail = unasked > 0 ? layer->lanes[lane].rail : 0,
    };
    flow_push(&peer->flow, frame);
    return true;
}

bool remote_push_answer(struct message_layer *layer, struct message_peer *peer,
                        struct inbound *inbound)
{
    uint8_t *source = NULL;

    if (inbound->answer == ANSWER_KEPT) {
        return push_reply(layer, peer, inbound, inbound->chunks->data);
    }
    if (inbound->answer == ANSWER_RESULT) {
        return push_results(layer, peer);
    }
    const struct region_range range = range_of(inbound);
    enum frame_status status = region_find(&layer->regions, &range, &source);
    if (status != FRAME_STATUS_OK) { /* not any more */
        inbound->answer = ANSWER_RESULT;
        inbound->status = (uint8_t)status;
        layer->counters.remote_refused++;
        return push_results(layer, peer);
    }
    return inbound->answer == ANSWER_GRANT ? push_grant(layer, peer, inbound, source)
                                           : push_reply(layer, peer, inbound, source);
}

/* ---- the end ------------------------------------------------------------------------------- */

/** Frees the slot; the caller gets its request. */
static struct inbound *release(struct message_layer *layer, struct operation *served)
{
    struct inbound *inbound = served->context;

    if (served->lent != 0) {
        one_sided_take_back(layer, served);
    }
    served->peer->served--;
    served->state = OPERATION_FREE;
    served->peer = NULL;
    list_remove(&served->link);
    /* Late frames may still name it, so it is reused last. */
    list_append(&layer->free_served, &served->link);
    return inbound;
}

void remote_served(struct message_layer *layer, struct operation *served)
{
    inbound_free(layer, release(layer, served));
}

/** Ends a put being pulled into this memory with an error. */
static void withdraw_put(struct message_layer *layer, struct inbound *inbound, uint64_t key)
{
    if (inbound->operation == NULL && inbound->key == key) {
        inbound->status = FRAME_STATUS_REFUSED;
        layer->counters.remote_refused++;
        inbound_pulled(layer, inbound);
    }
}

int remote_unregister(struct message_layer *layer, uint64_t key)
{
    int status = region_remove(&layer->regions, key);

    if (status != 0) {
        return status;
    }
    for (struct list *link = layer->pulls.next, *next = NULL; link != &layer->pulls; link = next) {
        next = link->next;
        withdraw_put(layer, LIST_ENTRY(link, struct pull, link)->inbound, key);
    }
    for (struct list *link = layer->waiting_pulls.next, *next = NULL; link != &layer->waiting_pulls;
         link = next) {
        next = link->next;
        withdraw_put(layer, LIST_ENTRY(link, struct inbound, waiting), key);
    }
    for (struct list *link = layer->reads.next, *next = NULL; link != &layer->reads; link = next) {
        next = link->next;
        withdraw_put(layer, LIST_ENTRY(link, struct inbound, waiting), key);
    }
    for (struct list *link = layer->served.next, *next = NULL; link != &layer->served;
         link = next) {
        struct operation *served = LIST_ENTRY(link, struct operation, link);
        const struct inbound *inbound = served->context;
        next = link->next;
        if (inbound->key == key) {
            if (layer->withdraw_memory != NULL && inbound->peer->shares_memory) {
                layer->withdraw_memory(layer->read_context, inbound->peer);
            }
            answer(layer, release(layer, served), ANSWER_RESULT, FRAME_STATUS_REFUSED);
        }
    }
    return 0;
}

bool remote_take_notice(struct message_layer *layer, struct beowire_completion *completion)
{
    if (list_is_empty(&layer->notices)) {
        return false;
    }
    struct inbound *inbound = LIST_ENTRY(layer->notices.next, struct inbound, arrival);

    *completion = (struct beowire_completion){
        .operation = BEOWIRE_PUT_ARRIVED,
        .peer = inbound->peer->handle,
        .immediate = inbound->immediate,
        .tag = inbound->key,
        .bytes = inbound->bytes,
    };
    inbound_taken(inbound);
    inbound_free(layer, inbound);
    return true;
}

void remote_forget(struct message_layer *layer, struct message_peer *peer)
{
    if (peer->put != NULL) {
        inbound_free(layer, peer->put);
        peer->put = NULL;
    }
    for (struct list *link = layer->served.next, *next = NULL; link != &layer->served;
         link = next) {
        struct operation *served = LIST_ENTRY(link, struct operation, link);
        next = link->next;
        if (served->peer == peer) {
            remote_served(layer, served);
        }
    }
    for (struct list *link = peer->dones.next, *next = NULL; link != &peer->dones; link = next) {
        struct inbound *inbound = LIST_ENTRY(link, struct inbound, done);
        next = link->next;
        if (inbound->notify) {
            remote_answered(layer, inbound); /* it was put */
        }
    }
}
