/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ep.c - the kernel EP of the NAS Parallel Benchmarks: pairs of Gaussian random numbers, counted.
 *
 * Own code after the specification (RNR-94-007, section 2.1) and the published constants. The ranks
 * have nothing to say to one another before the end, when twelve numbers are summed up: what a
 * network costs when it is not used, and what of a processor is left beside it.
 */
#include "common/app.h"
#include "common/random.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define TOLERANCE 1e-8
#define LOG_BLOCK 16
#define BLOCK (1 << LOG_BLOCK)
#define RINGS 10

static const struct problem {
    int log_pairs;
    /** Sums of both numbers of all pairs, and how many pairs there are. */
    double x, y, pairs;
} problems[] = {
    {24, -3.247834652034740e+3, -6.958407078382297e+3, 13176389},
    {25, -2.863319731645753e+3, -6.320053679109499e+3, 26354769},
    {28, -4.295875165629892e+3, -1.580732573678431e+4, 210832767},
    {30, 4.033815542441498e+4, -2.660669192809235e+4, 843345606},
};

/** What was found: sums, and pairs by the greater of their numbers. */
struct findings {
    double x, y, rings[RINGS];
};

/** Makes a block of pairs: random points of a square, of which those in the circle count. */
static void add_block(struct findings *findings, uint64_t block)
{
    static double uniform[2 * BLOCK];
    uint64_t state = random_skip(271828183, block * 2 * BLOCK);
    double sum_x = 0.0, sum_y = 0.0;

    for (int i = 0; i < 2 * BLOCK; i++) {
        uniform[i] = 2.0 * random_next(&state) - 1.0;
    }
    for (int i = 0; i < 2 * BLOCK; i += 2) {
        double x = uniform[i], y = uniform[i + 1], square = x * x + y * y;

        if (square <= 1.0) {
            double factor = sqrt(-2.0 * log(square) / square);
            double gauss_x = factor * x, gauss_y = factor * y;

            findings->rings[(int)fmax(fabs(gauss_x), fabs(gauss_y))] += 1.0;
            sum_x += gauss_x;
            sum_y += gauss_y;
        }
    }
    findings->x += sum_x;
    findings->y += sum_y;
}

/** All blocks, each by one rank, and what was found in all of them. */
static struct findings count_pairs(int log_pairs)
{
    uint64_t blocks = UINT64_C(1) << (log_pairs - LOG_BLOCK);
    uint64_t first = blocks * (uint64_t)app_rank / (uint64_t)app_ranks;
    uint64_t end = blocks * ((uint64_t)app_rank + 1) / (uint64_t)app_ranks;
    struct findings own = {0}, all = {0};

    for (uint64_t block = first; block < end; block++) {
        add_block(&own, block);
    }
    (void)MPI_Allreduce(&own.x, &all.x, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    (void)MPI_Allreduce(&own.y, &all.y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    (void)MPI_Allreduce(own.rings, all.rings, RINGS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    long class = 0, iterations = 1;
    const struct app_option options[] = {
        {"class", "size of the problem", "S|W|A|B", 0, 0, &class},
        {"iterations", "how often all of it is done", NULL, 1, 1000000, &iterations},
        {NULL, NULL, NULL, 0, 0, NULL},
    };
    app_start(argc, argv, "ep", "random numbers (NAS EP): next to no messages", options);
    const struct problem *problem = &problems[class];
    struct findings found = {0}, warm = {0};
    double pairs = 0.0;
    char check[APP_CHECK_BYTES];
    struct app_result result = {.unit = "MOP/s", .check = check, .communication_share = -1.0};

    if (app_ranks > 1 << (problem->log_pairs - LOG_BLOCK)) {
        app_refuse("this class is too small for %d ranks: choose fewer, or a greater class",
                   app_ranks);
    }
    add_block(&warm, 0);
    app_start_clock();
    for (long i = 0; i < iterations; i++) {
        found = count_pairs(problem->log_pairs);
    }
    result.seconds = app_seconds();
    for (int ring = 0; ring < RINGS; ring++) {
        pairs += found.rings[ring];
    }
    result.figure =
        2.0 * (double)iterations * ldexp(1.0, problem->log_pairs) / result.seconds * 1e-6;
    result.verified = app_agrees(found.x, problem->x, TOLERANCE) &&
                      app_agrees(found.y, problem->y, TOLERANCE) && pairs == problem->pairs;
    (void)snprintf(check, sizeof check,
                   "%.0f of %.0f pairs, sums %.13g and %.13g of %.13g and %.13g", pairs,
                   problem->pairs, found.x, found.y, problem->x, problem->y);
    return app_report(&result);
}
