/* SPDX-License-Identifier: BSD-3-Clause */
/* absent.c - replaces a driver whose library's headers were missing at build time, so that the list
 * of drivers says what is missing. The build defines ABSENT_NAME, ABSENT_SUMMARY and ABSENT_REASON
 * (meson.build). */
#include <errno.h>
#include <stdio.h>

#include "driver.h"

static int absent(char *reason, size_t reason_bytes)
{
    (void)snprintf(reason, reason_bytes, "%s", ABSENT_REASON);
    return -ENOSYS;
}

static int absent_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    (void)options;
    return absent(reason, reason_bytes);
}

static int absent_open(const struct driver_options *options, void **session, char *error,
                       size_t error_bytes)
{
    (void)options;
    (void)session;
    return absent(error, error_bytes);
}

/* open() always fails, so these are never called, but the engine requires a complete table. */
static int absent_address(void *session, char *text, size_t text_bytes)
{
    (void)session;
    return absent(text, text_bytes);
}

static int absent_connect(void *session, const char *peer_address, char *error, size_t error_bytes)
{
    (void)session;
    (void)peer_address;
    return absent(error, error_bytes);
}

static int absent_send(void *session, const void *data, uint64_t size)
{
    (void)session;
    (void)data;
    (void)size;
    return -ENOSYS;
}

static int absent_receive(void *session, void *data, uint64_t size)
{
    (void)session;
    (void)data;
    (void)size;
    return -ENOSYS;
}

static void absent_close(void *session)
{
    (void)session;
}

static const struct driver ABSENT = {
    .abi = DRIVER_ABI,
    .name = ABSENT_NAME,
    .summary = ABSENT_SUMMARY,
    .placement = DRIVER_PAIR,
    .reliable = true,
    .spins = true,
    .min_size = 1,
    .max_size = UINT64_C(1) << 30,
    .probe = absent_probe,
    .open = absent_open,
    .address = absent_address,
    .connect = absent_connect,
    .send = absent_send,
    .receive = absent_receive,
    .close = absent_close,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&ABSENT, NULL};

    return TABLE;
}
