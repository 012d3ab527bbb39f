/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdlib.h>

/** The number that a rank contributes at a place. */
static int64_t value_of(int from, int place)
{
    return (int64_t)(from + 1) * 1000003 + place * 17;
}

static int64_t sum_of(int members, int place)
{
    int64_t sum = 0;

    for (int i = 0; i < members; i++) {
        sum += value_of(i, place);
    }
    return sum;
}

struct arena {
    int me;
    int members;
    int count; /**< of numbers a rank */
    MPI_Comm comm;
    int64_t *mine; /**< `count` for each member */
    int64_t *all;
};

static void set_mine(struct arena *arena)
{
    for (int i = 0; i < arena->count * arena->members; i++) {
        arena->mine[i] = value_of(arena->me, i);
        arena->all[i] = -1;
    }
}

static void expect(const char *what, int place, int64_t found, int64_t wanted)
{
    CHECK(found == wanted, "%s: at %d is %lld, not %lld", what, place, (long long)found,
          (long long)wanted);
}

static void check_one_to_all(struct arena *arena)
{
    for (int root = 0; root < arena->members; root++) {
        set_mine(arena);
        int64_t *data = arena->me == root ? arena->mine : arena->all;
        MPI_Bcast(data, arena->count, MPI_INT64_T, root, arena->comm);
        for (int i = 0; i < arena->count; i++) {
            expect("broadcast", i, data[i], value_of(root, i));
        }
        set_mine(arena);
        MPI_Scatter(arena->mine, arena->count, MPI_INT64_T, arena->all, arena->count, MPI_INT64_T,
                    root, arena->comm);
        for (int i = 0; i < arena->count; i++) {
            expect("scatter", i, arena->all[i], value_of(root, arena->me * arena->count + i));
        }
    }
}

static void check_all_to_one(struct arena *arena)
{
    for (int root = 0; root < arena->members; root++) {
        set_mine(arena);
        MPI_Reduce(arena->mine, arena->all, arena->count, MPI_INT64_T, MPI_SUM, root, arena->comm);
        for (int i = 0; arena->me == root && i < arena->count; i++) {
            expect("reduce", i, arena->all[i], sum_of(arena->members, i));
        }
        MPI_Gather(arena->mine, arena->count, MPI_INT64_T, arena->all, arena->count, MPI_INT64_T,
                   root, arena->comm);
        for (int i = 0; arena->me == root && i < arena->count * arena->members; i++) {
            expect("gather", i, arena->all[i], value_of(i / arena->count, i % arena->count));
        }
    }
}

static void check_all_to_all(struct arena *arena)
{
    int count = arena->count;

    set_mine(arena);
    MPI_Allreduce(arena->mine, arena->all, count, MPI_INT64_T, MPI_SUM, arena->comm);
    for (int i = 0; i < count; i++) {
        expect("allreduce", i, arena->all[i], sum_of(arena->members, i));
    }
    MPI_Allgather(arena->mine, count, MPI_INT64_T, arena->all, count, MPI_INT64_T, arena->comm);
    for (int i = 0; i < count * arena->members; i++) {
        expect("allgather", i, arena->all[i], value_of(i / count, i % count));
    }
    MPI_Alltoall(arena->mine, count, MPI_INT64_T, arena->all, count, MPI_INT64_T, arena->comm);
    for (int i = 0; i < count * arena->members; i++) {
        expect("alltoall", i, arena->all[i], value_of(i / count, arena->me * count + i % count));
    }
    MPI_Reduce_scatter_block(arena->mine, arena->all, count, MPI_INT64_T, MPI_SUM, arena->comm);
    for (int i = 0; i < count; i++) {
        expect("reduce_scatter", i, arena->all[i], sum_of(arena->members, arena->me * count + i));
    }
    MPI_Scan(arena->mine, arena->all, count, MPI_INT64_T, MPI_SUM, arena->comm);
    for (int i = 0; i < count; i++) {
        expect("scan", i, arena->all[i], sum_of(arena->me + 1, i));
    }
}

/** Several at once, on one communicator, waited for in the wrong order. */
static void check_at_once(struct arena *arena)
{
    enum { OPERATIONS = 8 };
    MPI_Request requests[OPERATIONS];
    int64_t *results[OPERATIONS];

    set_mine(arena);
    for (int i = 0; i < OPERATIONS; i++) {
        results[i] = check_memory((size_t)arena->count * sizeof(int64_t));
        MPI_Iallreduce(arena->mine, results[i], arena->count, MPI_INT64_T, MPI_SUM, arena->comm,
                       &requests[i]);
    }
    for (int i = OPERATIONS - 1; i >= 0; i--) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        for (int j = 0; j < arena->count; j++) {
            expect("iallreduce", j, results[i][j], sum_of(arena->members, j));
        }
        free(results[i]);
    }
}

/** Parts of different lengths, some of them empty. */
static void check_uneven(struct arena *arena)
{
    int *counts = check_memory((size_t)arena->members * sizeof *counts);
    int *starts = check_memory((size_t)arena->members * sizeof *starts);

    set_mine(arena);
    for (int i = 0; i < arena->members; i++) {
        counts[i] = i * arena->count / arena->members;
        starts[i] = i * arena->count;
    }
    MPI_Allgatherv(arena->mine, counts[arena->me], MPI_INT64_T, arena->all, counts, starts,
                   MPI_INT64_T, arena->comm);
    for (int i = 0; i < arena->members; i++) {
        for (int j = 0; j < arena->count; j++) {
            expect("allgatherv", starts[i] + j, arena->all[starts[i] + j],
                   j < counts[i] ? value_of(i, j) : -1);
        }
    }
    free(counts);
    free(starts);
}

static void check_on(MPI_Comm comm)
{
    static const int counts[] = {1, 3, 128, 1000, 20000};
    struct arena arena = {.comm = comm};

    MPI_Comm_rank(comm, &arena.me);
    MPI_Comm_size(comm, &arena.members);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t bytes = (size_t)counts[i] * (size_t)arena.members * sizeof(int64_t);
        arena.count = counts[i];
        arena.mine = check_memory(bytes);
        arena.all = check_memory(bytes);
        check_one_to_all(&arena);
        check_all_to_one(&arena);
        check_all_to_all(&arena);
        check_at_once(&arena);
        check_uneven(&arena);
        free(arena.mine);
        free(arena.all);
        MPI_Barrier(comm);
    }
}

void check_collectives(void)
{
    MPI_Comm copy;
    MPI_Comm half;

    check_on(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    check_on(copy);
    MPI_Comm_split(copy, rank % 2, -rank, &half); /* both halves at the same time, ranks reversed */
    check_on(half);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
}
