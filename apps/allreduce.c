/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * allreduce.c - sums of long vectors over all ranks, as in the training of neural networks.
 *
 * Own code: after a step, each rank has gradients of its own, and needs their sum. `ring`: each
 * rank adds to a part of the vector and hands it on, ranks - 1 times, then hands on the sums as
 * often; every rank sends 2 (ranks - 1) / ranks of the vector, to one other (Patarasuk and Yuan
 * 2009). `tree`: pairs add up whole vectors, then pairs of pairs, and the sum comes back the same
 * way. `mpi`: what the MPI library does. The figure is the bandwidth that a ring needs for as many
 * sums a second, whatever is used: vector * 2 (ranks - 1) / ranks by time.
 *
 * The numbers are whole and small, so that sums are exact in whatever order they are made.
 */
#include "common/app.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MOST_RANKS 4096 /* sums have to be less than 2^24 */
#define DIFFERENT 997
#define TAG 1

static const struct problem {
    long bytes, steps;
} problems[] = {{1L << 16, 50}, {1L << 20, 50}, {1L << 24, 20}, {1L << 26, 20}};

enum algorithm { ALGORITHM_RING, ALGORITHM_TREE, ALGORITHM_MPI };

struct vector {
    long count;
    float *number, *work;
    double seconds_communicating;
};

/** The first element of a part of the vector, and by the next part's first its end. */
static long part(const struct vector *vector, int index)
{
    return vector->count / app_ranks * index +
           (vector->count % app_ranks < index ? vector->count % app_ranks : index);
}

/** Sends elements to one rank while others come from another one. */
static void exchange(struct vector *vector, const float *out, long out_count, int to, float *in,
                     long in_count, int from)
{
    double began = MPI_Wtime();

    (void)MPI_Sendrecv(out, (int)out_count, MPI_FLOAT, to, TAG, in, (int)in_count, MPI_FLOAT, from,
                       TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    vector->seconds_communicating += MPI_Wtime() - began;
}

static void add(float *restrict to, const float *restrict from, long count)
{
    for (long i = 0; i < count; i++) {
        to[i] += from[i];
    }
}

static void sum_by_ring(struct vector *vector)
{
    int next = (app_rank + 1) % app_ranks, before = (app_rank + app_ranks - 1) % app_ranks;

    for (int step = 0; step < 2 * (app_ranks - 1); step++) {
        bool adding = step < app_ranks - 1;
        int out = (app_rank + 2 * app_ranks - step) % app_ranks;
        int in = (out + app_ranks - 1) % app_ranks;
        long in_count = part(vector, in + 1) - part(vector, in);
        float *to = vector->number + part(vector, in);

        exchange(vector, vector->number + part(vector, out),
                 part(vector, out + 1) - part(vector, out), next, adding ? vector->work : to,
                 in_count, before);
        if (adding) {
            add(to, vector->work, in_count);
        }
    }
}

static void sum_by_tree(struct vector *vector)
{
    int distance = 1;

    for (; distance < app_ranks; distance *= 2) {
        if (app_rank % (2 * distance) != 0) {
            int parent = app_rank - distance;

            exchange(vector, vector->number, vector->count, parent, NULL, 0, MPI_PROC_NULL);
            exchange(vector, NULL, 0, MPI_PROC_NULL, vector->number, vector->count, parent);
            break;
        }
        if (app_rank + distance < app_ranks) {
            exchange(vector, NULL, 0, MPI_PROC_NULL, vector->work, vector->count,
                     app_rank + distance);
            add(vector->number, vector->work, vector->count);
        }
    }
    for (distance /= 2; distance > 0; distance /= 2) {
        if (app_rank % (2 * distance) == 0 && app_rank + distance < app_ranks) {
            exchange(vector, vector->number, vector->count, app_rank + distance, NULL, 0,
                     MPI_PROC_NULL);
        }
    }
}

static void sum_by_mpi(struct vector *vector)
{
    double began = MPI_Wtime();

    (void)MPI_Allreduce(MPI_IN_PLACE, vector->number, (int)vector->count, MPI_FLOAT, MPI_SUM,
                        MPI_COMM_WORLD);
    vector->seconds_communicating += MPI_Wtime() - began;
}

static void sum_up(struct vector *vector, enum algorithm algorithm)
{
    switch (algorithm) {
    case ALGORITHM_RING:
        sum_by_ring(vector);
        break;
    case ALGORITHM_TREE:
        sum_by_tree(vector);
        break;
    case ALGORITHM_MPI:
        sum_by_mpi(vector);
        break;
    }
}

/** Fills the vector of this rank for a step. */
static void fill(const struct vector *vector, long step)
{
    for (long i = 0; i < vector->count; i++) {
        vector->number[i] = (float)((i + step) % DIFFERENT + app_rank);
    }
}

/** Elements that are not the sum of all ranks' numbers. */
static int64_t count_wrong(const struct vector *vector, long step)
{
    int64_t wrong = 0, ranks = app_ranks, of_ranks = ranks * (ranks - 1) / 2;

    for (long i = 0; i < vector->count; i++) {
        wrong += vector->number[i] != (float)(ranks * ((i + step) % DIFFERENT) + of_ranks);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    long class = 0, iterations = 0, algorithm = ALGORITHM_RING, bytes = 0;
    const struct app_option options[] = {
        {"class", "length of the vector: 64 KiB, 1 MiB, 16 MiB, 64 MiB", "S|W|A|B", 0, 0, &class},
        {"iterations", "timed sums, not as many as for the class", NULL, 1, 100000000, &iterations},
        {"algorithm", "how the sums are made", "ring|tree|mpi", 0, 0, &algorithm},
        {"bytes", "length of the vector, not that of the class", NULL, 4, 1L << 30, &bytes},
        {NULL, NULL, NULL, 0, 0, NULL},
    };
    app_start(argc, argv, "allreduce", "sums of vectors, as in machine learning", options);
    struct vector vector = {.count = (bytes > 0 ? bytes : problems[class].bytes) / 4};
    char check[APP_CHECK_BYTES];
    int64_t wrong = 0, all = 0;
    double own = 0.0, moved = 0.0;
    struct app_result result = {.unit = "MB/s", .check = check};

    if (app_ranks > MOST_RANKS) {
        app_refuse("runs on at most %d ranks, not on %d: choose another -n", MOST_RANKS, app_ranks);
    }
    iterations = iterations > 0 ? iterations : problems[class].steps;
    vector.number = app_memory((size_t)vector.count, sizeof(float));
    vector.work = app_memory((size_t)vector.count, sizeof(float));
    for (long step = -1; step < iterations; step++) { /* that before the first is not timed */
        double began = 0.0;

        if (step == 0) {
            own = vector.seconds_communicating = 0.0;
        }
        fill(&vector, step + 1);
        (void)MPI_Barrier(MPI_COMM_WORLD);
        began = MPI_Wtime();
        sum_up(&vector, (enum algorithm)algorithm);
        own += MPI_Wtime() - began;
        wrong += count_wrong(&vector, step + 1);
    }
    (void)MPI_Allreduce(&wrong, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    (void)MPI_Allreduce(&own, &result.seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    moved = app_ranks > 1 ? 2.0 * (app_ranks - 1) / app_ranks : 1.0;
    result.seconds = result.seconds > 1e-9 ? result.seconds : 1e-9;
    result.communication_share = own > 0.0 ? vector.seconds_communicating / own : 0.0;
    result.figure = moved * 4.0 * (double)vector.count * (double)iterations / result.seconds * 1e-6;
    result.verified = all == 0;
    (void)snprintf(check, sizeof check, "%lld of %lld sums wrong", (long long)all,
                   (long long)(iterations + 1) * vector.count * app_ranks);
    return app_report(&result);
}
