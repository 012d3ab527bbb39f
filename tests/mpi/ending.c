/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MESSAGES 600
#define BYTES 16000
#define TAG 7

/** In all three seconds of it, which is longer than anybody waits for an answer. */
static void compute(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

static void send_all(int to)
{
    uint8_t *data = check_memory(BYTES);

    for (int i = 0; i < MESSAGES; i++) {
        fill(data, BYTES, (uint32_t)i);
        MPI_Send(data, BYTES, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
    }
    free(data);
}

static void receive_all(int from)
{
    uint8_t *data = check_memory(BYTES);

    for (int i = 0; i < MESSAGES; i++) {
        MPI_Recv(data, BYTES, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        size_t wrong = first_wrong(data, BYTES, (uint32_t)i);
        CHECK(wrong == BYTES, "message %d from rank %d: byte %zu is wrong", i, from, wrong);
        compute();
    }
    free(data);
}

void check_ending(void)
{
    int pairs = ranks / 2;

    if (rank < pairs) {
        send_all(rank + pairs);
    } else if (rank < 2 * pairs) {
        receive_all(rank - pairs);
        printf("mpi_check: ending is right on rank %d\n", rank);
    }
    (void)fflush(stdout);
    MPI_Finalize();
    exit(0);
}
