/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * two_ends.h - both ends of a pattern in one process, over a driver that tells the truth, or lies
 * about one message: the initiator in the thread of the test, the responder in another.
 */
#ifndef BEOWIRE_TEST_TWO_ENDS_H
#define BEOWIRE_TEST_TWO_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "measure.h"
#include "pattern.h"
#include "testing.h"

#define TWO_ENDS_BYTES_MAX (UINT64_C(1) << 20)

/** What happens to the message with the number `lie_at`, of those that one end sends. */
enum lie {
    TRUTH,
    LIE_FLIP,      /**< one bit, of byte `lie_byte`, is another */
    LIE_TRUNCATE,  /**< bytes from `lie_byte` on do not arrive */
    LIE_SWAP,      /**< the next one arrives before it */
    LIE_DUPLICATE, /**< it arrives again instead of the next one */
    LIE_REPLAY,    /**< the first message of this end arrives instead of it */
    LIE_OLD_RUN,   /**< the message of the same number of the run before does */
};

struct end {
    struct measure_request request;
    struct measure_result result;
    struct histogram samples;
    int error;            /**< of measure_run() */
    uint64_t most_posted; /**< receives that were posted at once */
    uint64_t operations;  /**< collective ones that it took part in */
    void *link;           /**< the driver's */
};

extern struct end initiator;
extern struct end responder;

/** What is asked for next: set before two_ends_run(), which leaves it as it is. */
extern struct measure_request asked;
extern enum lie lie;
extern enum driver_role liar;
extern uint64_t lie_at;
extern uint64_t lie_byte;

/** The initiator's clock stands at its deadline from the beginning. */
extern bool stop_at_once;

/** Back to the truth, and to ten messages of 1000 bytes of this pattern, four of them skipped. */
void two_ends_prepare(const struct pattern *pattern);

/** Defines prepare(), the setup of tests of this pattern. */
#define TWO_ENDS_OF(pattern)                                                                       \
    static int prepare(void **state __attribute__((unused)))                                       \
    {                                                                                              \
        two_ends_prepare(&(pattern));                                                              \
        return 0;                                                                                  \
    }

/** Sizes that fit nowhere between, and those that do not fit into what a socket holds. */
extern const uint64_t two_ends_sizes[5];

/** Asks for one after the other. */
#define TWO_ENDS_EACH_SIZE                                                                         \
    for (size_t i_ = 0; i_ < 5 && (asked.size = two_ends_sizes[i_]) > 0; i_++)

/** One run of both ends, over a session of their own that nothing is left in; it ends within ten
 *  seconds. Fails the test where what is left in the session was not received. */
void two_ends_run(void);

/** Neither end failed or stopped early, and the initiator sent and received so many messages. */
void two_ends_expect_whole(uint64_t sent, uint64_t received);

#endif
