/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * descriptor.h - one file descriptor for all that an endpoint waits for, to be slept on together
 * with descriptors of others.
 *
 * An epoll descriptor, which is itself readable as long as one of these is:
 *
 *      each lane's    frames have come; a lane that has to be armed for that is (lane.h)
 *      a timer        a frame has to be repeated, an acknowledgement is due
 *      news           the endpoint's own thread has taken frames in the application's place, and
 *                     there are completions now
 *
 * Threads: one at a time, so whoever has the endpoint's turn.
 */
#ifndef BEOWIRE_ENDPOINT_DESCRIPTOR_H
#define BEOWIRE_ENDPOINT_DESCRIPTOR_H

#include "route/path.h"

#include <stdbool.h>
#include <stdint.h>

struct descriptor {
    bool is_open; /**< someone has asked for it: an endpoint that is only polled needs none */
    bool rung;    /**< news is readable */
    int all;      /**< the epoll descriptor */
    int news;
    int timer;
    uint64_t timer_ns; /**< when it goes off, or went off; UINT64_MAX: never */
};

/** @return 0; a negative errno: there are too many descriptors, or there is no memory. */
int descriptor_open(struct descriptor *descriptor, const struct path_lanes *lanes);

/** Does nothing if it is not open. */
void descriptor_close(struct descriptor *descriptor);

/** It is readable from now on, until descriptor_quieten(). */
void descriptor_ring(struct descriptor *descriptor);

void descriptor_quieten(struct descriptor *descriptor);

/** It becomes readable at that (monotonic) time, and not at one that was set before. */
void descriptor_set_timer(struct descriptor *descriptor, uint64_t time_ns);

#endif /* BEOWIRE_ENDPOINT_DESCRIPTOR_H */
