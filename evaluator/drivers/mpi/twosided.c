/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * twosided.c - messages between two ranks of an MPI, as programs send them: MPI_Send, and MPI_Isend
 * and MPI_Irecv in a stream. It polls with MPI_Test, as MPI's own waits do.
 *
 * At most 64 sends and 64 receives are under way in a stream, and of posted messages, as in
 * drivers/beowire.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "../spin.h"
#include "drivers.h"
#include "rank.h"

#define WINDOW 64

/* Every MPI sends this much without waiting for the receiver, so that MPI_Send returns. */
#define SHORT_BYTES 4096

/* Requests in the order in which they were made and are waited for. */
struct ring {
    MPI_Request requests[WINDOW];
    uint64_t begun;
    uint64_t ended;
};

struct session {
    struct rank rank;
    MPI_Request waiting; /* a receive left posted when the host asked to stop */
    struct ring sends;
    struct ring receives;
};

static int twosided_open(const struct driver_options *options, void **opened, char *error,
                         size_t error_bytes)
{
    int status = rank_open(sizeof(struct session), options, opened, error, error_bytes);

    if (status == 0) {
        ((struct session *)*opened)->waiting = MPI_REQUEST_NULL;
    }
    return status;
}

static int twosided_prepare(void *opened, uint64_t size)
{
    struct session *session = opened;

    (void)size;
    return rank_take_back(&session->rank, &session->waiting);
}

static int begin_send(struct session *session, const void *data, uint64_t size,
                      MPI_Request *request)
{
    return rank_status(&session->rank, MPI_Isend(data, (int)size, MPI_BYTE, session->rank.peer,
                                                 RANK_TAG_MESSAGE, session->rank.world, request));
}

static int begin_receive(struct session *session, void *data, uint64_t size, MPI_Request *request)
{
    return rank_status(&session->rank, MPI_Irecv(data, (int)size, MPI_BYTE, session->rank.peer,
                                                 RANK_TAG_MESSAGE, session->rank.world, request));
}

static int twosided_send(void *opened, const void *data, uint64_t size)
{
    struct session *session = opened;

    if (size <= SHORT_BYTES) {
        return rank_status(&session->rank, MPI_Send(data, (int)size, MPI_BYTE, session->rank.peer,
                                                    RANK_TAG_MESSAGE, session->rank.world));
    }
    MPI_Request request;
    int status = begin_send(session, data, size, &request);
    if (status == 0) {
        status = rank_wait(&session->rank, &request);
        session->rank.broken |= status != 0; /* MPI still uses the buffer */
    }
    return status;
}

static int twosided_receive(void *opened, void *data, uint64_t size)
{
    struct session *session = opened;
    int status = 0;

    if (session->waiting == MPI_REQUEST_NULL) {
        status = begin_receive(session, data, size, &session->waiting);
    }
    return status == 0 ? rank_wait(&session->rank, &session->waiting) : status;
}

/* Waits for the oldest request. */
static int await_oldest(struct session *session, struct ring *ring)
{
    int status = rank_wait(&session->rank, &ring->requests[ring->ended % WINDOW]);

    if (status != 0) {
        session->rank.broken = true; /* an interrupted stream is not continued */
        return status;
    }
    ring->ended++;
    return 0;
}

static int twosided_stream_send(void *opened, const void *data, uint64_t size, uint64_t more)
{
    struct session *session = opened;
    struct ring *ring = &session->sends;
    const uint64_t allowed = more == 0 ? 0 : WINDOW - 1;
    int status = begin_send(session, data, size, &ring->requests[ring->begun % WINDOW]);

    ring->begun += status == 0 ? 1 : 0;
    while (status == 0 && ring->begun - ring->ended > allowed) {
        status = await_oldest(session, ring);
    }
    return status;
}

static int twosided_stream_receive(void *opened, void *data, uint64_t size, uint64_t more)
{
    struct session *session = opened;
    struct ring *ring = &session->receives;
    const uint64_t wanted = more < WINDOW ? more + 1 : WINDOW;

    while (ring->begun - ring->ended < wanted) {
        int status = begin_receive(session, data, size, &ring->requests[ring->begun % WINDOW]);
        if (status != 0) {
            return status;
        }
        ring->begun++;
    }
    return await_oldest(session, ring);
}

static int twosided_post_send(void *opened, const void *data, uint64_t size)
{
    struct session *session = opened;
    struct ring *ring = &session->sends;

    if (ring->begun - ring->ended == WINDOW) {
        return -EAGAIN;
    }
    int status = begin_send(session, data, size, &ring->requests[ring->begun % WINDOW]);
    ring->begun += status == 0 ? 1 : 0;
    return status;
}

static int twosided_post_receive(void *opened, void *data, uint64_t size)
{
    struct session *session = opened;
    struct ring *ring = &session->receives;

    if (ring->begun - ring->ended == WINDOW) {
        return -EAGAIN;
    }
    int status = begin_receive(session, data, size, &ring->requests[ring->begun % WINDOW]);
    ring->begun += status == 0 ? 1 : 0;
    return status;
}

/* Counts completed requests, the oldest first. Each test makes progress for all of them. */
static int count_ended(struct session *session, struct ring *ring, uint64_t *ended)
{
    while (ring->begun > ring->ended) {
        int done = 0;
        int status = rank_status(&session->rank, MPI_Test(&ring->requests[ring->ended % WINDOW],
                                                          &done, MPI_STATUS_IGNORE));
        if (status != 0 || done == 0) {
            return status;
        }
        ring->ended++;
        ++*ended;
    }
    return 0;
}

static int twosided_progress(void *opened, bool wait, struct driver_ended *ended)
{
    struct session *session = opened;
    struct spin spin = spin_start(session->rank.host, SPIN_FOREVER);

    for (;;) {
        int status = count_ended(session, &session->sends, &ended->sends);
        if (status == 0) {
            status = count_ended(session, &session->receives, &ended->receives);
        }
        if (status != 0 || !wait || ended->sends + ended->receives > 0) {
            return status;
        }
        status = spin_turn(&spin);
        if (status != 0) {
            session->rank.broken = true; /* posted messages are not cancelled */
            return status;
        }
    }
}

static void twosided_close(void *opened)
{
    struct session *session = opened;

    (void)rank_take_back(&session->rank, &session->waiting);
    if (rank_farewell(&session->rank)) {
        rank_finish();
    }
    free(session);
}

const struct driver driver_mpi = {
    RANK_DRIVER,
    .name = "mpi",
    .summary = "messages between two ranks of an MPI; spins",
    .open = twosided_open,
    .connect = rank_connect,
    .prepare = twosided_prepare,
    .send = twosided_send,
    .receive = twosided_receive,
    .stream_send = twosided_stream_send,
    .stream_receive = twosided_stream_receive,
    .close = twosided_close,
    .post_send = twosided_post_send,
    .post_receive = twosided_post_receive,
    .progress = twosided_progress,
    .collective = rank_collective,
};
