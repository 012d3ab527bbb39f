/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * descriptor.h - one file descriptor for all events of an endpoint, so that an application can wait
 * for it together with its other descriptors.
 *
 * It is an epoll descriptor, readable while one of these is:
 *
 *      each lane's    frames have arrived; a lane that must be armed is armed (lane.h)
 *      a timer        a retransmission or an acknowledgement is due
 *      news           the keeper has received frames instead of the application, and there are
 *                     completions
 *
 * Threads: one at a time, with the endpoint's turn.
 */
#ifndef BEOWIRE_ENDPOINT_DESCRIPTOR_H
#define BEOWIRE_ENDPOINT_DESCRIPTOR_H

#include "route/path.h"

#include <stdbool.h>
#include <stdint.h>

struct descriptor {
    bool is_open; /**< the application has asked for it; otherwise no descriptors are used */
    bool rung;    /**< news is readable */
    int all;      /**< the epoll descriptor */
    int news;
    int timer;
    uint64_t timer_ns; /**< when it expires; UINT64_MAX: never */
};

/** @return 0; a negative errno: too many descriptors, or no memory. */
int descriptor_open(struct descriptor *descriptor, const struct path_lanes *lanes);

/** Does nothing if it is not open. */
void descriptor_close(struct descriptor *descriptor);

/** Makes it readable until descriptor_quieten(). */
void descriptor_ring(struct descriptor *descriptor);

void descriptor_quieten(struct descriptor *descriptor);

/** Makes it readable at this (monotonic) time, instead of an earlier set one. */
void descriptor_set_timer(struct descriptor *descriptor, uint64_t time_ns);

#endif /* BEOWIRE_ENDPOINT_DESCRIPTOR_H */
