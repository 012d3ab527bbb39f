/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture.h"

#include <string.h>
#include <unistd.h>

#include "testing.h"

static int saved_output = -1;
static int reader = -1;

void capture_start(void)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    reader = ends[0];
    saved_output = dup(STDOUT_FILENO);
    assert_true(saved_output >= 0);
    assert_true(dup2(ends[1], STDOUT_FILENO) >= 0);
    close(ends[1]);
}

const char *capture_end(void)
{
    static char text[1 << 16];
    size_t length = 0;
    ssize_t count = 0;
    (void)dup2(saved_output, STDOUT_FILENO); /* closes the pipe's end: read() below will end */
    close(saved_output);
    do {
        length += (size_t)count;
        count = read(reader, text + length, sizeof text - 1 - length);
    } while (count > 0);
    close(reader);
    text[length] = '\0';
    return text;
}

void expect_part(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in: %s", part, text);
    }
}

struct command *command_of(const char *line)
{
    static struct command command;
    assert_int_equal(command_parse(&command, line, strlen(line)), 0);
    return &command;
}
