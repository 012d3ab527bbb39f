/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pull.h - long messages: the receiver requests their data, block by block, when it has a buffer.
 *
 *      sender                                   receiver
 *        ANNOUNCE (sequenced) ------------------>  matches a receive
 *        DATA DATA ... (the first, unasked) ---->  placed, if the receive was posted
 *        <-------------------------------- PULL    which segments of which block, over which lane
 *        DATA DATA ... ------------------------->  placed where they belong, in any order
 *        <-------------------------------- DONE    (sequenced) the sender's buffer is free
 *
 * PULL and DATA are not sequenced: the receiver notices a lost one and requests again, and a
 * repeated request does no harm. So data may use any lane, or several at once, and a dead lane
 * costs only time. The sender keeps only the announced operation. A receiver requests only what its
 * lanes have room for, so many senders do not overload it.
 *
 * A message is cut into *segments*, each the payload of one DATA frame, and *blocks* of up to 64
 * segments, as many as one call to a lane with segmentation offload can send. Where senders
 * may fill a switch, a block is requested in pieces, one after the other (pull_path.h). An
 * incomplete block, or piece, is requested again
 *   - when its last wanted segment has arrived, or data of a block of any message of this peer that
 *     was requested later on the same lane: lanes usually keep the order, so the missing segments
 *     were lost;
 *   - when the lane has been silent for the timeout (pull_path.h), or has brought only data
 *     requested later for that time.
 *
 * If a sender on our host does not send what was requested, blocks are read from its memory
 * (pull_read.c). Data of such a block that comes later is a duplicate.
 *
 * The pull of a message ends with the message in the layer's list `pulled`, from where
 * message_take_pulled() takes it: receives and answers belong to message/.
 *
 * Pure: time comes in, requests and frames go out. One thread.
 * Sources: receiver-driven pull of Open-MX (Goglin 2011), Homa's unscheduled bytes (Montazeri et
 * al., SIGCOMM 2018), striping of blocks by measured rate.
 */
#ifndef BEOWIRE_PULL_PULL_H
#define BEOWIRE_PULL_PULL_H

#include "lane/lane.h"
#include "message/message.h"

/** A request, as in PULL. */
struct pull_ask {
    struct message_peer *peer;
    struct pull *pull;
    uint64_t since_ns; /**< when it was first offered */
    uint32_t message;
    uint8_t lane; /**< our lane for the data */
    uint64_t offset;
    uint64_t wanted; /**< bit i: segment i from `offset` on */
    uint32_t more;   /**< whole blocks after this one, or up to the message's end */
};

/** DATA frames to send: a run of segments. */
struct pull_batch {
    struct message_peer *peer;
    uint32_t message;
    uint8_t lane;
    uint64_t offset;        /**< of the first */
    uint32_t segment_bytes; /**< of each, except perhaps the last */
    uint64_t bytes;
    const uint8_t *source;
    struct request *request;
    struct request *rest; /**< the request of the last segments, or NULL */
};

/** The result of pull_data(). */
enum pull_verdict {
    PULL_PLACED,
    PULL_UNKNOWN,   /**< no such message is being pulled: drop it */
    PULL_DUPLICATE, /**< drop it */
    PULL_INVALID,   /**< not a segment of the message: the peer violated the protocol */
};

/* ---- receiver ------------------------------------------------------------------------------ */

/** DATA of the peer may come over the `usable` lanes (bit i: lane i), of which the `best` are used
 *  while one of them works. Blocks requested over other lanes are requested again. */
void pull_set_lanes(struct message_layer *layer, struct message_peer *peer, uint32_t best,
                    uint32_t usable);

/** The next request to send now. @return false: none. */
bool pull_ask(struct message_layer *layer, uint64_t now_ns, struct pull_ask *ask);

/** No lane had room for the request that pull_ask() has just given: it will give it again, after
 *  pull_retry(). The timeout counts from the first attempt. */
void pull_refused(struct message_layer *layer, const struct pull_ask *ask);

/** Lanes may have room again. */
void pull_retry(struct message_layer *layer);

/** Is data of this message of the peer awaited? Not while others are pulled first. */
bool pull_awaits(const struct message_layer *layer, const struct message_peer *peer,
                 uint32_t message);

/** Takes a DATA frame from `peer` over our lane `lane`: a segment, or several consecutive ones that
 *  were joined on the way. */
enum pull_verdict pull_data(struct message_layer *layer, struct message_peer *peer,
                            const struct frame *frame, uint8_t lane, uint64_t now_ns);

/** The data likely to come next over a lane. @return false: none. */
bool pull_expect(const struct message_layer *layer, uint8_t lane,
                 struct lane_expectation *expectation, const struct message_peer **peer);

/** When pull_ask() may next have a request, if no frame comes; UINT64_MAX: never. */
uint64_t pull_deadline(const struct message_layer *layer);

/** Segments of a block, for segments of this length. Both ends must agree only on unasked blocks.
 */
static inline uint32_t pull_block_segments(uint32_t segment_bytes)
{
    uint32_t segments = PULL_BLOCK_BYTES / segment_bytes;

    return segments > 64 ? 64 : (segments > 0 ? segments : 1);
}

/** The last bytes of a message, if they begin a block and are at most a segment: ANNOUNCE may have
 *  them as its payload. A power of two is often just longer than whole blocks. @return 0: no such
 *  bytes. */
static inline uint32_t pull_tail_bytes(uint64_t bytes, uint32_t segment_bytes)
{
    uint64_t rest = bytes % ((uint64_t)pull_block_segments(segment_bytes) * segment_bytes);

    return rest <= segment_bytes ? (uint32_t)rest : 0;
}

/* ---- sender -------------------------------------------------------------------------------- */

/** Handles a PULL of the peer.
 *  @return 0; -EPROTO: no such segments, or no such lane; -ENOENT: no such message (any more), or
 * no path over that lane (now): drop it. */
int serve_pull(struct message_layer *layer, struct message_peer *peer, const struct frame *frame);

/** Is there data to send for requests of peers? */
static inline bool serve_is_needed(const struct message_layer *layer)
{
    return !list_is_empty(&layer->requests);
}

/** The next run of segments, of at most 64, for a lane that is not `busy` (bit i: lane i). Requests
 *  for the same lane are answered in their order. @return false: there is none. */
bool serve_next(struct message_layer *layer, uint32_t busy, struct pull_batch *batch);

/** `frames` of the run were sent; the others are offered again. */
void serve_sent(struct message_layer *layer, const struct pull_batch *batch, uint32_t frames);

/* ---- for messages --------------------------------------------------------------------------- */

/** Begins to pull the message of `inbound->operation`, now or when there is room. The first
 *  `unasked` bytes, whole blocks or all, are on their way over our lane `lane`. */
void pull_start(struct message_layer *layer, struct inbound *inbound, uint64_t unasked,
                uint8_t lane, uint64_t now_ns);

/** Copies all wanted data of a message from its sender's memory at once, if the sender is on our
 *  host and the message is short, or the sender has lately been slow to send. @return false:
 *  nothing was copied. */
bool pull_read_whole(struct message_layer *layer, const struct inbound *inbound);

/** Pulls a message that could not be read. */
void pull_instead(struct message_layer *layer, struct inbound *inbound, uint64_t now_ns);

/** Stops pulling the message. */
void pull_stop(struct message_layer *layer, struct inbound *inbound);

/** The lane on which this many bytes from or to a peer would arrive first; LANES_MAX: none. */
uint8_t pull_best_lane(const struct message_layer *layer, const struct message_peer *peer,
                       uint64_t bytes);

/** Adds a request to send segments of an announced send over our lane `lane`. @return 0; -EPROTO:
 *  no such segments; -ENOENT: no such message (any more): drop it. */
int serve_add(struct message_layer *layer, struct message_peer *peer, uint32_t message,
              uint64_t offset, uint64_t wanted, uint8_t lane);

/** The peer has failed: drops its requests. */
void serve_forget(struct message_layer *layer, const struct message_peer *peer);

/** Our lane that leads to the peer's lane of this kind and rail; LANES_MAX: none. */
uint8_t pull_lane_of(const struct message_layer *layer, const struct message_peer *peer,
                     uint8_t kind, uint8_t rail);

#endif /* BEOWIRE_PULL_PULL_H */
