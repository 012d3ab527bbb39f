/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message.h - messages: tag matching, and how messages become frames.
 *
 *   up to one frame       EAGER                              copied on sending: done at once
 *   up to eager limit     EAGER FRAGMENT FRAGMENT ...        copied after sending (lent.h)
 *   longer                ANNOUNCE ----->                    pulled by the receiver when it has a
 *                         <------- PULL ... DATA ----->      buffer (pull/), so it never needs
 *                         <------- DONE                      memory for it
 *
 * A confirmed send is complete when its frames are acknowledged, or DONE has come. A matched send
 * is announced, however short it is: DONE says that a receive has it.
 *
 * First frames leave in the order of the sends, and frames arrive in order, so messages match
 * receives in order. A short message does not wait for the data of a long one.
 *
 * Memory of the receiver. A frame of a message without a receive is kept in a *chunk*, and each
 * frame that some peer may send (its credit) has one reserved. Of the chunks of a peer,
 *
 *      peer.chunks = held by its messages + granted - expected        invariant
 *
 * the first MESSAGE_PEER_CHUNKS are its own, the others come from MESSAGE_CHUNKS that all share.
 * So an accepted frame can always be kept, unexpected messages are bounded whatever peers do, and
 * no peer can take the last credit from another. A receiver that leaves a peer's messages unmatched
 * stops that peer until it matches some.
 *
 * But an application may wait for a message behind these: one with another tag, or one of a peer
 * that itself waits for credit. If a peer starves, its kept messages are not received, and the
 * application waits, then it gets more credit if the layer may grow (spare.h).
 *
 * The interface of message/ is this header, bundle.h, reorder.h and limits.h; the other headers are
 * for its own files and those of pull/ and remote/, which belong together. The comments of struct
 * message_peer and struct message_layer say what others may set and read
 * (scripts/check_layers.py checks this).
 *
 * Pure: frames come in, frames go out through the flows, operations end in a list. message_open()
 * allocates all memory, except for operations beyond the ordered number and for unreceived frames
 * (spare.h). One thread.
 */
#ifndef BEOWIRE_MESSAGE_MESSAGE_H
#define BEOWIRE_MESSAGE_MESSAGE_H

#include "beowire.h"
#include "flow/flow.h"
#include "flow/frame_pool.h"
#include "lane/lane.h"
#include "message/limits.h"
#include "message/list.h"
#include "remote/region.h"

struct operation;
struct inbound;
struct chunk;
struct pull;
struct pull_path;
struct request;

/** Memory that message_peer_init() needs for each lane of the endpoint. */
#define MESSAGE_PATH_BYTES 80

/** How fast data comes, measured over at least PULL_RATE_NS. */
struct pull_rate {
    uint64_t since_ns;
    uint32_t bytes;        /**< since then */
    uint32_t bytes_per_us; /**< smoothed; 0: none measured */
};

/** A lane of the endpoint. */
struct message_lane {
    uint8_t kind; /**< as in PULL and ANNOUNCE, enum lane_kind */
    uint8_t rail;
    bool of_host;            /**< lanes of this kind all reach one another; it has no rail */
    uint64_t capacity_bytes; /**< may be in flight to us */
    uint64_t
        outstanding_bytes; /**< probably in flight: requested from all peers that are not silent */
    uint32_t blocks;       /**< outstanding, of all peers */
    struct pull_rate rate; /**< of all that is requested */
    uint32_t best_rate;    /**< its highest since the crowd began, in bytes per microsecond */
};

/** A peer, embedded in struct core_peer. Files outside message/ may
 *
 *      set     index handle crossing destination source ourselves
 *      set     key frame_bytes data_bytes segment_bytes_max remote_memory
 *      set     one_sided cut trains gathers waits_for_lane data_silent_since_ns flow
 *      read    ready send_error pulls shares_memory
 *
 *  and nothing else: the first line when the peer is created (`index` also when it moves), the
 * second (what CONNECT and ACCEPT agree on) before message_peer_ready(), the third (abilities of
 * its lanes) at any time, `flow` by flow.h. */
struct message_peer {
    struct flow flow;
    uint32_t index;         /**< among the peers of the endpoint, at present */
    uint32_t handle;        /**< the public beowire_peer */
    bool ready : 1;         /**< connected: frames may be pushed */
    bool shares_memory : 1; /**< on our host: messages may be read from its memory */
    bool is_far : 1;        /**< ready, and on another host: counted in `far_peers` */
    bool pulled_far : 1;    /**< counted in `pulled_peers` */
    bool remote_memory : 1; /**< it supports remote memory */
    bool ourselves : 1;     /**< this endpoint itself */
    bool gathering : 1;     /**< complete frames are held back so that more can join */
    bool lends : 1;         /**< frames from `lent_from` on may be lent (lent.h) */
    bool cut : 1;           /**< DATA is sent to it over lanes that cut (lane.h) */
    bool trains : 1;        /**< bursts are sent in trains: frames of equal length are cheaper */
    bool turned_away : 1;   /**< a message to be sent at once found no credit, and waits for some */
    bool has_starved : 1;   /**< if so, when the frames before `starved_at` had come */
    bool one_sided : 1; /**< a lane can read from its memory, and it from ours (pull/one_sided.h) */
    bool drained : 1;   /**< since then (or the beginning), a message that had come by then was
                                 received */
    bool gathers;       /**< bursts use a lane that cuts, where the FRAGMENTs of a message
                                 join its EAGER if their payloads are as long; not a bit-field,
                                 since each sent frame sets it */
    bool waits_for_lane;   /**< frames have not left, only because no lane has room */
    uint8_t open_messages; /**< in the open bundle */
    int8_t unasked_credit; /**< positive: first blocks of long messages are sent unasked */
    uint8_t absences;      /**< long messages in a row of which it did not send blocks in time */
    uint8_t reads_left;    /**< messages that are therefore read from its memory as a whole */
    uint8_t guesses;       /**< invalid keys that it has used (REMOTE_GUESSES_MAX) */
    uint8_t crossing;      /**< which rail of it each of ours leads to: two bits for each of ours,
                                from the lowest on, its number exclusive-or that of the peer's */
    int error;             /**< failed: why; 0 if not */
    int send_error;        /**< the same, or: it receives no more (message_peer_leaves()) */
    uint16_t destination;  /**< for headers, like the next two */
    uint16_t source;
    uint32_t key;
    uint32_t frame_bytes;   /**< longest frame to it, except DATA, ... */
    uint32_t data_bytes;    /**< ... and longest DATA */
    uint32_t window_frames; /**< credit that it should have */
    uint32_t chunks;        /**< in use by it: held or reserved */
    uint32_t pile_frames;   /**< permitted `chunks` (MESSAGE_PILE_FRAMES) */
    uint32_t starved_at;
    uint16_t segment_bytes_max;   /**< of its DATA when the connection opened: the maximum */
    struct chunk *reordered;      /**< frames that came early, in order, in reserved chunks */
    struct chunk *reordered_last; /**< valid if there are any */
    struct list queue;            /**< operations: sends, in order */
    struct list announced;        /**< operations that wait for DONE, RESULT or data */
    struct list inbound;
    struct list bundling;           /**< in the layer's list, while messages are held back */
    struct flow_frame *open_bundle; /**< the last frame of the flow, held back; or NULL */
    struct list dones;              /**< inbound messages and requests to answer */
    struct inbound *put;            /**< its put of which more frames will come; or NULL */
    uint32_t lent_from;
    uint32_t posted;               /**< receives that accept messages of this peer only */
    uint32_t bulk_lanes;           /**< bit i: lane i carries DATA to and from it */
    uint32_t usable_lanes;         /**< bit i: lane i could; `bulk_lanes` are the best of them */
    uint32_t pulls;                /**< active pulls of its messages */
    uint64_t data_silent_since_ns; /**< the first silence since data came over any path; 0: none */
    uint32_t requests;             /**< its requests to answer */
    uint32_t served;               /**< its gets that it pulls */
    struct pull_path
        *pull_paths; /**< one for each lane of the endpoint; owned by the owner of the peer */
};

struct message_counters {
    uint64_t eager_messages;
    uint64_t announced_messages;
    uint64_t own_messages; /**< to ourselves, without frames */
    uint64_t received_messages;
    uint64_t unexpected_messages;
    uint64_t truncated_messages;
    uint64_t protocol_errors;
    uint64_t bundles_sent;
    uint64_t bundled_messages;
    uint64_t messages_read; /**< as a whole from the sender's memory */
    uint64_t blocks_read;   /**< of other messages, because the sender was busy */
    uint64_t lent_messages; /**< to peers that may read them over a lane */
    uint64_t lend_refused;  /**< without a connection, or over the limit of registered memory */
    uint64_t one_sided_messages; /**< read over a lane, ... */
    uint64_t one_sided_refused;  /**< ... pulled because reading could not begin, ... */
    uint64_t one_sided_failed;   /**< ... or because it failed */
    uint64_t pulls_repeated;
    uint64_t pull_timeouts;
    uint64_t data_frames_sent;
    uint64_t data_unasked;     /**< blocks sent before they were requested */
    uint64_t requests_dropped; /**< PULLs for which there was no room */
    uint64_t remote_puts;      /**< by peers, into our memory */
    uint64_t remote_gets;
    uint64_t remote_atomics;
    uint64_t remote_refused; /**< requests of peers that ended with an error */
    uint64_t remote_guesses; /**< requests with an invalid key */
    uint64_t remote_written; /**< successful requests that changed our memory, ... */
    uint64_t remote_read;    /**< ... or read from it */
};

/** Copies from the memory of a peer's process. @return 0, or a negative errno. */
typedef int message_read_memory(void *context, const struct message_peer *peer, uint64_t address,
                                void *target, uint64_t bytes);

/** Lends memory to peers and reads theirs (pull/one_sided.h). struct lane_operations has the same
 * with a lane and addresses. */
struct one_sided_operations {
    uint64_t (*lend)(void *context, const struct message_peer *peer, const void *memory,
                     uint64_t bytes);
    void (*take_back)(void *context, uint64_t lent);
    int (*begin_read)(void *context, const struct message_peer *peer, uint64_t lent, void *target,
                      uint64_t bytes, void *read);
    void (*stop_read)(void *context, void *read);
};

/** All messages of an endpoint. Files outside message/ may
 *
 *      set     limits grows read_memory withdraw_memory one_sided read_context lanes
 *      set     may_hold now_ns regions
 *      read    counters ready_peers chunk_count chunks_added
 *
 *  and nothing else: the first line between message_open() and the first message,
 *  `may_hold` before a post, `now_ns` before a frame is handled; `regions` by remote/region.h. Of a
 * lane `kind`, `rail` and `capacity_bytes` are set, and `blocks` is read. */
struct message_layer {
    struct message_limits limits;     /**< crossover sizes, which each end chooses for itself */
    message_read_memory *read_memory; /**< NULL: not possible */
    /** Prevents a peer that may be reading our memory from doing so; NULL: no peer ever reads it.
     */
    void (*withdraw_memory)(void *context, const struct message_peer *peer);
    /** NULL: no peer has `one_sided`. */
    const struct one_sided_operations *one_sided;
    void *read_context;
    struct frame_pool frames;
    struct operation *operations; /**< sends first, then receives */
    size_t operations_bytes;
    uint32_t operations_each;
    uint32_t sends_used; /**< of each kind: operations that were ever used */
    uint32_t receives_used;
    bool grows;                       /**< more are allocated when needed (spare.h) */
    struct spare_block *spare_blocks; /**< or NULL */
    struct spare_pile *spare_piles;   /**< or NULL */
    struct list free_spares;
    struct list free_sends;
    struct list free_receives;
    struct list posted;              /**< receives, oldest first */
    struct list unexpected;          /**< inbound messages without a receive, oldest first */
    struct list claimed;             /**< inbound messages taken aside */
    uint64_t last_claim;             /**< name of the newest */
    struct list completed;           /**< operations, oldest first */
    struct list notices;             /**< inbound puts to report to the application */
    struct operation *served_memory; /**< peers' gets that they pull */
    uint32_t served_used;            /**< slots from here on were never used */
    struct list free_served;
    struct list served;
    struct inbound *inbounds;
    size_t inbound_bytes;
    uint32_t inbound_count;
    uint32_t inbounds_used; /**< those from here on were never used; higher ones are of piles */
    struct list free_inbounds;
    struct chunk *free_chunks;
    uint32_t chunks_used; /**< of `chunk_count`, those that were ever used */
    uint32_t chunk_bytes;
    uint32_t chunk_count;   /**< at most, including the spare one of reorder.h */
    uint32_t chunks_added;  /**< beyond these (spare.h) */
    uint32_t chunks_unmade; /**< of MESSAGE_CHUNKS, those not allocated yet ... */
    uint32_t
        chunks_shared; /**< ... and of the others and the added ones, those that no peer uses */
    uint32_t peers_admitted; /**< peers for which MESSAGE_PEER_CHUNKS are allocated */
    bool sought;             /**< a wanted message was not found */
    bool may_hold;           /**< a message posted now may wait for more (core/hold.h) */
    struct list bundling;    /**< peers with messages held back */
    bool frame_kept;         /**< the frame just handled is in a chunk */
    uint32_t ready_peers;
    uint32_t far_peers;                   /**< of these, those on other hosts */
    uint32_t first_credits;               /**< reserved for peers that are not ready yet */
    struct message_lane lanes[LANES_MAX]; /**< written by the opener, before traffic */
    struct pull *pull_memory;
    struct list free_pulls;
    struct list pulls;          /**< active */
    uint32_t pulls_begun;       /**< how many of them began without unasked data */
    struct list waiting_pulls;  /**< inbound messages that wait for a free pull */
    struct list reads;          /**< inbound messages that are being read (pull/one_sided.h) */
    struct list pulled;         /**< inbound messages of which the pull has ended */
    uint32_t pulled_peers;      /**< on other hosts, with a message in `pulls` */
    uint32_t pulled_last;       /**< the last one that began; its handle */
    bool pulls_crowd;           /**< these are several; see pull/pull_path.h */
    struct rtt pull_rtt;        /**< from PULL to what it requests, in a crowd */
    uint64_t pull_window_bytes; /**< requested of limited peers at the same time, on a lane */
    bool pull_freed;            /**< one of the waiting may begin */
    bool pulls_changed;         /**< pull_ask() may have a request */
    bool pulls_refused;         /**< or will, when a lane has room */
    uint64_t pulls_deadline_ns;
    struct request *request_memory;
    struct list free_requests;
    struct list requests; /**< to be answered, oldest first */
    uint64_t now_ns;      /**< when the frame being handled came */
    struct message_counters counters;
    struct region_table regions; /* last, because it is large: other fields share cache lines */
};

/** Allocates all memory except unused chunks. `operations`: of each kind; `peers`: maximum number;
 * `frame_bytes`: the lane's longest frame.
 *  @return 0, or -ENOMEM (everything is freed again). */
int message_open(struct message_layer *layer, uint32_t operations, uint32_t peers,
                 uint32_t frame_bytes);

void message_close(struct message_layer *layer);

/** Allocates chunks for so many peers, before the last of them is added. @return false: no memory.
 */
bool message_admits(struct message_layer *layer, uint32_t peers);

/** @param paths MESSAGE_PATH_BYTES for each lane of the endpoint, zeroed; owned by the caller,
 * valid as long as the peer */
void message_peer_init(struct message_peer *peer, uint32_t index, void *paths);

/** The peer is on our host, or is not; at any time. */
void message_peer_shares_memory(struct message_layer *layer, struct message_peer *peer,
                                bool shares);

/** The connection is open: `limit` frames may be sent to the peer. Its own first credit is
 *  `flow.granted`, given by message_initial_credit(). */
void message_peer_ready(struct message_layer *layer, struct message_peer *peer, uint32_t granted,
                        uint32_t limit);

/** Reserves and returns the credit for a new peer, in frames of up to `frame_bytes`; 0: it is on
 * our host. */
uint32_t message_initial_credit(struct message_layer *layer, struct message_peer *peer,
                                uint32_t frame_bytes);

/** Frees what message_initial_credit() reserved for a peer that never became ready. */
void message_peer_never_ready(struct message_layer *layer, struct message_peer *peer,
                              uint32_t granted);

/** Frees credit that was reserved for a peer and is not used. */
void message_return_credit(struct message_layer *layer, struct message_peer *peer, uint32_t frames);

/** The peer has failed: all its operations end with `error`, and its memory in the layer is free.
 */
void message_peer_failed(struct message_layer *layer, struct message_peer *peer, int error);

/** The peer receives no more messages: those that it has not received, and all later ones, end with
 *  -ECONNRESET. @return whether there were any. */
bool message_peer_leaves(struct message_layer *layer, struct message_peer *peer);

/** Can the failed peer be freed, because all its messages were received and completions taken? */
bool message_peer_is_unused(const struct message_layer *layer, const struct message_peer *peer);

/** As beowire_send(), _send_confirmed(), _send_matched(), _inject(), _receive(), _cancel(); what
 * they push is sent by message_pump() and flow_transmit(). `touched` becomes the peer that now has
 * to be serviced, if there is one. */
typedef int message_sender(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                           uint32_t immediate, const void *data, uint64_t bytes, void *context);
message_sender message_send, message_send_confirmed, message_send_matched;
int message_inject(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                   uint32_t immediate, const void *data, uint64_t bytes);

/** Sends a message to this endpoint itself by copying it, whatever its length, if a receive
 *  matches; completes both. A `silent` send has no completion.
 *  @return false: nothing was done, and it must be sent as usual: no receive matches, earlier
 *  messages have not arrived, or it is invalid */
bool message_to_ourselves(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                          uint32_t immediate, const void *data, uint64_t bytes, bool silent,
                          void *context);
int message_receive(struct message_layer *layer, struct message_peer *peer, uint64_t tag,
                    uint64_t ignore, void *data, uint64_t bytes, void *context,
                    struct message_peer **touched);
/** @param from gets the peer of the cancelled receive, NULL for any peer; may be NULL */
int message_cancel(struct message_layer *layer, const void *context, struct message_peer **from);
int message_peek(struct message_layer *layer, const struct message_peer *peer, uint64_t tag,
                 uint64_t ignore, struct beowire_completion *found);
int message_claim(struct message_layer *layer, const struct message_peer *peer, uint64_t tag,
                  uint64_t ignore, struct beowire_completion *found, beowire_message *message);
int message_receive_claimed(struct message_layer *layer, beowire_message message, void *data,
                            uint64_t bytes, void *context, struct message_peer **touched);

/** Turns queued work into frames while the flow has room. */
void message_pump(struct message_layer *layer, struct message_peer *peer);

/** Has message_pump() anything to do? After a send, which calls it, mostly not. */
static inline bool message_needs_pump(const struct message_peer *peer)
{
    return !list_is_empty(&peer->queue) || !list_is_empty(&peer->dones) || peer->turned_away ||
           peer->flow.starved;
}

/** Pushed frames have been offered to the lanes: copies what was lent (lent.h), and completes sends
 *  that need no more. */
void message_take_back(struct message_layer *layer, struct message_peer *peer);

/** Is there work that message_pump() could go on with? */
bool message_has_work(const struct message_peer *peer);

/** Has the peer received everything that was sent to it? */
bool message_is_flushed(const struct message_peer *peer);

/** Does an operation depend on the peer: a message that was announced or has come in part, or a
 * receive for this peer's messages only? */
bool message_depends_on(const struct message_peer *peer);

/** Has an eager message come in part? */
bool message_is_half_here(const struct message_peer *peer);

/** The same for a message that is matched already. */
bool message_awaits_rest(const struct message_peer *peer);

/** Are answers to the peer waiting to be sent? */
static inline bool message_owes_answers(const struct message_peer *peer)
{
    return !list_is_empty(&peer->dones);
}

/** Handles the next sequenced frame in order.
 *  @return 0; -EPROTO: it violates the protocol; the peer must be failed. */
int message_frame(struct message_layer *layer, struct message_peer *peer,
                  const struct frame *frame);

/** Takes the next FRAGMENT in order, if its message is matched and does not end with it.
 *  @return false: message_frame() must handle it. */
bool message_continue(const struct message_peer *peer, const struct frame *frame);

/** The flow has accepted the frame just handled (`expected` has moved): its reservation ends, if it
 *  had one (it was sent with credit), and the peer's credit is renewed. */
void message_frame_accepted(struct message_layer *layer, struct message_peer *peer, bool reserved);

/** As message_frame_accepted(), for several frames with a reservation each that were not kept. */
void message_frames_continued(struct message_layer *layer, struct message_peer *peer,
                              uint32_t frames);

/** Raises the peer's credit as far as memory allows. */
void message_renew_credit(struct message_layer *layer, struct message_peer *peer);

/** The peer asks, and may have no credit: grants what there is room for. If that is less than a
 * step, and the application has received none of the peer's messages since it last starved, the
 * peer gets more room from now on, because the application may wait for a later message. If it does
 * wait and all memory is in use, more is allocated (spare_add_chunks()). */
void message_starving(struct message_layer *layer, struct message_peer *peer);

/** Takes back the frames that the peer has acknowledged: after flow_acknowledged(). */
void message_take_released(struct message_layer *layer, struct message_peer *peer);

/** Are messages held back, for any peer (bundle_first())? */
static inline bool message_holds(const struct message_layer *layer)
{
    return !list_is_empty(&layer->bundling);
}

/** Is there data of long messages to send or to request? */
static inline bool message_has_bulk(const struct message_layer *layer)
{
    return !list_is_empty(&layer->requests) || layer->pulls_changed || layer->pulls_refused;
}

/** Has an operation ended whose completion was not taken? */
static inline bool message_has_ended(const struct message_layer *layer)
{
    return !list_is_empty(&layer->completed);
}

/** Is there a completion to be taken? */
static inline bool message_has_completions(const struct message_layer *layer)
{
    return message_has_ended(layer) || !list_is_empty(&layer->notices);
}

/** Is a message being read by a lane? */
static inline bool message_reads(const struct message_layer *layer)
{
    return !list_is_empty(&layer->reads);
}

/** A read of one_sided_operations.begin_read() has ended: `status` 0, or a negative errno.
 *  @return the peer of the message, which must be serviced. */
struct message_peer *message_read_ended(struct message_layer *layer, void *read, int status,
                                        uint64_t now_ns);

/** Takes a message whose pull has ended: call until NULL, after pull_ask() and pull_data().
 *  @return its peer, which must be serviced; NULL: none. */
struct message_peer *message_take_pulled(struct message_layer *layer);

/** Takes the oldest completion. @return false: there is none. */
bool message_complete(struct message_layer *layer, struct beowire_completion *completion);

#endif /* BEOWIRE_MESSAGE_MESSAGE_H */
