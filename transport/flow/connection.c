/* SPDX-License-Identifier: BSD-3-Clause */
#include "connection.h"

#include "tuning.h"

#include <errno.h>

void connection_init(struct connection *connection, uint32_t own_key)
{
    *connection = (struct connection){.state = CONNECTION_NONE, .own_key = own_key};
}

void connection_ask(struct connection *connection, uint64_t now_ns)
{
    if (connection->state > CONNECTION_ANSWERED) {
        return;
    }
    if (!connection->asks) {
        bool asked = connection->state == CONNECTION_ANSWERED;
        connection->state = asked ? CONNECTION_ANSWERED : CONNECTION_ASKING;
        connection->asks = true;
        connection->asking_since_ns = now_ns;
        connection->ask_at_ns = now_ns + (asked ? CONNECTION_RETRY_NS : 0);
        connection->attempts = 0;
    } else if (connection->asking_since_ns == 0) {
        connection->asking_since_ns = now_ns;
    }
}

void connection_ask_anew(struct connection *connection, uint64_t now_ns)
{
    connection->attempts = 0;
    connection->ask_at_ns = now_ns;
}

void connection_relent(struct connection *connection)
{
    connection->asking_since_ns = 0;
}

bool connection_ask_due(struct connection *connection, uint64_t now_ns)
{
    if (!connection->asks || now_ns < connection->ask_at_ns) {
        return false;
    }
    uint64_t pause_ns = CONNECTION_RETRY_NS;
    for (unsigned i = 0; i < connection->attempts && pause_ns < FLOW_BACKOFF_MAX_NS; i++) {
        pause_ns *= 2;
    }
    if (connection->attempts < UINT8_MAX) {
        connection->attempts++;
    }
    connection->ask_at_ns =
        now_ns + (pause_ns < FLOW_BACKOFF_MAX_NS ? pause_ns : FLOW_BACKOFF_MAX_NS);
    return true;
}

uint64_t connection_deadline(const struct connection *connection)
{
    return connection->asks ? connection->ask_at_ns : UINT64_MAX;
}

enum connection_event connection_fail(struct connection *connection, int error)
{
    if (connection->state == CONNECTION_FAILED) {
        return CONNECTION_NOTHING;
    }
    connection->state = CONNECTION_FAILED;
    connection->error = error;
    connection->asks = false;
    return CONNECTION_BROKEN;
}

/** The peer's key and nonce, from its CONNECT or ACCEPT. */
static enum connection_event begin(struct connection *connection, const struct frame_connect *body,
                                   enum connection_state state)
{
    connection->state = state;
    connection->peer_key = from_le32(body->key);
    memcpy(connection->peer_nonce, body->nonce, FRAME_NONCE_BYTES);
    return CONNECTION_BEGUN;
}

static enum connection_event receive_connect(struct connection *connection,
                                             const struct frame_connect *body, uint64_t now_ns)
{
    if (connection->state > CONNECTION_ASKING) {
        return CONNECTION_NOTHING;
    }
    connection->answered_ns = now_ns;
    return begin(connection, body, CONNECTION_ANSWERED);
}

static enum connection_event receive_accept(struct connection *connection,
                                            const struct frame_connect *body)
{
    /* A CONNECT in the peer's name may be forged; this is the peer's own answer. */
    bool other = connection->state == CONNECTION_ANSWERED && connection->asks &&
                 from_le32(body->key) != connection->peer_key;

    if ((connection->state != CONNECTION_ASKING && !other) ||
        from_le32(body->echoed_key) != connection->own_key) {
        return CONNECTION_NOTHING;
    }
    connection->asks = false;
    return begin(connection, body, CONNECTION_OPEN);
}

static int error_of(uint32_t reason)
{
    switch (reason) {
    case FRAME_RESET_PROTOCOL:
        return -EPROTO;
    case FRAME_RESET_JOB:
        return -EKEYREJECTED;
    case FRAME_RESET_SEAL:
        return -EPROTONOSUPPORT;
    default:
        return -ECONNRESET;
    }
}

bool connection_is_echoed(const struct connection *connection, const struct frame *frame)
{
    uint32_t echoed = from_le32(frame->reset->echoed_key);
    /* While CONNECTs are sent, only the peer's ACCEPT counts: a CONNECT may be forged. */
    bool begun = connection->state == CONNECTION_OPEN ||
                 (connection->state == CONNECTION_ANSWERED && !connection->asks);

    return (connection->asks && echoed == connection->own_key) ||
           (begun && echoed == connection->peer_key);
}

static enum connection_event receive_reset(struct connection *connection, const struct frame *frame)
{
    if (!connection_is_echoed(connection, frame)) {
        return CONNECTION_NOTHING; /* no proof: its sender saw no frame of ours */
    }
    return connection_fail(connection, error_of(from_le32(frame->reset->reason)));
}

enum connection_event connection_receive(struct connection *connection, const struct frame *frame,
                                         uint64_t now_ns)
{
    switch (frame->type) {
    case FRAME_CONNECT:
        return receive_connect(connection, frame->connect, now_ns);
    case FRAME_ACCEPT:
        return receive_accept(connection, frame->connect);
    case FRAME_RESET:
        return receive_reset(connection, frame);
    case FRAME_CLOSE:
        return connection->state == CONNECTION_OPEN ? connection_fail(connection, -ECONNRESET)
                                                    : CONNECTION_NOTHING;
    default: /* only within a connection */
        return CONNECTION_NOTHING;
    }
}
