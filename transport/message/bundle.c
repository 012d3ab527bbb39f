/* SPDX-License-Identifier: BSD-3-Clause */
#include "message/bundle.h"

#include "message/internal.h"
#include "message/outgoing.h"

#include <errno.h>
#include <string.h>

/* ---- out ----------------------------------------------------------------------------------- */

static struct flow_frame *open_frame(struct message_layer *layer, struct message_peer *peer)
{
    if (!flow_has_room(&peer->flow) || !flow_has_credit(&peer->flow)) {
        return NULL;
    }
    struct flow_frame *frame = frame_pool_take(&layer->frames, peer->frame_bytes);
    if (frame == NULL) {
        return NULL;
    }
    frame->head_bytes = sizeof(struct frame_header);
    frame_encode(frame->head, &(struct frame_fields){
                                  .type = FRAME_BUNDLE,
                                  .destination = peer->destination,
                                  .source = peer->source,
                                  .key = peer->key,
                                  .sequence = peer->flow.next,
                              });
    flow_push(&peer->flow, frame);
    flow_hold(&peer->flow, true);
    peer->open_bundle = frame;
    peer->open_messages = 0;
    if (!peer->gathering) {
        list_append(&layer->bundling, &peer->bundling);
    }
    layer->counters.bundles_sent++;
    return frame;
}

void bundle_close(struct message_layer *layer, struct message_peer *peer)
{
    (void)layer;
    if (peer->open_bundle != NULL) {
        peer->open_bundle = NULL;
        flow_hold(&peer->flow, false);
        if (!peer->gathering) {
            list_remove(&peer->bundling);
        }
    }
}

void bundle_gather(struct message_layer *layer, struct message_peer *peer)
{
    if (!peer->gathering && peer->open_bundle == NULL) {
        list_append(&layer->bundling, &peer->bundling);
    }
    peer->gathering = true;
}

void bundle_gathered(struct message_layer *layer, struct message_peer *peer)
{
    (void)layer;
    if (peer->gathering && peer->open_bundle == NULL) {
        list_remove(&peer->bundling);
    }
    peer->gathering = false;
}

/** @return the peer of this link in `bundling`; NULL: the end. */
static struct message_peer *peer_of(const struct message_layer *layer, const struct list *link)
{
    return link != &layer->bundling ? LIST_ENTRY(link, struct message_peer, bundling) : NULL;
}

struct message_peer *bundle_first(const struct message_layer *layer)
{
    return peer_of(layer, layer->bundling.next);
}

struct message_peer *bundle_next(const struct message_layer *layer, const struct message_peer *peer)
{
    return peer_of(layer, peer->bundling.next);
}

bool bundle_add(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                uint32_t immediate, const void *data, uint32_t bytes, struct operation *confirmed)
{
    struct flow_frame *frame = peer->open_bundle;
    uint32_t more = (uint32_t)sizeof(struct frame_bundled) + bytes;

    if (sizeof(struct frame_header) + more > peer->frame_bytes) {
        return false;
    }
    if (frame != NULL && frame->head_bytes + more > peer->frame_bytes) {
        bundle_close(layer, peer);
        frame = NULL;
    }
    if (frame == NULL) {
        frame = open_frame(layer, peer);
        if (frame == NULL) {
            return false;
        }
    }
    struct frame_bundled *bundled =
        (struct frame_bundled *)(void *)(frame->head + frame->head_bytes);
    *bundled = (struct frame_bundled){
        .tag = to_le64(tag),
        .immediate = to_le32(immediate),
        .bytes = to_le16((uint16_t)bytes),
    };
    if (bytes > 0) {
        memcpy(bundled + 1, data, bytes);
    }
    frame->head_bytes += more;
    struct frame_header *header = (struct frame_header *)(void *)frame->head;
    header->payload_bytes = to_le16((uint16_t)(frame->head_bytes - sizeof(struct frame_header)));
    if (confirmed != NULL) {
        outgoing_await(frame, confirmed);
        outgoing_hurry(frame);
    }
    layer->counters.bundled_messages++;
    if (++peer->open_messages == BUNDLE_MESSAGES_MAX) {
        bundle_close(layer, peer);
    }
    return true;
}

/* ---- in ------------------------------------------------------------------------------------ */

/** Reads the message at `*at`, and moves `*at` behind it. @return false: it is truncated. */
static bool next_message(const uint8_t **at, const uint8_t *end, struct arrived *arrived)
{
    const struct frame_bundled *bundled = (const struct frame_bundled *)(const void *)*at;

    if ((size_t)(end - *at) < sizeof *bundled) {
        return false;
    }
    *arrived = (struct arrived){
        .tag = from_le64(bundled->tag),
        .immediate = from_le32(bundled->immediate),
        .bytes = from_le16(bundled->bytes),
        .data = (const uint8_t *)(bundled + 1),
    };
    if ((size_t)(end - arrived->data) < arrived->bytes) {
        return false;
    }
    *at = arrived->data + arrived->bytes;
    return true;
}

/** Reads the headers of all messages, only once, because the sender may still change the memory of
 *  the payload. @return their number; 0: it violates the protocol. */
static unsigned read_all(const struct frame *frame, struct arrived *arrived)
{
    const uint8_t *at = frame->payload;
    const uint8_t *end = at + frame->payload_bytes;
    unsigned count = 0;

    for (; at < end; count++) {
        if (count == BUNDLE_MESSAGES_MAX || !next_message(&at, end, &arrived[count])) {
            return 0;
        }
    }
    return count;
}

/** Keeps the whole payload for the unmatched messages in it. */
static struct chunk *keep_payload(struct message_layer *layer, const struct frame *frame)
{
    struct chunk *chunk = chunk_take(layer);

    layer->frame_kept = true;
    chunk->sequence = frame->sequence;
    chunk->bytes = frame->payload_bytes;
    chunk->users = 0;
    memcpy(chunk->data, frame->payload, frame->payload_bytes);
    return chunk;
}

static void keep_message(struct message_layer *layer, struct message_peer *peer,
                         const struct arrived *arrived, struct chunk *chunk, size_t offset)
{
    struct inbound *inbound = inbound_take(layer);

    inbound->peer = peer;
    inbound->tag = arrived->tag;
    inbound->immediate = arrived->immediate;
    inbound->bytes = inbound->expected_bytes = inbound->received = arrived->bytes;
    inbound->shared = chunk;
    inbound->shared_data = chunk->data + offset;
    chunk->users++;
    list_append(&layer->unexpected, &inbound->arrival);
    layer->counters.unexpected_messages++;
}

int bundle_arrive(struct message_layer *layer, struct message_peer *peer, const struct frame *frame)
{
    struct arrived messages[BUNDLE_MESSAGES_MAX];
    struct chunk *chunk = NULL;
    unsigned count = read_all(frame, messages);

    if (count == 0) {
        return -EPROTO;
    }
    for (unsigned i = 0; i < count; i++) {
        const struct arrived *arrived = &messages[i];
        struct operation *operation = match_posted(layer, peer, arrived->tag);
        if (operation != NULL) {
            message_deliver(layer, peer, operation, arrived);
            continue;
        }
        if (chunk == NULL) {
            chunk = keep_payload(layer, frame);
        }
        keep_message(layer, peer, arrived, chunk, (size_t)(arrived->data - frame->payload));
    }
    return 0;
}
