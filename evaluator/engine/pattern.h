/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern.h - what the two ends of a run do: a table of patterns, as there is one of drivers.
 *
 * A pattern is one C file, `pattern_NAME.c`, with one `struct pattern`, and one row in pattern.c.
 * It says what the initiator does and what the responder does, in terms of run.h, and knows neither
 * the protocol beneath (driver.h) nor who asked (session.h). docs/EXTENDING.md has the recipe.
 *
 * Both functions of a pattern are called after the driver's prepare(), by one thread each, and end
 * when their messages have passed, when run_should_end(), or with a negative errno of the driver.
 */
#ifndef BEOWIRE_ENGINE_PATTERN_H
#define BEOWIRE_ENGINE_PATTERN_H

#include "../drivers/driver.h"

struct measure_request;
struct run;

/** What comes of a run: `enum` and not `bool`, so that a table reads. */
enum pattern_reports {
    PATTERN_TIMES, /**< samples of the initiator, in ns, in the histogram */
    PATTERN_RATES, /**< how many messages passed in which time */
};

/** What a driver must be able to do; added up. */
enum pattern_needs {
    PATTERN_NEEDS_PEER = 1,        /**< there is another end */
    PATTERN_NEEDS_RELIABLE = 2,    /**< nothing gets lost, comes twice or out of order */
    PATTERN_NEEDS_POSTING = 4,     /**< post_send(), post_receive(), progress() */
    PATTERN_NEEDS_ANYWHERE = 8,    /**< messages may lie anywhere in memory */
    PATTERN_NEEDS_COLLECTIVE = 16, /**< collective() */
};

struct pattern {
    const char *name;    /**< lower case and '-': what `--pattern` and `run pattern=` take */
    const char *summary; /**< one line: what both ends do */
    enum pattern_reports reports;
    unsigned needs;    /**< enum pattern_needs */
    uint64_t min_size; /**< bytes of the smallest message that carries what it has to; 0: any */

    /** Before the responder is ready, and not timed: 0, or a negative errno that refuses the run.
     *  May be NULL. */
    int (*prepare)(const struct measure_request *request);

    /** The end that measures: fills `run->result` and, where it reports times, `run->samples`. */
    int (*initiate)(struct run *run);

    /** The end that answers: fills `run->result`. NULL where there never is another end. */
    int (*respond)(struct run *run);
};

/** All patterns, ended by NULL. Static storage. */
const struct pattern *const *pattern_table(void);

/** The pattern of that name, or NULL. */
const struct pattern *pattern_find(const char *name);

/** Why this driver cannot carry this pattern, in one line; NULL if it can. */
const char *pattern_obstacle(const struct pattern *pattern, const struct driver *driver);

/** Answers the command `patterns`: the table. */
void pattern_answer(void);

extern const struct pattern PATTERN_PINGPONG;
extern const struct pattern PATTERN_PINGPING;
extern const struct pattern PATTERN_STREAM;
extern const struct pattern PATTERN_BIDIRECTIONAL;
extern const struct pattern PATTERN_BURST;
extern const struct pattern PATTERN_INTEGRITY;
extern const struct pattern PATTERN_COLD;
extern const struct pattern PATTERN_ALIGNMENT;
extern const struct pattern PATTERN_OVERLAP;
extern const struct pattern PATTERN_PIPELINE;
extern const struct pattern PATTERN_BARRIER;
extern const struct pattern PATTERN_BROADCAST;
extern const struct pattern PATTERN_ALLREDUCE;
extern const struct pattern PATTERN_ALLTOALL;
extern const struct pattern PATTERN_OPEN_LOOP;
extern const struct pattern PATTERN_ONEWAY;
extern const struct pattern PATTERN_INCAST;
extern const struct pattern PATTERN_REQUEST;

#endif
