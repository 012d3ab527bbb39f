/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdlib.h>
#include <string.h>

/** More than a gibibyte, in blocks that have gaps between them where the data is a vector. */
#define BLOCKS 70000
#define BLOCK_BYTES 16384
#define STRIDE_BYTES (BLOCK_BYTES + 16)
#define BYTES ((size_t)BLOCKS * STRIDE_BYTES)
#define SEED 77
#define TAG 7

static void check_all(const uint8_t *memory, size_t bytes, const char *what)
{
    size_t wrong = first_wrong(memory, bytes, SEED);

    CHECK(wrong == bytes, "%s of %zu bytes: byte %zu is wrong", what, bytes, wrong);
}

static void send_whole(uint8_t *memory)
{
    if (rank == 0) {
        MPI_Send(memory, (int)BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    } else {
        MPI_Recv(memory, (int)BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_all(memory, BYTES, "a message");
    }
}

/** What is between the blocks is not sent. */
static void send_vector(uint8_t *memory)
{
    MPI_Datatype vector;

    MPI_Type_vector(BLOCKS, BLOCK_BYTES, STRIDE_BYTES, MPI_BYTE, &vector);
    MPI_Type_commit(&vector);
    if (rank == 0) {
        MPI_Send(memory, 1, vector, 1, TAG, MPI_COMM_WORLD);
    } else {
        for (size_t i = 0; i < BLOCKS; i++) {
            memset(memory + i * STRIDE_BYTES, 0, BLOCK_BYTES);
        }
        MPI_Recv(memory, 1, vector, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_all(memory, BYTES, "a vector");
    }
    MPI_Type_free(&vector);
}

static void put_and_get(uint8_t *memory)
{
    MPI_Win window;

    MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (int get = 0; get < 2; get++) {
        if (rank == 1) {
            memset(memory, 0, BYTES);
        }
        MPI_Win_fence(0, window);
        if (rank == 0 && get == 0) {
            MPI_Put(memory, (int)BYTES, MPI_BYTE, 1, 0, (int)BYTES, MPI_BYTE, window);
        } else if (rank == 1 && get == 1) {
            MPI_Get(memory, (int)BYTES, MPI_BYTE, 0, 0, (int)BYTES, MPI_BYTE, window);
        }
        MPI_Win_fence(0, window);
        if (rank == 1) {
            check_all(memory, BYTES, get == 0 ? "a put" : "a get");
        }
    }
    MPI_Win_free(&window);
}

void check_huge(void)
{
    uint8_t *memory = check_memory(BYTES);

    CHECK(ranks == 2, "needs two ranks");
    if (rank == 0) {
        fill(memory, BYTES, SEED);
    }
    send_whole(memory);
    send_vector(memory);
    put_and_get(memory);
    free(memory);
}
