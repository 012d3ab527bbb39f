/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define ELEMENTS 100
#define TAG 7

/** Integers whose blocks are neither next to one another nor in order. */
static MPI_Datatype make_type(MPI_Aint *extent)
{
    const int lengths[] = {2, 1, 3};
    const int places[] = {8, 2, 20};
    const int outer_lengths[] = {1, 2};
    const int outer_places[] = {3, 0};
    MPI_Datatype inner;
    MPI_Datatype outer;
    MPI_Aint lower = 0;

    MPI_Type_indexed(3, lengths, places, MPI_INT, &inner);
    MPI_Type_indexed(2, outer_lengths, outer_places, inner, &outer);
    MPI_Type_commit(&outer);
    MPI_Type_get_extent(outer, &lower, extent);
    *extent += lower;
    MPI_Type_free(&inner);
    return outer;
}

/** What is in the type is the sender's, what is between is not touched. */
static void check_received(const int *memory, size_t count, int values)
{
    int came = 0;

    for (size_t i = 0; i < count; i++) {
        CHECK(memory[i] == (int)i || memory[i] == -1, "integer %zu is %d", i, memory[i]);
        came += memory[i] == (int)i;
    }
    CHECK(came == values, "%d integers of %d came", came, values);
}

void check_gaps(void)
{
    MPI_Aint extent = 0;
    MPI_Datatype type = make_type(&extent);
    size_t count = (size_t)extent * (ELEMENTS + 1) / sizeof(int);
    int *memory = check_memory(count * sizeof(int));
    MPI_Message message;
    MPI_Status status;
    int bytes = 0;

    CHECK(ranks == 2, "needs two ranks");
    MPI_Type_size(type, &bytes);
    for (int claims = 0; claims < 2; claims++) {
        for (size_t i = 0; i < count; i++) {
            memory[i] = rank == 0 ? (int)i : -1;
        }
        if (rank == 0) {
            MPI_Send(memory, ELEMENTS, type, 1, TAG, MPI_COMM_WORLD);
        } else if (claims == 0) {
            MPI_Recv(memory, ELEMENTS, type, 0, TAG, MPI_COMM_WORLD, &status);
        } else {
            MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, &status);
            MPI_Mrecv(memory, ELEMENTS, type, &message, &status);
        }
        if (rank == 1) {
            check_received(memory, count, ELEMENTS * bytes / (int)sizeof(int));
        }
    }
    MPI_Type_free(&type);
    free(memory);
}
