/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outgoing.h - makes sequenced frames of operations; for the files of message/.
 */
#ifndef BEOWIRE_MESSAGE_OUTGOING_H
#define BEOWIRE_MESSAGE_OUTGOING_H

#include "message/state.h"

/** Bytes of payload that fit into a frame of this type to the peer. */
static inline uint32_t outgoing_room(const struct message_peer *peer, enum frame_type type)
{
    uint32_t most = type == FRAME_DATA ? peer->data_bytes : peer->frame_bytes;

    return most - (uint32_t)frame_head_bytes(type);
}

/** Length, with headers, of the frames of an operation of several frames, if all but the last have
 *  equal lengths and their number is minimal. The last one is shorter by less than the number of
 *  frames. */
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

/** The length of segments of a message to the peer: mostly shorter than they may be, so that a
 * block of them is all that one call sends if a lane cuts them, or with headers fits into a train.
 */
static inline uint16_t outgoing_segment(const struct message_peer *peer)
{
    uint32_t room = outgoing_room(peer, FRAME_DATA);
    uint32_t segments = PULL_BLOCK_BYTES / room;
    uint32_t least = PULL_BLOCK_BYTES / (segments + 1);

    if (segments >= 64) {
        return (uint16_t)room;
    }
    if (peer->cut) {
        return (uint16_t)(PULL_BLOCK_BYTES % room == 0 ? room : least);
    }
    bool fits = !peer->trains || segments * (room + sizeof(struct frame_data)) <= PULL_TRAIN_BYTES;
    return (uint16_t)(fits ? room : least + 1);
}

/** Could a frame be sent at once? If only credit is missing, requests it from the peer from now on,
 *  because no queued frame would. */
bool outgoing_is_clear(struct message_peer *peer);

/** The most bytes that are put, got, or sent to a busy peer, without being announced or granted. */
static inline uint32_t outgoing_eager_bytes(const struct message_layer *layer,
                                            const struct message_peer *peer)
{
    uint32_t most = message_limits_busy(&layer->limits);

    return peer->shares_memory && most > MESSAGE_EAGER_SHARED_BYTES_MAX
               ? MESSAGE_EAGER_SHARED_BYTES_MAX
               : most;
}

/** Is a message of several frames sent without announcement? Only if the peer's credit holds all of
 *  it: otherwise it would wait half-way and block those behind it. If DATA is cut, announcing pays
 *  from a smaller size, except in a stream, where trains combine frames of several messages. */
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
 *  head, `referred` bytes stay where they are. @return NULL: no frame is free. */
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

/** The operation must not complete before the frame is acknowledged, or copied (lent.h). A frame of
 *  a bundle may have several operations. */
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

/** Refers to the next `bytes` bytes of the operation. */
static inline void outgoing_refer(struct flow_frame *frame, struct operation *operation,
                                  uint32_t bytes)
{
    frame->payload = operation->source + operation->pushed;
    outgoing_await(frame, operation);
    operation->pushed += bytes;
}

/** Asks the receiver to acknowledge without delay, because somebody waits for it. */
static inline void outgoing_hurry(const struct flow_frame *frame)
{
    frame_stamp(frame->head, FRAME_ACK_REQUEST, 0, 0);
}

/** Can a send of this size to the peer begin at all? @return 0, or a negative errno. */
int outgoing_check_send(const struct message_peer *peer, const void *data, uint64_t bytes);

/** Takes an operation for a send without confirmation and context; NULL: none is free. */
struct operation *outgoing_take_send(struct message_layer *layer, struct message_peer *peer,
                                     uint64_t tag, uint32_t immediate, const void *data,
                                     uint64_t bytes);

/** May a message of this length go into a bundle now (bundle.h)? */
bool outgoing_can_bundle(const struct message_layer *layer, const struct message_peer *peer,
                         uint64_t bytes);

/** Pushes a copied message that fits into one frame. @return false: no frame is free.
 *  @param confirmed the send that waits until it is acknowledged, or NULL */
bool outgoing_push_copied(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                          uint32_t immediate, const void *data, uint32_t bytes,
                          struct operation *confirmed);

/** All of the send is pushed: it completes when it waits for no frame. */
void outgoing_all_pushed(struct message_layer *layer, struct operation *operation);

/** Pushes the next frame of a queued send that is not announced; the last removes it from the
 *  queue. @return false: no frame is free. */
bool outgoing_push_part(struct message_layer *layer, struct message_peer *peer,
                        struct operation *operation);

/** Is there room and credit for all frames of this many bytes, the first of type `first` and the
 *  others of type `others`, with a copy of the data? */
bool outgoing_holds(const struct message_layer *layer, const struct message_peer *peer,
                    uint64_t bytes, enum frame_type first, enum frame_type others);

/** Can each segment of an operation about to be announced be numbered? Otherwise completes it with
 *  an error: it is too long for such short frames. */
bool outgoing_has_numbers(struct message_layer *layer, const struct message_peer *peer,
                          struct operation *operation);

/** Sends the first blocks of the first `bytes` bytes of an announced operation without a PULL, over
 *  the lane on which DATA arrives first. @return our lane; LANES_MAX, with 0 in `unasked`: not
 *  sent. */
uint8_t outgoing_unasked(struct message_layer *layer, struct message_peer *peer,
                         const struct operation *operation, uint64_t bytes, uint64_t *unasked);

#endif /* BEOWIRE_MESSAGE_OUTGOING_H */
