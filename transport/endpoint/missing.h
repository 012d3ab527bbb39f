/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * missing.h - lanes and features that an endpoint lacks, and why: lanes that its host does not
 * allow, and features of open lanes that the kernel lacks or refuses. docs/KERNELS.md lists them.
 */
#ifndef BEOWIRE_ENDPOINT_MISSING_H
#define BEOWIRE_ENDPOINT_MISSING_H

#include "lane/lane.h"
#include "lane/lane_type.h"

#include <errno.h>

/** Longest reason, with its zero byte. */
#define LANES_REASON_BYTES LANE_WHY_BYTES

/** Longest name, with its zero byte. */
#define LANES_MISSING_NAME_BYTES 48

struct lane_missing {
    char name[LANES_MISSING_NAME_BYTES]; /**< of the lane, or of a feature: "UDP_GRO of udp/eth0" */
    int status;                          /**< why not: a negative errno */
    char reason[LANES_REASON_BYTES];     /**< the reason as text */
};

/** Requested lanes that are missing, with room for all that can be requested (LANES_MAX); and
 *  features that open lanes lack (LANES_LACK), as far as there is room. */
struct lanes_missing {
    unsigned count;
    struct lane_missing at[sizeof(struct lane_of_each) + LANE_LACKS_MAX];
};

/** `status` of a feature that an open lane lacks. */
#define LANES_LACK (-EOPNOTSUPP)

/** Adds one, with its status and the text of beowire_error(). @return it; the caller sets the name,
 *  and a better reason if there is one; NULL: no room. */
struct lane_missing *missing_add(struct lanes_missing *missing, int status);

/** Adds the kernel features that an open lane lacks. */
void missing_add_lacks(struct lanes_missing *missing, const struct lane *lane);

#endif /* BEOWIRE_ENDPOINT_MISSING_H */
