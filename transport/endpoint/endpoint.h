/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint.h - what is behind the public handle: a core, the lane it uses, and the clock.
 */
#ifndef BEOWIRE_ENDPOINT_ENDPOINT_H
#define BEOWIRE_ENDPOINT_ENDPOINT_H

#include "endpoint/core.h"

struct beowire_endpoint {
    struct core core;
    struct lane *lane;   /**< owned */
    unsigned idle_polls; /**< polls in a row that found nothing */
    int status;          /**< of the lane, as last asked */
};

#endif /* BEOWIRE_ENDPOINT_ENDPOINT_H */
