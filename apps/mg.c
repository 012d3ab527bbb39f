/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mg.c - the kernel MG of the NAS Parallel Benchmarks: a Poisson equation by multigrid, in 3-D.
 *
 * Own code after the specification (RNR-94-007, section 2.2) and the published constants. Each rank
 * has a box of every grid, with a layer of its neighbours' points around it. After each operation
 * the faces are exchanged, axis by axis, on grids from the finest, with long messages, to one of
 * 2^3 points, with the shortest. Where a grid has fewer points than ranks, some ranks sit idle on
 * it and are given what they need for the next finer one. An axis that is not divided is exchanged
 * with oneself, by messages as well (but not if there is one rank only): so has NPB it.
 */
#include "common/app.h"
#include "common/loops.h"
#include "common/random.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-8
#define MOST_LEVELS 10
#define MOST_POINTS 258
#define EXTREMES 10
#define TAG(axis, forward) (100 + 10 * (axis) + (forward))

static const struct problem {
    int log_size, iterations;
    double smoother[3], norm;
} problems[] = {
    {5, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.5307707005734e-04},
    {7, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.6467329375339e-05},
    {8, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.2433365309069e-05},
    {8, 20, {-3.0 / 17, 1.0 / 33, -1.0 / 61}, 0.1800564401355e-05},
};

/** The box of a grid that is this rank's: points in each direction, x first, the layers around it
 *  included. */
struct box {
    int n[3];
};

struct level {
    struct box box;
    /** Nothing of this grid is here; the neighbours in each direction, backward and forward;
     * whether points of this grid are given to ranks that were idle on the next coarser one, or
     * taken. */
    bool idle, give[3], take[3];
    int neighbour[3][2];
    double *u, *r;
};

struct multigrid {
    const struct problem *problem;
    int finest;
    struct level level[MOST_LEVELS];
    /** First point of this rank in each direction of the finest grid. */
    int first[3];
    double *v;
    /** What goes backward and forward, and what comes in these directions. */
    double *out[2], *in[2];
};

/* Points of a box are p[i + n[0] * (j + n[1] * k)]. */

static size_t points(struct box box)
{
    return (size_t)box.n[0] * (size_t)box.n[1] * (size_t)box.n[2];
}

static double *row(double *grid, struct box box, int j, int k)
{
    return grid + (size_t)box.n[0] * ((size_t)j + (size_t)box.n[1] * (size_t)k);
}

static const double *row_of(const double *grid, struct box box, int j, int k)
{
    return grid + (size_t)box.n[0] * ((size_t)j + (size_t)box.n[1] * (size_t)k);
}

/** Part of a box: from `first` to before `end` in each direction. */
struct part {
    int first[3], end[3];
};

/** Copies a part of a box to a buffer, or from it; how many doubles. */
static int copy_part(double *grid, struct box box, struct part part, double *buffer, bool out)
{
    int width = part.end[0] - part.first[0], count = 0;

    for (int k = part.first[2]; k < part.end[2]; k++) {
        for (int j = part.first[1]; j < part.end[1]; j++) {
            double *line = row(grid, box, j, k) + part.first[0];

            if (width == 1) { /* a face across x, for which a call would cost more than it does */
                *(out ? &buffer[count] : line) = out ? *line : buffer[count];
            } else {
                memcpy(out ? buffer + count : line, out ? line : buffer + count,
                       (size_t)width * sizeof *line);
            }
            count += width;
        }
    }
    return count;
}

/** Layers of a box across an axis. Where layers of earlier axes are there already, they belong to
 *  it, so that edges and corners come along; `whole`: so do those of later axes. */
static struct part layers(struct box box, int axis, int first, int end, bool whole)
{
    struct part part;

    for (int other = 0; other < 3; other++) {
        bool inside = other > axis && !whole;

        part.first[other] = inside ? 1 : 0;
        part.end[other] = box.n[other] - (inside ? 1 : 0);
    }
    part.first[axis] = first;
    part.end[axis] = end;
    return part;
}

static void receive_along(const struct multigrid *grid, const struct level *level, int axis,
                          int room, MPI_Request requests[2])
{
    for (int forward = 0; forward < 2; forward++) {
        (void)MPI_Irecv(grid->in[forward], room, MPI_DOUBLE, level->neighbour[axis][!forward],
                        TAG(axis, forward), MPI_COMM_WORLD, &requests[forward]);
    }
}

static void send_along(const struct multigrid *grid, const struct level *level, int axis,
                       int forward, double *points_of, struct part part)
{
    int count = copy_part(points_of, level->box, part, grid->out[forward], true);

    (void)MPI_Send(grid->out[forward], count, MPI_DOUBLE, level->neighbour[axis][forward],
                   TAG(axis, forward), MPI_COMM_WORLD);
}

/** Room for the layers across any axis, two of them. */
static int face_room(struct box box)
{
    int most = box.n[0] * box.n[1];

    most = box.n[0] * box.n[2] > most ? box.n[0] * box.n[2] : most;
    most = box.n[1] * box.n[2] > most ? box.n[1] * box.n[2] : most;
    return 2 * most;
}

/** Fills the layers around a box from the neighbours. */
static void exchange(const struct multigrid *grid, const struct level *level, double *u)
{
    struct box box = level->box;

    if (level->idle) {
        memset(u, 0, points(box) * sizeof *u);
        return;
    }
    for (int axis = 0; axis < 3; axis++) {
        int last = box.n[axis] - 1;
        struct part inner[2] = {layers(box, axis, 1, 2, false),
                                layers(box, axis, last - 1, last, false)};
        struct part outer[2] = {layers(box, axis, last, last + 1, false),
                                layers(box, axis, 0, 1, false)};
        MPI_Request requests[2];

        if (app_ranks == 1) {
            for (int forward = 0; forward < 2; forward++) {
                (void)copy_part(u, box, inner[forward], grid->out[0], true);
                (void)copy_part(u, box, outer[forward], grid->out[0], false);
            }
            continue;
        }
        receive_along(grid, level, axis, face_room(box), requests);
        send_along(grid, level, axis, 1, u, inner[1]);
        send_along(grid, level, axis, 0, u, inner[0]);
        for (int forward = 0; forward < 2; forward++) {
            (void)MPI_Wait(&requests[forward], MPI_STATUS_IGNORE);
            (void)copy_part(u, box, outer[forward], grid->in[forward], false);
        }
    }
}

/** Gives the points of this grid to ranks that had nothing to make them from. */
static void share_with_idle(const struct multigrid *grid, const struct level *level, double *u)
{
    struct box box = level->box;

    for (int axis = 0; axis < 3; axis++) {
        int last = box.n[axis] - 1;

        if (level->take[axis]) {
            struct part outer[2] = {layers(box, axis, last, last + 1, true),
                                    layers(box, axis, 0, 2, true)};
            MPI_Request requests[2];

            receive_along(grid, level, axis, face_room(box), requests);
            for (int forward = 0; forward < 2; forward++) {
                (void)MPI_Wait(&requests[forward], MPI_STATUS_IGNORE);
                (void)copy_part(u, box, outer[forward], grid->in[forward], false);
            }
        }
        if (level->give[axis]) {
            send_along(grid, level, axis, 1, u, layers(box, axis, last - 1, last + 1, true));
            send_along(grid, level, axis, 0, u, layers(box, axis, 1, 2, true));
        }
    }
}

/** Sums of the four points beside each point of a row, and of the four across the corner. */
static void sums_around(const double *u, struct box box, int j, int k, double *restrict beside,
                        double *restrict across)
{
    const double *restrict a = row_of(u, box, j - 1, k), *restrict b = row_of(u, box, j + 1, k);
    const double *restrict c = row_of(u, box, j, k - 1), *restrict d = row_of(u, box, j, k + 1);
    const double *restrict e = row_of(u, box, j - 1, k - 1);
    const double *restrict f = row_of(u, box, j + 1, k - 1);
    const double *restrict g = row_of(u, box, j - 1, k + 1);
    const double *restrict h = row_of(u, box, j + 1, k + 1);

    for (int i = 0; i < box.n[0]; i++) {
        beside[i] = a[i] + b[i] + c[i] + d[i];
        across[i] = e[i] + f[i] + g[i] + h[i];
    }
}

/** r = v - A u; v may be r. */
static void residual(const struct multigrid *grid, const struct level *level, const double *u,
                     const double *v, double *r)
{
    struct box box = level->box;
    double beside[MOST_POINTS] = {0.0}, across[MOST_POINTS] = {0.0};

    for (int k = 1; k < box.n[2] - 1; k++) {
        for (int j = 1; j < box.n[1] - 1; j++) {
            const double *centre = row_of(u, box, j, k), *right = row_of(v, box, j, k);
            double *to = row(r, box, j, k);

            sums_around(u, box, j, k, beside, across);
            LOOP_STEPS_APART
            for (int i = 1; i < box.n[0] - 1; i++) {
                to[i] = right[i] + 8.0 / 3.0 * centre[i] -
                        1.0 / 6.0 * (across[i] + beside[i - 1] + beside[i + 1]) -
                        1.0 / 12.0 * (across[i - 1] + across[i + 1]);
            }
        }
    }
    exchange(grid, level, r);
}

/** u = u + S r. */
static void smooth(const struct multigrid *grid, const struct level *level, const double *r,
                   double *u)
{
    struct box box = level->box;
    double c0 = grid->problem->smoother[0], c1 = grid->problem->smoother[1];
    double c2 = grid->problem->smoother[2];
    double beside[MOST_POINTS] = {0.0}, across[MOST_POINTS] = {0.0};

    for (int k = 1; k < box.n[2] - 1; k++) {
        for (int j = 1; j < box.n[1] - 1; j++) {
            const double *centre = row_of(r, box, j, k);
            double *to = row(u, box, j, k);

            sums_around(r, box, j, k, beside, across);
            LOOP_STEPS_APART
            for (int i = 1; i < box.n[0] - 1; i++) {
                to[i] = to[i] + c0 * centre[i] + c1 * (centre[i - 1] + centre[i + 1] + beside[i]) +
                        c2 * (across[i] + beside[i - 1] + beside[i + 1]);
            }
        }
    }
    exchange(grid, level, u);
}

/** Which point of the finer grid lies on a point of the coarser one, by the points of the finer. */
static int onto(int finer_points, int at)
{
    return 2 * at - (finer_points == 3 ? 1 : 0);
}

/** Averages the residual of a grid onto the next coarser one. */
static void restrict_to(const struct multigrid *grid, const struct level *fine,
                        const struct level *coarse)
{
    struct box from = fine->box, to = coarse->box;
    double beside[MOST_POINTS] = {0.0}, across[MOST_POINTS] = {0.0};

    for (int k = 1; k < to.n[2] - 1; k++) {
        for (int j = 1; j < to.n[1] - 1; j++) {
            int fine_j = onto(from.n[1], j), fine_k = onto(from.n[2], k);
            const double *centre = row_of(fine->r, from, fine_j, fine_k);
            double *out = row(coarse->r, to, j, k);

            sums_around(fine->r, from, fine_j, fine_k, beside, across);
            for (int i = 1; i < to.n[0] - 1; i++) {
                int at = onto(from.n[0], i);

                out[i] = 0.5 * centre[at] + 0.25 * (centre[at - 1] + centre[at + 1] + beside[at]) +
                         0.125 * (beside[at - 1] + beside[at + 1] + across[at]) +
                         0.0625 * (across[at - 1] + across[at + 1]);
            }
        }
    }
    exchange(grid, coarse, coarse->r);
}

/** Points of the finer grid along an axis: those `at` a point of the coarser one and those
 *  `between` i and i + 1, each of them number 2 * i + 1 less this. If there is only one (and its
 *  neighbours'), that at i = 0 is none of the finer box. */
struct places {
    int at, between;
};

static struct places places_of(int finer_points)
{
    return finer_points == 3 ? (struct places){2, 1} : (struct places){1, 0};
}

/** The mean of the one, two or four rows of the coarser grid that are nearest. */
static void mean_row(const double *z, struct box box, int j, int k, int beyond_j, int beyond_k,
                     double *restrict mean)
{
    const double *a = row_of(z, box, j, k), *b = row_of(z, box, j + beyond_j, k + beyond_k);
    const double *c = row_of(z, box, j + beyond_j, k), *d = row_of(z, box, j, k + beyond_k);

    if (beyond_j && beyond_k) {
        for (int i = 0; i < box.n[0]; i++) {
            mean[i] = 0.25 * (a[i] + b[i] + c[i] + d[i]);
        }
    } else if (beyond_j || beyond_k) {
        for (int i = 0; i < box.n[0]; i++) {
            mean[i] = 0.5 * (a[i] + b[i]);
        }
    } else {
        memcpy(mean, a, (size_t)box.n[0] * sizeof *mean);
    }
}

/** Adds to the finer grid what lies between the points of the coarser one. */
static void prolong(const struct multigrid *grid, const struct level *coarse,
                    const struct level *fine)
{
    struct box from = coarse->box, to = fine->box;
    struct places x = places_of(to.n[0]), y = places_of(to.n[1]), z = places_of(to.n[2]);
    double mean[MOST_POINTS] = {0.0};

    /* Twice as many steps as there are rows: at the row, and between it and the next. */
    for (int twice_k = z.at - 1; twice_k < 2 * (from.n[2] - 1); twice_k++) {
        for (int twice_j = y.at - 1; twice_j < 2 * (from.n[1] - 1); twice_j++) {
            int beyond_j = twice_j % 2, beyond_k = twice_k % 2;
            int j = twice_j / 2, k = twice_k / 2;
            double *out = row(fine->u, to, 2 * j + 1 - (beyond_j ? y.between : y.at),
                              2 * k + 1 - (beyond_k ? z.between : z.at));

            mean_row(coarse->u, from, j, k, beyond_j, beyond_k, mean);
            if (x.at == 1) {
                for (int i = 0; i < from.n[0] - 1; i++) {
                    out[2 * i] += mean[i];
                    out[2 * i + 1] += 0.5 * (mean[i] + mean[i + 1]);
                }
            } else {
                for (int i = 1; i < from.n[0] - 1; i++) {
                    out[2 * i - 1] += mean[i];
                }
                for (int i = 0; i < from.n[0] - 1; i++) {
                    out[2 * i] += 0.5 * (mean[i] + mean[i + 1]);
                }
            }
        }
    }
    share_with_idle(grid, fine, fine->u);
}

/** One V-cycle: the residual down to the coarsest grid, the correction up again. */
static void cycle(const struct multigrid *grid)
{
    const struct level *finest = &grid->level[grid->finest];

    for (int k = grid->finest; k > 0; k--) {
        restrict_to(grid, &grid->level[k], &grid->level[k - 1]);
    }
    for (int k = 0; k < grid->finest; k++) {
        const struct level *level = &grid->level[k];

        memset(level->u, 0, points(level->box) * sizeof *level->u);
        if (k > 0) {
            prolong(grid, level - 1, level);
            residual(grid, level, level->u, level->r, level->r);
        }
        smooth(grid, level, level->r, level->u);
    }
    prolong(grid, finest - 1, finest);
    residual(grid, finest, finest->u, grid->v, finest->r);
    smooth(grid, finest, finest->r, finest->u);
}

/** Root of the mean square of the residual; as in the benchmark the greatest is found, too. */
static double norm(const struct multigrid *grid)
{
    const struct level *finest = &grid->level[grid->finest];
    struct box box = finest->box;
    double sum = 0.0, greatest = 0.0, all = 0.0, size = (double)(1 << grid->problem->log_size);

    for (int k = 1; k < box.n[2] - 1; k++) {
        for (int j = 1; j < box.n[1] - 1; j++) {
            const double *r = row_of(finest->r, box, j, k);

            for (int i = 1; i < box.n[0] - 1; i++) {
                sum += r[i] * r[i];
                greatest = fabs(r[i]) > greatest ? fabs(r[i]) : greatest;
            }
        }
    }
    (void)MPI_Allreduce(&greatest, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    (void)MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(all / (size * size * size));
}

/** A random number and the number of its point in the whole finest grid. */
struct extreme {
    double number, point;
};

/** Puts a number among the greatest so far, which are in order, the least first. */
static void insert(struct extreme *extremes, struct extreme found)
{
    int at = 0;

    if (found.number <= extremes[0].number) {
        return;
    }
    for (; at + 1 < EXTREMES && extremes[at + 1].number < found.number; at++) {
        extremes[at] = extremes[at + 1];
    }
    extremes[at] = found;
}

/** The greatest random numbers of all ranks, and the greatest of 1 - number. */
static void find_extremes(const struct multigrid *grid, struct extreme extremes[2][EXTREMES])
{
    int size = 1 << grid->problem->log_size;
    struct box box = grid->level[grid->finest].box;
    size_t each = (size_t)2 * EXTREMES;
    struct extreme *all = app_memory(each * (size_t)app_ranks, sizeof *all);

    memset(extremes, 0, each * sizeof **extremes);
    for (int k = 0; k < box.n[2] - 2; k++) {
        for (int j = 0; j < box.n[1] - 2; j++) {
            int64_t point =
                grid->first[0] + size * (int64_t)(grid->first[1] + j + size * (grid->first[2] + k));
            uint64_t state = random_skip(314159265, (uint64_t)point);

            for (int i = 0; i < box.n[0] - 2; i++) {
                double number = random_next(&state);

                insert(extremes[0], (struct extreme){number, (double)(point + i)});
                insert(extremes[1], (struct extreme){1.0 - number, (double)(point + i)});
            }
        }
    }
    (void)MPI_Allgather(extremes, (int)(2 * each), MPI_DOUBLE, all, (int)(2 * each), MPI_DOUBLE,
                        MPI_COMM_WORLD);
    memset(extremes, 0, each * sizeof **extremes);
    for (size_t i = 0; i < each * (size_t)app_ranks; i++) {
        insert(extremes[i / EXTREMES % 2], all[i]);
    }
    free(all);
}

/** The right side: +1 at the points with the greatest random numbers, -1 at those with the least.
 */
static void make_right_side(struct multigrid *grid)
{
    const struct level *finest = &grid->level[grid->finest];
    int size = 1 << grid->problem->log_size;
    struct extreme extremes[2][EXTREMES];

    find_extremes(grid, extremes);
    for (int which = 0; which < 2; which++) {
        for (int e = 0; e < EXTREMES; e++) {
            int64_t point = (int64_t)extremes[which][e].point;
            int at[3] = {(int)(point % size), (int)(point / size % size),
                         (int)(point / size / size)};
            bool here = true;

            for (int axis = 0; axis < 3; axis++) {
                at[axis] += 1 - grid->first[axis];
                here = here && at[axis] >= 1 && at[axis] < finest->box.n[axis] - 1;
            }
            if (here) {
                row(grid->v, finest->box, at[1], at[2])[at[0]] = which == 0 ? 1.0 : -1.0;
            }
        }
    }
    exchange(grid, finest, grid->v);
}

/** The points of one axis of a grid that are this rank's, and of the rank `step` further on. */
static int share(int size, int parts, int index)
{
    return (index + 1) * size / parts - index * size / parts;
}

/** Divides one axis of all grids among `parts` ranks, of which this is the index-th, and whose
 *  numbers lie `stride` apart. */
static void divide(struct multigrid *grid, int axis, int parts, int index, int stride)
{
    int step = 1;

    for (int k = grid->finest; k >= 0; k--) {
        struct level *level = &grid->level[k];
        int size = 2 << k, own = share(size, parts, index);
        int next = share(size, parts, index + step);

        level->box.n[axis] = 2 + own;
        level->idle = level->idle || own == 0;
        if (own == 0 || next == 0) {
            step *= 2;
        }
        if (k < grid->finest) {
            level[1].give[axis] = own == 1 && next == 0;
            level[1].take[axis] = own == 0 && next == 1;
        }
        for (int forward = 0; forward < 2; forward++) {
            int other = (index + (forward ? step : parts - step % parts)) % parts;

            level->neighbour[axis][forward] = app_rank + (other - index) * stride;
        }
    }
    grid->first[axis] = index * (2 << grid->finest) / parts;
}

static void make_grids(struct multigrid *grid, const struct problem *problem)
{
    int size = 1 << problem->log_size, log = app_log2_ranks(1 << 20);
    int log_x = log / 3, log_y = (log - log_x) / 2, log_z = log - log_x - log_y;
    size_t room = 0;

    if (1 << log_z > size / 2) {
        app_refuse("this class is too small for %d ranks: choose fewer, or a greater class",
                   app_ranks);
    }
    grid->problem = problem;
    grid->finest = problem->log_size - 1;
    divide(grid, 0, 1 << log_x, app_rank % (1 << log_x), 1);
    divide(grid, 1, 1 << log_y, (app_rank >> log_x) % (1 << log_y), 1 << log_x);
    divide(grid, 2, 1 << log_z, app_rank >> (log_x + log_y), 1 << (log_x + log_y));
    for (int k = 0; k <= grid->finest; k++) {
        grid->level[k].u = app_memory(points(grid->level[k].box), sizeof(double));
        grid->level[k].r = app_memory(points(grid->level[k].box), sizeof(double));
    }
    grid->v = app_memory(points(grid->level[grid->finest].box), sizeof(double));
    room = (size_t)face_room(grid->level[grid->finest].box);
    for (int forward = 0; forward < 2; forward++) {
        grid->out[forward] = app_memory(room, sizeof(double));
        grid->in[forward] = app_memory(room, sizeof(double));
    }
}

/** Starts again from zero. */
static void begin(const struct multigrid *grid)
{
    const struct level *finest = &grid->level[grid->finest];

    memset(finest->u, 0, points(finest->box) * sizeof *finest->u);
}

static void first_residual(const struct multigrid *grid)
{
    const struct level *finest = &grid->level[grid->finest];

    residual(grid, finest, finest->u, grid->v, finest->r);
    (void)norm(grid);
}

static void iterate(const struct multigrid *grid)
{
    const struct level *finest = &grid->level[grid->finest];

    cycle(grid);
    residual(grid, finest, finest->u, grid->v, finest->r);
}

int main(int argc, char **argv)
{
    long class = 0, iterations = 0;
    const struct app_option options[] = {
        {"class", "size of the problem", "S|W|A|B", 0, 0, &class},
        {"iterations", "timed V-cycles, not those of the class", NULL, 1, 1000000, &iterations},
        {NULL, NULL, NULL, 0, 0, NULL},
    };
    app_start(argc, argv, "mg", "multigrid (NAS MG): faces of boxes, long and short", options);
    static struct multigrid grid;
    const struct problem *problem = &problems[class];
    double size = (double)(1 << problem->log_size), last = 0.0, checked = 0.0;
    char check[APP_CHECK_BYTES];
    struct app_result result = {.unit = "MOP/s", .check = check, .communication_share = -1.0};

    make_grids(&grid, problem);
    make_right_side(&grid);
    iterations = iterations > 0 ? iterations : problem->iterations;
    begin(&grid);
    first_residual(&grid);
    iterate(&grid);
    begin(&grid);
    app_start_clock();
    first_residual(&grid);
    for (long i = 1; i <= iterations; i++) {
        iterate(&grid);
        if (i == problem->iterations && i < iterations) {
            checked = norm(&grid);
        }
    }
    last = norm(&grid);
    result.seconds = app_seconds();
    for (long i = iterations; i < problem->iterations; i++) {
        iterate(&grid);
        last = norm(&grid);
    }
    checked = iterations > problem->iterations ? checked : last;
    result.figure = 58.0 * (double)iterations * size * size * size / result.seconds * 1e-6;
    result.verified = app_agrees(checked, problem->norm, TOLERANCE);
    (void)snprintf(check, sizeof check, "norm of the residual %.13g of %.13g", checked,
                   problem->norm);
    return app_report(&result);
}
