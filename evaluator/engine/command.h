/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command.h - parses and checks one line of the control protocol (docs/ENGINE.md).
 *
 * The text comes from another process and is not trusted: every byte, key and number is checked,
 * and an error names what is wrong in one line.
 */
#ifndef BEOWIRE_ENGINE_COMMAND_H
#define BEOWIRE_ENGINE_COMMAND_H

#include <stddef.h>
#include <stdint.h>

/** Longest line, without its newline. */
#define COMMAND_LINE_BYTES 4096
#define COMMAND_REASON_BYTES 256

enum command_verb {
    COMMAND_HELLO,
    COMMAND_CLOCK,
    COMMAND_DRIVERS,
    COMMAND_PATTERNS,
    COMMAND_PROBES,
    COMMAND_ENVIRONMENT,
    COMMAND_ROUTE,
    COMMAND_CALL_COST,
    COMMAND_OPEN,
    COMMAND_CONNECT,
    COMMAND_RUN,
    COMMAND_CHECK,
    COMMAND_LOAD,
    COMMAND_PAUSE,
    COMMAND_RESUME,
    COMMAND_METER,
    COMMAND_STOP,
    COMMAND_CLOSE,
    COMMAND_QUIT,
};

/** The most `key=value` words of any verb. */
#define COMMAND_WORDS 14

struct command {
    enum command_verb verb;
    size_t word_count;
    struct {
        const char *key;   /**< static storage */
        const char *value; /**< in `storage`, decoded, ended by a zero byte */
    } words[COMMAND_WORDS];
    char storage[COMMAND_LINE_BYTES + 1];
    char reason[COMMAND_REASON_BYTES]; /**< after a failure: the cause, in one line */
};

/** Parses a line, which need not end with a zero byte. 0, or -EINVAL with `reason` set. */
int command_parse(struct command *command, const char *line, size_t length);

/** The value of a key, or `missing` when the line does not have it (NULL is allowed). */
const char *command_text(const struct command *command, const char *key, const char *missing);

/** A decimal number from `low` to `high`. 0, or -EINVAL with `reason` set. A key that is absent
 *  leaves `*value` alone, so the caller puts the default there first. */
int command_number(struct command *command, const char *key, uint64_t low, uint64_t high,
                   uint64_t *value);

/** -EINVAL with `reason` set when the line does not have the key, else 0. */
int command_require(struct command *command, const char *key);

#endif
