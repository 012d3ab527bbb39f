/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * is.c - the kernel IS of the NAS Parallel Benchmarks: whole numbers are ranked by a bucket sort.
 *
 * Own code after the specification (RNR-94-007, section 2.5) and the published constants. In each
 * iteration the ranks sort their keys into buckets, sum up the sizes of the buckets, and hand
 * whole buckets to one another, so that each has a range of keys, and about as many as the others:
 * an allreduce of some kilobytes, and an exchange of nearly all data between all.
 */
#include "common/app.h"
#include "common/random.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TESTS 5
/** Iterations of the benchmark; in those after them nothing changes. */
#define ITERATIONS 10
#define MOST_RANKS 1024
#define TAG_BORDER 1000

static const struct problem {
    int log_keys, log_greatest, log_buckets;
    /** Keys whose rank is known: where they are, and their rank, to which sign * (iteration -
     *  before) is added. */
    int64_t place[TESTS], rank[TESTS];
    int sign[TESTS], before[TESTS];
} problems[] = {
    {16,
     11,
     9,
     {48427, 17148, 23627, 62548, 4431},
     {0, 18, 346, 64917, 65463},
     {1, 1, 1, -1, -1},
     {0, 0, 0, 0, 0}},
    {20,
     16,
     10,
     {357773, 934767, 875723, 898999, 404505},
     {1249, 11698, 1039987, 1043896, 1048018},
     {1, 1, -1, -1, -1},
     {2, 2, 0, 0, 0}},
    {23,
     19,
     10,
     {2112377, 662041, 5336171, 3642833, 4250760},
     {104, 17523, 123928, 8288932, 8388264},
     {1, 1, 1, -1, -1},
     {1, 1, 1, 1, 1}},
    {25,
     21,
     10,
     {41869, 812306, 5102857, 18232239, 26860214},
     {33422937, 10244, 59149, 33135281, 99},
     {-1, 1, 1, -1, 1},
     {0, 0, 0, 0, 0}},
};

/** Memory that grows when more is needed. */
struct buffer {
    int *keys;
    size_t room;
};

/** What this rank has. */
struct sort {
    const struct problem *problem;
    int buckets, shift, own;
    /** As they were made; in order of buckets; those that others have sent. */
    int *keys, *sorted;
    struct buffer received;
    /** Keys of this rank in each bucket and, behind them, the tested keys that it has; the same of
     *  all ranks together. */
    int *sizes, *totals;
    int *next;
    /** The first bucket of each rank; the buckets of a rank end where the next one's begin. */
    int *first_bucket;
    /** What goes to each rank and comes from it, and where that starts. */
    int *out, *out_start, *in, *in_start;
    /** Keys that this rank ranks, the smallest that it may have, and how many keys of all are not
     *  greater than each (of the keys of this rank only). */
    int count, smallest, values;
    struct buffer populations;
    /** Known ranks that were found right. */
    int right;
};

static void grow(struct buffer *buffer, size_t keys)
{
    if (buffer->keys == NULL || keys > buffer->room) {
        free(buffer->keys);
        buffer->room = keys + keys / 8;
        buffer->keys = app_memory(buffer->room, sizeof *buffer->keys);
    }
}

static void make_keys(struct sort *sort)
{
    double quarter = (double)(1 << sort->problem->log_greatest >> 2);
    uint64_t state = random_skip(314159265, 4 * (uint64_t)app_rank * (uint64_t)sort->own);

    for (int i = 0; i < sort->own; i++) {
        double sum = random_next(&state);

        sum += random_next(&state);
        sum += random_next(&state);
        sum += random_next(&state);
        sort->keys[i] = (int)(quarter * sum);
    }
}

static struct sort make_sort(const struct problem *problem)
{
    size_t ranks = (size_t)app_ranks, buckets = (size_t)1 << problem->log_buckets;
    int log = app_log2_ranks(MOST_RANKS < 1 << problem->log_buckets ? MOST_RANKS
                                                                    : 1 << problem->log_buckets);
    struct sort sort = {
        .problem = problem,
        .buckets = 1 << problem->log_buckets,
        .shift = problem->log_greatest - problem->log_buckets,
        .own = 1 << (problem->log_keys - log),
        .sizes = app_memory(buckets + TESTS, sizeof(int)),
        .totals = app_memory(buckets + TESTS, sizeof(int)),
        .next = app_memory(buckets, sizeof(int)),
        .first_bucket = app_memory(ranks + 1, sizeof(int)),
        .out = app_memory(ranks, sizeof(int)),
        .out_start = app_memory(ranks, sizeof(int)),
        .in = app_memory(ranks, sizeof(int)),
        .in_start = app_memory(ranks, sizeof(int)),
    };

    sort.keys = app_memory((size_t)sort.own, sizeof(int));
    sort.sorted = app_memory((size_t)sort.own, sizeof(int));
    make_keys(&sort);
    return sort;
}

/** Sorts the keys of this rank into buckets, and counts them. */
static void fill_buckets(struct sort *sort)
{
    const int *restrict keys = sort->keys;
    int *restrict sizes = sort->sizes, *restrict next = sort->next, *restrict to = sort->sorted;
    int shift = sort->shift, own = sort->own;

    memset(sizes, 0, (size_t)(sort->buckets + TESTS) * sizeof *sizes);
    for (int test = 0; test < TESTS; test++) {
        if (sort->problem->place[test] / own == app_rank) {
            sizes[sort->buckets + test] = keys[sort->problem->place[test] % own];
        }
    }
    for (int i = 0; i < own; i++) {
        sizes[keys[i] >> shift]++;
    }
    next[0] = 0;
    for (int i = 1; i < sort->buckets; i++) {
        next[i] = next[i - 1] + sizes[i - 1];
    }
    for (int i = 0; i < own; i++) {
        int key = keys[i];

        to[next[key >> shift]++] = key;
    }
}

/** Gives each rank buckets, in order, until all so far together have their share of the keys. */
static void share_buckets(struct sort *sort)
{
    int64_t all = 0;
    int own = 0, rank = 0, start = 0;

    for (int i = 0; i < app_ranks; i++) {
        sort->out[i] = 0;
        sort->first_bucket[i + 1] = sort->buckets;
    }
    for (int i = 0; i < sort->buckets; i++) {
        all += sort->totals[i];
        own += sort->sizes[i];
        if (all >= (int64_t)(rank + 1) * sort->own && rank < app_ranks) {
            sort->out[rank++] = own;
            sort->first_bucket[rank] = i + 1;
            own = 0;
        }
    }
    for (int i = 0; i < app_ranks; i++) {
        sort->out_start[i] = start;
        start += sort->out[i];
    }
}

static void exchange_keys(struct sort *sort)
{
    int count = 0;

    (void)MPI_Alltoall(sort->out, 1, MPI_INT, sort->in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < app_ranks; i++) {
        sort->in_start[i] = count;
        count += sort->in[i];
    }
    grow(&sort->received, (size_t)count);
    (void)MPI_Alltoallv(sort->sorted, sort->out, sort->out_start, MPI_INT, sort->received.keys,
                        sort->in, sort->in_start, MPI_INT, MPI_COMM_WORLD);
    sort->count = count;
}

/** Counts how often each key is there, and how many are not greater. */
static void count_keys(struct sort *sort)
{
    int first = sort->first_bucket[app_rank], end = sort->first_bucket[app_rank + 1];
    int smallest = first << sort->shift, values = (end - first) << sort->shift;
    int count = sort->count, sum = 0, *restrict populations = NULL;
    const int *restrict keys = sort->received.keys;

    sort->smallest = smallest;
    sort->values = values;
    grow(&sort->populations, (size_t)values);
    populations = sort->populations.keys;
    memset(populations, 0, (size_t)values * sizeof *populations);
    for (int i = 0; i < count; i++) {
        populations[keys[i] - smallest]++;
    }
    for (int i = 0; i < values; i++) {
        sum += populations[i];
        populations[i] = sum;
    }
}

/** Compares the ranks of those tested keys that this rank has. */
static void test_ranks(struct sort *sort, int iteration)
{
    int64_t lesser = 0;

    for (int i = 0; i < sort->first_bucket[app_rank]; i++) {
        lesser += sort->totals[i];
    }
    for (int test = 0; test < TESTS; test++) {
        const struct problem *problem = sort->problem;
        int at = sort->totals[sort->buckets + test] - sort->smallest;

        if (at >= 0 && at < sort->values) {
            int64_t rank = lesser + (at > 0 ? sort->populations.keys[at - 1] : 0);
            int moved = problem->sign[test] * (iteration - problem->before[test]);

            sort->right += rank == problem->rank[test] + moved;
        }
    }
}

static void rank_keys(struct sort *sort, int iteration)
{
    if (app_rank == 0) {
        sort->keys[iteration] = iteration;
        sort->keys[iteration + ITERATIONS] = (1 << sort->problem->log_greatest) - iteration;
    }
    fill_buckets(sort);
    (void)MPI_Allreduce(sort->sizes, sort->totals, sort->buckets + TESTS, MPI_INT, MPI_SUM,
                        MPI_COMM_WORLD);
    share_buckets(sort);
    exchange_keys(sort);
    count_keys(sort);
    test_ranks(sort, iteration);
}

/** Puts every key where its rank says, and sees whether that is in order, also with the last key of
 *  the rank before. */
static bool in_order(struct sort *sort)
{
    int *keys = app_memory((size_t)sort->count + 1, sizeof *keys), before = 0;
    int *populations = sort->populations.keys;
    bool right = true;

    for (int i = 0; i < sort->count; i++) {
        int key = sort->received.keys[i];
        int at = --populations[key - sort->smallest];

        right = right && at >= 0 && at < sort->count && keys[at] == 0;
        if (right) {
            keys[at] = key + 1; /* zero is: nothing there yet */
        }
    }
    if (app_rank < app_ranks - 1) {
        (void)MPI_Send(&keys[sort->count > 0 ? sort->count - 1 : 0], 1, MPI_INT, app_rank + 1,
                       TAG_BORDER, MPI_COMM_WORLD);
    }
    if (app_rank > 0) {
        (void)MPI_Recv(&before, 1, MPI_INT, app_rank - 1, TAG_BORDER, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < sort->count; i++) {
        right = right && keys[i] >= before;
        before = keys[i];
    }
    free(keys);
    return right;
}

int main(int argc, char **argv)
{
    long class = 0, iterations = 0;
    const struct app_option options[] = {
        {"class", "size of the problem", "S|W|A|B", 0, 0, &class},
        {"iterations", "timed iterations, not the 10 of the benchmark", NULL, 1, 1000000,
         &iterations},
        {NULL, NULL, NULL, 0, 0, NULL},
    };
    app_start(argc, argv, "is", "sorts whole numbers (NAS IS): all data between all ranks",
              options);
    struct sort sort = make_sort(&problems[class]);
    char check[APP_CHECK_BYTES];
    int own = 0, expected = 0, found = 0;
    struct app_result result = {.unit = "MOP/s", .check = check, .communication_share = -1.0};

    iterations = iterations > 0 ? iterations : ITERATIONS;
    rank_keys(&sort, 1);
    sort.right = 0;
    app_start_clock();
    for (long i = 1; i <= iterations; i++) {
        rank_keys(&sort, i < ITERATIONS ? (int)i : ITERATIONS);
    }
    result.seconds = app_seconds();
    own = sort.right + in_order(&sort);
    (void)MPI_Reduce(&own, &found, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    expected = TESTS * (int)iterations + app_ranks;
    result.figure = (double)iterations * (double)app_ranks * sort.own / result.seconds * 1e-6;
    result.verified = found == expected;
    (void)snprintf(check, sizeof check, "%d of %d tests of order and rank", found, expected);
    return app_report(&result);
}
