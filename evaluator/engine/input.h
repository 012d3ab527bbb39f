/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.h - lines from standard input, waited for between runs and glanced at during them.
 *
 * One thread. During a run input_interrupts() looks, without waiting, whether the caller wants
 * the run to end; lines that are not about that stay in order for input_next().
 */
#ifndef BEOWIRE_ENGINE_INPUT_H
#define BEOWIRE_ENGINE_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "command.h"

struct input {
    int fd;
    bool ended;      /**< the other side closed it, or reading failed */
    bool discarding; /**< inside a line that is too long */
    size_t used;
    char data[4 * COMMAND_LINE_BYTES];
};

enum input_result {
    INPUT_LINE,     /**< a line is in `line` */
    INPUT_TOO_LONG, /**< a line over COMMAND_LINE_BYTES came, and was thrown away */
    INPUT_END,      /**< there will be no more */
};

/** `fd` stays the caller's. */
void input_open(struct input *input, int fd);

/** Waits for the next line; without its newline, not ended by a zero byte. */
enum input_result input_next(struct input *input, char line[COMMAND_LINE_BYTES], size_t *length);

/** Has input_next() something to return now? Waits so long for it at most. */
bool input_waits(const struct input *input, int timeout_ms);

/** Should what is running end now? True when `stop` has come (it is used up by this), when
 *  `close` or `quit` wait their turn, or when the input has ended. One or two system calls. */
bool input_interrupts(struct input *input);

#endif
