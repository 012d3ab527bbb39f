/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * connection.h - how two endpoints come to know each other's keys before the first message.
 *
 *      NONE --- start ---> ASKING --- ACCEPT, or the peer's CONNECT ---> OPEN
 *        `------------- the peer's CONNECT ------------------------------^
 *      any --- RESET, CLOSE, silence, broken rule ---> FAILED (for good)
 *
 * Each end chooses a random key that the other must put into every frame; a frame without it is
 * not looked at. A CONNECT names the incarnation that is meant, so that nothing sent to an earlier
 * process under the same number is ever taken. CONNECT is repeated until answered; both ends may
 * ask at once. A peer is one incarnation: after FAILED it stays so, a restarted process is another
 * peer.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_FLOW_CONNECTION_H
#define BEOWIRE_FLOW_CONNECTION_H

#include "frame/frame.h"

enum connection_state {
    CONNECTION_NONE,
    CONNECTION_ASKING,
    CONNECTION_OPEN,
    CONNECTION_FAILED,
};

struct connection {
    enum connection_state state;
    int error;                /**< FAILED: why, a negative errno */
    uint32_t own_key;         /**< the peer puts this into its frames */
    uint32_t peer_key;        /**< OPEN: we put this into ours */
    bool accept_owed;         /**< an ACCEPT has to be sent */
    unsigned attempts;        /**< CONNECTs sent */
    uint64_t asking_since_ns; /**< ASKING: since when; 0: nobody needs the answer any more */
    uint64_t ask_at_ns;       /**< ASKING: when the next CONNECT is due */
};

/** What a frame means for the connection. */
enum connection_event {
    CONNECTION_NOTHING, /**< ignore it */
    CONNECTION_OPENED,  /**< just now: flow and limits have to be set up from this frame */
    CONNECTION_BROKEN,  /**< just now: `error` says why */
};

/** Begins with NONE. `own_key` is random and not 0. */
void connection_init(struct connection *connection, uint32_t own_key);

/** NONE becomes ASKING; else nothing, but that the answer is needed (again). */
void connection_ask(struct connection *connection, uint64_t now_ns);

/** Nobody needs the answer any more: it may take as long as it likes. The question goes on. */
void connection_relent(struct connection *connection);

/** Is there a connection, one that somebody needs an answer about, or one that has failed? */
static inline bool connection_is_in_earnest(const struct connection *connection)
{
    return connection->state == CONNECTION_ASKING ? connection->asking_since_ns != 0
                                                  : connection->state != CONNECTION_NONE;
}

/** Handles CONNECT, ACCEPT, RESET, CLOSE from the peer. */
enum connection_event connection_receive(struct connection *connection, const struct frame *frame);

/** Is a CONNECT due? If so notes that it has been sent. */
bool connection_ask_due(struct connection *connection, uint64_t now_ns);

/** When something is due next; UINT64_MAX: never. */
uint64_t connection_deadline(const struct connection *connection);

/** FAILED with `error`. @return CONNECTION_BROKEN, or NOTHING if it had failed before. */
enum connection_event connection_fail(struct connection *connection, int error);

#endif /* BEOWIRE_FLOW_CONNECTION_H */
