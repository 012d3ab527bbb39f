/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_absent.c - takes the place of fi.c where libfabric's headers were missing at build time: the
 * list of drivers then says what is missing, and why. */
#include <errno.h>
#include <stdio.h>

#include "driver.h"

static int absent(char *reason, size_t reason_bytes)
{
    (void)snprintf(reason, reason_bytes,
                   "built without libfabric: install its headers (libfabric-dev), build again");
    return -ENOSYS;
}

static int fi_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    (void)options;
    return absent(reason, reason_bytes);
}

static int fi_open(const struct driver_options *options, void **session, char *error,
                   size_t error_bytes)
{
    (void)options;
    (void)session;
    return absent(error, error_bytes);
}

/* open() never succeeds, so the rest is never called; the engine wants the table whole. */
static int fi_address(void *session, char *text, size_t text_bytes)
{
    (void)session;
    return absent(text, text_bytes);
}

static int fi_connect(void *session, const char *peer_address, char *error, size_t error_bytes)
{
    (void)session;
    (void)peer_address;
    return absent(error, error_bytes);
}

static int fi_send(void *session, const void *data, uint64_t size)
{
    (void)session;
    (void)data;
    (void)size;
    return -ENOSYS;
}

static int fi_receive(void *session, void *data, uint64_t size)
{
    (void)session;
    (void)data;
    (void)size;
    return -ENOSYS;
}

static void fi_close(void *session)
{
    (void)session;
}

static const struct driver FI_TCP = {
    .abi = DRIVER_ABI,
    .name = "fi-tcp",
    .summary = "libfabric's tcp provider, tagged messages, as MPI libraries use it; spins",
    .placement = DRIVER_PAIR,
    .reliable = true,
    .spins = true,
    .min_size = 1,
    .max_size = UINT64_C(1) << 30,
    .probe = fi_probe,
    .open = fi_open,
    .address = fi_address,
    .connect = fi_connect,
    .send = fi_send,
    .receive = fi_receive,
    .close = fi_close,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&FI_TCP, NULL};

    return TABLE;
}
