/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h - verifies a driver: sends messages of known contents both ways, and checks contents,
 * length, order, and the memory around each message. Nothing is timed.
 */
#ifndef BEOWIRE_ENGINE_CHECK_H
#define BEOWIRE_ENGINE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../drivers/driver.h"

#define CHECK_REASON_BYTES 200

struct check_request {
    const struct driver *driver;
    void *session; /**< open, connected, prepared for `size` */
    enum driver_role role;
    uint64_t size;                      /**< of a message, in bytes */
    uint64_t count;                     /**< messages that the initiator sends */
    uint8_t *outgoing;                  /**< `buffer_bytes` each; overwritten */
    uint8_t *incoming;                  /**< likewise */
    uint64_t buffer_bytes;              /**< at least `size` */
    bool (*interrupted)(void *context); /**< the caller asks to stop */
    void *context;
};

/** Sends and receives, and verifies everything. An unreliable driver may lose messages, and its
 *  responder runs until it is interrupted.
 *
 *  @param arrived gets the number of messages that this end has received, all of them correct
 *  @return 0; -EBADMSG: a message is wrong, and `reason` says how; -ECANCELED: the driver was told
 *  to stop, and `reason` says what was missing; another negative errno of the driver, with the call
 *  that returned it in `reason`. */
int check_run(const struct check_request *request, uint64_t *arrived,
              char reason[CHECK_REASON_BYTES]);

#endif
