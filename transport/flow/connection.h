/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * connection.h - how two endpoints come to know each other's keys before the first message.
 *
 *      NONE --- ask ---> ASKING ------------- ACCEPT --------------> OPEN
 *        `----------------`---- the peer's CONNECT ---> ANSWERED ----^
 *                                                    heard with our key
 *      any --- RESET, CLOSE, silence, broken rule ---> FAILED (for good)
 *
 * Each end chooses a random key that the other must put into every frame; a frame without it is
 * not looked at. CONNECT and ACCEPT prove that who sends them knows the secret of the end that was
 * asked (route/proof.h), and nothing in them is believed otherwise. Whoever answers a CONNECT has
 * told its key to the place that this says it comes from, and nothing but that is sent there until
 * a frame has come that has this key. CONNECT is repeated until answered; both ends may ask at
 * once. A peer is one incarnation: after FAILED it stays so, a restarted process is another peer.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_FLOW_CONNECTION_H
#define BEOWIRE_FLOW_CONNECTION_H

#include "frame/frame.h"

enum connection_state {
    CONNECTION_NONE,
    CONNECTION_ASKING,
    CONNECTION_ANSWERED, /**< the peer has asked, and need not have got the answer */
    CONNECTION_OPEN,
    CONNECTION_FAILED,
};

struct connection {
    enum connection_state state;
    int error;                /**< FAILED: why, a negative errno */
    uint32_t own_key;         /**< the peer puts this into its frames */
    uint32_t peer_key;        /**< ANSWERED, OPEN: we put this into ours */
    bool asks;                /**< CONNECT is sent, until the peer is heard */
    uint8_t attempts;         /**< CONNECTs sent; 255: or more */
    uint64_t asking_since_ns; /**< since when its answer is needed; 0: nobody needs it (any more) */
    uint64_t ask_at_ns;       /**< when the next CONNECT is due */
    uint64_t answered_ns;     /**< ANSWERED: since when */
    uint8_t peer_nonce[FRAME_NONCE_BYTES]; /**< in the peer's; valid with `peer_key` */
};

/** What a frame means for the connection. */
enum connection_event {
    CONNECTION_NOTHING, /**< ignore it */
    CONNECTION_BEGUN,   /**< just now: flow and limits have to be set up from this frame */
    CONNECTION_BROKEN,  /**< just now: `error` says why */
};

/** Begins with NONE. `own_key` is random and not 0. */
void connection_init(struct connection *connection, uint32_t own_key);

/** The peer's answer is needed: NONE becomes ASKING; ANSWERED asks, too, if the peer is not heard
 *  soon. */
void connection_ask(struct connection *connection, uint64_t now_ns);

/** What was asked went nowhere: if it asks, it asks again at once, as if for the first time. */
void connection_ask_anew(struct connection *connection, uint64_t now_ns);

/** Nobody needs the answer any more: it may take as long as it likes. The question goes on. */
void connection_relent(struct connection *connection);

/** Is there a connection, one that somebody needs an answer about, or one that has failed? */
static inline bool connection_is_in_earnest(const struct connection *connection)
{
    return connection->asks ? connection->asking_since_ns != 0
                            : connection->state != CONNECTION_NONE;
}

/** Does this RESET echo a key that only those know who saw frames of this connection? */
bool connection_is_echoed(const struct connection *connection, const struct frame *frame);

/** Handles CONNECT, ACCEPT (whose proofs are right), RESET, CLOSE from the peer. */
enum connection_event connection_receive(struct connection *connection, const struct frame *frame,
                                         uint64_t now_ns);

/** Any frame with our key has come. @return true: just now ANSWERED has become OPEN. */
static inline bool connection_heard(struct connection *connection)
{
    if (connection->state != CONNECTION_ANSWERED) {
        return false;
    }
    connection->state = CONNECTION_OPEN;
    connection->asks = false;
    return true;
}

/** Is a CONNECT due? If so notes that it has been sent. */
bool connection_ask_due(struct connection *connection, uint64_t now_ns);

/** When something is due next; UINT64_MAX: never. */
uint64_t connection_deadline(const struct connection *connection);

/** FAILED with `error`. @return CONNECTION_BROKEN, or NOTHING if it had failed before. */
enum connection_event connection_fail(struct connection *connection, int error);

#endif /* BEOWIRE_FLOW_CONNECTION_H */
