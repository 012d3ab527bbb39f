/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cubed_sphere.h - a sphere cut into quadrilateral elements, as climate models of the spectral
 * element kind have it, and divided among the ranks.
 *
 * A cube is blown up to a sphere; each of its six sides has size x size elements, equal in angle as
 * seen from the centre, each with SPHERE_NODES x SPHERE_NODES points (those of Gauss, Legendre and
 * Lobatto), of which the outermost are shared with the elements beside it. Every rank knows the
 * whole sphere, but only keeps the geometry of its own elements. The elements are divided by
 * bisection in space: 8 ranks have an octant each.
 */
#ifndef BEOWIRE_APPS_CUBED_SPHERE_H
#define BEOWIRE_APPS_CUBED_SPHERE_H

#include <stdint.h>

#define SPHERE_NODES 8
#define SPHERE_POINTS (SPHERE_NODES * SPHERE_NODES)

/** An element of this rank: what it has at each point. */
struct sphere_element {
    /** Its number among all. */
    int number;
    double position[SPHERE_POINTS][3];
    /** Area that a point stands for, as part of the sphere's 4 pi. */
    double area[SPHERE_POINTS];
    /** Flux of a rotation about the z axis, by one radian a second, along both sides of the
     *  element: to be differentiated, and then divided by `density`. */
    double flux[2][SPHERE_POINTS], density[SPHERE_POINTS];
};

/** A point of an element of this rank that is also one of another element, maybe another rank's. */
struct sphere_pair {
    /** Rank of the other one. */
    int rank;
    /** Number of the element that sends what it has there, and of the one that gets it. */
    int sender, receiver;
    int64_t point;
    /** Which of this rank's elements, and which of its points. */
    int element, node;
};

struct sphere {
    int size, elements;
    struct sphere_element *element;
    /** Derivative at each node of a side of length 2 (row), from the values at all (column). */
    double derivative[SPHERE_NODES][SPHERE_NODES];
    /** What this rank's points send, and what they get; both in the order of ranks, and within a
     *  rank in the same order as that rank has them. */
    int pairs;
    struct sphere_pair *out, *in;
};

/** Makes the sphere; refuses more ranks than there are elements. */
struct sphere sphere_make(int size);

#endif /* BEOWIRE_APPS_CUBED_SPHERE_H */
