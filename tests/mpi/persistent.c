/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define PLANES 4
#define PLANE 300
#define TAG 7
#define ROUNDS 3

enum kind { PERSISTENT, BUFFERED, TO_BOTTOM, KINDS };

/** A plane of a box: in one piece, and not at its beginning. */
static MPI_Datatype plane_type(int plane)
{
    const int box[] = {PLANES, PLANE};
    const int part[] = {1, PLANE};
    const int from[] = {plane, 0};
    MPI_Datatype type;

    MPI_Type_create_subarray(2, box, part, from, MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/** The same, by its address in memory. */
static MPI_Datatype at_address(const int *box, int plane)
{
    const int length = PLANE;
    MPI_Aint address = 0;
    MPI_Datatype type;

    MPI_Get_address(box + (size_t)plane * PLANE, &address);
    MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static int value(int owner, int round, int place)
{
    return (owner * ROUNDS + round) * PLANES * PLANE + place;
}

/** Makes a persistent send of a plane to the next rank. */
static void make_send(enum kind kind, int *box, int plane, int to, MPI_Request *request)
{
    MPI_Datatype type = kind == TO_BOTTOM ? at_address(box, plane) : plane_type(plane);

    if (kind == BUFFERED) {
        MPI_Bsend_init(box, 1, type, to, TAG, MPI_COMM_WORLD, request);
    } else {
        MPI_Send_init(kind == TO_BOTTOM ? MPI_BOTTOM : box, 1, type, to, TAG, MPI_COMM_WORLD,
                      request);
    }
    MPI_Type_free(&type);
}

/** One plane after the other goes to the next rank, each several times by the same two requests. */
static void check_planes(enum kind kind, int *box, int *other)
{
    const int next = (rank + 1) % ranks;
    const int before = (rank + ranks - 1) % ranks;
    /* Started again, Open MPI 4 sends what it has copied at first (docs/UPSTREAM.md). */
    const int rounds = kind == BUFFERED ? 1 : ROUNDS;
    MPI_Request requests[2];

    for (int plane = 0; plane < PLANES; plane++) {
        MPI_Datatype type = plane_type(plane);
        make_send(kind, box, plane, next, &requests[0]);
        MPI_Recv_init(other, 1, type, before, TAG, MPI_COMM_WORLD, &requests[1]);
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < PLANES * PLANE; i++) {
                box[i] = value(rank, round, i);
                other[i] = -1;
            }
            MPI_Startall(2, requests);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            for (int i = 0; i < PLANES * PLANE; i++) {
                int expected = i / PLANE == plane ? value(before, round, i) : -1;
                CHECK(other[i] == expected, "kind %d, plane %d, round %d: integer %d is %d, not %d",
                      (int)kind, plane, round, i, other[i], expected);
            }
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        MPI_Type_free(&type);
    }
}

/** A matrix that is cut in rows is cut in columns, and back: as Fourier transforms have it. */
static void check_transposed(void)
{
    const int side = ranks * 16;
    const int share = side / ranks;
    int *rows = check_memory(sizeof(int) * (size_t)(share * side));
    int *columns = check_memory(sizeof(int) * (size_t)(share * side));
    MPI_Datatype *types[2];
    int *ones = check_memory(sizeof(int) * (size_t)ranks);
    int *zeros = check_memory(sizeof(int) * (size_t)ranks);

    types[0] = check_memory(sizeof(MPI_Datatype) * (size_t)ranks);
    types[1] = check_memory(sizeof(MPI_Datatype) * (size_t)ranks);
    for (int other = 0; other < ranks; other++) {
        const int part[] = {share, share};
        const int row_sizes[] = {share, side};
        const int row_from[] = {0, share * other};
        const int column_sizes[] = {side, share};
        const int column_from[] = {share * other, 0};
        MPI_Type_create_subarray(2, row_sizes, part, row_from, MPI_ORDER_C, MPI_INT,
                                 &types[0][other]);
        MPI_Type_create_subarray(2, column_sizes, part, column_from, MPI_ORDER_C, MPI_INT,
                                 &types[1][other]);
        MPI_Type_commit(&types[0][other]);
        MPI_Type_commit(&types[1][other]);
        ones[other] = 1;
        zeros[other] = 0;
    }
    for (int i = 0; i < share * side; i++) {
        rows[i] = rank * share * side + i;
    }
    MPI_Alltoallw(rows, ones, zeros, types[0], columns, ones, zeros, types[1], MPI_COMM_WORLD);
    memset(rows, 0xFF, sizeof(int) * (size_t)(share * side));
    for (int i = 0; i < share * side; i++) {
        int expected = i / share * side + rank * share + i % share;
        CHECK(columns[i] == expected, "integer %d is %d, not %d", i, columns[i], expected);
    }
    MPI_Alltoallw(columns, ones, zeros, types[1], rows, ones, zeros, types[0], MPI_COMM_WORLD);
    for (int i = 0; i < share * side; i++) {
        CHECK(rows[i] == rank * share * side + i, "integer %d is %d", i, rows[i]);
    }
    for (int other = 0; other < ranks; other++) {
        MPI_Type_free(&types[0][other]);
        MPI_Type_free(&types[1][other]);
    }
    free(types[0]);
    free(types[1]);
    free(ones);
    free(zeros);
    free(rows);
    free(columns);
}

void check_persistent(void)
{
    const int bytes = (int)sizeof(int) * PLANE + MPI_BSEND_OVERHEAD;
    int *box = check_memory(sizeof(int) * PLANES * PLANE);
    int *other = check_memory(sizeof(int) * PLANES * PLANE);
    void *buffer = check_memory((size_t)bytes);
    int length = 0;

    MPI_Buffer_attach(buffer, bytes);
    for (int kind = 0; kind < KINDS; kind++) {
        check_planes((enum kind)kind, box, other);
    }
    MPI_Buffer_detach(&buffer, &length);
    check_transposed();
    free(buffer);
    free(box);
    free(other);
}
