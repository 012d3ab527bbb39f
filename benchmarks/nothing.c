/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nothing.c - a driver that does nothing at all: what is measured of it is what the engine takes.
 */
#include <errno.h>
#include <stdlib.h>

#include "driver.h"

static int nothing_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    (void)options;
    (void)reason;
    (void)reason_bytes;
    return 0;
}

static int nothing_open(const struct driver_options *options, void **session, char *error,
                        size_t error_bytes)
{
    (void)options;
    (void)error;
    (void)error_bytes;
    *session = malloc(1);
    return *session == NULL ? -ENOMEM : 0;
}

static int nothing_send(void *session, const void *data, uint64_t size)
{
    (void)session;
    (void)data;
    (void)size;
    return 0;
}

static const struct driver NOTHING = {
    .abi = DRIVER_ABI,
    .name = "nothing",
    .summary = "does nothing: what the engine itself takes",
    .placement = DRIVER_PROCESS,
    .reliable = true,
    .min_size = 1,
    .max_size = 1 << 20,
    .probe = nothing_probe,
    .open = nothing_open,
    .send = nothing_send,
    .close = free,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&NOTHING, NULL};
    return TABLE;
}
