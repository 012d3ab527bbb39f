/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>

#define NUMBERS 20000
#define TURNS 50

/** Each puts into its right neighbour's window, and gets back what the left one put here. */
static void check_fence(MPI_Win window, int64_t *mine, int count)
{
    int right = (rank + 1) % ranks;
    int left = (rank + ranks - 1) % ranks;
    int64_t *numbers = check_memory((size_t)count * sizeof *numbers);

    for (int i = 0; i < count; i++) {
        numbers[i] = (int64_t)rank * 1000000 + i;
        mine[i] = -1;
    }
    MPI_Win_fence(0, window);
    MPI_Put(numbers, count, MPI_INT64_T, right, 0, count, MPI_INT64_T, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < count; i++) {
        CHECK(mine[i] == (int64_t)left * 1000000 + i, "put: %d of %d is %lld", i, count,
              (long long)mine[i]);
        numbers[i] = -2;
    }
    MPI_Win_fence(0, window);
    MPI_Get(numbers, count, MPI_INT64_T, right, 0, count, MPI_INT64_T, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < count; i++) {
        CHECK(numbers[i] == (int64_t)rank * 1000000 + i, "get: %d of %d is %lld", i, count,
              (long long)numbers[i]);
    }
    free(numbers);
}

/** All add to all, under locks: nothing may get lost. */
static void check_accumulate(MPI_Win window, int64_t *mine)
{
    int64_t one = 1;
    int64_t before = 0;
    int64_t compare = -1;

    mine[0] = mine[1] = mine[2] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TURNS; i++) {
        for (int to = 0; to < ranks; to++) {
            MPI_Win_lock(MPI_LOCK_SHARED, to, 0, window);
            MPI_Accumulate(&one, 1, MPI_INT64_T, to, 0, 1, MPI_INT64_T, MPI_SUM, window);
            MPI_Fetch_and_op(&one, &before, MPI_INT64_T, to, 1, MPI_SUM, window);
            MPI_Win_flush(to, window);
            CHECK(before >= 0 && before < (int64_t)TURNS * ranks, "before it was %lld",
                  (long long)before);
            MPI_Compare_and_swap(&one, &compare, &before, MPI_INT64_T, to, 2, window);
            MPI_Win_unlock(to, window);
            CHECK(before == 0, "compare and swap finds %lld", (long long)before);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
    CHECK(mine[0] == (int64_t)TURNS * ranks, "the sum is %lld", (long long)mine[0]);
    CHECK(mine[1] == (int64_t)TURNS * ranks, "the number taken is %lld", (long long)mine[1]);
    CHECK(mine[2] == 0, "it was swapped for %lld", (long long)mine[2]);
    MPI_Win_unlock(rank, window);
    MPI_Barrier(MPI_COMM_WORLD);
}

/** Every operation that MPI has for numbers, on one, and on as many as some implementations divide,
 *  in the right neighbour's window: what was there, and what is there then. */
static void check_arithmetic(MPI_Win window, int64_t *mine)
{
    const struct {
        const char *name;
        MPI_Op operation;
        int64_t result; /* of 3, where there was 6 */
    } cases[] = {
        {"sum", MPI_SUM, 9},        {"product", MPI_PROD, 18},    {"replace", MPI_REPLACE, 3},
        {"least", MPI_MIN, 3},      {"most", MPI_MAX, 6},         {"bitwise and", MPI_BAND, 2},
        {"bitwise or", MPI_BOR, 7}, {"bitwise xor", MPI_BXOR, 5}, {"and", MPI_LAND, 1},
        {"or", MPI_LOR, 1},         {"xor", MPI_LXOR, 0},         {"nothing", MPI_NO_OP, 6},
    };
    static const int counts[] = {1, 2, 23, 24, 1000};
    int right = (rank + 1) % ranks;
    int64_t threes[1000];
    int64_t before[1000];

    for (unsigned turn = 0; turn < sizeof cases / sizeof *cases * 6; turn++) {
        unsigned which = turn / 6;
        bool fetch = turn % 6 == 5; /* by the call for one number */
        int count = fetch ? 1 : counts[turn % 6];
        for (int i = 0; i < count; i++) {
            mine[i] = 6;
            threes[i] = 3;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window);
        if (fetch) {
            MPI_Fetch_and_op(threes, before, MPI_INT64_T, right, 0, cases[which].operation, window);
        } else {
            MPI_Get_accumulate(threes, count, MPI_INT64_T, before, count, MPI_INT64_T, right, 0,
                               count, MPI_INT64_T, cases[which].operation, window);
        }
        MPI_Win_unlock(right, window);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
        for (int i = 0; i < count; i++) {
            CHECK(before[i] == 6 && mine[i] == cases[which].result,
                  "%s: %d of %d was %lld, is %lld", cases[which].name, i, count,
                  (long long)before[i], (long long)mine[i]);
        }
        MPI_Win_unlock(rank, window);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/** Reads, adds one and writes under a lock that nobody shares: as good as an atomic operation. */
static void check_exclusive(MPI_Win window, int64_t *mine)
{
    int64_t number = 0;

    mine[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TURNS; i++) {
        int to = (rank + i) % ranks;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, window);
        MPI_Get(&number, 1, MPI_INT64_T, to, 0, 1, MPI_INT64_T, window);
        MPI_Win_flush(to, window);
        number++;
        MPI_Put(&number, 1, MPI_INT64_T, to, 0, 1, MPI_INT64_T, window);
        MPI_Win_unlock(to, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    int64_t sum = mine[0];
    MPI_Win_unlock(rank, window);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == (int64_t)TURNS * ranks, "under exclusive locks it is %lld", (long long)sum);
}

/** A group of one rank. */
static MPI_Group group_of(int member)
{
    MPI_Group world;
    MPI_Group group;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &member, &group);
    MPI_Group_free(&world);
    return group;
}

/** Each opens its window to the left neighbour alone, and writes into the right one's: what is
 *  there when the left one says that it has finished, is all of it. */
static void check_post_and_start(MPI_Win window, int64_t *mine)
{
    MPI_Group right = group_of((rank + 1) % ranks);
    MPI_Group left = group_of((rank + ranks - 1) % ranks);

    for (int turn = 0; turn < TURNS; turn++) {
        int count = 1 + turn * 37;
        int64_t *numbers = check_memory((size_t)count * sizeof *numbers);
        for (int i = 0; i < count; i++) {
            numbers[i] = (int64_t)rank * 1000000 + turn * 1000 + i;
        }
        MPI_Win_post(left, 0, window);
        MPI_Win_start(right, 0, window);
        MPI_Put(numbers, count, MPI_INT64_T, (rank + 1) % ranks, 0, count, MPI_INT64_T, window);
        MPI_Win_complete(window);
        MPI_Win_wait(window);
        int from = (rank + ranks - 1) % ranks;
        for (int i = 0; i < count; i++) {
            CHECK(mine[i] == (int64_t)from * 1000000 + turn * 1000 + i, "turn %d: %d of %d is %lld",
                  turn, i, count, (long long)mine[i]);
        }
        free(numbers);
    }
    MPI_Group_free(&left);
    MPI_Group_free(&right);
    MPI_Barrier(MPI_COMM_WORLD);
}

/** Requests of one access epoch to all: every other element of each window, by a derived type. */
static void check_requests(MPI_Win window, int64_t *mine)
{
    enum { COUNT = 500 };
    int64_t *sent = check_memory(COUNT * sizeof *sent);
    int64_t *got = check_memory(COUNT * sizeof *got);
    MPI_Datatype spread;
    MPI_Request request;

    MPI_Type_vector(COUNT, 1, 2, MPI_INT64_T, &spread);
    MPI_Type_commit(&spread);
    for (int i = 0; i < NUMBERS; i++) {
        mine[i] = -1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    for (int to = 0; to < ranks; to++) {
        MPI_Aint base = (MPI_Aint)rank * 2 * COUNT;
        for (int i = 0; i < COUNT; i++) {
            sent[i] = rank * 1000 + to * 100000 + i;
        }
        MPI_Rput(sent, COUNT, MPI_INT64_T, to, base, 1, spread, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Win_flush(to, window);
        MPI_Rget(got, COUNT, MPI_INT64_T, to, base, 1, spread, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < COUNT; i++) {
            CHECK(got[i] == sent[i], "at %d: %d is %lld", to, i, (long long)got[i]);
        }
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    for (int i = 0; i < 2 * COUNT * ranks; i++) {
        int from = i / 2 / COUNT;
        int64_t wanted = i % 2 != 0 ? -1 : from * 1000 + rank * 100000 + i / 2 % COUNT;
        CHECK(mine[i] == wanted, "element %d is %lld", i, (long long)mine[i]);
    }
    MPI_Win_unlock(rank, window);
    MPI_Type_free(&spread);
    free(sent);
    free(got);
    MPI_Barrier(MPI_COMM_WORLD);
}

/** Arrays of other types and operations, whose order does not matter; and what was there before. */
static void check_operations(void)
{
    enum { COUNT = 300 };
    double *sums = NULL;
    int32_t *bits = NULL;
    double numbers[COUNT];
    double before[COUNT];
    int32_t bit[COUNT];
    MPI_Win window;
    MPI_Win of_bits;

    MPI_Win_allocate(COUNT * (MPI_Aint)sizeof *sums, sizeof *sums, MPI_INFO_NULL, MPI_COMM_WORLD,
                     (void *)&sums, &window);
    MPI_Win_allocate(COUNT * (MPI_Aint)sizeof *bits, sizeof *bits, MPI_INFO_NULL, MPI_COMM_WORLD,
                     (void *)&bits, &of_bits);
    MPI_Win_fence(0, window);
    MPI_Win_fence(0, of_bits);
    for (int i = 0; i < COUNT; i++) {
        sums[i] = 0.5;
        bits[i] = 0;
        numbers[i] = rank + i;
        bit[i] = (int32_t)(UINT32_C(1) << (unsigned)rank);
    }
    MPI_Win_fence(0, window);
    MPI_Win_fence(0, of_bits);
    for (int to = 0; to < ranks; to++) {
        MPI_Get_accumulate(numbers, COUNT, MPI_DOUBLE, before, COUNT, MPI_DOUBLE, to, 0, COUNT,
                           MPI_DOUBLE, MPI_SUM, window);
        MPI_Accumulate(bit, COUNT, MPI_INT32_T, to, 0, COUNT, MPI_INT32_T, MPI_BOR, of_bits);
        MPI_Win_fence(0, window);
        for (int i = 0; i < COUNT; i++) {
            /* Sums of some of the ranks' numbers, and the half of the beginning. */
            CHECK(before[i] >= 0.5 && before[i] - (int64_t)before[i] == 0.5,
                  "at %d: before, %d was %f", to, i, before[i]);
        }
    }
    MPI_Win_fence(0, of_bits);
    for (int i = 0; i < COUNT; i++) {
        double sum = 0.5 + ranks * (ranks - 1) / 2.0 + (double)ranks * i;
        CHECK(sums[i] == sum, "the sum of %d is %f", i, sums[i]);
        CHECK(bits[i] == (1 << ranks) - 1, "the bits of %d are %x", i, (unsigned)bits[i]);
    }
    MPI_Win_free(&window);
    MPI_Win_free(&of_bits);
}

void check_onesided(void)
{
    int64_t *mine = NULL;
    MPI_Win window;

    MPI_Win_allocate(NUMBERS * (MPI_Aint)sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD,
                     (void *)&mine, &window);
    check_fence(window, mine, 1);
    check_fence(window, mine, 100);
    check_fence(window, mine, NUMBERS);
    check_accumulate(window, mine);
    check_arithmetic(window, mine);
    check_exclusive(window, mine);
    check_post_and_start(window, mine);
    check_requests(window, mine);
    check_operations();
    MPI_Win_free(&window);
}
