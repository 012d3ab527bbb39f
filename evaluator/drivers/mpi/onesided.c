/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * onesided.c - messages by one-sided operations between two ranks of an MPI: the sender puts the
 * message into the receiver's buffer, waits until it is there (MPI_Win_flush), and says so by an
 * empty message. All is in one epoch of MPI_Win_lock_all.
 *
 * That the other rank has to be told is part of the time: whoever uses such operations has to. What
 * is put goes from buffer to buffer; no copy is made here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers.h"
#include "rank.h"

struct session {
    struct rank rank;
    void *incoming; /* what the peer puts into */
    uint64_t bytes;
    MPI_Win window;      /* of it, and of the peer's; MPI_WIN_NULL: there is none */
    MPI_Request waiting; /* for the peer's notice */
    char notice;         /* nothing is in it */
};

static int onesided_open(const struct driver_options *options, void **opened, char *error,
                         size_t error_bytes)
{
    struct session *session = calloc(1, sizeof *session);

    if (session == NULL) {
        return -ENOMEM;
    }
    session->waiting = MPI_REQUEST_NULL;
    session->window = MPI_WIN_NULL;
    session->incoming = options->incoming;
    session->bytes = options->max_size;
    int status = rank_open(&session->rank, options, error, error_bytes);
    if (status != 0) {
        free(session);
        return status;
    }
    *opened = session;
    return 0;
}

static int onesided_address(void *opened, char *text, size_t text_bytes)
{
    (void)opened;
    return rank_address(text, text_bytes);
}

static int open_window(struct session *session)
{
    int code = MPI_Win_create(session->incoming, (MPI_Aint)session->bytes, 1, MPI_INFO_NULL,
                              session->rank.world, &session->window);

    if (code == MPI_SUCCESS) {
        (void)MPI_Win_set_errhandler(session->window, MPI_ERRORS_RETURN);
        code = MPI_Win_lock_all(MPI_MODE_NOCHECK, session->window);
    }
    return code;
}

static int onesided_connect(void *opened, const char *peer_address, char *error, size_t error_bytes)
{
    struct session *session = opened;
    int status = rank_connect(&session->rank, peer_address, error, error_bytes);

    if (status != 0) {
        return status;
    }
    int code = open_window(session);
    if (code != MPI_SUCCESS) {
        char why[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        (void)MPI_Error_string(code, why, &length);
        (void)snprintf(error, error_bytes,
                       "this MPI has no one-sided operations this way: MPI_Win_create: %.120s",
                       why);
        return rank_status(&session->rank, code);
    }
    /* The other rank may need us to make progress until it has its window. */
    return rank_meet(&session->rank);
}

static int onesided_prepare(void *opened, uint64_t size)
{
    struct session *session = opened;

    (void)size;
    return rank_take_back(&session->rank, &session->waiting);
}

static int put_send(void *opened, const void *data, uint64_t size)
{
    struct session *session = opened;
    const int peer = session->rank.peer;
    const int bytes = (int)size;
    int code = MPI_Put(data, bytes, MPI_BYTE, peer, 0, bytes, MPI_BYTE, session->window);

    if (code == MPI_SUCCESS) {
        code = MPI_Win_flush(peer, session->window);
    }
    if (code == MPI_SUCCESS) {
        code = MPI_Send(&session->notice, 0, MPI_BYTE, peer, RANK_TAG_MESSAGE, session->rank.world);
    }
    return rank_status(&session->rank, code);
}

static int begin_waiting(struct session *session)
{
    return rank_status(&session->rank,
                       MPI_Irecv(&session->notice, 0, MPI_BYTE, session->rank.peer,
                                 RANK_TAG_MESSAGE, session->rank.world, &session->waiting));
}

static int put_receive(void *opened, void *data, uint64_t size)
{
    struct session *session = opened;
    int status = 0;

    (void)size;
    if (data != session->incoming) {
        return -EINVAL;
    }
    if (session->waiting == MPI_REQUEST_NULL) {
        status = begin_waiting(session);
    }
    if (status == 0) {
        status = rank_wait(&session->rank, &session->waiting);
    }
    return status == 0 ? rank_status(&session->rank, MPI_Win_sync(session->window)) : status;
}

static int onesided_flush(void *opened)
{
    struct session *session = opened;

    return rank_progress(&session->rank);
}

static void onesided_close(void *opened)
{
    struct session *session = opened;

    (void)rank_take_back(&session->rank, &session->waiting);
    if (rank_farewell(&session->rank)) {
        if (session->window != MPI_WIN_NULL) {
            (void)MPI_Win_unlock_all(session->window);
            (void)MPI_Win_free(&session->window);
        }
        rank_finish();
    }
    free(session);
}

const struct driver driver_mpi_put = {
    .abi = DRIVER_ABI,
    .name = "mpi-put",
    .summary = "one-sided puts between two ranks of an MPI, each announced by a message; spins",
    .placement = DRIVER_PAIR,
    .reliable = true,
    .spins = true,
    .min_size = 1,
    .max_size = RANK_BYTES_MAX,
    .probe = rank_probe,
    .open = onesided_open,
    .address = onesided_address,
    .connect = onesided_connect,
    .prepare = onesided_prepare,
    .send = put_send,
    .receive = put_receive,
    .flush = onesided_flush,
    .close = onesided_close,
};
