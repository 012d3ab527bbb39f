/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.h - reads lines from standard input: waits for them between runs, polls for them during a
 * run.
 *
 * One thread. During a run, input_interrupts() checks without waiting whether the caller wants the
 * run to end. Other lines stay in order for input_next().
 */
#ifndef BEOWIRE_ENGINE_INPUT_H
#define BEOWIRE_ENGINE_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "command.h"

struct input {
    int fd;
    bool ended;      /**< closed by the other side, or reading failed */
    bool discarding; /**< inside a line that is too long */
    size_t used;
    char data[4 * COMMAND_LINE_BYTES];
};

enum input_result {
    INPUT_LINE,     /**< a line is in `line` */
    INPUT_TOO_LONG, /**< a line over COMMAND_LINE_BYTES was discarded */
    INPUT_END,      /**< no more lines */
};

/** `fd` stays owned by the caller. */
void input_open(struct input *input, int fd);

/** Waits for the next line. It has no newline and no zero byte at its end. */
enum input_result input_next(struct input *input, char line[COMMAND_LINE_BYTES], size_t *length);

/** Whether input_next() can return at once. Waits at most `timeout_ms` for that. */
bool input_waits(const struct input *input, int timeout_ms);

/** Should the current command end? True when `stop` has arrived (which this consumes), when `close`
 *  or `quit` is queued, or when the input has ended. One or two system calls. */
bool input_interrupts(struct input *input);

#endif
