/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_speed - how fast an MPI library is, in a program like any other; benchmarks/mpi.py runs it.
 *
 *      mpi_speed pingpong|rate|collectives ...
 *
 * Prints lines "WHAT BYTES NANOSECONDS": of a half round trip, of a message, of a collective
 * operation. Each is the median of batches that take about BATCH_S each.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_S 1e-3
#define BATCHES 15
#define BYTES_MAX ((size_t)4 << 20)
#define COLLECTIVE_BYTES_MAX ((size_t)1 << 20)
#define WINDOW 64
#define ITERATIONS_MAX 100000
#define NS_PER_S 1e9

static int rank, ranks;
static char *outgoing, *incoming;

/** Something that is repeated `count` times, for messages of so many bytes. */
typedef void work(size_t bytes, int count);

/** Between the first rank and the last one, which is on another node. */
static void pingpong(size_t bytes, int count)
{
    int peer = rank == 0 ? ranks - 1 : 0;

    if (rank != 0 && rank != ranks - 1) {
        return;
    }
    for (int i = 0; i < count; i++) {
        if (rank == 0) {
            MPI_Send(outgoing, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        }
        MPI_Recv(incoming, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank != 0) {
            MPI_Send(outgoing, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        }
    }
}

/** Windows of messages one way, each answered by an empty one. */
static void rate(size_t bytes, int count)
{
    MPI_Request requests[WINDOW];
    int peer = rank == 0 ? ranks - 1 : 0;

    if (rank != 0 && rank != ranks - 1) {
        return;
    }
    for (int i = 0; i < count; i++) {
        for (size_t j = 0; j < WINDOW; j++) {
            if (rank == 0) {
                MPI_Isend(outgoing, (int)bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[j]);
            } else {
                MPI_Irecv(incoming + j * bytes, (int)bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD,
                          &requests[j]);
            }
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank == 0) {
            MPI_Recv(NULL, 0, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(NULL, 0, MPI_BYTE, peer, 3, MPI_COMM_WORLD);
        }
    }
}

static void allreduce(size_t bytes, int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Allreduce(outgoing, incoming, (int)(bytes / sizeof(float)), MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
    }
}

static void alltoall(size_t bytes, int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Alltoall(outgoing, (int)bytes, MPI_BYTE, incoming, (int)bytes, MPI_BYTE,
                     MPI_COMM_WORLD);
    }
}

/** The root goes round, so that none can run ahead of the others. */
static void broadcast(size_t bytes, int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Bcast(outgoing, (int)bytes, MPI_BYTE, i % ranks, MPI_COMM_WORLD);
    }
}

static double seconds_of(work *repeat, size_t bytes, int count)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    repeat(bytes, count);
    return MPI_Wtime() - begun;
}

static int by_value(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;

    return (difference > 0) - (difference < 0);
}

/** Measures one cell; `per` operations are in each repetition. */
static void measure(const char *what, work *repeat, size_t bytes, double per)
{
    double seconds[BATCHES];
    int count = 1;

    (void)seconds_of(repeat, bytes, 2);
    for (;;) {
        double taken = seconds_of(repeat, bytes, count);
        int enough = taken >= BATCH_S || count >= ITERATIONS_MAX;
        MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (enough) {
            break;
        }
        count *= 2;
    }
    for (int i = 0; i < BATCHES; i++) {
        seconds[i] = seconds_of(repeat, bytes, count);
    }
    qsort(seconds, BATCHES, sizeof *seconds, by_value);
    if (rank == 0) {
        printf("%s %zu %.1f\n", what, bytes, seconds[BATCHES / 2] / count / per * NS_PER_S);
    }
}

static void measure_named(const char *name)
{
    if (strcmp(name, "pingpong") == 0) {
        for (size_t bytes = 1; bytes <= BYTES_MAX; bytes *= 2) {
            measure(name, pingpong, bytes, 2);
        }
    } else if (strcmp(name, "rate") == 0) {
        measure(name, rate, 8, WINDOW);
    } else if (strcmp(name, "collectives") == 0) {
        static const size_t sizes[] = {8, 128, 2048, 32768, COLLECTIVE_BYTES_MAX};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            measure("allreduce", allreduce, sizes[i], 1);
            measure("alltoall", alltoall, sizes[i], 1);
            measure("bcast", broadcast, sizes[i], 1);
        }
    } else {
        (void)fprintf(stderr, "mpi_speed: nothing is called %s: pingpong, rate, collectives\n",
                      name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    size_t bytes = COLLECTIVE_BYTES_MAX * (size_t)ranks;
    bytes = bytes > BYTES_MAX ? bytes : BYTES_MAX;
    outgoing = calloc(bytes, 1);
    incoming = calloc(bytes, 1);
    if (ranks < 2 || outgoing == NULL || incoming == NULL) {
        (void)fprintf(stderr, "mpi_speed: needs two ranks, and %zu bytes of memory\n", 2 * bytes);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 1; i < count; i++) {
        measure_named(words[i]);
    }
    free(outgoing);
    free(incoming);
    MPI_Finalize();
    return 0;
}
