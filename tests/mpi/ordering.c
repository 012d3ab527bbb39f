/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/** More than the endpoint of the receiver takes in before there are receives. */
#define AT_ONCE 10000

#define MESSAGES 400 /* from each rank to each */
#define BATCH 25     /* receives that are posted together */
#define TAGS 3
#define SEED UINT32_C(20240229)

/** What is sent first in every message. */
struct head {
    int32_t from;
    int32_t number; /**< of the message, among all from this rank to that one */
};

#define BYTES_MAX (200 * 1024)

/** How long a message is, and its tag: both ends know. */
static void plan(int from, int to, int number, size_t *bytes, int *tag)
{
    uint32_t state = SEED + (uint32_t)(from * 7919 + to * 104729 + number * 31);
    static const size_t most[] = {16, 1400, 9000, 70000, BYTES_MAX};

    (void)next_random(&state);
    uint32_t kind = next_random(&state) % 16;
    size_t limit = most[kind < 8 ? 0 : kind < 12 ? 1 : kind < 14 ? 2 : kind < 15 ? 3 : 4];
    *bytes = sizeof(struct head) + next_random(&state) % (limit - sizeof(struct head));
    *tag = (int)(next_random(&state) % TAGS);
}

struct sends {
    MPI_Request requests[BATCH];
    uint8_t *data[BATCH];
};

/** Sends the messages of one batch to a rank, all at once. */
static void start_batch(struct sends *sends, int to, int first)
{
    for (int i = 0; i < BATCH; i++) {
        size_t bytes = 0;
        int tag = 0;
        plan(rank, to, first + i, &bytes, &tag);
        sends->data[i] = check_memory(bytes);
        fill(sends->data[i], bytes, (uint32_t)(rank * MESSAGES + first + i));
        *(struct head *)(void *)sends->data[i] = (struct head){rank, first + i};
        MPI_Isend(sends->data[i], (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD,
                  &sends->requests[i]);
    }
}

static void end_batch(struct sends *sends)
{
    MPI_Waitall(BATCH, sends->requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < BATCH; i++) {
        free(sends->data[i]);
    }
}

/** Looks at a message; `expected` is the number of the next one of each rank (or rank and tag). */
static void look_at(uint8_t *data, const MPI_Status *status, int *number)
{
    struct head head = *(struct head *)(void *)data;
    size_t bytes = 0;
    int tag = 0;
    int count = 0;

    MPI_Get_count(status, MPI_BYTE, &count);
    CHECK(head.from == status->MPI_SOURCE, "a message of %d says it is from %d", status->MPI_SOURCE,
          head.from);
    CHECK(head.number >= 0 && head.number < MESSAGES, "a message has the number %d", head.number);
    plan(head.from, rank, head.number, &bytes, &tag);
    CHECK((size_t)count == bytes && tag == status->MPI_TAG,
          "message %d of %d has %d bytes and tag %d, not %zu and %d", head.number, head.from, count,
          status->MPI_TAG, bytes, tag);
    *(struct head *)(void *)data = (struct head){0};
    uint8_t *whole = check_memory(bytes);
    fill(whole, bytes, (uint32_t)(head.from * MESSAGES + head.number));
    for (size_t i = sizeof head; i < bytes; i++) {
        CHECK(data[i] == whole[i], "message %d of %d is wrong at %zu", head.number, head.from, i);
    }
    free(whole);
    *number = head.number;
}

/** A zero for each rank. */
static int *no_numbers(void)
{
    int *numbers = check_memory((size_t)ranks * sizeof *numbers);

    memset(numbers, 0, (size_t)ranks * sizeof *numbers);
    return numbers;
}

/** Receives all with both wildcards: from each rank they come in the order of sending. */
static void receive_any(int rounds, int messages)
{
    int *next = no_numbers();
    uint8_t *data = check_memory(BYTES_MAX);

    for (int i = 0; i < messages; i++) {
        MPI_Status status;
        int number = 0;
        if (i % 3 == 0) {
            MPI_Message message;
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
            MPI_Mrecv(data, BYTES_MAX, MPI_BYTE, &message, &status);
        } else {
            MPI_Recv(data, BYTES_MAX, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                     &status);
        }
        look_at(data, &status, &number);
        int expected = rounds + next[status.MPI_SOURCE]++;
        CHECK(number == expected, "of %d message %d comes, not %d", status.MPI_SOURCE, number,
              expected);
    }
    free(data);
    free(next);
}

/** Receives by rank and tag, the last tag first: within a tag they come in the order of sending. */
static void receive_by_tag(int first)
{
    uint8_t *data = check_memory(BYTES_MAX);

    for (int from = ranks - 1; from >= 0; from--) {
        for (int tag = TAGS - 1; tag >= 0; tag--) {
            for (int i = first; i < first + BATCH; i++) {
                size_t bytes = 0;
                int its_tag = 0;
                int number = 0;
                MPI_Status status;
                plan(from, rank, i, &bytes, &its_tag);
                if (its_tag != tag) {
                    continue;
                }
                MPI_Recv(data, BYTES_MAX, MPI_BYTE, from, tag, MPI_COMM_WORLD, &status);
                look_at(data, &status, &number);
                CHECK(number == i, "of %d message %d comes, not %d", from, number, i);
            }
        }
    }
    free(data);
}

/** Posts wildcard receives before anything is sent: they are filled in the order of posting. */
static void receive_posted(int first, MPI_Request *requests, uint8_t **buffers, int messages)
{
    int *next = no_numbers();

    for (int i = 0; i < messages; i++) {
        MPI_Status status;
        int number = 0;
        MPI_Wait(&requests[i], &status);
        look_at(buffers[i], &status, &number);
        int expected = first + next[status.MPI_SOURCE]++;
        CHECK(number == expected, "of %d message %d fills receive %d, not %d", status.MPI_SOURCE,
              number, i, expected);
        free(buffers[i]);
    }
    free(next);
}

/** All begin to send more than anybody has room for, before anybody receives; and the reverse. */
static void at_once(bool receives_first)
{
    MPI_Request *requests = check_memory((size_t)2 * AT_ONCE * sizeof(MPI_Request));
    int *numbers = check_memory((size_t)2 * AT_ONCE * sizeof(int));
    int to = (rank + 1) % ranks;
    int from = (rank + ranks - 1) % ranks;

    for (int turn = 0; turn < 2; turn++) {
        bool receives = receives_first == (turn == 0);
        for (int i = 0; i < AT_ONCE; i++) {
            int at = receives ? AT_ONCE + i : i;
            numbers[at] = receives ? -1 : i;
            if (receives) {
                MPI_Irecv(&numbers[at], 1, MPI_INT, from, i % 7, MPI_COMM_WORLD, &requests[at]);
            } else {
                MPI_Isend(&numbers[at], 1, MPI_INT, to, i % 7, MPI_COMM_WORLD, &requests[at]);
            }
        }
    }
    MPI_Waitall(2 * AT_ONCE, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < AT_ONCE; i++) {
        CHECK(numbers[AT_ONCE + i] == i, "of %d message %d fills receive %d", from,
              numbers[AT_ONCE + i], i);
    }
    free(requests);
    free(numbers);
}

/** All send more than anybody has room for, and then receive what was sent last first. */
static void last_first(void)
{
    MPI_Request *requests = check_memory((size_t)AT_ONCE * sizeof(MPI_Request));
    int *numbers = check_memory((size_t)AT_ONCE * sizeof(int));
    int to = (rank + 1) % ranks;
    int from = (rank + ranks - 1) % ranks;

    for (int i = 0; i < AT_ONCE; i++) {
        numbers[i] = i;
        MPI_Isend(&numbers[i], 1, MPI_INT, to, i == AT_ONCE - 1, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        int number = -1;
        int expected = i == 0 ? AT_ONCE - 1 : i - 1;
        MPI_Recv(&number, 1, MPI_INT, from, i == 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(number == expected, "of %d message %d came, not %d", from, number, expected);
    }
    MPI_Waitall(AT_ONCE, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(numbers);
}

void check_ordering(void)
{
    at_once(false);
    at_once(true);
    last_first();
    int messages = BATCH * ranks;
    struct sends *sends = check_memory((size_t)ranks * sizeof *sends);
    MPI_Request *requests = check_memory((size_t)messages * sizeof(MPI_Request));
    uint8_t **buffers = check_memory((size_t)messages * sizeof *buffers);

    for (int first = 0, round = 0; first < MESSAGES; first += BATCH, round++) {
        int way = round % 3;
        for (int i = 0; way == 2 && i < messages; i++) {
            buffers[i] = check_memory(BYTES_MAX);
            MPI_Irecv(buffers[i], BYTES_MAX, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                      &requests[i]);
        }
        for (int to = 0; to < ranks; to++) {
            start_batch(&sends[to], to, first);
        }
        if (way == 0) {
            receive_any(first, messages);
        } else if (way == 1) {
            receive_by_tag(first);
        } else {
            receive_posted(first, requests, buffers, messages);
        }
        for (int to = 0; to < ranks; to++) {
            end_batch(&sends[to]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(sends);
    free(requests);
    free(buffers);
}
