/* SPDX-License-Identifier: BSD-3-Clause */
#include "input.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

void input_open(struct input *input, int fd)
{
    input->fd = fd;
    input->ended = false;
    input->discarding = false;
    input->used = 0;
}

static void drop(struct input *input, size_t start, size_t count)
{
    memmove(input->data + start, input->data + start + count, input->used - start - count);
    input->used -= count;
}

/* Reads what is available; waits if nothing is. */
static void fill(struct input *input)
{
    if (input->used == sizeof input->data) {
        return;
    }
    ssize_t got = read(input->fd, input->data + input->used, sizeof input->data - input->used);
    if (got > 0) {
        input->used += (size_t)got;
    } else if (got == 0 || errno != EINTR) {
        input->ended = true;
    }
}

enum input_result input_next(struct input *input, char line[COMMAND_LINE_BYTES], size_t *length)
{
    for (;;) {
        const char *newline = memchr(input->data, '\n', input->used);
        if (newline != NULL) {
            size_t count = (size_t)(newline - input->data);
            bool too_long = input->discarding || count > COMMAND_LINE_BYTES;
            if (!too_long) {
                memcpy(line, input->data, count);
                *length = count;
            }
            input->discarding = false;
            drop(input, 0, count + 1);
            return too_long ? INPUT_TOO_LONG : INPUT_LINE;
        }
        if (input->used > COMMAND_LINE_BYTES) {
            input->discarding = true;
            input->used = 0;
        }
        if (input->ended) {
            return INPUT_END; /* half a line at the end is not a command */
        }
        fill(input);
    }
}

bool input_waits(const struct input *input, int timeout_ms)
{
    struct pollfd poller = {.fd = input->fd, .events = POLLIN};
    return input->ended || memchr(input->data, '\n', input->used) != NULL ||
           poll(&poller, 1, timeout_ms) != 0;
}

static bool line_is(const char *line, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(line, word, length) == 0;
}

static bool find_interruption(struct input *input)
{
    size_t start = 0;
    while (start < input->used) {
        const char *line = input->data + start;
        const char *newline = memchr(line, '\n', input->used - start);
        if (newline == NULL) {
            return false;
        }
        size_t length = (size_t)(newline - line);
        if (line_is(line, length, "stop")) {
            drop(input, start, length + 1);
            return true;
        }
        if (line_is(line, length, "close") || line_is(line, length, "quit")) {
            return true;
        }
        start += length + 1;
    }
    return false;
}

bool input_interrupts(struct input *input)
{
    bool room = input->used < sizeof input->data;
    struct pollfd poller = {.fd = input->fd, .events = room ? POLLIN : 0};
    if (!input->ended && poll(&poller, 1, 0) > 0) {
        if (room) {
            fill(input);
        } else {
            /* The buffer is full of unread lines, and the writer is gone. */
            input->ended = true;
        }
    }
    return find_interruption(input) || input->ended;
}
