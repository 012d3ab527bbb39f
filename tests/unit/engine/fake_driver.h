/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_driver.h - a driver that does what the test says, in a time that passes only when the driver
 * says so: every figure of a run over it is known exactly. The test is linked with
 * --wrap=clock_gettime.
 */
#ifndef BEOWIRE_TEST_FAKE_DRIVER_H
#define BEOWIRE_TEST_FAKE_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "measure.h"
#include "pattern.h"
#include "run.h"
#include "testing.h"

#define MESSAGE_BYTES 100
#define FAKE_MORE 32

extern uint64_t now_ns;

/** What the driver does and has seen. Calls are counted from 1. */
struct fake {
    uint64_t send_ns;
    uint64_t receive_ns;
    uint64_t slow_every;    /**< each n-th receive() takes 10 times as long; 0: none */
    uint64_t fail_receive;  /**< this receive() fails ... */
    int fail_with;          /**< ... with this, once */
    uint64_t stale_receive; /**< this receive() brings an answer of long ago */
    uint64_t corrupt_receive;
    uint64_t timeouts_after; /**< later receive()s all time out; 0: none do */
    uint64_t sends;
    uint64_t receives;
    uint64_t last_sent_bytes;
    uint64_t last_received_bytes;
    uint64_t flushes;
    uint64_t more[FAKE_MORE]; /**< what followed each message of a posted stream */
    uint8_t wire[MESSAGE_BYTES];
};

extern struct fake fake;
extern struct driver driver;
extern struct histogram samples;
extern struct measure_result result;
extern uint8_t outgoing[MESSAGE_BYTES];
extern uint8_t incoming[MESSAGE_BYTES];
extern struct measure_request request;
extern uint64_t interrupt_after; /**< sends; 0: never */

/** A reliable driver, and a request of its initiator for ten messages of `pattern`. */
void fake_prepare(const struct pattern *pattern);

/** A stream that is posted in advance: `more` must count down to 0 on each side. */
int fake_stream_send(void *session, const void *data, uint64_t size, uint64_t more);
int fake_stream_receive(void *session, void *data, uint64_t size, uint64_t more);

/** measure_run() of all that. */
int measure(void);

/** Ends the test unless so many samples are in the bucket of this value. */
void expect_samples(uint64_t value_ns, uint64_t count);

/** prepare(), for tests of this pattern. */
#define FAKE_DRIVER_FOR(pattern)                                                                   \
    static int prepare(void **state)                                                               \
    {                                                                                              \
        (void)state;                                                                               \
        fake_prepare(&(pattern));                                                                  \
        return 0;                                                                                  \
    }

/** A run of these, for tests of what patterns are made of. */
#define FAKE_RUN                                                                                   \
    .request = &request, .result = &result, .samples = &samples, .outgoing = outgoing,             \
    .incoming = incoming, .send_bytes = MESSAGE_BYTES, .receive_bytes = MESSAGE_BYTES

#endif
