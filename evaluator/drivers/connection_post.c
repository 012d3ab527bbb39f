/* SPDX-License-Identifier: BSD-3-Clause */
/* Posted messages over a connection, which move when progress is made. */
#include <errno.h>
#include <poll.h>

#include "connection.h"
#include "spin.h"

static int64_t move_out(void *session, const struct post *post)
{
    const struct connection *connection = session;
    ssize_t count = send(connection->fd, post->at.out, post->left, MSG_NOSIGNAL | MSG_DONTWAIT);
    return count >= 0 ? count : connection_trouble();
}

static int64_t move_in(void *session, const struct post *post)
{
    const struct connection *connection = session;
    ssize_t count = recv(connection->fd, post->at.in, post->left, MSG_DONTWAIT);
    return count > 0 ? count : count == 0 ? -ECONNRESET : connection_trouble();
}

int connection_post_send(void *session, const void *data, uint64_t size)
{
    struct connection *connection = session;
    return post_out(&connection->sends, data, size, move_out, connection);
}

int connection_post_receive(void *session, void *data, uint64_t size)
{
    struct connection *connection = session;
    return post_in(&connection->receives, data, size);
}

/* Moves what it can. 0, or an error. */
static int move_both(struct connection *connection, struct driver_ended *ended)
{
    int64_t sent = post_push(&connection->sends, move_out, connection);
    int64_t received = sent < 0 ? sent : post_push(&connection->receives, move_in, connection);
    ended->sends += post_ended(&connection->sends);
    ended->receives += post_ended(&connection->receives);
    return received < 0 ? (int)received : 0;
}

int connection_progress(void *session, bool wait, struct driver_ended *ended)
{
    struct connection *connection = session;
    const uint64_t before = ended->sends + ended->receives;
    int error = move_both(connection, ended);
    while (error == 0 && wait && ended->sends + ended->receives == before) {
        const bool sends = connection->sends.moving != connection->sends.end;
        const bool receives = connection->receives.moving != connection->receives.end;
        const short events = (short)((sends ? POLLOUT : 0) | (receives ? POLLIN : 0));
        error = connection_wait_for(connection, connection->fd, events, -1);
        error = error != 0 ? error : move_both(connection, ended);
    }
    return error;
}

int connection_spin_progress(void *session, bool wait, struct driver_ended *ended)
{
    struct connection *connection = session;
    const uint64_t before = ended->sends + ended->receives;
    struct spin spin = spin_start(connection->host, SPIN_FOREVER);
    int error = move_both(connection, ended);
    while (error == 0 && wait && ended->sends + ended->receives == before) {
        error = spin_turn(&spin);
        error = error != 0 ? error : move_both(connection, ended);
    }
    return error;
}
