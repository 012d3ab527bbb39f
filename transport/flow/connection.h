/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * connection.h - how two endpoints exchange keys before the first message.
 *
 *      NONE --- ask ---> ASKING ------------- ACCEPT --------------> OPEN
 *        `----------------`---- the peer's CONNECT ---> ANSWERED ----^
 *                                                    heard with our key
 *      any --- RESET, CLOSE, silence, broken rule ---> FAILED (for good)
 *
 * Each end chooses a random key that the other must put into every frame; frames without it are
 * dropped. CONNECT and ACCEPT prove that their sender knows the secret of the end that was asked
 * (route/proof.h); without the proof they are dropped. The answer to a CONNECT goes to the address
 * in it, and tells the key. Nothing else is sent to that address until a frame with the key has
 * come. CONNECT is repeated until answered; both ends may ask at the same time. FAILED is final: a
 * restarted process is another peer.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_FLOW_CONNECTION_H
#define BEOWIRE_FLOW_CONNECTION_H

#include "frame/frame.h"

enum connection_state {
    CONNECTION_NONE,
    CONNECTION_ASKING,
    CONNECTION_ANSWERED, /**< the peer has asked; the answer may have been lost */
    CONNECTION_OPEN,
    CONNECTION_FAILED,
};

struct connection {
    enum connection_state state;
    int error;                /**< FAILED: why, a negative errno */
    uint32_t own_key;         /**< the peer puts this into its frames */
    uint32_t peer_key;        /**< ANSWERED, OPEN: we put this into ours */
    bool asks;                /**< CONNECT is sent until the peer is heard */
    uint8_t attempts;         /**< CONNECTs sent; 255: or more */
    uint64_t asking_since_ns; /**< since when an answer is needed; 0: no answer is needed */
    uint64_t ask_at_ns;       /**< when the next CONNECT is due */
    uint64_t answered_ns;     /**< ANSWERED: since when */
    uint8_t peer_nonce[FRAME_NONCE_BYTES]; /**< of the peer; valid with `peer_key` */
};

/** What a frame means for the connection. */
enum connection_event {
    CONNECTION_NOTHING, /**< ignore it */
    CONNECTION_BEGUN,   /**< just now: flow and limits have to be set up from this frame */
    CONNECTION_BROKEN,  /**< just now: `error` says why */
};

/** Begins with NONE. `own_key` is random and not 0. */
void connection_init(struct connection *connection, uint32_t own_key);

/** The peer's answer is needed: NONE becomes ASKING. ANSWERED asks if the peer is not heard soon.
 */
void connection_ask(struct connection *connection, uint64_t now_ns);

/** CONNECTs so far did not arrive: if it asks, it asks again at once, with new counters. */
void connection_ask_anew(struct connection *connection, uint64_t now_ns);

/** No answer is needed any more: CONNECTs continue without a time limit. */
void connection_relent(struct connection *connection);

/** Is there a connection, a failed one, or an attempt whose answer is needed? */
static inline bool connection_is_in_earnest(const struct connection *connection)
{
    return connection->asks ? connection->asking_since_ns != 0
                            : connection->state != CONNECTION_NONE;
}

/** Does this RESET echo a key, and so come from a host that saw frames of this connection? */
bool connection_is_echoed(const struct connection *connection, const struct frame *frame);

/** Handles a peer's CONNECT or ACCEPT with a correct proof, RESET, or CLOSE. */
enum connection_event connection_receive(struct connection *connection, const struct frame *frame,
                                         uint64_t now_ns);

/** A frame with our key has come. @return whether this changed ANSWERED to OPEN. */
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
