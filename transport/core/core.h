/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core.h - an endpoint without its clock: peers, connections, flows and messages over its lanes.
 *
 * Everything here is driven from outside: time comes in as an argument, frames through the lane,
 * randomness through a function. So the same code runs on the wire and on a simulated one, and a
 * failing test is a seed. One thread.
 *
 *      lane -> core_receive -> frame_decode -> connection | flow -> message -> completions
 *      core_service(peer):  message_pump -> flow_transmit -> lane
 */
#ifndef BEOWIRE_CORE_CORE_H
#define BEOWIRE_CORE_CORE_H

#include "core/convoy.h"
#include "core/hold.h"
#include "core/map.h"
#include "core/path.h"
#include "flow/connection.h"
#include "flow/proof.h"
#include "flow/seal.h"
#include "message/message.h"

/** Counters (counters.h) at most. */
#define CORE_COUNTERS_MAX 136
/** What the network says of a peer's end (suspicion.c). */
struct suspicion {
    uint64_t since_ns;    /**< when it was first said, with nothing heard of the peer since; or 0 */
    uint64_t refused_ns;  /**< when it was first said by who has seen our frames; 0: by nobody */
    uint64_t ask_at_ns;   /**< the next question; also after the peer was heard */
    uint32_t refused_sum; /**< of what the first such refusal quoted */
    uint16_t refused_by;  /**< bits: lanes over which it was said by such a one */
    uint8_t questions;    /**< since then; 255: or more */
    bool repeated;        /**< said again, by such a one, of another frame or later */
};

/** What its host says of a peer that is silent (silence.c). */
struct stillness {
    uint64_t since_ns;   /**< since when it is silent while its host answers; 0: it is not */
    uint64_t asked_ns;   /**< when its host was asked last; 0: not since the peer was heard */
    uint64_t lasted_ns;  /**< how long it stood still when it did last */
    bool silent;         /**< it has owed an answer for SUSPICION_NS, and was not heard since */
    bool still;          /**< it has been silent for longer than peers are waited for */
    bool told;           /**< and the application knows */
    bool witness_called; /**< its kernel is asked whether it is there, ... */
    uint8_t witness_by;  /**< ... over this lane, ... */
    int witness[LANE_WITNESS_CALLS]; /**< ... which knows the question by this */
};

/** What is known of a peer that may have ended. Most never have it. */
struct doubt {
    bool open; /**< there is a suspicion, or its host was asked */
    struct suspicion suspicion;
    struct stillness stillness;
};

/** What each frame looks at comes first, and lies together. */
struct core_peer {
    struct message_peer message; /**< its handle is the public beowire_peer */
    struct convoy convoy;
    bool touched;      /**< waits for core_service(), at the end of this progress or of the next */
    bool confirmed;    /**< it has opened the connection, too */
    bool announced;    /**< the application has named it; else it has asked us */
    bool checked;      /**< over lanes that need it frames of this connection have a checksum */
    uint64_t heard_ns; /**< its last frame of the open connection */
    struct seal *seal; /**< NULL: frames of this connection are not sealed */
    struct paths paths;

    struct connection connection;
    struct doubt *doubt; /**< NULL: there never was one */
    uint64_t gone_ns;
    uint64_t challenge_at_ns; /**< paths that are not proven are tried (again); UINT64_MAX: never */
    uint32_t
        allowance_bytes;   /**< may go to places that are not proven: of what has come, threefold */
    uint32_t first_credit; /**< reserved for it and told in CONNECT or ACCEPT */
    uint32_t data_bytes;   /**< longest DATA of the connection, in both directions, ... */
    uint32_t frame_bytes;  /**< ... and other frame towards the peer; `message` has what is used */
    uint16_t limit;        /**< the first credit that it has given us */
    uint16_t answered_by;  /**< bit i: ACCEPT has gone over lane i */
    bool selective;        /**< both ends keep what comes early */
    bool bears_witness;    /**< its kernel proves that it is there, as ours does */
    bool credit_reserved;
    uint8_t challenges;      /**< how often paths have been tried */
    uint8_t asked_by;        /**< the lane of a PROBE to be answered, or PATH_NONE */
    uint8_t asked_elsewhere; /**< PROBEs over another lane, since anything came over ours */
    uint8_t accepts_sent;    /**< ACCEPTs sent to it, or left out; 255: or more */
    bool begins_anew;        /**< it has asked by memory that was left: it will ask again */
    bool followed;           /**< its path is the one by which the peer asked, and not yet tried */
    bool gone;               /**< failed, and counted as such */
    uint64_t incarnation;
    struct beowire_address address;
};
/** Is there a suspicion, or was its host asked, and nothing heard of it since? */
static inline bool core_is_doubted(const struct core_peer *peer)
{
    return __builtin_expect(peer->doubt != NULL, 0) && peer->doubt->open;
}

/** Has it said nothing for so long that who has ended may have left its port to another? Messages
 *  wait until it has been heard: it is asked without them. */
static inline bool core_is_silent(const struct core_peer *peer)
{
    return core_is_doubted(peer) && peer->doubt->stillness.silent;
}

/** Has it been silent for longer than peers are waited for, and is its host there? */
static inline bool core_stands_still(const struct core_peer *peer)
{
    return core_is_doubted(peer) && peer->doubt->stillness.still;
}

static_assert(sizeof(struct core_peer) + 7 * MESSAGE_PATH_BYTES <= 4000,
              "state of an idle peer: 4 KiB with its map entries and two network cards");

/** Whom a handle stands for (peers.c). */
struct core_slot {
    struct core_peer *peer; /**< NULL: nobody */
    uint32_t generation;    /**< of the handle that is in use, or will be next */
    uint32_t next_free;
};

/** Counters of the endpoint as a whole; those of flows and lanes are added when read. */
struct core_counters {
    uint64_t sent[FRAME_TYPES];       /**< frames that a lane has taken, by type */
    uint64_t received[FRAME_TYPES];   /**< frames that frame_decode() let in, by type */
    uint64_t dropped[FRAME_VERDICTS]; /**< frames that frame_decode() refused, by verdict */
    uint64_t dropped_key;             /**< frames with a key that no peer has */
    uint64_t dropped_source;          /**< the key is right, the sender is not */
    uint64_t dropped_proof;           /**< CONNECT or ACCEPT of who does not know the secret */
    uint64_t dropped_seal;            /**< without the seal of the connection, or seen before */
    uint64_t dropped_damaged;         /**< its checksum, or that of its lane, says that it was */
    uint64_t dropped_state;           /**< for a connection that is not open */
    uint64_t dropped_acknowledgement; /**< acknowledges what was never sent */
    uint64_t dropped_duplicate;
    uint64_t dropped_gap;
    uint64_t dropped_overrun;      /**< sent without credit */
    uint64_t dropped_data_unknown; /**< DATA or PULL of a message that is not there (any more) */
    uint64_t dropped_data_duplicate;
    uint64_t resets_suppressed; /**< not sent: too many in this second */
    uint64_t peers_failed;
    uint64_t peers_forgotten;   /**< given back */
    uint64_t peers_stood_still; /**< silent for longer than peers are waited for: their hosts are
                                     there */
    uint64_t hosts_asked;
    uint64_t refusals_heard;   /**< the network said that a peer has ended, ... */
    uint64_t refusals_strange; /**< ... and did not show that it had seen what we sent */
    uint64_t path_changes;     /**< a peer did not answer, so another path was tried */
    uint64_t memory_left; /**< a peer's address is of this host, but no memory is shared with it */
};

/** Links that damage frames: so many are told apart. */
#define CORE_DAMAGED_LINKS 8

/** Frames that came damaged from a peer over a lane. */
struct core_damage {
    uint64_t frames;
    uint32_t handle; /**< of the peer: the first that is there, if several are */
    uint8_t by;      /**< index of the lane */
};

/** Where a frame has come from. */
struct arrival {
    unsigned by;    /**< index of the lane */
    uint32_t bytes; /**< of the frame, with what follows it */
    struct lane_address address;
};

struct core_options {
    struct path_lanes lanes;        /**< at least one; each stays the caller's */
    struct beowire_address address; /**< our own */
    uint32_t operations;
    bool grow; /**< there may be more of them: as many as there is memory for */
    uint32_t peers;
    uint64_t peer_timeout_ns;
    uint64_t job_key;  /**< peers have the same */
    bool go_back_n;    /**< do not offer to keep frames that come early */
    bool authenticate; /**< frames have to be sealed */
    bool checksums;    /**< offer to have them over lanes without one of their own */
    const struct message_limits *limits; /**< crossovers; NULL: the defaults */
    uint32_t packet_bulk_rails; /**< bit r: bulk over rail r goes as frames although UDP is there */
    bool hold;                  /**< what is posted in a run may be held back (hold.h) */
    uint64_t (*random)(void *context); /**< unpredictable to others */
    void *random_context;
};

struct core {
    struct core_options options;
    struct message_layer messages;
    struct trace *trace;      /**< where points are noted; NULL: nowhere. The caller's */
    struct core_peer **peers; /**< all that are known, in any order */
    uint32_t peer_count;
    uint32_t announced_peers; /**< of them */
    struct core_slot *slots;  /**< by BEOWIRE_PEER_SLOT() of a peer's handle */
    uint32_t slots_used;      /**< those from here on have never been taken */
    uint32_t first_free_slot; /**< of those that were */
    uint32_t last_free_slot;
    uint64_t forget_at_ns;   /**< there may be peers to be given back from then on */
    struct hold hold;        /**< whether what is posted may wait */
    uint64_t posted_look_ns; /**< when core_post() last looked at what has come */
    uint64_t
        posted_bytes;  /**< posted since core_receive(): of each message what may be sent at once */
    uint32_t *touched; /**< indices */
    uint32_t touched_count;
    uint32_t turn_frames; /**< of a flow that are sent before lanes are looked at again */
    bool goes_on;         /**< there was more to send than one turn has */
    bool probed;          /**< a PROBE has come in this progress */
    bool patient;     /**< what has just come can wait until the application has had its messages */
    bool awaits_rest; /**< what came before waits for the rest of a message */
    bool
        bulk_is_stuck; /**< core_bulk() could do nothing last: no lane has room for what there is */
    uint8_t lender;    /**< the lane by which peers' memory is read over the wire, or PATH_NONE */
    uint32_t lane_users[LANES_MAX]; /**< peers whose fast path is this lane */
    bool expecting[LANES_MAX];      /**< the lane has been told what comes next */
    /** Frames came, so more are expected until so many have come over others. */
    uint8_t lane_warmth[LANES_MAX];
    uint32_t warm_lanes;   /**< those of which `lane_warmth` is not 0 (bit i: lane i) */
    uint32_t receiving;    /**< lanes of which frames are being handled (bit i: lane i) */
    unsigned receives;     /**< calls of core_receive() */
    uint64_t looked_ns;    /**< when quiet lanes were polled last, */
    uint32_t frames_since; /**< and the frames that have come since */
    uint32_t vain_ns;      /**< they are polled when no frame has come for so long: 4 us or more */
    bool vain;             /**< they were, since the last frame came */
    uint64_t looked_for_lanes_ns; /**< when those that are down were asked last */
    uint32_t
        refusing_lanes; /**< bits: have taken nothing since they were asked; core_timers() asks */
    struct map by_key;  /**< our own, of each connection */
    struct map by_peer_key; /**< the peer's, of those that have begun; some may have the same */
    struct map by_incarnation;
    uint64_t incarnation;
    uint8_t proof_key[PROOF_OWN_KEY_BYTES]; /**< of nonces and challenges */
    uint16_t endpoint;
    uint64_t refusals_until_ns; /**< a probe was sent lately and may be refused; 0: none was */
    uint64_t hosts_look_ns;     /**< when answers of hosts are looked for; 0: none are awaited */
    uint32_t events;            /**< peers of which the application is to be told something */
    uint64_t attended_ns;       /**< when the owner of the core was last seen to look after it */
    uint64_t deadline_ns;       /**< core_timers() has something to do from here on */
    uint64_t reset_second;      /**< the second in which resets_this_second were sent */
    uint32_t resets_this_second;
    bool undelivered;   /**< a peer failed, or left, before it had all that was sent to it */
    bool leaving;       /**< core_leave() */
    bool bears_witness; /**< our kernel proves to who knows our secret that we are there */
    unsigned witnesses; /**< kernels that are asked for proof just now: at most WITNESSES_MAX */
    struct core_counters counters;
    struct core_damage damage[CORE_DAMAGED_LINKS]; /**< the first so many */
    unsigned damaged_links;                        /**< of them used */
    uint64_t retired[CORE_COUNTERS_MAX]; /**< what peers that were given back had counted, by
                                              number of the counter (counters.h) */
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

/** Finds or makes the peer with this address, for the application that has named it.
 *  @return 0; -EINVAL: not an address, or not that of the peer with this incarnation; -EACCES: its
 *  secret is not known; -EHOSTUNREACH: no lane of ours gets there; -ENOSPC; -ENOMEM. */
int core_peer_add(struct core *core, const struct beowire_address *address,
                  struct core_peer **peer);

/** The same for one that has asked us over the lane `by`, and proved that it may: its place is all
 *  that is known. */
int core_peer_meet(struct core *core, const uint8_t place[FRAME_PLACE_BYTES], unsigned by,
                   struct core_peer **peer);

/** The application needs it no more: its room is given back once it has failed or closed, which is
 *  at once if it was not even asked for a connection. @return 0, or -EINVAL: nobody has named it.
 */
int core_peer_forget(struct core *core, struct core_peer *peer);

/** A peer by its handle, or NULL. */
static inline struct core_peer *core_peer_at(const struct core *core, uint32_t handle)
{
    uint32_t slot = BEOWIRE_PEER_SLOT(handle);
    struct core_peer *peer = slot < core->slots_used ? core->slots[slot].peer : NULL;

    return peer != NULL && peer->message.handle == handle ? peer : NULL;
}

/** Sends frames to a peer over the lane with index `by`. @return how many were taken; if none, the
 *  next core_timers() asks whether the lane works. */
unsigned core_send(struct core *core, struct core_peer *peer, unsigned by,
                   const struct lane_outgoing *frames, unsigned count);

/** Asks all lanes whether they work. @return 0, or -ENETDOWN: none does. */
int core_status(struct core *core);

/** Takes frames that have arrived, answers them, and then runs timers that are due. If an operation
 *  has ended and nothing is urgent, that is left for the next call.
 *  @return the number of frames taken; with 0 nothing was done. */
unsigned core_receive(struct core *core, uint64_t (*clock_ns)(void *), void *clock);

/** Services the peers of which frames have come, if core_receive() has left that for later. */
void core_service_touched(struct core *core, uint64_t now_ns);

/** The next core_receive() looks at quiet lanes as well, if that is due: whoever calls it seldom
 * must not leave that to how often it is called. */
static inline void core_look_in_time(struct core *core)
{
    core->receives = 0;
}

/** The next core_receive() looks at all lanes: something has come, and it is not known where. */
static inline void core_look_at_all(struct core *core)
{
    core->receives = 0;
    core->looked_ns = 0;
}

/** Runs timers if `now_ns` has reached `deadline_ns`. */
void core_timers(struct core *core, uint64_t now_ns);

/** Sends what can be sent to a peer: after posting operations. Asks for a connection first. */
void core_service(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** A receive that only this peer can end has been posted: from now on it is watched, so that its
 *  death is noticed. @return false: there is no connection yet by which it could be, nor is one
 *  asked for in earnest: core_connect() */
bool core_watch(struct core *core, struct core_peer *peer);

/** As message_cancel(). A peer that was asked for a connection for the sake of this receive alone
 *  need not answer any more. */
int core_cancel(struct core *core, const void *context);

/** Takes what the application has to be told of a peer. @return false: there is nothing. */
bool core_take_event(struct core *core, struct beowire_event *event, uint64_t now_ns);

/** Asks the peer for a connection, if that has not been done. */
void core_connect(struct core *core, struct core_peer *peer, uint64_t now_ns);

/** The application has taken this completion of message_complete().
 *  @return whom that gives credit it should be told of, by core_service(); or NULL */
struct core_peer *core_taken(struct core *core, const struct beowire_completion *completion);

/** A message that is posted: as message_inject(), message_send(), and so on. */
struct core_post {
    enum { CORE_INJECT, CORE_SEND, CORE_SEND_CONFIRMED, CORE_SEND_MATCHED } how;
    uint64_t tag;
    uint32_t immediate;
    const void *data;
    uint64_t bytes;
    void *context; /**< of its completion; injected ones have none */
};

/** Posts a message, and sends what can go now; what pays to wait for more may be held back
 * (hold.h). If there is no room for it, takes first what has arrived, once in POST_LOOK_NS: whoever
 * only sends has to hear of new credit, too; and after POST_LOOK_BYTES. @return as those */
int core_post(struct core *core, struct core_peer *peer, const struct core_post *post,
              uint64_t (*clock_ns)(void *), void *clock);

/** Is something held back? */
static inline bool core_has_held(const struct core *core)
{
    return message_holds(&core->messages);
}

/** Does core_look_held() want to be called? */
static inline bool core_asks_looks(const struct core *core)
{
    return hold_may_run(&core->hold) || core_has_held(core);
}

/** The application has looked for completions, and there was nothing (`vain`) or something. Sends
 *  what is held back if the run has ended, or if that has waited for as long as it may. */
void core_look_held(struct core *core, bool vain, uint64_t now_ns);

/** Sends all that is held back: the run has ended. */
void core_send_held(struct core *core, uint64_t now_ns);

/** Is there data of long messages to be sent, or to be asked for? core_bulk() has to be called
 * soon.
 */
static inline bool core_has_bulk(const struct core *core)
{
    return message_has_bulk(&core->messages);
}

/** Sends data of long messages that peers have asked for, a little at a time, and asks for more. */
void core_bulk(struct core *core, uint64_t now_ns);

/** The application receives no more: peers that ask are told so (FRAME_LEAVING), and wait no longer
 *  for it to receive what they have sent. What it has sent goes on. */
static inline void core_leave(struct core *core)
{
    core->leaving = true;
}

/** Is everything that was posted for sending acknowledged, or failed? */
bool core_is_flushed(const struct core *core);

/** Sends every acknowledgement that is owed, without delay: nobody may be there to do it later. */
void core_acknowledge(struct core *core, uint64_t now_ns);

/** Tells connected peers that this endpoint ends. They answer, which ends the connection here as
 *  well; until then it may be said again.
 *  @return false: there is no connected peer (any more). */
bool core_say_goodbye(struct core *core);

/** Is there a connected peer? */
bool core_has_connections(const struct core *core);

#endif /* BEOWIRE_CORE_CORE_H */
