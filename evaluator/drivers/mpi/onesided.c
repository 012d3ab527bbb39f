/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * onesided.c - messages by one-sided operations between two ranks of an MPI.
 *
 * Memory that the peer writes or reads must be offered, and its use reported. Programs have to do
 * that, too, so it is part of the time.
 *
 *      put   receiver: here is room      get   sender: here is a message
 *            sender:   puts, says so           receiver: gets, says so
 *
 * Without a fence, all happens in one epoch of MPI_Win_lock_all, and MPI_Win_flush completes an
 * operation. With fences, MPI_Win_fence completes it. A word is sent before, because a wait inside
 * that function cannot be interrupted.
 *
 * Nothing is copied here, unless the message is received into another buffer than was offered.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers.h"
#include "rank.h"

/* The most rooms and messages offered in advance. */
#define WINDOW 64

/* A place is a displacement; this flag says that it is in the buffer for sending. */
#define PLACE_OUTGOING (UINT64_C(1) << 62)

enum { INCOMING, OUTGOING, BUFFERS };

struct session {
    struct rank rank;
    bool fences;
    uint8_t *memory[BUFFERS];
    uint64_t bytes;
    MPI_Win windows[BUFFERS]; /* MPI_WIN_NULL: there is none */
    struct rank_word message; /* the peer's word about a message */
    struct rank_word answer;  /* the peer's word that it has room, or has read */
    uint64_t room[WINDOW];    /* displacements offered */
    uint64_t given;
    uint64_t used;
};

static int onesided_open(const struct driver_options *options, void **opened, char *error,
                         size_t error_bytes)
{
    int status = rank_open(sizeof(struct session), options, opened, error, error_bytes);

    if (status == 0) {
        struct session *session = *opened;
        session->message.request = MPI_REQUEST_NULL;
        session->answer.request = MPI_REQUEST_NULL;
        session->memory[INCOMING] = options->incoming;
        session->memory[OUTGOING] = options->outgoing;
        session->bytes = options->max_size + DRIVER_SLACK_BYTES;
        for (int i = 0; i < BUFFERS; i++) {
            session->windows[i] = MPI_WIN_NULL;
        }
    }
    return status;
}

static int open_window(struct session *session, int which)
{
    int code = MPI_Win_create(session->memory[which], (MPI_Aint)session->bytes, 1, MPI_INFO_NULL,
                              session->rank.world, &session->windows[which]);

    if (code != MPI_SUCCESS) {
        return code;
    }
    (void)MPI_Win_set_errhandler(session->windows[which], MPI_ERRORS_RETURN);
    return session->fences ? MPI_Win_fence(MPI_MODE_NOPRECEDE, session->windows[which])
                           : MPI_Win_lock_all(MPI_MODE_NOCHECK, session->windows[which]);
}

/* Puts write into the peer's receive buffer; gets may read either buffer. */
static int connect_windows(void *opened, const char *peer_address, int windows, char *error,
                           size_t error_bytes)
{
    struct session *session = opened;
    int code = MPI_SUCCESS;
    int status = rank_connect(session, peer_address, error, error_bytes);

    if (status != 0) {
        return status;
    }
    for (int i = 0; i < windows && code == MPI_SUCCESS; i++) {
        code = open_window(session, i);
    }
    if (code != MPI_SUCCESS) {
        char why[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        (void)MPI_Error_string(code, why, &length);
        (void)snprintf(error, error_bytes,
                       "this MPI has no one-sided operations this way: MPI_Win_create: %.120s",
                       why);
        return rank_status(&session->rank, code);
    }
    /* The other rank may need our progress until its window exists. */
    return rank_meet(&session->rank);
}

static int put_connect(void *opened, const char *peer_address, char *error, size_t error_bytes)
{
    return connect_windows(opened, peer_address, INCOMING + 1, error, error_bytes);
}

static int get_connect(void *opened, const char *peer_address, char *error, size_t error_bytes)
{
    return connect_windows(opened, peer_address, BUFFERS, error, error_bytes);
}

static int fenced_put_connect(void *opened, const char *peer_address, char *error,
                              size_t error_bytes)
{
    ((struct session *)opened)->fences = true;
    return put_connect(opened, peer_address, error, error_bytes);
}

static int fenced_get_connect(void *opened, const char *peer_address, char *error,
                              size_t error_bytes)
{
    ((struct session *)opened)->fences = true;
    return get_connect(opened, peer_address, error, error_bytes);
}

static int fence(struct session *session, int which)
{
    return rank_status(&session->rank, MPI_Win_fence(0, session->windows[which]));
}

/* The offset in a buffer; -EINVAL: not in it. */
static int displacement(const struct session *session, int which, const void *data, uint64_t size,
                        uint64_t *found)
{
    *found = (uintptr_t)data - (uintptr_t)session->memory[which];
    return *found <= session->bytes && size <= session->bytes - *found ? 0 : -EINVAL;
}

static int put_send(void *opened, const void *data, uint64_t size)
{
    struct session *session = opened;
    struct rank *rank = &session->rank;
    const int bytes = (int)size;
    MPI_Win window = session->windows[INCOMING];
    int status = rank_hear(rank, RANK_TAG_PLACE, &session->answer);

    if (status != 0) {
        return status;
    }
    const MPI_Aint at = (MPI_Aint)session->answer.value;
    status =
        rank_status(rank, MPI_Put(data, bytes, MPI_BYTE, rank->peer, at, bytes, MPI_BYTE, window));
    if (status == 0 && !session->fences) {
        status = rank_status(rank, MPI_Win_flush(rank->peer, window));
    }
    if (status == 0) {
        status = rank_say(rank, RANK_TAG_MESSAGE, 0);
    }
    return status == 0 && session->fences ? fence(session, INCOMING) : status;
}

/* Offers room for `wanted` messages, minus what was offered before. */
static int give_room(struct session *session, const void *data, uint64_t size, uint64_t wanted)
{
    uint64_t at;
    int status = displacement(session, INCOMING, data, size, &at);

    while (status == 0 && session->given - session->used < wanted) {
        status = rank_say(&session->rank, RANK_TAG_PLACE, at);
        session->room[session->given % WINDOW] = at;
        session->given += status == 0 ? 1 : 0;
    }
    return status;
}

static int put_stream_receive(void *opened, void *data, uint64_t size, uint64_t more)
{
    struct session *session = opened;
    int status = give_room(session, data, size, more < WINDOW ? more + 1 : WINDOW);

    if (status == 0) {
        status = rank_hear(&session->rank, RANK_TAG_MESSAGE, &session->message);
    }
    if (status == 0) {
        status = session->fences
                     ? fence(session, INCOMING)
                     : rank_status(&session->rank, MPI_Win_sync(session->windows[INCOMING]));
    }
    if (status == 0) {
        const void *there = session->memory[INCOMING] + session->room[session->used++ % WINDOW];
        if (there != data) {
            memmove(data, there, size); /* offered before an interrupted wait */
        }
    }
    return status;
}

static int put_receive(void *opened, void *data, uint64_t size)
{
    return put_stream_receive(opened, data, size, 0);
}

/* Announces a message to the peer. */
static int show(struct session *session, const void *data, uint64_t size, int *which)
{
    uint64_t place;
    int status;

    *which = INCOMING;
    status = displacement(session, INCOMING, data, size, &place);
    if (status != 0) {
        *which = OUTGOING;
        status = displacement(session, OUTGOING, data, size, &place);
        place |= PLACE_OUTGOING;
    }
    if (status == 0 && !session->fences) {
        status = rank_status(&session->rank, MPI_Win_sync(session->windows[*which]));
    }
    return status == 0 ? rank_say(&session->rank, RANK_TAG_MESSAGE, place) : status;
}

static int get_stream_send(void *opened, const void *data, uint64_t size, uint64_t more)
{
    struct session *session = opened;
    int which;
    int status = show(session, data, size, &which);

    if (session->fences) {
        status = status == 0 ? fence(session, which) : status; /* the peer may read */
        return status == 0 ? fence(session, which) : status;   /* the peer has read */
    }
    session->given += status == 0 ? 1 : 0;
    while (status == 0 && session->given - session->used > (more == 0 ? 0 : WINDOW - 1)) {
        status = rank_hear(&session->rank, RANK_TAG_PLACE, &session->answer);
        session->used += status == 0 ? 1 : 0;
    }
    return status;
}

static int get_send(void *opened, const void *data, uint64_t size)
{
    return get_stream_send(opened, data, size, 0);
}

static int get_receive(void *opened, void *data, uint64_t size)
{
    struct session *session = opened;
    struct rank *rank = &session->rank;
    const int bytes = (int)size;
    int status = rank_hear(rank, RANK_TAG_MESSAGE, &session->message);

    if (status != 0) {
        return status;
    }
    const int which = (session->message.value & PLACE_OUTGOING) != 0 ? OUTGOING : INCOMING;
    const MPI_Aint at = (MPI_Aint)(session->message.value & ~PLACE_OUTGOING);
    MPI_Win window = session->windows[which];
    status = session->fences ? fence(session, which) : 0;
    if (status == 0) {
        status = rank_status(
            rank, MPI_Get(data, bytes, MPI_BYTE, rank->peer, at, bytes, MPI_BYTE, window));
    }
    if (status == 0) {
        status = session->fences ? fence(session, which)
                                 : rank_status(rank, MPI_Win_flush(rank->peer, window));
    }
    return status == 0 && !session->fences ? rank_say(rank, RANK_TAG_PLACE, 0) : status;
}

static void close_window(const struct session *session, MPI_Win *window)
{
    if (*window == MPI_WIN_NULL) {
        return;
    }
    if (session->fences) {
        (void)MPI_Win_fence(MPI_MODE_NOSUCCEED, *window);
    } else {
        (void)MPI_Win_unlock_all(*window);
    }
    (void)MPI_Win_free(window);
}

static void onesided_close(void *opened)
{
    struct session *session = opened;

    (void)rank_take_back(&session->rank, &session->message.request);
    (void)rank_take_back(&session->rank, &session->answer.request);
    if (rank_farewell(&session->rank)) {
        for (int i = 0; i < BUFFERS; i++) {
            close_window(session, &session->windows[i]);
        }
        rank_finish();
    }
    free(session);
}

const struct driver driver_mpi_put = {
    RANK_DRIVER,
    .name = "mpi-put",
    .summary = "one-sided puts between two ranks of an MPI, each announced by a message; spins",
    .fixed = true,
    .open = onesided_open,
    .connect = put_connect,
    .send = put_send,
    .receive = put_receive,
    .stream_receive = put_stream_receive,
    .close = onesided_close,
};

const struct driver driver_mpi_get = {
    RANK_DRIVER,
    .name = "mpi-get",
    .summary = "one-sided gets between two ranks of an MPI, each asked for by a message; spins",
    .fixed = true,
    .open = onesided_open,
    .connect = get_connect,
    .send = get_send,
    .receive = get_receive,
    .stream_send = get_stream_send,
    .close = onesided_close,
};

const struct driver driver_mpi_put_fence = {
    RANK_DRIVER,
    .name = "mpi-put-fence",
    .summary = "one-sided puts between two ranks of an MPI, completed by MPI_Win_fence; spins",
    .fixed = true,
    .open = onesided_open,
    .connect = fenced_put_connect,
    .send = put_send,
    .receive = put_receive,
    .stream_receive = put_stream_receive,
    .close = onesided_close,
};

const struct driver driver_mpi_get_fence = {
    RANK_DRIVER,
    .name = "mpi-get-fence",
    .summary = "one-sided gets between two ranks of an MPI, each between two MPI_Win_fence; spins",
    .fixed = true,
    .open = onesided_open,
    .connect = fenced_get_connect,
    .send = get_send,
    .receive = get_receive,
    .stream_send = get_stream_send,
    .close = onesided_close,
};
