/* SPDX-License-Identifier: BSD-3-Clause */
#include "input.h"

#include <string.h>
#include <unistd.h>

#include "testing.h"

static struct input input;
static int writer;

static int open_pipe(void **state)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return -1;
    }
    input_open(&input, ends[0]);
    writer = ends[1];
    return 0;
}

static int close_pipe(void **state)
{
    close(input.fd);
    if (writer >= 0) {
        close(writer);
    }
    return 0;
}

#define WITH_PIPE_TEST(name) TEST_AROUND(name, open_pipe, close_pipe)

static void say(const char *text)
{
    assert_int_equal(write(writer, text, strlen(text)), strlen(text));
}

static void hang_up(void)
{
    close(writer);
    writer = -1;
}

static void expect_line(const char *text)
{
    char line[COMMAND_LINE_BYTES];
    size_t length = 0;
    assert_int_equal(input_next(&input, line, &length), INPUT_LINE);
    assert_int_equal(length, strlen(text));
    assert_memory_equal(line, text, length);
}

static void expect(enum input_result result)
{
    char line[COMMAND_LINE_BYTES];
    size_t length = 0;
    assert_int_equal(input_next(&input, line, &length), result);
}

WITH_PIPE_TEST(next__lines_in_order_then_the_end)
{
    say("one\ntwo\n\nthr");
    say("ee\nhalf a line");
    hang_up();
    expect_line("one");
    expect_line("two");
    expect_line("");
    expect_line("three");
    expect(INPUT_END);
}

WITH_PIPE_TEST(next__line_too_long)
{
    static char line[COMMAND_LINE_BYTES + 1];
    memset(line, 'x', sizeof line);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(write(writer, line, sizeof line), sizeof line);
    }
    say("\nafter\n");
    hang_up();
    expect(INPUT_TOO_LONG);
    expect_line("after");
    expect(INPUT_END);
}

WITH_PIPE_TEST(next__longest_line)
{
    static char text[COMMAND_LINE_BYTES + 1];
    memset(text, 'y', COMMAND_LINE_BYTES);
    say(text);
    say("\n");
    hang_up();
    expect_line(text);
}

WITH_PIPE_TEST(waits__for_a_line_or_the_end)
{
    assert_false(input_waits(&input, 0));
    say("one\ntwo\n");
    assert_true(input_waits(&input, 0));
    expect_line("one");
    assert_true(input_waits(&input, 0)); /* of what has been read */
    expect_line("two");
    assert_false(input_waits(&input, 1));
    hang_up();
    assert_true(input_waits(&input, 0));
}

WITH_PIPE_TEST(interrupts__nothing_to_read)
{
    assert_false(input_interrupts(&input));
}

WITH_PIPE_TEST(interrupts__stop_is_used_up)
{
    say("stop\nhello\n");
    assert_true(input_interrupts(&input));
    assert_false(input_interrupts(&input));
    expect_line("hello");
}

WITH_PIPE_TEST(interrupts__stop_behind_other_lines)
{
    say("hello\nstop\ndrivers\n");
    assert_true(input_interrupts(&input));
    expect_line("hello");
    expect_line("drivers");
}

WITH_PIPE_TEST(interrupts__close_and_quit_wait_their_turn)
{
    say("close\nquit\n");
    assert_true(input_interrupts(&input));
    expect_line("close");
    assert_true(input_interrupts(&input));
    expect_line("quit");
    assert_false(input_interrupts(&input));
}

WITH_PIPE_TEST(interrupts__not_by_half_a_line_or_other_words)
{
    say("stopping\nnonstop\nstop");
    assert_false(input_interrupts(&input));
    say("\n");
    assert_true(input_interrupts(&input));
}

WITH_PIPE_TEST(interrupts__end_of_input)
{
    say("hello\n");
    hang_up();
    (void)input_interrupts(&input);
    assert_true(input_interrupts(&input));
    expect_line("hello");
    expect(INPUT_END);
}

WITH_PIPE_TEST(interrupts__end_behind_a_full_buffer)
{
    static char lines[sizeof input.data];
    memset(lines, '\n', sizeof lines);
    assert_int_equal(write(writer, lines, sizeof lines), sizeof lines);
    assert_false(input_interrupts(&input));
    assert_false(input_interrupts(&input));
    hang_up();
    assert_true(input_interrupts(&input));
}
