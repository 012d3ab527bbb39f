/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

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
    MPI_Win_free(&window);
}
