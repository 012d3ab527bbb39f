/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank.h - shared by all drivers over MPI: this process is one of two ranks that the MPI's launcher
 * has started; the initiator is rank 0.
 *
 * MPI can be initialised once in a process, so a process can open one session. Every wait checks
 * whether the host has asked to stop, except inside MPI_Init and MPI_Finalize, which only the end
 * of the process can interrupt (engine/attach.h).
 */
#ifndef BEOWIRE_DRIVERS_MPI_RANK_H
#define BEOWIRE_DRIVERS_MPI_RANK_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../driver.h"

/** Sizes are `int` in MPI. */
#define RANK_BYTES_MAX (UINT64_C(1) << 30)

/** Tags of messages, and of other data between the ranks. */
enum {
    RANK_TAG_MESSAGE = 1,
    RANK_TAG_GREETING,
    RANK_TAG_FAREWELL,
    RANK_TAG_PLACE,
};

/** The first member of each driver's session. */
struct rank {
    const struct driver_host *host;
    MPI_Comm world; /**< its errors are returned */
    int peer;       /**< the other rank */
    bool broken;    /**< something has failed: the peer's state is unknown */
    uint32_t owed;  /**< progress calls left for rank_idle() */
};

/** Members of all these drivers' tables. */
#define RANK_DRIVER                                                                                \
    .abi = DRIVER_ABI, .placement = DRIVER_PAIR, .reliable = true, .spins = true, .min_size = 1,   \
    .max_size = RANK_BYTES_MAX, .probe = rank_probe, .address = rank_address, .flush = rank_flush, \
    .idle = rank_idle

/** driver.probe(): always succeeds, because nothing is known before the launcher has started both
 *  ranks. */
int rank_probe(const struct driver_options *options, char *reason, size_t reason_bytes);

/** driver.open(): initialises MPI, and allocates a session of this size, zero except its rank. */
int rank_open(size_t session_bytes, const struct driver_options *options, void **session,
              char *error, size_t error_bytes);

/** driver.address(): this MPI library, which must be the same at the other end. */
int rank_address(void *session, char *text, size_t text_bytes);

/** driver.connect(): compares the libraries, and exchanges a message. */
int rank_connect(void *session, const char *peer_address, char *error, size_t error_bytes);

/** driver.flush(): lets MPI make progress on queued operations. */
int rank_flush(void *session);

/** driver.idle(): makes progress for a peer that is still sending a message. MPI_Send may return
 *  only when the receiver has read the sender's memory (Open MPI's within a host). */
bool rank_idle(void *session);

/** driver.collective(). */
int rank_collective(void *session, enum driver_collective what, enum driver_role root,
                    const void *data, void *result, uint64_t size);

/** Exchanges a byte with the peer, which calls it at the same time. 0, or a failure. */
int rank_meet(struct rank *rank);

/** A number to be received. */
struct rank_word {
    MPI_Request request; /**< MPI_REQUEST_NULL: no receive is posted */
    uint64_t value;
};

/** Sends a number to the peer; MPI buffers it. */
int rank_say(struct rank *rank, int tag, uint64_t value);

/** Receives a number with this tag, always into the same `word`. A wait that was interrupted is
 *  continued by the next call. 0, -ECANCELED, or the errno of MPI's error. */
int rank_hear(struct rank *rank, int tag, struct rank_word *word);

/** Waits for a request. 0, -ECANCELED, or the errno of MPI's error; it is MPI_REQUEST_NULL after 0
 *  only. */
int rank_wait(struct rank *rank, MPI_Request *request);

/** Cancels a receive that may still be posted, in at most 0.2 s. 0, or a failure after which it is
 *  still posted. */
int rank_take_back(struct rank *rank, MPI_Request *request);

/** MPI's return code as an errno; a failure is remembered. */
int rank_status(struct rank *rank, int code);

/** Exchanges farewells with the peer, in at most 0.7 s. @return whether both succeeded: only then
 *  may MPI's collective functions be called to finish. */
bool rank_farewell(struct rank *rank);

/** Finalises MPI, after a successful farewell. */
void rank_finish(void);

#endif
