/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/cubed_sphere.h"
#include "common/app.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define PI 3.14159265358979323846
#define SIDES 6
#define LAST (SPHERE_NODES - 1)

/** Places and weights of the nodes from -1 to 1. */
struct rule {
    double at[SPHERE_NODES], weight[SPHERE_NODES], legendre[SPHERE_NODES];
};

/** Where an element is, for the division among ranks. */
struct place {
    double centre[3];
    int number;
};

/** A point of any element at its edge. */
struct copy {
    int64_t point;
    int element, node;
};

/** Legendre's polynomial of degree LAST, and its derivative by (x^2 - 1) / LAST. */
static void legendre(double x, double *value, double *slope)
{
    double before = 1.0;

    *value = x;
    for (int n = 2; n <= LAST; n++) {
        double next = ((2 * n - 1) * x * *value - (n - 1) * before) / n;

        before = *value;
        *value = next;
    }
    *slope = x * *value - before;
}

static struct rule make_rule(void)
{
    struct rule rule;

    for (int i = 0; i < SPHERE_NODES; i++) {
        double x = -cos(PI * i / LAST), value = 0.0, slope = 0.0;

        for (int round = 0; round < 50; round++) { /* Newton, for where the slope is zero */
            legendre(x, &value, &slope);
            x -= slope / (SPHERE_NODES * value);
        }
        legendre(x, &value, &slope);
        rule.at[i] = x;
        rule.legendre[i] = value;
    }
    for (int i = 0; i < SPHERE_NODES; i++) { /* the same to the last bit from both ends */
        int other = LAST - i;

        rule.at[i] = i < other ? rule.at[i] : -rule.at[other];
        rule.legendre[i] =
            fabs(rule.legendre[i < other ? i : other]) * (other % 2 == 0 ? 1.0 : -1.0);
        rule.weight[i] = 2.0 / (SPHERE_NODES * LAST * rule.legendre[i] * rule.legendre[i]);
    }
    return rule;
}

static void make_derivative(const struct rule *rule, double derivative[SPHERE_NODES][SPHERE_NODES])
{
    for (int i = 0; i < SPHERE_NODES; i++) {
        for (int j = 0; j < SPHERE_NODES; j++) {
            derivative[i][j] =
                i == j ? 0.0 : rule->legendre[i] / rule->legendre[j] / (rule->at[i] - rule->at[j]);
        }
    }
    derivative[0][0] = -SPHERE_NODES * LAST / 4.0;
    derivative[LAST][LAST] = SPHERE_NODES * LAST / 4.0;
}

/** Which side an element is of, and where on it. */
struct location {
    /** The side's axis, on which end of it, and the element's place along the next two axes. */
    int axis, end, at[2];
};

static struct location locate(int size, int number)
{
    int side = number / (size * size);

    return (struct location){side / 2, side % 2, {number % size, number / size % size}};
}

/** Tangent of the angle of a node along one direction of a side. */
static double tangent(const struct rule *rule, int size, int element, int node)
{
    double width = PI / 2 / size;
    double middle = width * (element - (size - 1) / 2.0);

    return tan(middle + width / 2 * rule->at[node]);
}

/** Position of tangents on a side, on the sphere. */
static void position_of(struct location where, double x, double y, double position[3])
{
    double length = sqrt(1.0 + x * x + y * y);

    position[where.axis] = (where.end ? 1.0 : -1.0) / length;
    position[(where.axis + 1) % 3] = x / length;
    position[(where.axis + 2) % 3] = y / length;
}

static void make_point(const struct rule *rule, int size, struct location where,
                       struct sphere_element *element, int node)
{
    int i = node % SPHERE_NODES, j = node / SPHERE_NODES;
    double x = tangent(rule, size, where.at[0], i), y = tangent(rule, size, where.at[1], j);
    double square = 1.0 + x * x + y * y, width = PI / 2 / size;
    double *at = element->position[node], speed[3], normal = 0.0;
    double jacobian = (1.0 + x * x) * (1.0 + y * y) / (square * sqrt(square));

    position_of(where, x, y, at);
    speed[0] = -at[1];
    speed[1] = at[0];
    speed[2] = 0.0;
    normal = at[where.axis];
    element->density[node] = jacobian;
    element->area[node] = jacobian * rule->weight[i] * rule->weight[j] * width * width / 4;
    for (int d = 0; d < 2; d++) {
        int along = (where.axis + 1 + d) % 3;
        double tan_d = d == 0 ? x : y;
        /* tangent = at[along] / |normal|, of which this is the change, and the angle's. */
        double change = (speed[along] - at[along] * speed[where.axis] / normal) / fabs(normal);

        element->flux[d][node] = jacobian * change / (1.0 + tan_d * tan_d) * 2 / width;
    }
}

/** Number of a point at an element's edge: where it would be on the cube, in steps from node to
 *  node. Copies of a point have the same, to whichever side they belong. */
static int64_t point_number(int size, struct location where, int node)
{
    int64_t steps = (int64_t)size * LAST, at[3];

    at[where.axis] = where.end ? steps : 0;
    at[(where.axis + 1) % 3] = (int64_t)where.at[0] * LAST + node % SPHERE_NODES;
    at[(where.axis + 2) % 3] = (int64_t)where.at[1] * LAST + node / SPHERE_NODES;
    return at[0] + (steps + 1) * (at[1] + (steps + 1) * at[2]);
}

static int sorting_axis;

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    double difference = a->centre[sorting_axis] - b->centre[sorting_axis];

    /* What differs by rounding only is equal, so that all ranks agree on all machines. */
    return fabs(difference) > 1e-9 ? (difference < 0 ? -1 : 1) : a->number - b->number;
}

/** Gives elements to ranks: half of the ranks have those on one side, and so on. */
static void divide(struct place *places, int count, int first_rank, int ranks, int axis, int *owner)
{
    int lower = ranks / 2, cut = 0;

    if (ranks == 1) {
        for (int i = 0; i < count; i++) {
            owner[places[i].number] = first_rank;
        }
        return;
    }
    cut = (int)((int64_t)count * lower / ranks);
    sorting_axis = axis;
    qsort(places, (size_t)count, sizeof *places, compare_places);
    divide(places, cut, first_rank, lower, (axis + 1) % 3, owner);
    divide(places + cut, count - cut, first_rank + lower, ranks - lower, (axis + 1) % 3, owner);
}

/** The rank of each element. */
static int *find_owners(int size)
{
    int count = SIDES * size * size, *owner = app_memory((size_t)count, sizeof *owner);
    struct place *places = app_memory((size_t)count, sizeof *places);

    for (int i = 0; i < count; i++) {
        struct location where = locate(size, i);
        double width = PI / 2 / size;

        places[i].number = i;
        position_of(where, tan(width * (where.at[0] - (size - 1) / 2.0)),
                    tan(width * (where.at[1] - (size - 1) / 2.0)), places[i].centre);
    }
    divide(places, count, 0, app_ranks, 0, owner);
    free(places);
    return owner;
}

static int compare_copies(const void *left, const void *right)
{
    const struct copy *a = left, *b = right;

    return a->point != b->point ? (a->point < b->point ? -1 : 1) : a->element - b->element;
}

static int compare_pairs(const void *left, const void *right)
{
    const struct sphere_pair *a = left, *b = right;

    if (a->rank != b->rank) {
        return a->rank - b->rank;
    }
    if (a->sender != b->sender) {
        return a->sender - b->sender;
    }
    if (a->receiver != b->receiver) {
        return a->receiver - b->receiver;
    }
    return a->point < b->point ? -1 : a->point > b->point;
}

/** All points at edges, copies of one after the other; how many. */
static int find_copies(int size, struct copy *copies)
{
    int found = 0;

    for (int number = 0; number < SIDES * size * size; number++) {
        for (int node = 0; node < SPHERE_POINTS; node++) {
            int i = node % SPHERE_NODES, j = node / SPHERE_NODES;

            if (i == 0 || j == 0 || i == LAST || j == LAST) {
                copies[found++] =
                    (struct copy){point_number(size, locate(size, number), node), number, node};
            }
        }
    }
    qsort(copies, (size_t)found, sizeof *copies, compare_copies);
    return found;
}

/** Adds the pairs of copies of one point in which this rank has one. */
static void add_pairs(struct sphere *sphere, const struct copy *copies, int count, const int *owner,
                      const int *own_number)
{
    for (int own = 0; own < count; own++) {
        for (int other = 0; other < count; other++) {
            int mine = copies[own].element, theirs = copies[other].element;

            if (own != other && owner[mine] == app_rank) {
                struct sphere_pair pair = {.rank = owner[theirs],
                                           .sender = mine,
                                           .receiver = theirs,
                                           .point = copies[own].point,
                                           .element = own_number[mine],
                                           .node = copies[own].node};

                sphere->out[sphere->pairs] = pair;
                pair.sender = theirs;
                pair.receiver = mine;
                sphere->in[sphere->pairs++] = pair;
            }
        }
    }
}

static void find_pairs(struct sphere *sphere, const int *owner, const int *own_number)
{
    int most = SIDES * sphere->size * sphere->size * 4 * LAST;
    struct copy *copies = app_memory((size_t)most, sizeof *copies);
    int found = find_copies(sphere->size, copies);
    size_t room = (size_t)sphere->elements * 4 * (LAST + 2 * 2);

    sphere->out = app_memory(room, sizeof *sphere->out);
    sphere->in = app_memory(room, sizeof *sphere->in);
    for (int first = 0, end = 0; first < found; first = end) {
        while (end < found && copies[end].point == copies[first].point) {
            end++;
        }
        add_pairs(sphere, copies + first, end - first, owner, own_number);
    }
    qsort(sphere->out, (size_t)sphere->pairs, sizeof *sphere->out, compare_pairs);
    qsort(sphere->in, (size_t)sphere->pairs, sizeof *sphere->in, compare_pairs);
    free(copies);
}

struct sphere sphere_make(int size)
{
    struct sphere sphere = {.size = size};
    struct rule rule = make_rule();
    int count = SIDES * size * size, *owner = NULL, *own_number = NULL;

    if (app_ranks > count) {
        app_refuse("this class is too small for %d ranks: choose at most %d, or a greater class",
                   app_ranks, count);
    }
    owner = find_owners(size);
    own_number = app_memory((size_t)count, sizeof *own_number);
    make_derivative(&rule, sphere.derivative);
    for (int i = 0; i < count; i++) {
        if (owner[i] == app_rank) {
            own_number[i] = sphere.elements++;
        }
    }
    sphere.element = app_memory((size_t)sphere.elements, sizeof *sphere.element);
    for (int i = 0; i < count; i++) {
        if (owner[i] == app_rank) {
            struct sphere_element *element = &sphere.element[own_number[i]];

            element->number = i;
            for (int node = 0; node < SPHERE_POINTS; node++) {
                make_point(&rule, size, locate(size, i), element, node);
            }
        }
    }
    find_pairs(&sphere, owner, own_number);
    free(owner);
    free(own_number);
    return sphere;
}
