/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern.h - what the two ends do in a run: the table of patterns.
 *
 * A pattern is one C file, `pattern_NAME.c`, with one `struct pattern`, and one row in pattern.c.
 * It describes the initiator and the responder in terms of run.h, and depends neither on the
 * protocol (driver.h) nor on the caller (session.h). docs/EXTENDING.md has the recipe.
 *
 * Both functions of a pattern are called after the driver's prepare(), by one thread each. They
 * return after their last message, when run_should_end() is true, or with a negative errno of the
 * driver.
 */
#ifndef BEOWIRE_ENGINE_PATTERN_H
#define BEOWIRE_ENGINE_PATTERN_H

#include "../drivers/driver.h"

struct measure_request;
struct run;

/** The results of a run. An `enum` makes the table readable. */
enum pattern_reports {
    PATTERN_TIMES, /**< the initiator's samples, in ns, in the histogram */
    PATTERN_RATES, /**< number of messages, and the time for all */
};

/** Requirements on a driver; flags. */
enum pattern_needs {
    PATTERN_NEEDS_PEER = 1,        /**< there is another end */
    PATTERN_NEEDS_RELIABLE = 2,    /**< no message is lost, duplicated or reordered */
    PATTERN_NEEDS_POSTING = 4,     /**< post_send(), post_receive(), progress() */
    PATTERN_NEEDS_ANYWHERE = 8,    /**< messages may be anywhere in memory */
    PATTERN_NEEDS_COLLECTIVE = 16, /**< collective() */
};

struct pattern {
    const char *name;    /**< lower case and '-': what `--pattern` and `run pattern=` take */
    const char *summary; /**< one line: what both ends do */
    enum pattern_reports reports;
    unsigned needs;    /**< flags of enum pattern_needs */
    uint64_t min_size; /**< smallest message that holds the pattern's data, in bytes; 0: any */

    /** Called before the responder reports ready, and not timed. 0, or a negative errno that
     *  refuses the run. May be NULL. */
    int (*prepare)(const struct measure_request *request);

    /** The measuring end: fills `run->result`, and `run->samples` if it reports times. */
    int (*initiate)(struct run *run);

    /** The answering end: fills `run->result`. NULL if the pattern has only one end. */
    int (*respond)(struct run *run);
};

/** All patterns, and NULL at the end. Static storage. */
const struct pattern *const *pattern_table(void);

/** The pattern of that name, or NULL. */
const struct pattern *pattern_find(const char *name);

/** Why this driver cannot run this pattern, in one line; NULL if it can. */
const char *pattern_obstacle(const struct pattern *pattern, const struct driver *driver);

/** Answers the command `patterns`: the table. */
void pattern_answer(void);

/** The table, in order; the first one is the default. A pattern is a constant PATTERN_NAME. */
#define PATTERN_LIST(PATTERN)                                                                      \
    PATTERN(PINGPONG)                                                                              \
    PATTERN(PINGPING)                                                                              \
    PATTERN(REQUEST)                                                                               \
    PATTERN(STREAM)                                                                                \
    PATTERN(BIDIRECTIONAL)                                                                         \
    PATTERN(BURST)                                                                                 \
    PATTERN(INTEGRITY)                                                                             \
    PATTERN(COLD)                                                                                  \
    PATTERN(ALIGNMENT)                                                                             \
    PATTERN(OVERLAP)                                                                               \
    PATTERN(PIPELINE)                                                                              \
    PATTERN(BARRIER)                                                                               \
    PATTERN(BROADCAST)                                                                             \
    PATTERN(ALLREDUCE)                                                                             \
    PATTERN(ALLTOALL)                                                                              \
    PATTERN(OPEN_LOOP)                                                                             \
    PATTERN(ONEWAY)                                                                                \
    PATTERN(INCAST)

#define PATTERN_DECLARE(name) extern const struct pattern PATTERN_##name;
PATTERN_LIST(PATTERN_DECLARE)
#undef PATTERN_DECLARE

#endif
