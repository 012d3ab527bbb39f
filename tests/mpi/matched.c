/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that matched probes take aside: of every kind of send, a synchronous one among them. */
#include "check.h"

#include <stdlib.h>

#define BYTES_MAX ((size_t)1 << 20)
#define GO 100 /* another tag than those of the messages */
#define SENDS 5
#define OUTSTANDING 4

/** Begins to send, in one of several ways. */
static void begin_send(int kind, const void *data, int bytes, int to, int tag, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    switch (kind) {
    case 0:
        MPI_Ssend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
        break;
    case 1:
        MPI_Issend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, request);
        break;
    case 2:
        MPI_Send(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
        break;
    case 3:
        MPI_Isend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, request);
        break;
    default:
        MPI_Bsend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
        break;
    }
}

/** Takes the next message aside, blocking or not. */
static void take(int improbe, int from, int tag, size_t bytes, MPI_Message *message)
{
    MPI_Status status;
    int found = 0;
    int count = 0;

    if (improbe) {
        while (!found) {
            MPI_Improbe(from, tag, MPI_COMM_WORLD, &found, message, &status);
        }
    } else {
        MPI_Mprobe(from, tag, MPI_COMM_WORLD, message, &status);
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK((size_t)count == bytes, "a matched probe finds %d bytes, not %zu", count, bytes);
}

/** Receives a message that was taken aside, blocking or not. */
static void receive(int imrecv, uint8_t *data, size_t bytes, int from, int tag,
                    MPI_Message *message)
{
    MPI_Status status;
    MPI_Request request;
    int count = 0;

    data[bytes] = 0xA5; /* nothing may be written behind the message */
    if (imrecv) {
        MPI_Imrecv(data, (int)bytes, MPI_BYTE, message, &request);
        MPI_Wait(&request, &status);
    } else {
        MPI_Mrecv(data, (int)bytes, MPI_BYTE, message, &status);
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK((size_t)count == bytes, "%d bytes have come, not %zu", count, bytes);
    CHECK(status.MPI_SOURCE == from, "they are from %d, not from %d", status.MPI_SOURCE, from);
    CHECK(status.MPI_TAG == tag, "their tag is %d, not %d", status.MPI_TAG, tag);
    CHECK(*message == MPI_MESSAGE_NULL, "the message is still there");
    CHECK(data[bytes] == 0xA5, "%zu bytes run over", bytes);
}

/** Each kind of send meets each kind of probe and receive, from this peer and from anyone. */
static void exchange(uint8_t *data, size_t bytes, int peer)
{
    for (int kind = 0; kind < SENDS * 4; kind++) {
        uint32_t seed = (uint32_t)(bytes * 32) + (uint32_t)kind;
        if (rank < peer) {
            MPI_Request request;
            fill(data, bytes, seed);
            begin_send(kind % SENDS, data, (int)bytes, peer, kind, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            continue;
        }
        int way = kind / SENDS;
        MPI_Message message;
        take(way % 2, kind % 3 == 0 ? peer : MPI_ANY_SOURCE, kind, bytes, &message);
        receive(way / 2, data, bytes, peer, kind, &message);
        size_t wrong = first_wrong(data, bytes, seed);
        CHECK(wrong == bytes, "of %zu bytes byte %zu is wrong", bytes, wrong);
    }
}

/** Several are taken aside in their order, and received in the reverse one. A synchronous send ends
 *  after its own message is received, and not before. (Each has a tag of its own: of those with the
 *  same one Open MPI may end another.) */
static void one_by_one(uint8_t *data, size_t bytes, int peer)
{
    MPI_Request requests[OUTSTANDING];
    MPI_Message messages[OUTSTANDING];
    MPI_Status status;

    for (int i = 0; i < OUTSTANDING; i++) {
        if (rank < peer) {
            fill(data + bytes * (size_t)i, bytes, (uint32_t)i);
            begin_send(1, data + bytes * (size_t)i, (int)bytes, peer, i, &requests[i]);
        } else {
            take(i % 2, MPI_ANY_SOURCE, i, bytes, &messages[i]);
        }
    }
    for (int i = OUTSTANDING - 1; i >= 0; i--) {
        /* The peer has taken all of them aside, and received those behind this one. */
        if (rank < peer) {
            int ended = 0;
            int number = 0;
            MPI_Recv(NULL, 0, MPI_BYTE, peer, GO, MPI_COMM_WORLD, &status);
            MPI_Testany(i + 1, requests, &number, &ended, &status);
            CHECK(!ended, "synchronous send %d of %d ends, and is not received", number, i + 1);
            MPI_Send(NULL, 0, MPI_BYTE, peer, GO, MPI_COMM_WORLD);
        } else {
            MPI_Send(NULL, 0, MPI_BYTE, peer, GO, MPI_COMM_WORLD);
            MPI_Recv(NULL, 0, MPI_BYTE, peer, GO, MPI_COMM_WORLD, &status);
            receive(i % 2, data, bytes, peer, i, &messages[i]);
            size_t wrong = first_wrong(data, bytes, (uint32_t)i);
            CHECK(wrong == bytes, "of %zu bytes of message %d byte %zu is wrong", bytes, i, wrong);
        }
    }
    if (rank < peer) {
        MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
    }
}

void check_matched(void)
{
    static const size_t sizes[] = {0, 1, 8, 1000, 4096, 16384, 32769, 65536, 300000, BYTES_MAX};
    uint8_t *data = check_memory(OUTSTANDING * BYTES_MAX + 1);
    int room = (int)BYTES_MAX + MPI_BSEND_OVERHEAD;
    void *buffer = check_memory((size_t)room);

    CHECK(ranks >= 2, "matched probes need two ranks");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int first = 0; first < ranks; first++) {
            /* A pair at a time: each rank sends to the next one. */
            int second = (first + 1) % ranks;
            int peer = rank == first ? second : first;
            if (rank == first || rank == second) {
                MPI_Buffer_attach(buffer, room);
                exchange(data, sizes[i], peer);
                MPI_Buffer_detach(&buffer, &room);
                one_by_one(data, sizes[i], peer);
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    free(buffer);
    free(data);
}
