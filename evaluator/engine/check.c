/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Bytes after a message in its buffer, which must not change. */
#define FENCE_BYTES 64

#define POISON 0xA5

/* The most attempts to send a message over an unreliable driver. */
#define TRIES 20

/* The byte at `at` in message `number`: a byte of splitmix64's finaliser. */
static uint8_t content(uint64_t number, uint64_t size, uint64_t at)
{
    uint64_t value = (number + 1) * UINT64_C(0x9E3779B97F4A7C15) + size + (at >> 3);
    value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (uint8_t)((value ^ (value >> 31)) >> (8 * (at & 7)));
}

static void fill(uint8_t *data, uint64_t number, uint64_t size)
{
    for (uint64_t at = 0; at < size; at++) {
        data[at] = content(number, size, at);
    }
}

/* The index of the first wrong byte; `size`: none. */
static uint64_t first_difference(const uint8_t *data, uint64_t number, uint64_t size)
{
    uint64_t at = 0;
    while (at < size && data[at] == content(number, size, at)) {
        at++;
    }
    return at;
}

static uint64_t fence_bytes(const struct check_request *request)
{
    uint64_t room = request->buffer_bytes - request->size;
    return room < FENCE_BYTES ? room : FENCE_BYTES;
}

static void poison(const struct check_request *request)
{
    memset(request->incoming, POISON, request->size + fence_bytes(request));
}

static int wrong(char *reason, const char *what, uint64_t number, uint64_t size, uint64_t at)
{
    (void)snprintf(reason, CHECK_REASON_BYTES,
                   "%s (message %" PRIu64 " of %" PRIu64 " bytes, from byte %" PRIu64 " on)", what,
                   number / 2, size, at);
    return -EBADMSG;
}

/* Sends message `number`, and checks that the driver has not changed the buffer. */
static int send_one(const struct check_request *request, uint64_t number, char *reason)
{
    fill(request->outgoing, number, request->size);
    int error = request->driver->send(request->session, request->outgoing, request->size);
    if (error != 0) {
        (void)snprintf(reason, CHECK_REASON_BYTES,
                       "send() of message %" PRIu64 " of %" PRIu64 " bytes: %s", number / 2,
                       request->size, error == -ECANCELED ? "it did not end" : strerror(-error));
        return error;
    }
    uint64_t at = first_difference(request->outgoing, number, request->size);
    return at == request->size
               ? 0
               : wrong(reason, "send() has changed its caller's data", number, request->size, at);
}

/* Receives a message, one of those from `least` to `number`, and returns its number. */
static int receive_one(const struct check_request *request, uint64_t least, uint64_t *number,
                       char *reason)
{
    poison(request);
    int error = request->driver->receive(request->session, request->incoming, request->size);
    if (error == -ETIMEDOUT && !request->driver->reliable) {
        return error;
    }
    if (error != 0) {
        (void)snprintf(reason, CHECK_REASON_BYTES,
                       "receive() of message %" PRIu64 " of %" PRIu64 " bytes: %s", *number / 2,
                       request->size,
                       error == -ECANCELED ? "it did not arrive, though the other end has sent it"
                                           : strerror(-error));
        return error;
    }
    for (uint64_t i = 0; i < fence_bytes(request); i++) {
        if (request->incoming[request->size + i] != POISON) {
            return wrong(reason, "receive() has written beyond the message", *number, request->size,
                         request->size + i);
        }
    }
    for (uint64_t one = *number;; one -= 2) {
        if (first_difference(request->incoming, one, request->size) == request->size) {
            *number = one;
            return 0;
        }
        if (one < least + 2) {
            break;
        }
    }
    return wrong(reason, "receive() delivered other data than was sent", *number, request->size,
                 first_difference(request->incoming, *number, request->size));
}

/* One message, and its answer. */
static int exchange(const struct check_request *request, uint64_t number, char *reason)
{
    const bool reliable = request->driver->reliable;
    int error = -ETIMEDOUT;
    for (int tries = reliable ? 1 : TRIES; tries > 0 && error == -ETIMEDOUT; tries--) {
        uint64_t answer = number + 1;
        error = send_one(request, number, reason);
        /* An unreliable driver may deliver a late answer to an earlier message. */
        do {
            answer = number + 1;
            error =
                error == 0 ? receive_one(request, reliable ? answer : 1, &answer, reason) : error;
        } while (error == 0 && answer != number + 1);
    }
    if (error == -ETIMEDOUT && !reliable) {
        (void)snprintf(reason, CHECK_REASON_BYTES,
                       "of %d messages of %" PRIu64 " bytes none was answered", TRIES,
                       request->size);
        return -ECANCELED;
    }
    return error;
}

static int initiate(const struct check_request *request, uint64_t *arrived, char *reason)
{
    int error = 0;
    for (uint64_t i = 0; i < request->count && error == 0; i++) {
        error = request->driver->receive == NULL ? send_one(request, 2 * i, reason)
                                                 : exchange(request, 2 * i, reason);
        *arrived += error == 0 ? 1 : 0;
    }
    return error;
}

static int respond(const struct check_request *request, uint64_t *arrived, char *reason)
{
    const bool reliable = request->driver->reliable;
    uint64_t i = 0;
    while (i < request->count || !reliable) {
        uint64_t newest = reliable ? 2 * i : 2 * (request->count - 1);
        uint64_t number = newest;
        int error = receive_one(request, reliable ? newest : 0, &number, reason);
        if (!reliable && (error == -ETIMEDOUT || error == -ECANCELED)) {
            if (error == -ECANCELED || request->interrupted(request->context)) {
                return 0;
            }
            continue;
        }
        error = error == 0 ? send_one(request, number + 1, reason) : error;
        if (error != 0) {
            return error;
        }
        *arrived += 1;
        i++;
    }
    return 0;
}

int check_run(const struct check_request *request, uint64_t *arrived,
              char reason[CHECK_REASON_BYTES])
{
    *arrived = 0;
    reason[0] = '\0';
    return request->role == DRIVER_INITIATOR || request->driver->receive == NULL
               ? initiate(request, arrived, reason)
               : respond(request, arrived, reason);
}
