/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint.h - what is behind the public handle: a core, the lanes it uses, and the clock.
 */
#ifndef BEOWIRE_ENDPOINT_ENDPOINT_H
#define BEOWIRE_ENDPOINT_ENDPOINT_H

#include "endpoint/core.h"

struct beowire_endpoint {
    struct core core;
    int number_holder;   /**< descriptor that reserves the endpoint's number */
    unsigned idle_polls; /**< polls in a row that found nothing */
    int status;          /**< of the lanes, as last asked */
};

#endif /* BEOWIRE_ENDPOINT_ENDPOINT_H */
