/* SPDX-License-Identifier: BSD-3-Clause */
/* conformance.h - what the conformance tests of one end and of two share. */
#ifndef BEOWIRE_TEST_CONFORMANCE_H
#define BEOWIRE_TEST_CONFORMANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"

/** The driver that is tested, and whether its ends are told which interface to use. */
extern const struct driver *driver;
extern bool with_interfaces;

/** Its sessions take turns with what there is only one of. */
extern bool one_at_a_time;

/** Room for a message of pair_largest(driver) bytes. */
extern uint8_t *message;

/** Content that is different for every message and at every place. */
void fill(uint8_t *data, uint64_t size, uint64_t number);

/** Ends the process unless the data from `start` on are what fill() makes. */
void check_content(const uint8_t *data, uint64_t start, uint64_t size, uint64_t number);

/** The sizes to try, one after the other; 0 after the last. */
uint64_t size_number(size_t index);

/** The tests with two ends, in conformance_pair.c. */
void pingpong__every_size_arrives_intact(void **state);
void stream__whole_and_in_order(void **state);
void stream__posted_in_advance(void **state);
void sessions__two_at_once_do_not_mix(void **state);
void peer__killed(void **state);
void close__what_was_sent_before_arrives(void **state);
void stop__while_receiving(void **state);
void stop__while_sending(void **state);

/** Those of drivers that can post, in conformance_post.c. */
void post__both_ways_at_once(void **state);
void post__stop_while_waiting(void **state);

#endif
