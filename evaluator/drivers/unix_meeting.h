/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unix_meeting.h - how two processes of one host find one another, and how one hands descriptors to
 * the other.
 *
 * The responder listens on a socket of the abstract Unix namespace, under a random name that is its
 * address: nothing in the file system, and nothing left behind. Only processes of the same user are
 * let in.
 *
 * One thread. Functions return 0 or a negative errno value with one line in `error`.
 */
#ifndef BEOWIRE_DRIVERS_UNIX_MEETING_H
#define BEOWIRE_DRIVERS_UNIX_MEETING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"

/** How long a blocking call may wait before the host is asked whether to stop. */
#define UNIX_MEETING_WAIT_MS 100

struct unix_meeting {
    const struct driver_host *host;
    enum driver_role role;
    uint64_t name[2]; /**< the responder's, random */
    int listener;     /**< the responder's until the other end has come, else -1 */
    int fd;           /**< a stream socket to the other end, or -1 */
};

/** Makes this end ready; after a failure nothing is left open. */
int unix_meeting_open(struct unix_meeting *meeting, const struct driver_options *options,
                      char *error, size_t error_bytes);

/** driver.address */
int unix_meeting_address(const struct unix_meeting *meeting, char *text, size_t text_bytes);

/** Meets the other end: afterwards `fd` is connected to it, and blocks for UNIX_MEETING_WAIT_MS at
 *  most. */
int unix_meeting_connect(struct unix_meeting *meeting, const char *peer, char *error,
                         size_t error_bytes);

/** Hands descriptors over; they stay open here. */
int unix_meeting_give(const struct unix_meeting *meeting, const int *descriptors, size_t count,
                      char *error, size_t error_bytes);

/** Takes exactly `count` descriptors from the other end, which are the caller's. */
int unix_meeting_take(const struct unix_meeting *meeting, int *descriptors, size_t count,
                      char *error, size_t error_bytes);

/** Has the host asked to stop? */
bool unix_meeting_stopped(const struct unix_meeting *meeting);

/** Has the other end closed `fd`, or died? */
bool unix_meeting_left(const struct unix_meeting *meeting);

/** Closes what is open. */
void unix_meeting_close(struct unix_meeting *meeting);

#endif
