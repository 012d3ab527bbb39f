/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pair.h - two processes, each with one end of a driver's session, that a test tells what to do.
 *
 * The responder is a child process. A failed check ends it, which fails the test. Whatever waits
 * in a driver is told to stop when the other process has something to say or is gone, at the
 * latest PAIR_PATIENCE_S after a check has held: no test hangs, and none has to be done by a
 * certain time, however busy the machine is.
 */
#ifndef BEOWIRE_TEST_PAIR_H
#define BEOWIRE_TEST_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "driver.h"

#define PAIR_PATIENCE_S 60

/** Long enough that whoever waits without an end does wait by then. */
#define PAIR_WAITS_MS 100

/** Sessions that a pair can have at the same time. */
#define PAIR_SESSIONS 2

struct pair {
    const struct driver *driver;
    enum driver_role role;
    bool with_interfaces; /* veth interfaces and their addresses, else what the driver chooses */
    int control;          /* a socket to the other process */
    pid_t responder;      /* in the initiator */
    uint64_t stop_at_ns;  /* CLOCK_MONOTONIC: tell the driver to stop then */
    bool patient;         /* unless a check has held since the last question */
    uint64_t held;        /* checks that had, by then */
    bool heed_control;    /* the other process may stop us by writing */
    uint64_t questions;   /* how often the driver has asked whether to stop */
    void (*asked)(struct pair *pair); /* called at each of them, before it is answered; or NULL */
    uint64_t asked_at_ns;             /* CLOCK_MONOTONIC: when it was last called */
    struct driver_host host;
    void *sessions[PAIR_SESSIONS];
};

/** CLOCK_MONOTONIC. */
uint64_t pair_now_ns(void);

/** What one end does; `pair->sessions` are open and connected. */
typedef void pair_part(struct pair *pair);

/** Ends the process with the place, the condition and the value when it does not hold. */
#define pair_check(condition, value)                                                               \
    pair_require((condition), __FILE__, __LINE__, #condition, (long long)(value))
void pair_require(bool condition, const char *file, int line, const char *text, long long value);

/** Opens and connects `sessions` sessions, plays the parts in two processes, closes, and waits for
 *  the responder. Returns its wait status: 0 unless a check failed in it or it was killed. The
 *  initiator's part runs in this process. */
int pair_play(const struct driver *driver, bool with_interfaces, size_t sessions,
              pair_part *initiator, pair_part *responder);

/** The options with which an end opens its session. */
struct driver_options pair_options(const struct pair *pair, uint64_t max_size);

/** A pair for tests with one end and no other process. */
void pair_alone(struct pair *pair, const struct driver *driver, bool with_interfaces,
                enum driver_role role);

/** Tells the driver to stop after this time, whatever is done by then. */
void pair_stop_after_ms(struct pair *pair, uint64_t ms);

/** Tells it to stop when nothing has been done for PAIR_PATIENCE_S, as in the beginning. */
void pair_be_patient(struct pair *pair);

/** A word to the other process, and from it (waited for). */
void pair_say(const struct pair *pair, uint64_t word);
uint64_t pair_hear(const struct pair *pair);

/** A word to the responder, which may wait in a driver that asks seldom whether to stop: a signal
 *  ends that wait, as it would for any program. */
void pair_call(const struct pair *pair, uint64_t word);

/** Largest message that the tests use with this driver. */
uint64_t pair_largest(const struct driver *driver);

#endif
