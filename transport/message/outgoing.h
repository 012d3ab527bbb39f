/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outgoing.h - how sequenced frames of operations are made; for the files of message/.
 */
#ifndef BEOWIRE_MESSAGE_OUTGOING_H
#define BEOWIRE_MESSAGE_OUTGOING_H

#include "message/state.h"

/** Bytes of payload that fit a frame of this type to the peer. */
static inline uint32_t outgoing_room(const struct message_peer *peer, enum frame_type type)
{
    uint32_t most = type == FRAME_DATA ? peer->data_bytes : peer->frame_bytes;

    return most - (uint32_t)frame_head_bytes(type);
}

/** Of an operation that takes several frames: how long each is, with its headers, if they are as
 *  long as one another but for the last, and no more than it takes. That is shorter by less than
 *  there are frames. */
static inline uint32_t outgoing_even_bytes(const struct message_peer *peer, uint64_t bytes,
                                           enum frame_type first, enum frame_type others)
{
    uint32_t first_head = (uint32_t)frame_head_bytes(first);
    uint32_t head = (uint32_t)frame_head_bytes(others);
    uint64_t left = bytes - outgoing_room(peer, first);
    uint64_t frames = 1 + (left + outgoing_room(peer, others) - 1) / outgoing_room(peer, others);
    uint64_t total = bytes + first_head + (frames - 1) * head;

    return (uint32_t)((total + frames - 1) / frames);
}

/** Could a frame leave at once? If only credit is missing, the peer is asked for it from now on,
 * for nothing of ours waits that would ask. */
bool outgoing_is_clear(struct message_peer *peer);

/** Most bytes that are put to this peer, got by it, or sent to it while it has more to receive
 *  already, without one asking the other. */
static inline uint32_t outgoing_eager_bytes(const struct message_layer *layer,
                                            const struct message_peer *peer)
{
    uint32_t most = message_limits_busy(&layer->limits);

    return peer->shares_memory && most > MESSAGE_EAGER_SHARED_BYTES_MAX
               ? MESSAGE_EAGER_SHARED_BYTES_MAX
               : most;
}

/** Is a message that takes several frames sent at once? Not if what the peer has room for does not
 *  hold it whole: it would wait half-way, and be in the way of those behind it. Where DATA is cut,
 *  announcing pays sooner, but not in a stream, where trains have the frames of several messages.
 */
static inline bool outgoing_is_eager(const struct message_layer *layer,
                                     const struct message_peer *peer, uint64_t bytes)
{
    const struct flow *flow = &peer->flow;
    bool idle =
        flow->next - flow->first < MESSAGE_EAGER_BUSY_FRAMES && list_is_empty(&peer->announced);
    uint32_t begin = idle ? flow->next : flow->first; /* in a stream there will be more by then */
    uint32_t window = flow_window(flow, begin);
    uint32_t most = idle ? layer->limits.eager_bytes : outgoing_eager_bytes(layer, peer);
    uint32_t cut_frames = layer->limits.eager_cut_frames;
    uint32_t frames = idle && peer->cut && window > cut_frames ? cut_frames : window;

    if (peer->one_sided && bytes >= layer->limits.one_sided_bytes) {
        return false; /* the peer reads it */
    }
    return bytes <= most && bytes <= (uint64_t)frames * outgoing_room(peer, FRAME_EAGER);
}

/** Takes a frame and encodes its header. `copied` bytes will follow the operation header in the
 *  head, `referred` bytes stay where they are. @return NULL: none is free. */
static inline struct flow_frame *outgoing_begin(struct message_layer *layer,
                                                struct message_peer *peer, enum frame_type type,
                                                uint32_t copied, uint32_t referred)
{
    size_t head_bytes = frame_head_bytes(type) + copied;
    struct flow_frame *frame = frame_pool_take(&layer->frames, head_bytes);

    if (frame == NULL) {
        return NULL;
    }
    frame->head_bytes = (uint32_t)head_bytes;
    frame->payload_bytes = referred;
    frame_encode(frame->head, &(struct frame_fields){
                                  .type = type,
                                  .destination = peer->destination,
                                  .source = peer->source,
                                  .key = peer->key,
                                  .sequence = peer->flow.next,
                                  .payload_bytes = (uint16_t)(copied + referred),
                              });
    frame->exempt = frame_is_exempt(type);
    return frame;
}

static inline void *outgoing_header(const struct flow_frame *frame)
{
    return frame->head + sizeof(struct frame_header);
}

/** The operation does not end before the frame is acknowledged, or copied (lent.h). In a bundle, it
 *  is the last that waits for it. */
static inline void outgoing_await(struct flow_frame *frame, struct operation *operation)
{
    struct operation *last = frame->owner;

    operation->frames_outstanding++;
    if (last == NULL) {
        frame->owner = operation;
        return;
    }
    while (last->next_of_frame != NULL) {
        last = last->next_of_frame;
    }
    last->next_of_frame = operation;
}

/** The frame's data is `bytes` bytes of the operation's, from where it stands. */
static inline void outgoing_refer(struct flow_frame *frame, struct operation *operation,
                                  uint32_t bytes)
{
    frame->payload = operation->source + operation->pushed;
    outgoing_await(frame, operation);
    operation->pushed += bytes;
}

/** Whoever gets the frame acknowledges it without delay: somebody waits for that. */
static inline void outgoing_hurry(const struct flow_frame *frame)
{
    frame_stamp(frame->head, FRAME_ACK_REQUEST, 0, 0);
}

/** Could a send of so many bytes to the peer begin at all? @return 0, or a negative errno. */
int outgoing_check_send(const struct message_peer *peer, const void *data, uint64_t bytes);

/** Takes an operation for a send that is not confirmed and has no context; NULL: none is free. */
struct operation *outgoing_take_send(struct message_layer *layer, struct message_peer *peer,
                                     uint64_t tag, uint32_t immediate, const void *data,
                                     uint64_t bytes);

/** May a message of this length go into a bundle now (bundle.h)? */
bool outgoing_can_bundle(const struct message_layer *layer, const struct message_peer *peer,
                         uint64_t bytes);

/** Pushes a message that fits one frame, copied. @return false: no frame is free.
 *  @param confirmed the send that waits until it is acknowledged, or NULL */
bool outgoing_push_copied(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                          uint32_t immediate, const void *data, uint32_t bytes,
                          struct operation *confirmed);

/** Everything of the send is pushed: it ends when it waits for no frame any more. */
void outgoing_all_pushed(struct message_layer *layer, struct operation *operation);

/** Pushes the next frame of a send that is in the peer's queue and not announced; after the last it
 *  is there no more. @return false: no frame is free. */
bool outgoing_push_part(struct message_layer *layer, struct message_peer *peer,
                        struct operation *operation);

/** Do all frames of so many bytes, of which the first is of type `first`, the others of type
 *  `others`, find room and credit now, and a copy of the data in them? */
bool outgoing_holds(const struct message_layer *layer, const struct message_peer *peer,
                    uint64_t bytes, enum frame_type first, enum frame_type others);

/** Can the peer ask for each segment of an operation that is about to be announced? Else that ends:
 *  it is longer than frames so short can have numbers for. */
bool outgoing_has_numbers(struct message_layer *layer, const struct message_peer *peer,
                          struct operation *operation);

/** Has the first blocks of an announced operation sent without a PULL, over the lane whose DATA
 *  arrives first. @return our lane; LANES_MAX, and 0 in `unasked`: they are not. */
uint8_t outgoing_unasked(struct message_layer *layer, struct message_peer *peer,
                         const struct operation *operation, uint64_t *unasked);

#endif /* BEOWIRE_MESSAGE_OUTGOING_H */
