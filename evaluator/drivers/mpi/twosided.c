/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * twosided.c - messages between two ranks of an MPI, as programs send them: MPI_Send, and
 * MPI_Isend and MPI_Irecv in a stream. It waits by testing, as MPI's own waits do.
 *
 * A stream has up to 64 sends and 64 receives under way, as drivers/beowire.c has.
 */
#include <errno.h>
#include <stdlib.h>

#include "drivers.h"
#include "rank.h"

#define STREAM_WINDOW 64

/* What every MPI sends without waiting for its receiver, so that MPI_Send returns. */
#define SHORT_BYTES 4096

/* Requests in the order in which they were made, which is that in which they are waited for. */
struct ring {
    MPI_Request requests[STREAM_WINDOW];
    uint64_t begun;
    uint64_t ended;
};

struct session {
    struct rank rank;
    MPI_Request waiting; /* a receive that was left when the host asked to stop */
    struct ring sends;
    struct ring receives;
};

static int twosided_open(const struct driver_options *options, void **opened, char *error,
                         size_t error_bytes)
{
    struct session *session = calloc(1, sizeof *session);

    if (session == NULL) {
        return -ENOMEM;
    }
    session->waiting = MPI_REQUEST_NULL;
    int status = rank_open(&session->rank, options, error, error_bytes);
    if (status != 0) {
        free(session);
        return status;
    }
    *opened = session;
    return 0;
}

static int twosided_address(void *opened, char *text, size_t text_bytes)
{
    (void)opened;
    return rank_address(text, text_bytes);
}

static int twosided_connect(void *opened, const char *peer_address, char *error, size_t error_bytes)
{
    struct session *session = opened;

    return rank_connect(&session->rank, peer_address, error, error_bytes);
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
        session->rank.broken |= status != 0; /* MPI keeps the buffer */
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

/* The end of the oldest. */
static int await_oldest(struct session *session, struct ring *ring)
{
    int status = rank_wait(&session->rank, &ring->requests[ring->ended % STREAM_WINDOW]);

    if (status != 0) {
        session->rank.broken = true; /* a stream that was left is not taken up again */
        return status;
    }
    ring->ended++;
    return 0;
}

static int twosided_stream_send(void *opened, const void *data, uint64_t size, uint64_t more)
{
    struct session *session = opened;
    struct ring *ring = &session->sends;
    const uint64_t allowed = more == 0 ? 0 : STREAM_WINDOW - 1;
    int status = begin_send(session, data, size, &ring->requests[ring->begun % STREAM_WINDOW]);

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
    const uint64_t wanted = more < STREAM_WINDOW ? more + 1 : STREAM_WINDOW;

    while (ring->begun - ring->ended < wanted) {
        int status =
            begin_receive(session, data, size, &ring->requests[ring->begun % STREAM_WINDOW]);
        if (status != 0) {
            return status;
        }
        ring->begun++;
    }
    return await_oldest(session, ring);
}

static int twosided_flush(void *opened)
{
    struct session *session = opened;

    return rank_progress(&session->rank);
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
    .abi = DRIVER_ABI,
    .name = "mpi",
    .summary = "messages between two ranks of an MPI; spins",
    .placement = DRIVER_PAIR,
    .reliable = true,
    .spins = true,
    .min_size = 1,
    .max_size = RANK_BYTES_MAX,
    .probe = rank_probe,
    .open = twosided_open,
    .address = twosided_address,
    .connect = twosided_connect,
    .prepare = twosided_prepare,
    .send = twosided_send,
    .receive = twosided_receive,
    .stream_send = twosided_stream_send,
    .stream_receive = twosided_stream_receive,
    .flush = twosided_flush,
    .close = twosided_close,
};
