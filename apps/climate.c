/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * climate.c - a model of the atmosphere, reduced to its messages: spectral elements on a cubed
 * sphere, as in HOMME.
 *
 * Own code. Three fields on each level are carried around the sphere by a rotation; time advances
 * in three stages (Shu and Osher's method of order 3). After each stage the elements' common points
 * get the mean of all elements that have them, for which each rank sends one long message to each
 * neighbour: for each pair of elements with a common edge or corner, its points on all levels. So
 * with 96 levels and 6 x 6 elements on each of 6 sides (class A, the "tiny" case of HOMME's
 * benchmark) a message has 288 numbers a point where HOMME's have 289, and on 8 ranks six of them
 * go out of each rank: three of 134 kB, three of 2.3 kB. --work makes the computation of a stage
 * longer, for a model that has more of it.
 *
 * A rotation is known at all times, and no field may become more or less: both are checked.
 */
#include "common/app.h"
#include "common/cubed_sphere.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS 3
/** Layers that are computed together. */
#define CHUNK 32
#define MASS_TOLERANCE 1e-12

static const struct problem {
    int size, levels, steps;
    /** What is allowed of difference between numbers of 1 to 3 and the rotation. */
    double tolerance;
} problems[] = {{2, 4, 50, 1e-3}, {4, 24, 100, 1e-5}, {6, 96, 200, 1e-6}, {12, 96, 100, 1e-8}};

/** What is exchanged with a rank: its part of the pairs. */
struct neighbour {
    int rank, first, count;
};

struct model {
    struct sphere sphere;
    int layers;
    double step;
    long work;
    /** [element][node][layer]: now, and in the stages between. */
    double *now, *stage;
    /** Rotation of each layer, as a part of the fastest. */
    double *speed;
    /** By element and node: the inverse of the areas of all copies of a point; 0 if it has none. */
    double *shared;
    /** [pair][layer]. */
    double *out, *in;
    int neighbours;
    struct neighbour *neighbour;
    MPI_Request *requests;
    double seconds_communicating;
};

static double *at(const struct model *model, double *field, int element, int node)
{
    return field + (size_t)model->layers * ((size_t)element * SPHERE_POINTS + (size_t)node);
}

/** Multiplies what is in the stage at common points: by each copy's area, or by the inverse of all
 *  copies' together. */
static void weigh(const struct model *model, bool all)
{
    for (int e = 0; e < model->sphere.elements; e++) {
        for (int node = 0; node < SPHERE_POINTS; node++) {
            double inverse = model->shared[(size_t)e * SPHERE_POINTS + (size_t)node];
            double factor = all ? inverse : model->sphere.element[e].area[node];
            double *value = at(model, model->stage, e, node);

            for (int l = 0; inverse != 0.0 && l < model->layers; l++) {
                value[l] *= factor;
            }
        }
    }
}

/** Starts what goes out and comes in; within the rank nothing has to be copied. */
static void communicate(struct model *model)
{
    double began = MPI_Wtime();
    int count = 0;

    for (int n = 0; n < model->neighbours; n++) {
        const struct neighbour *with = &model->neighbour[n];
        size_t first = (size_t)with->first * (size_t)model->layers;
        int length = with->count * model->layers;

        if (with->rank != app_rank) {
            (void)MPI_Irecv(model->in + first, length, MPI_DOUBLE, with->rank, 0, MPI_COMM_WORLD,
                            &model->requests[count++]);
        }
    }
    for (int n = 0; n < model->neighbours; n++) {
        const struct neighbour *with = &model->neighbour[n];
        size_t first = (size_t)with->first * (size_t)model->layers;
        int length = with->count * model->layers;

        if (with->rank != app_rank) {
            (void)MPI_Isend(model->out + first, length, MPI_DOUBLE, with->rank, 0, MPI_COMM_WORLD,
                            &model->requests[count++]);
        }
    }
    (void)MPI_Waitall(count, model->requests, MPI_STATUSES_IGNORE);
    model->seconds_communicating += MPI_Wtime() - began;
}

/** Adds up the copies of common points, weighed by their areas. */
static void add_copies(struct model *model)
{
    size_t layers = (size_t)model->layers;

    weigh(model, false);
    for (int p = 0; p < model->sphere.pairs; p++) {
        const struct sphere_pair *pair = &model->sphere.out[p];

        memcpy(model->out + (size_t)p * layers, at(model, model->stage, pair->element, pair->node),
               layers * sizeof(double));
    }
    communicate(model);
    for (int p = 0; p < model->sphere.pairs; p++) {
        const struct sphere_pair *pair = &model->sphere.in[p];
        const double *from = (pair->rank == app_rank ? model->out : model->in) + (size_t)p * layers;
        double *to = at(model, model->stage, pair->element, pair->node);

        for (size_t l = 0; l < layers; l++) {
            to[l] += from[l];
        }
    }
}

/** Some layers of an element: [node][layer]. */
struct chunk {
    double value[SPHERE_POINTS][CHUNK];
};

/** The change of a point's fields in time, for a rotation at full speed. */
static void divergence(const struct model *model, const struct sphere_element *element, int node,
                       const struct chunk *flux, double *restrict sum)
{
    int i = node % SPHERE_NODES, j = node / SPHERE_NODES;
    double inverse = -1.0 / element->density[node];

    for (int l = 0; l < CHUNK; l++) {
        sum[l] = 0.0;
    }
    for (int n = 0; n < SPHERE_NODES; n++) {
        double along = model->sphere.derivative[i][n] * inverse;
        double across = model->sphere.derivative[j][n] * inverse;
        const double *restrict a = flux[0].value[j * SPHERE_NODES + n];
        const double *restrict b = flux[1].value[n * SPHERE_NODES + i];

        for (int l = 0; l < CHUNK; l++) {
            sum[l] += along * a[l] + across * b[l];
        }
    }
}

/** One stage for some layers of an element: stage = old * now + new * (stage + step * change). */
static void advance_chunk(const struct model *model, int e, int first, double old, double new)
{
    const struct sphere_element *element = &model->sphere.element[e];
    int count = model->layers - first < CHUNK ? model->layers - first : CHUNK;
    static struct chunk flux[2]; /* what is beyond `count` is of no consequence */
    double sum[CHUNK];

    for (int node = 0; node < SPHERE_POINTS; node++) {
        const double *value = at(model, model->stage, e, node) + first;

        for (int l = 0; l < count; l++) {
            double carried = value[l] * model->speed[first + l];

            flux[0].value[node][l] = element->flux[0][node] * carried;
            flux[1].value[node][l] = element->flux[1][node] * carried;
        }
    }
    for (int node = 0; node < SPHERE_POINTS; node++) {
        const double *now = at(model, model->now, e, node) + first;
        double *value = at(model, model->stage, e, node) + first;

        for (long again = 0; again < model->work; again++) {
            divergence(model, element, node, flux, sum);
        }
        for (int l = 0; l < count; l++) {
            value[l] = old * now[l] + new *(value[l] + model->step * sum[l]);
        }
    }
}

static void advance(struct model *model, double old, double new)
{
    for (int e = 0; e < model->sphere.elements; e++) {
        for (int first = 0; first < model->layers; first += CHUNK) {
            advance_chunk(model, e, first, old, new);
        }
    }
    add_copies(model);
    weigh(model, true);
}

static size_t numbers(const struct model *model)
{
    return (size_t)model->sphere.elements * SPHERE_POINTS * (size_t)model->layers;
}

static void step(struct model *model)
{
    double *before = model->now;

    memcpy(model->stage, model->now, numbers(model) * sizeof *model->now);
    advance(model, 0.0, 1.0);
    advance(model, 3.0 / 4, 1.0 / 4);
    advance(model, 1.0 / 3, 2.0 / 3);
    model->now = model->stage;
    model->stage = before;
}

/** What a layer's field is at a point after so long. */
static double exact(const struct model *model, int layer, const double position[3], double time)
{
    /* A direction of its own for each layer, turned by then. */
    double height = 0.6 * sin(1.0 + layer), width = sqrt(1.0 - height * height);
    double angle = 2.4 * layer + model->speed[layer] * time;
    double cosine =
        width * (position[0] * cos(angle) + position[1] * sin(angle)) + height * position[2];

    return 2.0 + pow(cosine, layer % FIELDS + 1);
}

/** Sets the fields as they are in the beginning, or finds how far from the rotation they are. */
static double compare(const struct model *model, double time, bool fill)
{
    double worst = 0.0;

    for (int e = 0; e < model->sphere.elements; e++) {
        for (int node = 0; node < SPHERE_POINTS; node++) {
            double *value = at(model, model->now, e, node);

            for (int l = 0; l < model->layers; l++) {
                double right = exact(model, l, model->sphere.element[e].position[node], time);
                double off = fabs(value[l] - right);

                if (fill) {
                    value[l] = right;
                } else {
                    worst = off <= worst ? worst : off; /* also if it is no number */
                }
            }
        }
    }
    return worst;
}

/** How much there is of each layer's field on the whole sphere. */
static void find_masses(const struct model *model, double *masses)
{
    double *own = app_memory((size_t)model->layers, sizeof *own);

    for (int e = 0; e < model->sphere.elements; e++) {
        for (int node = 0; node < SPHERE_POINTS; node++) {
            const double *value = at(model, model->now, e, node);

            for (int l = 0; l < model->layers; l++) {
                own[l] += value[l] * model->sphere.element[e].area[node];
            }
        }
    }
    (void)MPI_Allreduce(own, masses, model->layers, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    free(own);
}

/** Finds what all copies of each common point have of area together, by adding up ones. */
static void find_shared(struct model *model)
{
    for (int p = 0; p < model->sphere.pairs; p++) {
        const struct sphere_pair *pair = &model->sphere.out[p];

        model->shared[pair->element * SPHERE_POINTS + pair->node] = 1.0;
    }
    for (size_t i = 0; i < numbers(model); i++) {
        model->stage[i] = 1.0;
    }
    add_copies(model);
    for (int i = 0; i < model->sphere.elements * SPHERE_POINTS; i++) {
        if (model->shared[i] != 0.0) {
            model->shared[i] = 1.0 / model->stage[(size_t)i * (size_t)model->layers];
        }
    }
}

static struct model make_model(const struct problem *problem)
{
    struct model model = {
        .sphere = sphere_make(problem->size),
        .layers = FIELDS * problem->levels,
        .step = 0.012 / problem->size,
        .work = 1,
    };
    size_t buffer = (size_t)model.sphere.pairs * (size_t)model.layers;

    model.now = app_memory(numbers(&model), sizeof(double));
    model.stage = app_memory(numbers(&model), sizeof(double));
    model.speed = app_memory((size_t)model.layers, sizeof(double));
    model.shared = app_memory((size_t)model.sphere.elements * SPHERE_POINTS, sizeof(double));
    model.out = app_memory(buffer, sizeof(double));
    model.in = app_memory(buffer, sizeof(double));
    model.neighbour = app_memory((size_t)app_ranks, sizeof *model.neighbour);
    model.requests = app_memory((size_t)app_ranks * 2, sizeof(MPI_Request));
    for (int l = 0; l < model.layers; l++) {
        model.speed[l] = 1.0 - 0.5 * l / model.layers;
    }
    for (int p = 0; p < model.sphere.pairs; p++) {
        struct neighbour *last = &model.neighbour[model.neighbours];

        if (p == 0 || model.sphere.out[p].rank != model.sphere.out[p - 1].rank) {
            *last = (struct neighbour){.rank = model.sphere.out[p].rank, .first = p};
            model.neighbours++;
        }
        model.neighbour[model.neighbours - 1].count++;
    }
    find_shared(&model);
    return model;
}

int main(int argc, char **argv)
{
    long class = 0, iterations = 0, work = 1;
    const struct app_option options[] = {
        {"class", "elements along a side, and levels: 2 4, 4 24, 6 96, 12 96", "S|W|A|B", 0, 0,
         &class},
        {"iterations", "timed steps, not those of the class", NULL, 1, 1000000, &iterations},
        {"work", "how often each derivative is computed", NULL, 1, 1000, &work},
        {NULL, NULL, NULL, 0, 0, NULL},
    };
    app_start(argc, argv, "climate", "spectral elements on a sphere, as in HOMME: long messages",
              options);
    const struct problem *problem = &problems[class];
    struct model model = make_model(problem);
    double *before = app_memory((size_t)model.layers, sizeof *before);
    double *after = app_memory((size_t)model.layers, sizeof *after);
    double own = 0.0, worst = 0.0, lost = 0.0, allowed = 0.0;
    char check[APP_CHECK_BYTES];
    struct app_result result = {.unit = "steps/s", .check = check};

    model.work = work;
    iterations = iterations > 0 ? iterations : problem->steps;
    (void)compare(&model, 0.0, true);
    step(&model);
    (void)compare(&model, 0.0, true);
    find_masses(&model, before);
    model.seconds_communicating = 0.0;
    app_start_clock();
    for (long i = 0; i < iterations; i++) {
        step(&model);
    }
    result.seconds = app_seconds();
    result.communication_share = app_share(model.seconds_communicating);
    own = compare(&model, model.step * (double)iterations, false);
    (void)MPI_Allreduce(&own, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    find_masses(&model, after);
    for (int l = 0; l < model.layers; l++) {
        double now = fabs(after[l] / before[l] - 1.0);

        lost = now <= lost ? lost : now;
    }
    allowed = problem->tolerance *
              (iterations > problem->steps ? (double)iterations / problem->steps : 1.0);
    result.figure = (double)iterations / result.seconds;
    result.verified = worst <= allowed && lost <= MASS_TOLERANCE;
    (void)snprintf(check, sizeof check,
                   "rotation off by %.1e (at most %.0e), mass by %.1e (at most %.0e)", worst,
                   allowed, lost, MASS_TOLERANCE);
    return app_report(&result);
}
