/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core.h - an endpoint without its clock: peers, connections, flows and messages over its lanes.
 *
 * Time comes in as an argument, frames through the lane, randomness through a function. So the same
 * code runs on a real wire and a simulated one, and a seed repeats a failing test. One thread.
 *
 *      lane -> core_receive -> frame_decode -> connection | flow -> message -> completions
 *      core_service(peer):  message_pump -> flow_transmit -> route_send -> lane
 */
#ifndef BEOWIRE_CORE_CORE_H
#define BEOWIRE_CORE_CORE_H

#include "core/hold.h"
#include "core/map.h"
#include "flow/connection.h"
#include "message/message.h"
#include "route/proof.h"

/** Maximum number of counters (counters.h). */
#define CORE_COUNTERS_MAX 136
/** Reports of the network that a peer has ended (peers/suspicion.c). */
struct suspicion {
    uint64_t since_ns;    /**< the first report since the peer was last heard; or 0 */
    uint64_t refused_ns;  /**< the first report from somebody who has seen our frames; 0: none */
    uint64_t ask_at_ns;   /**< when to ask the peer next; kept when the peer is heard */
    uint32_t refused_sum; /**< checksum of what the first such report quoted */
    uint16_t refused_by;  /**< bits: lanes over which such reports came */
    uint8_t questions;    /**< asked so often since then; at most 255 */
    bool repeated;        /**< another such report has come, of another frame or later */
};

/** A silent peer, and whether its host answers (peers/silence.c). */
struct stillness {
    uint64_t since_ns;   /**< since when the peer is silent while its host answers; 0: it is not */
    uint64_t asked_ns;   /**< when the host was last asked; 0: not since the peer was heard */
    uint64_t lasted_ns;  /**< how long the peer was last stopped */
    bool silent;         /**< it has owed an answer for SUSPICION_NS */
    bool still;          /**< it has been silent for longer than we wait for peers */
    bool told;           /**< the application has been told */
    bool witness_called; /**< its kernel is being asked whether the process exists, ... */
    uint8_t witness_by;  /**< ... over this lane, ... */
    int witness[LANE_WITNESS_CALLS]; /**< ... which identifies the question by this */
};

/** State of a peer that may have ended; most peers never need it. */
struct doubt {
    bool open; /**< there is a suspicion, or its host was asked */
    struct suspicion suspicion;
    struct stillness stillness;
};

/** What every frame needs comes first, to share cache lines. */
struct core_peer {
    struct message_peer message; /**< its handle is the public beowire_peer */
    bool touched;       /**< waits for core_service(), at the end of this or the next progress */
    bool confirmed;     /**< the peer has opened the connection, too */
    bool announced;     /**< the application has named it; otherwise it has asked us */
    bool selective;     /**< both ends keep frames that come early */
    bool bears_witness; /**< both kernels can prove that their process is there */
    bool credit_reserved;
    bool
        begins_anew; /**< it asked over shared memory, which is no longer used: it will ask again */
    bool followed : 1;           /**< it uses the lane of the peer's PROBE, not yet tried */
    bool gone : 1;               /**< failed, and counted as such */
    uint8_t asked_elsewhere : 6; /**< PROBEs over another lane since the last frame over ours */
    uint64_t heard_ns;           /**< when its last frame of the open connection came */
    struct route route;

    struct connection connection;
    struct doubt *doubt; /**< NULL: never doubted */
    uint64_t gone_ns;
    uint64_t challenge_at_ns; /**< when unproven paths are tried next; UINT64_MAX: never */
    uint32_t
        allowance_bytes;   /**< may be sent to unproven addresses: three times what was received */
    uint32_t first_credit; /**< reserved, and given to the peer in CONNECT or ACCEPT */
    uint32_t data_bytes;   /**< longest DATA of the connection, in both directions, ... */
    uint32_t frame_bytes;  /**< ... and other frame to the peer; lengths in use are in `message` */
    uint16_t limit;        /**< the first credit that it has given us */
    uint16_t answered_by;  /**< bit i: ACCEPT has gone over lane i */
    uint16_t asked_by;     /**< bit i: a PROBE that came over lane i is to be answered */
    uint8_t challenges;    /**< how often unproven paths were tried */
    uint8_t accepts_sent;  /**< ACCEPTs sent to it, or omitted; at most 255 */
    uint64_t incarnation;
    struct beowire_address address;
};
/** Is the peer suspected, or was its host asked, without a sign of the peer since? */
static inline bool core_is_doubted(const struct core_peer *peer)
{
    return __builtin_expect(peer->doubt != NULL, 0) && peer->doubt->open;
}

/** Has the peer been silent for so long that it may have ended, and another process may have its
 *  port? Then messages wait, and only frames without messages ask it, until it answers. */
static inline bool core_is_silent(const struct core_peer *peer)
{
    return core_is_doubted(peer) && peer->doubt->stillness.silent;
}

/** Has it been silent for longer than we wait for peers, while its host answers? */
static inline bool core_stands_still(const struct core_peer *peer)
{
    return core_is_doubted(peer) && peer->doubt->stillness.still;
}

static_assert(sizeof(struct core_peer) + 7 * MESSAGE_PATH_BYTES <= 4000,
              "state of an idle peer: 4 KiB with its map entries and two network cards");

/** The peer of a handle (peers/peers.c). */
struct core_slot {
    struct core_peer *peer; /**< NULL: free */
    uint32_t generation;    /**< of the handle in use, or of the next one */
    uint32_t next_free;
};

/** Counters of the endpoint as a whole; those of flows and lanes are added when read. */
struct core_counters {
    uint64_t sent[FRAME_TYPES];       /**< frames taken by a lane, by type */
    uint64_t received[FRAME_TYPES];   /**< frames accepted by frame_decode(), by type */
    uint64_t dropped[FRAME_VERDICTS]; /**< frames refused by frame_decode(), by verdict */
    uint64_t dropped_key;             /**< no peer has the key */
    uint64_t dropped_source;          /**< right key, wrong sender */
    uint64_t dropped_proof;           /**< CONNECT or ACCEPT without proof of the secret */
    uint64_t dropped_seal;            /**< wrong seal, or a repeated frame */
    uint64_t dropped_damaged;         /**< wrong checksum, of the frame or the lane */
    uint64_t dropped_state;           /**< the connection is not open */
    uint64_t dropped_acknowledgement; /**< acknowledges what was never sent */
    uint64_t dropped_duplicate;
    uint64_t dropped_gap;
    uint64_t dropped_overrun;      /**< sent without credit */
    uint64_t dropped_data_unknown; /**< DATA or PULL of an unknown message */
    uint64_t dropped_data_duplicate;
    uint64_t resets_suppressed; /**< not sent, too many in this second */
    uint64_t peers_failed;
    uint64_t peers_forgotten;   /**< freed */
    uint64_t peers_stood_still; /**< silent for longer than we wait, while their hosts
                                     answered */
    uint64_t hosts_asked;
    uint64_t refusals_heard;   /**< reports of the network that a peer has ended */
    uint64_t refusals_strange; /**< those that do not quote a frame of ours */
    uint64_t path_changes;     /**< another path was tried because a peer did not answer */
    uint64_t memory_left; /**< peers with an address of this host that share no memory with us */
};

/** Links that damage frames: this many are counted separately. */
#define CORE_DAMAGED_LINKS 8

/** Damaged frames from a peer over a lane. */
struct core_damage {
    uint64_t frames;
    uint32_t handle;    /**< of the peer; of several at that address, the first */
    uint8_t lane_index; /**< over which they came */
};

/** Where a frame came from. */
struct arrival {
    unsigned lane_index; /**< over which it came */
    uint32_t bytes;      /**< of the frame, with what follows it */
    struct lane_address address;
};

struct core_options {
    struct path_lanes lanes;        /**< at least one; owned by the caller */
    struct beowire_address address; /**< our own */
    uint32_t operations;
    bool grow; /**< more peers may be added, as long as there is memory */
    uint32_t peers;
    uint64_t peer_timeout_ns;
    uint64_t job_key;  /**< the same at all peers */
    bool go_back_n;    /**< do not offer selective acknowledgement */
    bool authenticate; /**< frames must be sealed */
    bool checksums;    /**< offer them, for lanes without a checksum of their own */
    const struct message_limits *limits; /**< crossovers; NULL: the defaults */
    uint32_t packet_bulk_rails;          /**< bit r: bulk over rail r uses frames, not UDP */
    bool hold;                           /**< messages posted in a run may be held back (hold.h) */
    uint64_t (*random)(void *context);   /**< must be unpredictable to others */
    void *random_context;
};

struct core {
    struct core_options options;
    struct message_layer messages;
    struct routes routes;     /**< over `options.lanes`; core_timers() checks its `refusing` */
    struct core_peer **peers; /**< all known peers, in any order */
    uint32_t peer_count;
    uint32_t announced_peers; /**< of them */
    struct core_slot *slots;  /**< by BEOWIRE_PEER_SLOT() of a peer's handle */
    uint32_t slots_used;      /**< slots from here on were never used */
    uint32_t first_free_slot; /**< among the used ones */
    uint32_t last_free_slot;
    uint64_t forget_at_ns;   /**< when peers may be due to be freed */
    struct hold hold;        /**< decides whether posted messages may wait */
    uint64_t posted_look_ns; /**< when core_post() last polled the lanes */
    uint64_t posted_bytes;   /**< posted since core_receive(), as far as it may be sent at once */
    uint32_t *touched;       /**< indices */
    uint32_t touched_count;
    uint32_t turn_frames; /**< frames that a flow sends before lanes are polled again */
    bool goes_on;         /**< there was more to send than fits one turn */
    bool probed;          /**< a PROBE came in this progress */
    bool patient;         /**< answers can wait until the application has its messages */
    bool awaits_rest;     /**< a received frame waits for the rest of its message */
    bool bulk_is_stuck;   /**< core_bulk() last sent nothing, because no lane has room */
    uint8_t lender;       /**< the lane that reads peers' memory over the wire, or PATH_NONE */
    uint32_t lane_users[LANES_MAX]; /**< peers whose fast path is this lane */
    bool expecting[LANES_MAX];      /**< the lane was told what comes next */
    /** More frames are expected on a lane until so many have come over others. */
    uint8_t lane_warmth[LANES_MAX];
    uint32_t warm_lanes;   /**< bit i: `lane_warmth[i]` is not 0 */
    uint32_t receiving;    /**< bit i: frames of lane i are being handled */
    unsigned receives;     /**< calls of core_receive() */
    uint64_t looked_ns;    /**< when quiet lanes were polled last, */
    uint32_t frames_since; /**< and the frames received since */
    uint32_t vain_ns;      /**< they are polled if no frame has come for so long: 4 us or more */
    bool vain;             /**< they were polled for that reason since the last frame */
    uint64_t looked_for_lanes_ns; /**< when lanes that are down were last checked */
    struct map by_key;            /**< our key of each connection */
    struct map by_peer_key; /**< the peer's key of each connection that has begun; not unique */
    struct map by_incarnation;
    uint64_t incarnation;
    uint8_t proof_key[PROOF_OWN_KEY_BYTES]; /**< for nonces and challenges */
    uint16_t endpoint;
    uint64_t refusals_until_ns; /**< until then a recent probe may be refused; 0: none */
    uint64_t hosts_look_ns;     /**< when to poll for answers of hosts; 0: none are awaited */
    uint32_t events;            /**< peers with an event for the application */
    uint64_t attended_ns;       /**< when the owner of the core last called */
    uint64_t deadline_ns;       /**< when core_timers() has something to do */
    uint64_t reset_second;      /**< the second in which resets_this_second were sent */
    uint32_t resets_this_second;
    bool undelivered;   /**< a peer failed or left before it had received everything */
    bool leaving;       /**< core_leave() */
    bool bears_witness; /**< our kernel answers for us to peers that know our secret */
    unsigned witnesses; /**< kernels being asked: at most WITNESSES_MAX */
    struct core_counters counters;
    struct core_damage damage[CORE_DAMAGED_LINKS]; /**< of the first such links */
    unsigned damaged_links;                        /**< of them used */
    uint64_t retired[CORE_COUNTERS_MAX]; /**< counts of freed peers, by number of the counter
                                              (counters.h) */
};

/** @return 0, -EINVAL or -ENOMEM. */
int core_open(struct core *core, const struct core_options *options);
void core_close(struct core *core);

/** The features that this endpoint offers (enum frame_feature). */
static inline uint32_t core_features(const struct core *core)
{
    return FRAME_FEATURE_REMOTE | FRAME_FEATURE_SEAL |
           (core->options.go_back_n ? 0u : FRAME_FEATURE_SELECTIVE) |
           (core->options.checksums ? FRAME_FEATURE_CHECKSUM : 0u) |
           (core->bears_witness ? FRAME_FEATURE_WITNESS : 0u) |
           (core->options.authenticate ? FRAME_FEATURE_SEAL_WANTED : 0u);
}

/** Finds or makes the peer with this address, which the application names.
 *  @return 0; -EINVAL: not an address, or not that of the peer with this incarnation; -EACCES: its
 *  secret is not known; -EHOSTUNREACH: no lane of ours reaches it; -ENOSPC; -ENOMEM. */
int core_peer_add(struct core *core, const struct beowire_address *address,
                  struct core_peer **peer);

/** The same for a peer that has asked us over the lane `lane_index` with a valid proof. Only its
 * place is known. */
int core_peer_meet(struct core *core, const uint8_t place[FRAME_PLACE_BYTES], unsigned lane_index,
                   struct core_peer **peer);

/** The application removes the peer. It is freed once it has failed or closed; at once if no
 *  connection was asked for. @return 0, or -EINVAL: the application has not named it. */
int core_peer_forget(struct core *core, struct core_peer *peer);

/** A peer by its handle, or NULL. */
static inline struct core_peer *core_peer_at(const struct core *core, uint32_t handle)
{
    uint32_t slot = BEOWIRE_PEER_SLOT(handle);
    struct core_peer *peer = slot < core->slots_used ? core->slots[slot].peer : NULL;

    return peer != NULL && peer->message.handle == handle ? peer : NULL;
}

/** Asks all lanes whether they work. @return 0, or -ENETDOWN: none does. */
int core_status(struct core *core);

/** Takes frames that have arrived, answers them, and runs timers that are due. If an operation has
 *  ended and nothing is urgent, answers and timers are left for the next call.
 *  @return the number of frames taken; with 0 nothing was done. */
unsigned core_receive(struct core *core, uint64_t (*clock_ns)(void *), void *clock);

/** Services the peers whose frames have come, if core_receive() has postponed that. */
void core_service_touched(struct core *core, uint64_t now_ns);

/** The next core_receive() polls quiet lanes as well, if enough time has passed. For callers that
 * call it rarely. */
static inline void core_look_in_time(struct core *core)
{
    core->receives = 0;
}

/** The next core_receive() polls all lanes: a frame has come, on an unknown lane. */
static inline void core_look_at_all(struct core *core)
{
    core->receives = 0;
    core->looked_ns = 0;
}

/** Runs timers if `now_ns` has reached `deadline_ns`. */
void core_timers(struct core *core, uint64_t now_ns);

/** Sends to a peer what can be sent, after operations were posted. Asks for a connection first. */
void core_service(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** A receive was posted that only this peer can complete: watches the peer from now on, to notice
 * its death. @return false: there is no connection, and none was asked for: call core_connect() */
bool core_watch(struct core *core, struct core_peer *peer);

/** As message_cancel(). A peer that was asked for a connection only because of this receive need
 * not answer any more. */
int core_cancel(struct core *core, const void *context);

/** Takes the next event of a peer for the application. @return false: there is none. */
bool core_take_event(struct core *core, struct beowire_event *event, uint64_t now_ns);

/** Asks the peer for a connection, unless that was done before. */
void core_connect(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** The application has taken this completion of message_complete().
 *  @return the peer that should be told of new credit, by core_service(); or NULL */
struct core_peer *core_taken(struct core *core, const struct beowire_completion *completion);

/** A message to post: as for message_inject(), message_send(), and so on. */
struct core_post {
    enum { CORE_INJECT, CORE_SEND, CORE_SEND_CONFIRMED, CORE_SEND_MATCHED } how;
    uint64_t tag;
    uint32_t immediate;
    const void *data;
    uint64_t bytes;
    void *context; /**< of its completion; injected ones have none */
};

/** Posts a message, and sends what can be sent now or holds it back (hold.h). If there is no room
 * for it, takes arrived frames first, at most once in POST_LOOK_NS, since an application that only
 * sends must learn of new credit, too; likewise after POST_LOOK_BYTES. @return as those functions
 */
int core_post(struct core *core, struct core_peer *peer, const struct core_post *post,
              uint64_t (*clock_ns)(void *), void *clock);

/** Is something held back? */
static inline bool core_has_held(const struct core *core)
{
    return message_holds(&core->messages);
}

/** Must core_look_held() be called? */
static inline bool core_asks_looks(const struct core *core)
{
    return hold_may_run(&core->hold) || core_has_held(core);
}

/** The application has asked for completions, and there was none (`vain`) or one. Sends what is
 * held back if the run has ended, or if it has waited for HOLD_NS. */
void core_look_held(struct core *core, bool vain, uint64_t now_ns);

/** Sends all that is held back: the run has ended. */
void core_send_held(struct core *core, uint64_t now_ns);

/** Is there data of long messages to send or to request? Then core_bulk() must be called soon. */
static inline bool core_has_bulk(const struct core *core)
{
    return message_has_bulk(&core->messages);
}

/** Sends data of long messages that peers have requested, a little at a time, and requests more. */
void core_bulk(struct core *core, uint64_t now_ns);

/** The application receives no more: peers that ask are told so (FRAME_LEAVING), and do not wait
 * for it to receive what they have sent. What it has sent is still delivered. */
static inline void core_leave(struct core *core)
{
    core->leaving = true;
}

/** Is everything that was posted for sending acknowledged, or failed? */
bool core_is_flushed(const struct core *core);

/** Sends every pending acknowledgement at once, because there may be no later call. */
void core_acknowledge(struct core *core, uint64_t now_ns);

/** Tells connected peers that this endpoint ends. Their answer ends the connection here as well;
 *  until then this may be called again.
 *  @return false: no peer is connected (any more). */
bool core_say_goodbye(struct core *core);

/** Is there a connected peer? */
bool core_has_connections(const struct core *core);

#endif /* BEOWIRE_CORE_CORE_H */
