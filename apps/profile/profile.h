/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * profile.h - what an MPI program spends in MPI, and which messages it sends.
 *
 *     mpicc -std=c17 -O2 -fPIC -shared apps/profile/[a-z]*.c -o libapps-profile.so
 *     mpirun -n 2 env LD_PRELOAD=$PWD/libapps-profile.so ./program
 *
 * The library has the functions of MPI under their own names and calls those of the MPI library by
 * their other ones (PMPI, MPI 3.1 section 14.2). Those of Fortran are wrapped as well, since what
 * they call of C differs: Open MPI's call PMPI, MPICH's MPI. A call within a wrapped call is part
 * of it and counted once.
 *
 * When the program finalizes MPI, rank 0 writes one line of JSON on standard error, after the word
 * beowire-apps-profile:
 *
 *     ranks, seconds    the slowest rank's time from MPI_Init to MPI_Finalize
 *     mpi_seconds       time in calls, the mean of all ranks
 *     mpi_share         time in calls by that between MPI_Init and MPI_Finalize, of all ranks
 *     messages, bytes   sent from one rank to another (or to itself) by the program's own calls
 *     sizes             of these, by size: how many had at most so many bytes, a power of two, and
 *                       more than half of it; those of "0" had none
 *     collectives       the same of collective calls: `messages` counts each rank's call, `bytes`
 *                       what it gives (the root of a broadcast all, the others nothing), and the
 *                       size is what one other rank gets: for alltoall a block, for alltoallv the
 *                       mean block
 *     puts              the same of put, get and accumulate
 *     calls             by function: how often, and the seconds in it, the mean of all ranks
 *
 * A call takes some 20 ns longer. Safe with threads, whose times add up. Programs in Fortran may
 * use mpif.h, or the modules mpi or mpi_f08.
 */
#ifndef BEOWIRE_APPS_PROFILE_H
#define BEOWIRE_APPS_PROFILE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "calls.h"

/** One number a wrapped function. */
enum profile_call {
#define CALL(name) CALL_##name,
    PROFILE_CALLS(CALL)
#undef CALL
        CALL_COUNT
};

/** What moves data. */
enum profile_way { WAY_MESSAGE, WAY_COLLECTIVE, WAY_PUT, WAY_COUNT };

/** A call that has begun. */
struct profile_span {
    uint64_t began_ticks;
    enum profile_call call;
    /** Not within another one. */
    bool outer;
};

/** Begins and ends a call. */
struct profile_span profile_enter(enum profile_call call);
void profile_leave(struct profile_span span);

/** Counts a message of so many bytes. */
void profile_count(enum profile_way way, uint64_t bytes);

/** Bytes of so many elements. */
uint64_t profile_bytes(int count, MPI_Datatype type);

/** Counts a message, unless it goes to nobody. */
void profile_sent(int count, MPI_Datatype type, int to);

/** Counts a collective call that gives so many elements; so many to each rank; to each rank its own
 *  count of them, or of its own type; what this rank has a count of. */
void profile_gives(int count, MPI_Datatype type);
void profile_gives_each(int count, MPI_Datatype type, MPI_Comm comm);
void profile_gives_counts(const int given[], MPI_Datatype type, MPI_Comm comm);
void profile_gives_types(const int given[], const MPI_Datatype types[], MPI_Comm comm);
void profile_gives_own(const int given[], MPI_Datatype type, MPI_Comm comm);

/** Whether this rank is the root of a collective call. */
bool profile_is_root(int root, MPI_Comm comm);

/** Remembers what a persistent request sends, counts it each time that it starts, forgets it. */
void profile_persistent(MPI_Request request, int count, MPI_Datatype type, int to);
void profile_started(MPI_Request request);
void profile_freed(MPI_Request request);

/** MPI is there; it is about to go. */
void profile_begin(void);
void profile_report(void);

/** A list without its brackets. */
#define PROFILE_LIST(...) __VA_ARGS__

/** Makes `call` the body of the function that is called `name`, and has `account` done unless it is
 *  within another one. */
#define PROFILED(name, account, call)                                                              \
    struct profile_span span = profile_enter(CALL_##name);                                         \
    int result = 0;                                                                                \
    if (span.outer) {                                                                              \
        account;                                                                                   \
    }                                                                                              \
    result = (call);                                                                               \
    profile_leave(span);                                                                           \
    return result

#endif /* BEOWIRE_APPS_PROFILE_H */
