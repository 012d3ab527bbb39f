/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, peers and completions. */
#include "message/bundle.h"
#include "message/internal.h"
#include "message/reorder.h"
#include "message/spare.h"
#include "pull/pull.h"
#include "remote/remote.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/** Slim frames: a few windows of references to users' buffers. */
#define SLIM_FRAMES (16 * FLOW_WINDOW_FRAMES)

static int make_chunks(struct message_layer *layer)
{
    layer->chunks_unmade = MESSAGE_CHUNKS;
    spare_stay_ahead(layer);
    /* And the spare one of reorder.h. */
    return layer->chunks_shared > 0 && spare_make_chunks(layer, 1, 1) > 0 ? 0 : -ENOMEM;
}

static int make_pulls(struct message_layer *layer)
{
    layer->pull_memory = calloc(PULLS_MAX + PULLS_SPARE, sizeof *layer->pull_memory);
    layer->request_memory = calloc(PULL_REQUESTS, sizeof *layer->request_memory);
    if (layer->pull_memory == NULL || layer->request_memory == NULL) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < PULLS_MAX + PULLS_SPARE; i++) {
        list_append(&layer->free_pulls, &layer->pull_memory[i].link);
    }
    for (unsigned i = 0; i < PULL_REQUESTS; i++) {
        list_append(&layer->free_requests, &layer->request_memory[i].link);
    }
    layer->pulls_deadline_ns = UINT64_MAX;
    return 0;
}

static int make_operations(struct message_layer *layer, uint32_t operations)
{
    /* An unmatched message holds a chunk, as does a request for our memory; inbound messages for
     * these are allocated with the chunks. A matched message holds a receive, and one read from a
     * peer's memory our operation. */
    layer->inbound_count = 2 * operations;
    layer->inbound_bytes = (size_t)layer->inbound_count * sizeof *layer->inbounds;

    layer->operations_each = operations;
    layer->operations_bytes = 2 * (size_t)operations * sizeof *layer->operations;
    layer->operations = calloc(2 * (size_t)operations, sizeof *layer->operations);
    layer->served_memory = calloc(REMOTE_SERVED, sizeof *layer->served_memory);
    /* Unused memory is never touched. */
    void *inbounds = mmap(NULL, layer->inbound_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    layer->inbounds = inbounds != MAP_FAILED ? inbounds : NULL;
    if (layer->operations == NULL || layer->served_memory == NULL || layer->inbounds == NULL) {
        return -ENOMEM;
    }
    /* For the same reason, only those that are used in turn are listed. */
    while (layer->sends_used < operations && layer->sends_used < MESSAGE_OPERATIONS_LISTED) {
        list_append(&layer->free_sends, &layer->operations[layer->sends_used++].link);
        list_append(&layer->free_receives,
                    &layer->operations[operations + layer->receives_used++].link);
    }
    return 0;
}

int message_open(struct message_layer *layer, uint32_t operations, uint32_t peers,
                 uint32_t frame_bytes)
{
    *layer = (struct message_layer){.chunk_count = MESSAGE_CHUNKS + peers * MESSAGE_PEER_CHUNKS + 1,
                                    .chunk_bytes = frame_bytes,
                                    .limits = MESSAGE_LIMITS_DEFAULT};
    list_init(&layer->free_spares);
    list_init(&layer->free_sends);
    list_init(&layer->free_receives);
    list_init(&layer->free_inbounds);
    list_init(&layer->posted);
    list_init(&layer->unexpected);
    list_init(&layer->claimed);
    list_init(&layer->completed);
    list_init(&layer->free_pulls);
    list_init(&layer->pulls);
    list_init(&layer->waiting_pulls);
    list_init(&layer->reads);
    list_init(&layer->pulled);
    list_init(&layer->free_requests);
    list_init(&layer->requests);
    list_init(&layer->bundling);
    list_init(&layer->notices);
    list_init(&layer->free_served);
    list_init(&layer->served);

    int status = frame_pool_open(&layer->frames, SLIM_FRAMES, ENDPOINT_COPY_FRAMES, frame_bytes);
    if (status == 0) {
        status = make_operations(layer, operations);
    }
    if (status == 0) {
        status = make_pulls(layer);
    }
    if (status == 0) {
        status = make_chunks(layer);
    }
    if (status != 0) {
        message_close(layer);
    }
    return status;
}

void message_close(struct message_layer *layer)
{
    frame_pool_close(&layer->frames);
    spare_close(layer);
    free(layer->operations);
    free(layer->served_memory);
    region_table_close(&layer->regions);
    if (layer->inbounds != NULL) {
        munmap(layer->inbounds, layer->inbound_bytes);
    }
    free(layer->pull_memory);
    free(layer->request_memory);
    *layer = (struct message_layer){0};
}

void message_peer_init(struct message_peer *peer, uint32_t index, void *paths)
{
    *peer = (struct message_peer){
        .index = index,
        .window_frames = FLOW_INITIAL_CREDIT_FRAMES,
        .pile_frames = MESSAGE_PILE_FRAMES,
        .pull_paths = paths,
    };
    list_init(&peer->queue);
    list_init(&peer->announced);
    list_init(&peer->inbound);
    list_init(&peer->dones);
    list_init(&peer->bundling);
    peer->unasked_credit = PULL_UNASKED_CREDIT;
}

bool message_admits(struct message_layer *layer, uint32_t peers)
{
    uint32_t more = MESSAGE_PEERS_STEP;

    while (layer->peers_admitted < peers && more > 0) {
        more = layer->peers_admitted > more ? layer->peers_admitted : more;
        more = spare_make_chunks(layer, more * MESSAGE_PEER_CHUNKS, MESSAGE_PEER_CHUNKS) /
               MESSAGE_PEER_CHUNKS;
        layer->peers_admitted += more;
    }
    return layer->peers_admitted >= peers;
}

static void count_far(struct message_layer *layer, struct message_peer *peer)
{
    bool was_far = peer->is_far;

    peer->is_far = peer->ready && !peer->shares_memory;
    layer->far_peers += peer->is_far && !was_far;
    layer->far_peers -= was_far && !peer->is_far;
}

void message_peer_shares_memory(struct message_layer *layer, struct message_peer *peer, bool shares)
{
    peer->shares_memory = shares;
    count_far(layer, peer);
}

void message_peer_ready(struct message_layer *layer, struct message_peer *peer, uint32_t granted,
                        uint32_t limit)
{
    assert(layer->first_credits > 0);
    layer->first_credits--;
    layer->ready_peers++;
    flow_start(&peer->flow, granted, limit);
    peer->ready = true;
    count_far(layer, peer);
}

void message_take_released(struct message_layer *layer, struct message_peer *peer)
{
    struct flow_frame *frame = NULL;

    while ((frame = flow_take_released(&peer->flow)) != NULL) {
        if (frame->owner != NULL) {
            message_disowned(layer, frame);
        }
        frame_pool_give(&layer->frames, frame);
    }
}

static void fail_some(struct message_layer *layer, struct operation *operations, uint32_t count,
                      const struct message_peer *peer, int error)
{
    for (uint32_t i = 0; i < count; i++) {
        struct operation *operation = &operations[i];
        if (operation->peer == peer && operation->state != OPERATION_FREE &&
            operation->state != OPERATION_DONE) {
            operation_done(layer, operation, error);
        }
    }
}

static void fail_operations(struct message_layer *layer, const struct message_peer *peer, int error)
{
    fail_some(layer, layer->operations, layer->sends_used, peer, error);
    fail_some(layer, layer->operations + layer->operations_each, layer->receives_used, peer, error);
    for (struct spare_block *block = layer->spare_blocks; block != NULL; block = block->next) {
        fail_some(layer, block->operations, SPARE_BLOCK, peer, error);
    }
}

void message_peer_failed(struct message_layer *layer, struct message_peer *peer, int error)
{
    bool was_ready = peer->ready;

    peer->ready = false;
    peer->error = error;
    peer->send_error = error;
    serve_forget(layer, peer);
    bundle_close(layer, peer);
    bundle_gathered(layer, peer);
    fail_operations(layer, peer, error);
    assert(peer->posted == 0); /* each counted once, until it was matched or ended */
    remote_forget(layer, peer);
    while (!list_is_empty(&peer->dones)) {
        inbound_free(layer, LIST_ENTRY(peer->dones.next, struct inbound, done));
    }
    /* Complete messages stay and can be received; incomplete ones never will be. */
    while (!list_is_empty(&peer->inbound)) {
        inbound_free(layer, LIST_ENTRY(peer->inbound.next, struct inbound, of_peer));
    }
    reorder_drop(layer, peer);
    if (was_ready) {
        flow_abandon(&peer->flow);
        message_take_released(layer, peer);
        layer->ready_peers--;
        count_far(layer, peer);
        /* A chunk is reserved for each frame that it may send. */
        assert(peer->flow.granted - peer->flow.expected <= peer->chunks);
        message_return_credit(layer, peer, peer->flow.granted - peer->flow.expected);
        peer->flow.granted = peer->flow.expected;
    }
}

/** Completes the sends of this list that have not begun, or that wait for the peer's receive. */
static bool end_sends(struct message_layer *layer, struct list *operations)
{
    struct list *link = operations->next;
    bool any = false;

    while (link != operations) {
        struct operation *operation = LIST_ENTRY(link, struct operation, link);
        link = link->next;
        if (operation->kind == BEOWIRE_SEND &&
            (operation->state == OPERATION_ANNOUNCED || operation->pushed == 0)) {
            operation_done(layer, operation, -ECONNRESET);
            any = true;
        }
    }
    return any;
}

bool message_peer_leaves(struct message_layer *layer, struct message_peer *peer)
{
    peer->send_error = -ECONNRESET;
    if (peer->shares_memory && layer->withdraw_memory != NULL) {
        layer->withdraw_memory(layer->read_context, peer);
    }
    bool queued = end_sends(layer, &peer->queue);
    return end_sends(layer, &peer->announced) || queued;
}

static bool is_in(const struct list *inbounds, const struct message_peer *peer)
{
    for (const struct list *link = inbounds->next; link != inbounds; link = link->next) {
        if (LIST_ENTRY(link, struct inbound, arrival)->peer == peer) {
            return true;
        }
    }
    return false;
}

bool message_peer_is_unused(const struct message_layer *layer, const struct message_peer *peer)
{
    if (peer->ready || peer->chunks > 0 || peer->pulls > 0 || peer->requests > 0 ||
        peer->served > 0) {
        return false;
    }
    const struct list *done = &layer->completed;
    for (const struct list *link = done->next; link != done; link = link->next) {
        if (LIST_ENTRY(link, struct operation, link)->peer == peer) {
            return false;
        }
    }
    return !is_in(&layer->unexpected, peer) && !is_in(&layer->claimed, peer) &&
           !is_in(&layer->notices, peer);
}

bool message_complete(struct message_layer *layer, struct beowire_completion *completion)
{
    if (list_is_empty(&layer->completed)) {
        return remote_take_notice(layer, completion);
    }
    struct operation *operation = LIST_ENTRY(layer->completed.next, struct operation, link);

    list_remove(&operation->link);
    *completion = (struct beowire_completion){
        .context = operation->context,
        .operation = operation->kind,
        .status = operation->status,
        .peer = operation->peer != NULL ? operation->peer->handle : BEOWIRE_ANY_PEER,
        .tag = operation->tag,
        .bytes = operation->bytes,
        .immediate = operation->immediate,
    };
    operation_give(layer, operation);
    return true;
}
