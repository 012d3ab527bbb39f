/* SPDX-License-Identifier: BSD-3-Clause */
/** The program of docs/CLUSTER.md: short and long messages between all ranks, which are checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 20, LONG = 100000, LAPS = 100 };

/** Sums of all ranks' numbers, of few and of many. */
static int are_sums_right(int rank, int ranks)
{
    static int mine[LONG];
    static int all[LONG];

    for (int round = 0; round < ROUNDS; round++) {
        int count = round % 2 == 0 ? 1 : LONG;

        for (int i = 0; i < count; i++) {
            mine[i] = rank + i + round;
        }
        MPI_Allreduce(mine, all, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++) {
            if (all[i] != ranks * (ranks - 1) / 2 + ranks * (i + round)) {
                return 0;
            }
        }
    }
    return 1;
}

/** A number goes round, and each rank adds one. */
static int is_ring_right(int rank, int ranks)
{
    for (int lap = 0; lap < LAPS; lap++) {
        int sent = rank + lap;
        int received = 0;

        MPI_Sendrecv(&sent, 1, MPI_INT, (rank + 1) % ranks, 0, &received, 1, MPI_INT,
                     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (received != (rank + ranks - 1) % ranks + lap) {
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    int rank = 0;
    int ranks = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!are_sums_right(rank, ranks) || !is_ring_right(rank, ranks)) {
        fprintf(stderr, "rank %d: wrong\n", rank);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    if (rank == 0) {
        printf("%d ranks: right\n", ranks);
    }
    MPI_Finalize();
    return EXIT_SUCCESS;
}
