/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * halo.c - waves in a periodic box: each rank has a part of it, and exchanges faces with its six
 * neighbours at each step.
 *
 * Own code. The wave equation in second differences: what most programs on regular grids do. With
 * --overlap yes the points that need no neighbour are computed while the faces are on their way.
 * It begins with a wave that the differences only turn in time, by a known angle each step, so that
 * the result is known for every point.
 */
#include "common/app.h"
#include "common/loops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOLERANCE 1e-9
#define COURANT 0.25 /* its square: (speed * step / distance)^2 */
#define PI 3.14159265358979323846

static const struct problem {
    int size, steps;
} problems[] = {{32, 100}, {64, 100}, {128, 100}, {256, 50}};

/** How often the wave goes up and down along each axis. */
static const int waves[3] = {1, 2, 3};

/** A face that is exchanged. */
struct face {
    int axis, with, count;
    bool high;
    double *out, *in;
};

struct box {
    int size, own[3], first[3];
    /** Points now, before and next, with a layer around them. */
    double *now, *before;
    struct face face[6];
    double seconds_communicating;
};

static size_t place(const struct box *box, int i, int j, int k)
{
    size_t up = (size_t)box->own[0] + 2, far = up * ((size_t)box->own[1] + 2);

    return (size_t)i + 1 + up * ((size_t)j + 1) + far * ((size_t)k + 1);
}

/** Copies a layer across an axis to a buffer or from it. */
static void copy_layer(const struct box *box, int axis, int layer, double *buffer, bool out)
{
    int first[3] = {0, 0, 0}, end[3] = {box->own[0], box->own[1], box->own[2]};

    first[axis] = layer;
    end[axis] = layer + 1;
    for (int k = first[2]; k < end[2]; k++) {
        for (int j = first[1]; j < end[1]; j++) {
            double *row = box->now + place(box, first[0], j, k);
            int width = end[0] - first[0];

            if (width == 1) {
                *(out ? buffer : row) = out ? *row : *buffer;
            } else {
                memcpy(out ? buffer : row, out ? row : buffer, (size_t)width * sizeof *row);
            }
            buffer += width;
        }
    }
}

static void start_exchange(struct box *box, MPI_Request *requests)
{
    double began = MPI_Wtime();

    for (int f = 0; f < 6; f++) {
        struct face *face = &box->face[f];

        /* What a neighbour sends from its high face comes to the low one here. */
        (void)MPI_Irecv(face->in, face->count, MPI_DOUBLE, face->with,
                        2 * face->axis + (face->high ? 0 : 1), MPI_COMM_WORLD, &requests[f]);
    }
    box->seconds_communicating += MPI_Wtime() - began;
    for (int f = 0; f < 6; f++) {
        struct face *face = &box->face[f];

        copy_layer(box, face->axis, face->high ? box->own[face->axis] - 1 : 0, face->out, true);
    }
    began = MPI_Wtime();
    for (int f = 0; f < 6; f++) {
        struct face *face = &box->face[f];

        (void)MPI_Isend(face->out, face->count, MPI_DOUBLE, face->with,
                        2 * face->axis + (face->high ? 1 : 0), MPI_COMM_WORLD, &requests[6 + f]);
    }
    box->seconds_communicating += MPI_Wtime() - began;
}

static void end_exchange(struct box *box, MPI_Request *requests)
{
    double began = MPI_Wtime();

    /* They were started by start_exchange(), which the analyzer does not see. */
    /* NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker) */
    (void)MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
    box->seconds_communicating += MPI_Wtime() - began;
    for (int f = 0; f < 6; f++) {
        struct face *face = &box->face[f];

        copy_layer(box, face->axis, face->high ? box->own[face->axis] : -1, face->in, false);
    }
}

/** One step in time for a part of the box, into what was before. */
static void advance(const struct box *box, const int first[3], const int end[3])
{
    size_t up = (size_t)box->own[0] + 2, far = up * ((size_t)box->own[1] + 2);

    for (int k = first[2]; k < end[2]; k++) {
        for (int j = first[1]; j < end[1]; j++) {
            const double *u = box->now + place(box, 0, j, k);
            double *to = box->before + place(box, 0, j, k);

            LOOP_STEPS_APART
            for (int i = first[0]; i < end[0]; i++) {
                const double *v = u + i;

                to[i] =
                    2.0 * v[0] - to[i] +
                    COURANT * (v[-1] + v[1] + *(v - up) + v[up] + *(v - far) + v[far] - 6.0 * v[0]);
            }
        }
    }
}

/** The points that need faces: a shell, cut into six slabs. */
static void advance_shell(const struct box *box)
{
    int inner_first[3] = {0, 0, 0}, inner_end[3] = {box->own[0], box->own[1], box->own[2]};

    for (int axis = 2; axis >= 0; axis--) {
        int first[3], end[3];

        memcpy(first, inner_first, sizeof first);
        memcpy(end, inner_end, sizeof end);
        end[axis] = 1;
        advance(box, first, end);
        first[axis] = inner_end[axis] - 1;
        end[axis] = inner_end[axis];
        advance(box, first, end);
        inner_first[axis]++;
        inner_end[axis]--;
    }
}

static void step(struct box *box, bool overlap)
{
    MPI_Request requests[12];
    double *now = box->now;

    start_exchange(box, requests);
    if (overlap) {
        advance(box, (int[3]){1, 1, 1},
                (int[3]){box->own[0] - 1, box->own[1] - 1, box->own[2] - 1});
        end_exchange(box, requests);
        advance_shell(box);
    } else {
        end_exchange(box, requests);
        advance(box, (int[3]){0, 0, 0}, box->own);
    }
    box->now = box->before;
    box->before = now;
}

static struct box make_box(const struct problem *problem)
{
    int parts[3] = {0, 0, 0}, index[3], stride = 1;
    struct box box = {.size = problem->size};
    size_t points = 1;

    (void)MPI_Dims_create(app_ranks, 3, parts);
    index[0] = app_rank % parts[0];
    index[1] = app_rank / parts[0] % parts[1];
    index[2] = app_rank / parts[0] / parts[1];
    for (int axis = 0; axis < 3; stride *= parts[axis], axis++) {
        if (problem->size / parts[axis] < 2) {
            app_refuse("this class is too small for %d ranks: choose fewer, or a greater class",
                       app_ranks);
        }
        box.first[axis] = (int)((long)problem->size * index[axis] / parts[axis]);
        box.own[axis] =
            (int)((long)problem->size * (index[axis] + 1) / parts[axis]) - box.first[axis];
        points *= (size_t)box.own[axis] + 2;
        for (int high = 0; high < 2; high++) {
            int other = (index[axis] + (high ? 1 : parts[axis] - 1)) % parts[axis];

            box.face[2 * axis + high] = (struct face){
                .axis = axis,
                .high = high,
                .with = app_rank + (other - index[axis]) * stride,
            };
        }
    }
    for (int f = 0; f < 6; f++) {
        struct face *face = &box.face[f];

        face->count = box.own[(face->axis + 1) % 3] * box.own[(face->axis + 2) % 3];
        face->out = app_memory((size_t)face->count, sizeof *face->out);
        face->in = app_memory((size_t)face->count, sizeof *face->in);
    }
    box.now = app_memory(points, sizeof *box.now);
    box.before = app_memory(points, sizeof *box.before);
    return box;
}

/** The angle by which the wave turns in each step. */
static double angle_of(int size)
{
    double sum = 0.0;

    for (int axis = 0; axis < 3; axis++) {
        sum += 1.0 - cos(2.0 * PI * waves[axis] / size);
    }
    return acos(1.0 - COURANT * sum);
}

/** The phase of the wave at a point. */
static double phase(const struct box *box, int i, int j, int k)
{
    int turns = waves[0] * (box->first[0] + i) + waves[1] * (box->first[1] + j) +
                waves[2] * (box->first[2] + k);

    return 2.0 * PI * (turns % box->size) / box->size;
}

/** Fills the points of this rank with the wave after so many steps, and before the last of them;
 *  or finds how far off it is. */
static double compare(const struct box *box, double steps, bool fill)
{
    double turned = fmod(angle_of(box->size) * steps, 2.0 * PI), before = angle_of(box->size);
    double worst = 0.0;

    for (int k = 0; k < box->own[2]; k++) {
        for (int j = 0; j < box->own[1]; j++) {
            for (int i = 0; i < box->own[0]; i++) {
                size_t at = place(box, i, j, k);
                double wave = cos(phase(box, i, j, k) - turned);

                if (fill) {
                    box->now[at] = wave;
                    box->before[at] = cos(phase(box, i, j, k) - turned + before);
                } else {
                    double off = fabs(box->now[at] - wave);

                    worst = off <= worst ? worst : off; /* also if it is no number */
                }
            }
        }
    }
    return worst;
}

int main(int argc, char **argv)
{
    long class = 0, iterations = 0, overlap = 0;
    const struct app_option options[] = {
        {"class", "size of the box: 32, 64, 128, 256 points each way", "S|W|A|B", 0, 0, &class},
        {"iterations", "timed steps, not those of the class", NULL, 1, 100000000, &iterations},
        {"overlap", "whether to compute while faces are on their way", "no|yes", 0, 0, &overlap},
        {NULL, NULL, NULL, 0, 0, NULL},
    };
    app_start(argc, argv, "halo", "waves in a box: six faces exchanged each step", options);
    struct box box = make_box(&problems[class]);
    char check[APP_CHECK_BYTES];
    double worst = 0.0, all = 0.0;
    struct app_result result = {.unit = "Mpoints/s", .check = check};

    iterations = iterations > 0 ? iterations : problems[class].steps;
    (void)compare(&box, 0.0, true);
    step(&box, overlap);
    (void)compare(&box, 0.0, true);
    box.seconds_communicating = 0.0;
    app_start_clock();
    for (long i = 0; i < iterations; i++) {
        step(&box, overlap);
    }
    result.seconds = app_seconds();
    result.communication_share = app_share(box.seconds_communicating);
    worst = compare(&box, (double)iterations, false);
    (void)MPI_Allreduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    result.figure = pow(box.size, 3) * (double)iterations / result.seconds * 1e-6;
    result.verified = all <= TOLERANCE;
    (void)snprintf(check, sizeof check, "wave after %ld steps off by %.1e (at most %.0e)",
                   iterations, all, TOLERANCE);
    return app_report(&result);
}
