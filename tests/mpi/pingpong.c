/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES_MAX ((size_t)4 << 20)
#define TAGS_ENDLESS 100
#define LONG_BYTES 65536
#define KINDS 4 /* of sending; of receiving likewise */

/** Sends, in one of several ways. */
static void send_by(int kind, const void *data, int bytes, int to, int tag)
{
    MPI_Request request;

    switch (kind) {
    case 0:
        MPI_Send(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
        return;
    case 1:
        MPI_Ssend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
        return;
    case 2:
        MPI_Isend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
        break;
    default:
        MPI_Issend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
        break;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/** Receives, in one of several ways, and looks at all that is said of the message. */
static void receive_by(int kind, uint8_t *data, size_t bytes, int from, int tag)
{
    MPI_Status status;
    MPI_Request request;
    MPI_Message message;
    int count = 0;

    switch (kind) {
    case 0:
        MPI_Recv(data, BYTES_MAX, MPI_BYTE, from, tag, MPI_COMM_WORLD, &status);
        break;
    case 1:
        MPI_Irecv(data, (int)bytes, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        break;
    case 2:
        MPI_Probe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK((size_t)count == bytes, "a probe finds %d bytes, not %zu", count, bytes);
        MPI_Recv(data, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
        break;
    default:
        MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK((size_t)count == bytes, "a matched probe finds %d bytes, not %zu", count, bytes);
        MPI_Mrecv(data, count, MPI_BYTE, &message, &status);
        break;
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK((size_t)count == bytes, "%d bytes have come, not %zu", count, bytes);
    CHECK(status.MPI_SOURCE == from, "they are from %d, not from %d", status.MPI_SOURCE, from);
    CHECK(status.MPI_TAG == tag, "their tag is %d, not %d", status.MPI_TAG, tag);
}

/** One round trip; the answer is other data than the question. */
static void round_trip(uint8_t *data, size_t bytes, int peer, int tag, int kind)
{
    uint32_t seed = (uint32_t)tag * 2 + 1;
    bool first = rank < peer;

    if (first) {
        fill(data, bytes, seed);
        send_by(kind % KINDS, data, (int)bytes, peer, tag);
    }
    data[bytes] = 0xA5; /* nothing may be written behind the message */
    receive_by(kind / KINDS, data, bytes, peer, tag);
    size_t wrong = first_wrong(data, bytes, first ? seed + 1 : seed);
    CHECK(wrong == bytes, "of %zu bytes from %d byte %zu is wrong", bytes, peer, wrong);
    CHECK(data[bytes] == 0xA5, "%zu bytes from %d run over", bytes, peer);
    if (!first) {
        fill(data, bytes, seed + 1);
        send_by(kind % KINDS, data, (int)bytes, peer, tag);
    }
}

/** All sizes: 0 to 3, and each power of two with its neighbours. */
static void exchange_with(uint8_t *data, int peer)
{
    int tag = 0;

    for (size_t power = 1; power <= BYTES_MAX; power *= 2) {
        for (int offset = -1; offset <= 1; offset++) {
            size_t bytes = power + (size_t)offset;
            if (bytes > BYTES_MAX) {
                continue;
            }
            for (int kind = 0; kind < KINDS * KINDS; kind++) {
                /* Of long ones, each way to send and to receive once. */
                if (bytes <= LONG_BYTES || kind % KINDS == kind / KINDS) {
                    round_trip(data, bytes, peer, tag++, kind);
                }
            }
        }
    }
}

void check_pingpong(void)
{
    uint8_t *data = check_memory(BYTES_MAX + 1);

    CHECK(ranks >= 2, "ping-pong needs two ranks");
    for (int left = 0; left < ranks; left++) {
        for (int right = left + 1; right < ranks; right++) {
            if (rank == left || rank == right) {
                exchange_with(data, rank == left ? right : left);
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    free(data);
}

/** The MPI library hands an error over: this is what a program would act on. */
static void on_error(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    MPI_Error_string(*code, text, &length);
    (void)fprintf(stderr, "mpi_check: rank %d: MPI says: %s\n", rank, text);
    (void)fflush(stderr);
    MPI_Abort(*comm, 1);
    abort(); /* MPICH comes back from there */
}

void check_endless(void)
{
    uint8_t *data = check_memory(BYTES_MAX);
    int peer = rank % 2 == 0 ? rank + 1 : rank - 1;
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    CHECK(ranks % 2 == 0, "there have to be pairs");
    for (int number = 0;; number++) {
        int tag = number % TAGS_ENDLESS;
        round_trip(data, (size_t)tag * 131, peer, tag, 0);
        if (number == TAGS_ENDLESS) {
            printf("mpi_check: rank %d, process %d, is under way\n", rank, (int)getpid());
            (void)fflush(stdout);
        }
    }
}
