/* SPDX-License-Identifier: BSD-3-Clause */
#include "rank.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../library.h"
#include "../spin.h"

/* Limits of the farewell, and of cancelling a receive before it, within the second that close()
 * has. */
#define FAREWELL_NS INT64_C(700000000)
#define TAKE_BACK_NS INT64_C(200000000)

/* Polls for queued operations of MPI. */
#define PROGRESS_POLLS 16

/* Polls of MPI after an interrupted wait, a millisecond apart. */
#define IDLE_LOOKS 2000

int rank_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    (void)options;
    (void)reason;
    (void)reason_bytes;
    return 0;
}

int rank_status(struct rank *rank, int code)
{
    if (code == MPI_SUCCESS) {
        return 0;
    }
    rank->broken = true;
    return -EIO;
}

/* This file is loaded with local symbols, and so is MPI. But MPI loads plug-ins, which need its
 * symbols to be global. */
static void publish_library(void)
{
    Dl_info library;
    int (*function)(int *, char ***, int, int *) = MPI_Init_thread;
    void *address = NULL;

    memcpy(&address, &function, sizeof address);
    if (dladdr(address, &library) != 0 && library.dli_fname != NULL) {
        (void)dlopen(library.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    }
}

static int initialise(char *error, size_t error_bytes)
{
    int before = 0;
    int level = 0;

    (void)MPI_Initialized(&before);
    if (before != 0) {
        (void)snprintf(error, error_bytes, "MPI can be started only once in a process");
        return -EBUSY;
    }
    publish_library();
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) {
        (void)snprintf(error, error_bytes, "MPI_Init fails");
        return -EIO;
    }
    return 0;
}

static int take_place(struct rank *rank, const struct driver_options *options, char *error,
                      size_t error_bytes)
{
    int ranks = 0;
    int own = 0;
    int status = initialise(error, error_bytes);

    if (status != 0) {
        return status;
    }
    *rank = (struct rank){.host = options->host, .world = MPI_COMM_WORLD};
    (void)MPI_Comm_set_errhandler(rank->world, MPI_ERRORS_RETURN);
    (void)MPI_Comm_size(rank->world, &ranks);
    (void)MPI_Comm_rank(rank->world, &own);
    rank->peer = 1 - own;
    if (ranks != 2) {
        (void)snprintf(error, error_bytes,
                       "it was started as %d rank%s, not two: the launcher and the library are not "
                       "of the same MPI",
                       ranks, ranks == 1 ? "" : "s");
        (void)MPI_Finalize();
        return -EINVAL;
    }
    if (own != (options->role == DRIVER_INITIATOR ? 0 : 1)) {
        (void)snprintf(error, error_bytes, "rank %d was started on the wrong node", own);
        return -EINVAL;
    }
    return 0;
}

int rank_open(size_t session_bytes, const struct driver_options *options, void **session,
              char *error, size_t error_bytes)
{
    struct rank *rank = calloc(1, session_bytes);

    if (rank == NULL) {
        return -ENOMEM;
    }
    int status = take_place(rank, options, error, error_bytes);
    if (status != 0) {
        free(rank);
        return status;
    }
    *session = rank;
    return 0;
}

int rank_address(void *session, char *text, size_t text_bytes)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    (void)session;
    (void)MPI_Get_library_version(version, &length);
    return library_address(version, text, text_bytes);
}

int rank_wait(struct rank *rank, MPI_Request *request)
{
    struct spin spin = spin_start(rank->host, SPIN_FOREVER);

    for (;;) {
        int done = 0;
        int code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) {
            return rank_status(rank, code);
        }
        if (done != 0) {
            return 0;
        }
        int status = spin_turn(&spin);
        if (status != 0) {
            rank->owed = IDLE_LOOKS;
            return status;
        }
    }
}

bool rank_idle(void *session)
{
    struct rank *rank = session;
    int found = 0;

    if (rank->owed == 0) {
        return false;
    }
    rank->owed--;
    (void)MPI_Iprobe(rank->peer, RANK_TAG_FAREWELL, rank->world, &found, MPI_STATUS_IGNORE);
    return true;
}

int rank_say(struct rank *rank, int tag, uint64_t value)
{
    return rank_status(rank,
                       MPI_Send(&value, sizeof value, MPI_BYTE, rank->peer, tag, rank->world));
}

int rank_hear(struct rank *rank, int tag, struct rank_word *word)
{
    int status = 0;

    if (word->request == MPI_REQUEST_NULL) {
        status = rank_status(rank, MPI_Irecv(&word->value, sizeof word->value, MPI_BYTE, rank->peer,
                                             tag, rank->world, &word->request));
    }
    return status == 0 ? rank_wait(rank, &word->request) : status;
}

/* Sends a byte to the peer, and receives one, at the same time. */
static int exchange(struct rank *rank, int tag, MPI_Request requests[2], char bytes[2])
{
    int status = rank_status(
        rank, MPI_Irecv(&bytes[0], 1, MPI_BYTE, rank->peer, tag, rank->world, &requests[0]));

    return status != 0 ? status
                       : rank_status(rank, MPI_Isend(&bytes[1], 1, MPI_BYTE, rank->peer, tag,
                                                     rank->world, &requests[1]));
}

int rank_meet(struct rank *rank)
{
    /* Static, because after a failure MPI may still write there. */
    static MPI_Request requests[2];
    static char bytes[2];
    int status = exchange(rank, RANK_TAG_GREETING, requests, bytes);

    for (int i = 0; status == 0 && i < 2; i++) {
        status = rank_wait(rank, &requests[i]);
    }
    rank->broken |= status != 0;
    return status;
}

int rank_connect(void *session, const char *peer_address, char *error, size_t error_bytes)
{
    struct rank *rank = session;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    (void)MPI_Get_library_version(version, &length);
    int status = library_compare(version, peer_address, error, error_bytes);
    if (status != 0) {
        return status;
    }
    status = rank_meet(rank);
    if (status != 0 && status != -ECANCELED) {
        (void)snprintf(error, error_bytes, "a first message did not reach the other rank");
    }
    return status;
}

static int64_t now_ns(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Waits until all have completed, for a limited time. */
static bool end_within(int count, MPI_Request requests[], int64_t longest_ns)
{
    const int64_t until_ns = now_ns() + longest_ns;
    int done = 0;

    do {
        if (MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) {
            return false;
        }
    } while (done == 0 && now_ns() < until_ns);
    return done != 0;
}

int rank_take_back(struct rank *rank, MPI_Request *request)
{
    if (*request == MPI_REQUEST_NULL || rank->broken) {
        return 0;
    }
    int status = rank_status(rank, MPI_Cancel(request));
    if (status == 0 && !end_within(1, request, TAKE_BACK_NS)) {
        status = rank_status(rank, MPI_ERR_OTHER);
    }
    return status;
}

int rank_flush(void *session)
{
    struct rank *rank = session;
    int status = 0;

    for (int i = 0; i < PROGRESS_POLLS && status == 0; i++) {
        int found = 0;
        status = rank_status(rank, MPI_Iprobe(rank->peer, RANK_TAG_FAREWELL, rank->world, &found,
                                              MPI_STATUS_IGNORE));
    }
    return status;
}

bool rank_farewell(struct rank *rank)
{
    static MPI_Request requests[2];
    static char bytes[2];

    /* MPI_Finalize waits for the other rank, which may have failed or ended. So it must first
     * answer. */
    return !rank->broken && exchange(rank, RANK_TAG_FAREWELL, requests, bytes) == 0 &&
           end_within(2, requests, FAREWELL_NS);
}

void rank_finish(void)
{
    (void)MPI_Finalize();
}
