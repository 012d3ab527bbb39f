/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipeline.c - messages between pieces of work, to a rank that works, too: what no ping-pong shows.
 *
 * Three patterns, each compared with what they would take if messages took no time:
 *
 * - sweep: a rank receives a row from the one before it, works, and sends it on; forward through
 *   all ranks, and then backward, as the solver of NAS LU does. Ideal: (stages + ranks - 1) pieces
 *   of work a sweep.
 * - halo: a rank begins to exchange rows with both neighbours, works, and waits for them. Ideal: a
 *   piece of work a step.
 * - lag: rank 0 sends a row after each piece of work and waits for nothing; rank 1 works half as
 *   long and takes them. The figure is the share of rows that could be taken within 10 us of being
 *   sent. Both ranks have to be on one machine (the nodes of a lab are): they compare clocks.
 */
#define _GNU_SOURCE /* for clock_gettime() in C17 */
#include "common/app.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1e9
#define CALIBRATION_NS 1e6
#define CALIBRATIONS 20
#define STAGES 32
#define IN_TIME_NS 10000.0
#define PERCENT 100.0

enum { SWEEP, HALO, LAG };
enum { TAG_UP = 1, TAG_DOWN, TAG_LAG };

/** What is done, and with what. */
struct pipeline {
    int bytes, sweeps;
    double work_ns;
    char *row, *left, *right;
    /** What is in each row after its first number. */
    char *meant;
    /** Rows that were not what their sender meant. */
    int64_t wrong;
};

/** Turns of work() in a nanosecond. */
static double turns_per_ns = 0.1;
static volatile double sink;

static double now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * NS_PER_S + (double)now.tv_nsec;
}

static void work(double ns)
{
    double x = 1.0 + sink;

    for (int64_t i = 0, turns = (int64_t)(ns * turns_per_ns); i < turns; i++) {
        x = x * 0.999999 + 1e-6;
    }
    sink = x * 1e-9;
}

/** Finds out how fast work() is where nothing disturbs it: the quickest of several attempts. */
static void calibrate(void)
{
    double best = 1e30;

    for (int i = 0; i < CALIBRATIONS; i++) {
        double took = now_ns();

        work(CALIBRATION_NS);
        took = now_ns() - took;
        best = took < best ? took : best;
    }
    turns_per_ns *= CALIBRATION_NS / best;
}

static bool is_whole(const struct pipeline *p, const char *row)
{
    return memcmp(row + sizeof(int64_t), p->meant + sizeof(int64_t),
                  (size_t)p->bytes - sizeof(int64_t)) == 0;
}

/** Rows begin with a number that their receiver expects. */
static void check(struct pipeline *p, const char *row, int64_t expected)
{
    int64_t found = 0;

    memcpy(&found, row, sizeof found);
    p->wrong += found != expected || !is_whole(p, row);
}

static void make_rows(struct pipeline *p)
{
    p->row = app_memory((size_t)p->bytes, 1);
    p->left = app_memory((size_t)p->bytes, 1);
    p->right = app_memory((size_t)p->bytes, 1);
    p->meant = app_memory((size_t)p->bytes, 1);
    for (int i = 0; i < p->bytes; i++) {
        p->row[i] = p->meant[i] = (char)(i * 31 + 7);
    }
}

/** Returns the nanoseconds that a stage should take. */
static double sweep(struct pipeline *p)
{
    for (int s = 0; s < p->sweeps; s++) {
        int step = s % 2 == 0 ? 1 : -1, from = app_rank - step, to = app_rank + step;

        for (int64_t k = 0; k < STAGES; k++) {
            int64_t number = (int64_t)s * STAGES + k;

            if (from >= 0 && from < app_ranks) {
                (void)MPI_Recv(p->row, p->bytes, MPI_BYTE, from, TAG_UP, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE);
                check(p, p->row, number);
            }
            work(p->work_ns);
            if (to >= 0 && to < app_ranks) {
                memcpy(p->row, &number, sizeof number);
                (void)MPI_Send(p->row, p->bytes, MPI_BYTE, to, TAG_UP, MPI_COMM_WORLD);
            }
        }
    }
    return p->work_ns * (STAGES + app_ranks - 1) / STAGES;
}

static double halo(struct pipeline *p)
{
    int before = (app_rank + app_ranks - 1) % app_ranks, after = (app_rank + 1) % app_ranks;

    for (int64_t step = 0; step < (int64_t)p->sweeps * STAGES; step++) {
        MPI_Request request[4];

        memcpy(p->row, &step, sizeof step);
        (void)MPI_Irecv(p->left, p->bytes, MPI_BYTE, before, TAG_UP, MPI_COMM_WORLD, &request[0]);
        (void)MPI_Irecv(p->right, p->bytes, MPI_BYTE, after, TAG_DOWN, MPI_COMM_WORLD, &request[1]);
        (void)MPI_Isend(p->row, p->bytes, MPI_BYTE, after, TAG_UP, MPI_COMM_WORLD, &request[2]);
        (void)MPI_Isend(p->row, p->bytes, MPI_BYTE, before, TAG_DOWN, MPI_COMM_WORLD, &request[3]);
        work(p->work_ns);
        (void)MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
        check(p, p->left, step);
        check(p, p->right, step);
    }
    return p->work_ns;
}

/** Returns the share of the rows that rank 1 had in time, in per cent; on rank 0, too. */
static double lag(struct pipeline *p)
{
    int64_t rows = (int64_t)p->sweeps * STAGES;
    double in_time = 0.0, sent = 0.0, latest = 0.0;

    for (int64_t row = 0; row < rows && app_rank == 0; row++) {
        work(p->work_ns);
        sent = now_ns();
        memcpy(p->row, &sent, sizeof sent);
        (void)MPI_Send(p->row, p->bytes, MPI_BYTE, 1, TAG_LAG, MPI_COMM_WORLD);
    }
    for (int64_t row = 0; row < rows && app_rank == 1; row++) {
        double asked = 0.0;

        work(p->work_ns / 2);
        asked = now_ns();
        (void)MPI_Recv(p->row, p->bytes, MPI_BYTE, 0, TAG_LAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        memcpy(&sent, p->row, sizeof sent);
        /* A row that was sent while this rank worked is late only from when it was asked for. */
        in_time += now_ns() - (asked > sent ? asked : sent) <= IN_TIME_NS ? 1.0 : 0.0;
        p->wrong += sent < latest || !is_whole(p, p->row);
        latest = sent;
    }
    (void)MPI_Bcast(&in_time, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    return PERCENT * in_time / (double)rows;
}

int main(int argc, char **argv)
{
    static const long sweeps[] = {50, 200, 800, 3200};
    long class = 0, iterations = 0, pattern = SWEEP, bytes = 1320, work_ns = 20000;
    const struct app_option options[] = {
        {"class", "how often: 50, 200, 800, 3200 times 32 rows", "S|W|A|B", 0, 0, &class},
        {"iterations", "how often, not as for the class", NULL, 1, 1000000, &iterations},
        {"pattern", "what is done", "sweep|halo|lag", 0, 0, &pattern},
        {"bytes", "length of a row", NULL, 8, 1L << 30, &bytes},
        {"work", "nanoseconds of a piece of work", NULL, 0, 1000000000, &work_ns},
        {NULL, NULL, NULL, 0, 0, NULL},
    };
    app_start(argc, argv, "pipeline", "messages between pieces of work, to a rank that works",
              options);
    struct pipeline p = {.bytes = (int)bytes, .work_ns = (double)work_ns};
    struct app_result result = {.unit = "% of ideal", .communication_share = -1.0};
    char check_text[APP_CHECK_BYTES];
    int64_t all = 0;
    double ideal_ns = 0.0;

    if (pattern == LAG && app_ranks < 2) {
        app_refuse("the pattern lag needs two ranks or more: choose another -n");
    }
    p.sweeps = (int)(iterations > 0 ? iterations : sweeps[class]);
    make_rows(&p);
    calibrate();
    app_start_clock();
    if (pattern == LAG) {
        result.figure = lag(&p);
        result.unit = "% in time";
    } else {
        ideal_ns = pattern == SWEEP ? sweep(&p) : halo(&p);
    }
    result.seconds = app_seconds();
    if (pattern != LAG) {
        result.figure = PERCENT * ideal_ns * p.sweeps * STAGES / (result.seconds * NS_PER_S);
    }
    (void)MPI_Allreduce(&p.wrong, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    (void)snprintf(check_text, sizeof check_text, "%lld rows were not as they were sent",
                   (long long)all);
    result.verified = all == 0;
    result.check = check_text;
    free(p.row);
    free(p.left);
    free(p.right);
    free(p.meant);
    return app_report(&result);
}
