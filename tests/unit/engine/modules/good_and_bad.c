/* SPDX-License-Identifier: BSD-3-Clause */
/* A file with one driver as it should be, and one for each defect that a table can have. */
#include "driver.h"

static int probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    (void)options;
    (void)reason;
    (void)reason_bytes;
    return 0;
}

static int open_session(const struct driver_options *options, void **session, char *error,
                        size_t error_bytes)
{
    (void)error;
    (void)error_bytes;
    *session = (void *)(uintptr_t)options;
    return 0;
}

static int send_message(void *session, const void *data, uint64_t size)
{
    (void)session;
    (void)data;
    (void)size;
    return 0;
}

static void close_session(void *session)
{
    (void)session;
}

static void give_buffers(void *session, void **outgoing, void **incoming)
{
    (void)session;
    *outgoing = NULL;
    *incoming = NULL;
}

#define COMPLETE                                                                                   \
    .abi = DRIVER_ABI, .summary = "for a test", .placement = DRIVER_PROCESS, .min_size = 1,        \
    .max_size = 10, .probe = probe, .open = open_session, .send = send_message

static const struct driver GOOD = {COMPLETE, .name = "good", .close = close_session};
static const struct driver PART = {COMPLETE, .name = "good:part_1/b-c", .close = close_session};
static const struct driver TWICE = {COMPLETE, .name = "good", .close = close_session};
static const struct driver BAD_NAME = {COMPLETE, .name = "Bad Name", .close = close_session};
static const struct driver NO_CLOSE = {COMPLETE, .name = "no-close"};
static const struct driver NOT_FIXED = {
    COMPLETE,
    .name = "not-fixed",
    .close = close_session,
    .buffers = give_buffers,
};
static const struct driver NO_RECEIVE = {
    .abi = DRIVER_ABI,
    .name = "no-receive",
    .summary = "for a test",
    .placement = DRIVER_PAIR,
    .min_size = 1,
    .max_size = 10,
    .probe = probe,
    .open = open_session,
    .send = send_message,
    .close = close_session,
};
static const struct driver NO_SIZE = {
    .abi = DRIVER_ABI,
    .name = "no-size",
    .summary = "for a test",
    .placement = DRIVER_PROCESS,
    .min_size = 2,
    .max_size = 1,
    .probe = probe,
    .open = open_session,
    .send = send_message,
    .close = close_session,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {
        &GOOD, &PART, &TWICE, &BAD_NAME, &NO_CLOSE, &NO_RECEIVE, &NO_SIZE, &NOT_FIXED, NULL,
    };
    return TABLE;
}
