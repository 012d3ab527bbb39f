/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * missing.h - what an endpoint does without, and why: lanes that its host does not grant, and what
 * the kernel lacks or refuses of those that are there. docs/KERNELS.md lists it.
 */
#ifndef BEOWIRE_ENDPOINT_MISSING_H
#define BEOWIRE_ENDPOINT_MISSING_H

#include "lane/lane.h"

#include <errno.h>

/** Room for why a lane is missing. */
#define LANES_REASON_BYTES 96

/** Room for the name of what is missing. */
#define LANES_MISSING_NAME_BYTES 48

struct lane_missing {
    char name[LANES_MISSING_NAME_BYTES]; /**< as the lane would have it; "UDP_GRO of udp/eth0" */
    int status;                          /**< why not: a negative errno */
    char reason[LANES_REASON_BYTES];     /**< the same in words */
};

/** Lanes that were wanted, and which the host did not grant: all may be, also those that are never
 *  there together (LANES_MAX); and what those that are there do without (LANES_LACK): so much of it
 *  as there is room for. */
struct lanes_missing {
    unsigned count;
    struct lane_missing at[sizeof(struct lane_of_each) + LANE_LACKS_MAX];
};

/** `status` of what a lane does without that is there. */
#define LANES_LACK (-EOPNOTSUPP)

/** Adds one, with its status and the words that beowire_error() has for it.
 *  @return it, whose name is the caller's to write, and the reason if there is a better one; NULL:
 *  there is no room. */
struct lane_missing *missing_add(struct lanes_missing *missing, int status);

/** Adds what of the kernel a lane that is open does without. */
void missing_add_lacks(struct lanes_missing *missing, const struct lane *lane);

#endif /* BEOWIRE_ENDPOINT_MISSING_H */
