/* SPDX-License-Identifier: BSD-3-Clause */
#include "input.h"

#include <string.h>
#include <unistd.h>

#include "testing.h"

static struct input input;
static int writer;

static int open_pipe(void **state)
{
    (void)state;
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
    (void)state;
    close(input.fd);
    if (writer >= 0) {
        close(writer);
    }
    return 0;
}

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

static void next__lines_in_order_then_the_end(void **state)
{
    (void)state;
    say("one\ntwo\n\nthr");
    say("ee\nhalf a line");
    hang_up();
    expect_line("one");
    expect_line("two");
    expect_line("");
    expect_line("three");
    expect(INPUT_END);
}

static void next__line_too_long(void **state)
{
    (void)state;
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

static void next__longest_line(void **state)
{
    (void)state;
    static char text[COMMAND_LINE_BYTES + 1];
    memset(text, 'y', COMMAND_LINE_BYTES);
    say(text);
    say("\n");
    hang_up();
    expect_line(text);
}

static void waits__for_a_line_or_the_end(void **state)
{
    (void)state;
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

static void interrupts__nothing_to_read(void **state)
{
    (void)state;
    assert_false(input_interrupts(&input));
}

static void interrupts__stop_is_used_up(void **state)
{
    (void)state;
    say("stop\nhello\n");
    assert_true(input_interrupts(&input));
    assert_false(input_interrupts(&input));
    expect_line("hello");
}

static void interrupts__stop_behind_other_lines(void **state)
{
    (void)state;
    say("hello\nstop\ndrivers\n");
    assert_true(input_interrupts(&input));
    expect_line("hello");
    expect_line("drivers");
}

static void interrupts__close_and_quit_wait_their_turn(void **state)
{
    (void)state;
    say("close\nquit\n");
    assert_true(input_interrupts(&input));
    expect_line("close");
    assert_true(input_interrupts(&input));
    expect_line("quit");
    assert_false(input_interrupts(&input));
}

static void interrupts__not_by_half_a_line_or_other_words(void **state)
{
    (void)state;
    say("stopping\nnonstop\nstop");
    assert_false(input_interrupts(&input));
    say("\n");
    assert_true(input_interrupts(&input));
}

static void interrupts__end_of_input(void **state)
{
    (void)state;
    say("hello\n");
    hang_up();
    (void)input_interrupts(&input);
    assert_true(input_interrupts(&input));
    expect_line("hello");
    expect(INPUT_END);
}

static void interrupts__end_behind_a_full_buffer(void **state)
{
    (void)state;
    static char lines[sizeof input.data];
    memset(lines, '\n', sizeof lines);
    assert_int_equal(write(writer, lines, sizeof lines), sizeof lines);
    assert_false(input_interrupts(&input));
    assert_false(input_interrupts(&input));
    hang_up();
    assert_true(input_interrupts(&input));
}

#define WITH_PIPE(test) cmocka_unit_test_setup_teardown(test, open_pipe, close_pipe)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PIPE(next__lines_in_order_then_the_end),
        WITH_PIPE(next__line_too_long),
        WITH_PIPE(next__longest_line),
        WITH_PIPE(waits__for_a_line_or_the_end),
        WITH_PIPE(interrupts__nothing_to_read),
        WITH_PIPE(interrupts__stop_is_used_up),
        WITH_PIPE(interrupts__stop_behind_other_lines),
        WITH_PIPE(interrupts__close_and_quit_wait_their_turn),
        WITH_PIPE(interrupts__not_by_half_a_line_or_other_words),
        WITH_PIPE(interrupts__end_of_input),
        WITH_PIPE(interrupts__end_behind_a_full_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
