/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h - what the checks of mpi_check share.
 *
 * mpi_check is an ordinary MPI program, compiled with the mpicc of the MPI library that it tries.
 * It says nothing about speed: it moves data whose every byte is known, and ends the job by
 * MPI_Abort() with one line as soon as something is wrong.
 */
#ifndef BEOWIRE_MPI_CHECK_H
#define BEOWIRE_MPI_CHECK_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/** Number of this process, and of all, in MPI_COMM_WORLD. */
extern int rank, ranks;

/** Says what is wrong and ends the job. */
_Noreturn void check_failed(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Goes on only if the condition holds; the rest is as for printf(). */
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            check_failed(__FILE__, __LINE__, __VA_ARGS__);                                         \
        }                                                                                          \
    } while (0)

/** Memory for so many bytes, at least one; ends the job if there is none. */
void *check_memory(size_t bytes);

/** Fills a buffer with the data that belongs to a seed. */
void fill(uint8_t *buffer, size_t bytes, uint32_t seed);

/** The first byte that is not of that data; `bytes` if all are. */
size_t first_wrong(const uint8_t *buffer, size_t bytes, uint32_t seed);

/** Numbers that look random and are the same for the same state. */
uint32_t next_random(uint32_t *state);

/** Two ranks at a time exchange messages of 0 B to 4 MiB, with all kinds of send and receive. */
void check_pingpong(void);

/** Many messages between all at once: order, wildcards, probes, receives before and after. */
void check_ordering(void);

/** Two ranks at a time: matched probes of messages of every kind of send; synchronous ones end when
 *  they are received. */
void check_matched(void);

/** Collective operations, blocking and not, on several communicators at once. */
void check_collectives(void);

/** Put, get, accumulate and their kin; fences, locks of both kinds, post and start, requests. */
void check_onesided(void);

/** Persistent sends of data that does not begin where the buffer does; MPI_Alltoallw of such. */
void check_persistent(void);

/** Two ranks: a datatype with gaps, received at once, and by matched probe. */
void check_gaps(void);

/** Two ranks: more than a gibibyte in one message, one vector, one put, one get. */
void check_huge(void);

/** Half of the ranks send to the others, and end while these still receive. The last check: it ends
 *  the program, and does not wait for the other ranks before. */
void check_ending(void);

/** Pairs of ranks exchange messages without end, until one of them is gone. Each rank says when it
 *  is under way, and its process. */
void check_endless(void);

/** Two ranks exchange messages while each makes children, which end in every way. */
void check_forking(void);

#endif /* BEOWIRE_MPI_CHECK_H */
