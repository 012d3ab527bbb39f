/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h - is what a driver says true? Messages whose every byte is known go there and others come
 * back, and nothing may differ: neither content, nor length, nor order, nor what is beside them.
 *
 * Not timed: this is for a driver that nobody has tried yet.
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
    uint8_t *outgoing;                  /**< `buffer_bytes` each; what is in them is lost */
    uint8_t *incoming;                  /**< likewise */
    uint64_t buffer_bytes;              /**< at least `size` */
    bool (*interrupted)(void *context); /**< the caller says stop */
    void *context;
};

/** Sends and receives, verifying everything. An unreliable driver may lose messages, and its
 *  responder ends when it is interrupted.
 *
 * @param arrived gets how many messages this end has received, all of them right
 * @return 0; -EBADMSG: something is not as it should be, and `reason` says what; -ECANCELED: the
 * driver was told to stop, and `reason` says what was missing; another negative errno of the
 * driver's, with the call that returned it in `reason`. */
int check_run(const struct check_request *request, uint64_t *arrived,
              char reason[CHECK_REASON_BYTES]);

#endif
