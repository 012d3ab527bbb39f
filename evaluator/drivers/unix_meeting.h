/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unix_meeting.h - connects two processes of one host, and passes descriptors between them.
 *
 * The responder listens on a socket of the abstract Unix namespace, whose random name is its
 * address, so nothing remains in the file system. Only processes of the same user may connect.
 *
 * One thread. Functions return 0 or a negative errno value with one line in `error`.
 */
#ifndef BEOWIRE_DRIVERS_UNIX_MEETING_H
#define BEOWIRE_DRIVERS_UNIX_MEETING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"

/** How long a blocking call waits before it asks the host whether to stop. */
#define UNIX_MEETING_WAIT_MS 100

struct unix_meeting {
    const struct driver_host *host;
    enum driver_role role;
    uint64_t name[2]; /**< the responder's, random */
    int listener;     /**< the responder's until it is connected, else -1 */
    int fd;           /**< a stream socket to the other end, or -1 */
};

/** Opens this end; after a failure nothing is open. */
int unix_meeting_open(struct unix_meeting *meeting, const struct driver_options *options,
                      char *error, size_t error_bytes);

/** driver.address */
int unix_meeting_address(const struct unix_meeting *meeting, char *text, size_t text_bytes);

/** Connects to the other end. Afterwards `fd` is connected, and blocks for at most
 *  UNIX_MEETING_WAIT_MS. */
int unix_meeting_connect(struct unix_meeting *meeting, const char *peer, char *error,
                         size_t error_bytes);

/** Passes descriptors to the other end; they stay open here. */
int unix_meeting_give(const struct unix_meeting *meeting, const int *descriptors, size_t count,
                      char *error, size_t error_bytes);

/** Receives exactly `count` descriptors from the other end; the caller closes them. */
int unix_meeting_take(const struct unix_meeting *meeting, int *descriptors, size_t count,
                      char *error, size_t error_bytes);

/** Has the host asked to stop? */
bool unix_meeting_stopped(const struct unix_meeting *meeting);

/** Has the other end closed `fd`, or ended? */
bool unix_meeting_left(const struct unix_meeting *meeting);

/** Closes all that is open. */
void unix_meeting_close(struct unix_meeting *meeting);

#endif
