/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank.h - what all drivers over MPI share: this process is one of two ranks that the MPI's own
 * launcher has started, the initiator is rank 0.
 *
 * MPI can be initialised once in a process, so one session can be opened in it. Every wait looks
 * whether the host has asked to stop, but for those inside MPI_Init and MPI_Finalize, which nobody
 * can end but by ending the process (engine/attach.h).
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

/** Tags of messages, and of what the ranks say to each other besides. */
enum {
    RANK_TAG_MESSAGE = 1,
    RANK_TAG_GREETING,
    RANK_TAG_FAREWELL,
    RANK_TAG_PLACE,
};

/** The first member of each driver's session, so that a session is one, too. */
struct rank {
    const struct driver_host *host;
    MPI_Comm world; /**< errors of it are returned */
    int peer;       /**< the other rank */
    bool broken;    /**< something has failed: nothing is left to agree about with the peer */
    uint32_t owed;  /**< looks at MPI that are left to take by rank_idle() */
};

/** What the tables of all these drivers have in common. */
#define RANK_DRIVER                                                                                \
    .abi = DRIVER_ABI, .placement = DRIVER_PAIR, .reliable = true, .spins = true, .min_size = 1,   \
    .max_size = RANK_BYTES_MAX, .probe = rank_probe, .address = rank_address, .flush = rank_flush, \
    .idle = rank_idle

/** driver.probe(): there is nothing to say before a launcher has started two of us. */
int rank_probe(const struct driver_options *options, char *reason, size_t reason_bytes);

/** driver.open(): initialises MPI, and makes a session of so many bytes, zero but for its rank. */
int rank_open(size_t session_bytes, const struct driver_options *options, void **session,
              char *error, size_t error_bytes);

/** driver.address(): which MPI library this is, as the other end has to have it. */
int rank_address(void *session, char *text, size_t text_bytes);

/** driver.connect(): compares the libraries, and exchanges a message. */
int rank_connect(void *session, const char *peer_address, char *error, size_t error_bytes);

/** driver.flush(): lets MPI make progress for what it has queued. */
int rank_flush(void *session);

/** driver.idle(): makes progress for a peer whose message was not waited for to the end. An
 * MPI_Send may return only when its receiver has looked at its memory (Open MPI's within a host).
 */
bool rank_idle(void *session);

/** driver.collective(). */
int rank_collective(void *session, enum driver_collective what, enum driver_role root,
                    const void *data, void *result, uint64_t size);

/** Exchanges a byte with the peer, which is told to do so at the same time. 0, or a failure. */
int rank_meet(struct rank *rank);

/** A number that is waited for. */
struct rank_word {
    MPI_Request request; /**< MPI_REQUEST_NULL: nothing is waited for */
    uint64_t value;
};

/** Says a number to the peer, which MPI keeps until it is heard. */
int rank_say(struct rank *rank, int tag, uint64_t value);

/** Waits for a number of this tag, always into the same `word`; a wait that was given up is taken
 *  up again by the next call. 0, -ECANCELED, or what MPI's error means. */
int rank_hear(struct rank *rank, int tag, struct rank_word *word);

/** Waits for a request. 0, -ECANCELED, or what MPI's error means; it is MPI_REQUEST_NULL after 0
 *  only. */
int rank_wait(struct rank *rank, MPI_Request *request);

/** Takes a receive back that may be waiting, in 0.2 s at most. 0, or a failure after which it is
 *  still there. */
int rank_take_back(struct rank *rank, MPI_Request *request);

/** What an MPI function has returned, as a driver says it; a failure is remembered. */
int rank_status(struct rank *rank, int code);

/** Takes leave of the peer, in 0.7 s at most. @return whether it is still there, and in the same
 *  mind: only then may MPI's collective functions be called to end. */
bool rank_farewell(struct rank *rank);

/** Takes leave of MPI, after a farewell that was true. */
void rank_finish(void);

#endif
