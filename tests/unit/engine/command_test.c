/* SPDX-License-Identifier: BSD-3-Clause */
#include "command.h"

#include <errno.h>
#include <string.h>

#include "testing.h"

static struct command command;

static int parse(const char *line)
{
    return command_parse(&command, line, strlen(line));
}

static void refuses(const char *line, const char *part_of_reason)
{
    assert_int_equal(parse(line), -EINVAL);
    assert_non_null(strstr(command.reason, part_of_reason));
}

TEST(parse__every_verb)
{
    static const char *const VERBS[] = {"hello",  "clock",       "drivers", "patterns",
                                        "probes", "environment", "route",   "system-call-cost",
                                        "open",   "connect",     "run",     "check",
                                        "load",   "pause",       "resume",  "meter",
                                        "stop",   "close",       "quit"};
    for (size_t i = 0; i < sizeof VERBS / sizeof VERBS[0]; i++) {
        assert_int_equal(parse(VERBS[i]), 0);
        assert_int_equal(command.verb, i);
        assert_int_equal(command.word_count, 0);
    }
}

TEST(parse__words)
{
    assert_int_equal(parse("open driver=tcp role=initiator max_size=10 address="), 0);
    assert_int_equal(command.verb, COMMAND_OPEN);
    assert_string_equal(command_text(&command, "driver", NULL), "tcp");
    assert_string_equal(command_text(&command, "role", NULL), "initiator");
    assert_string_equal(command_text(&command, "address", NULL), "");
    assert_null(command_text(&command, "interface", NULL));
    assert_string_equal(command_text(&command, "interface", "lo"), "lo");
}

TEST(parse__value_with_equals_sign)
{
    assert_int_equal(parse("connect peer=a=b"), 0);
    assert_string_equal(command_text(&command, "peer", NULL), "a=b");
}

TEST(parse__percent_encoding)
{
    assert_int_equal(parse("connect peer=a%20b%25%c3%A9"), 0);
    assert_string_equal(command_text(&command, "peer", NULL), "a b%\xc3\xa9");
}

TEST(parse__bad_percent_encoding)
{
    refuses("connect peer=%", "hexadecimal");
    refuses("connect peer=%2", "hexadecimal");
    refuses("connect peer=%2g", "hexadecimal");
    refuses("connect peer=%g2", "hexadecimal");
    refuses("connect peer=a%00b", "%00");
}

TEST(parse__unknown_verb_or_key)
{
    refuses("", "unknown command ''");
    refuses("dance", "unknown command 'dance'");
    refuses("RUN", "unknown command");
    refuses("close now=1", "close has no key 'now'");
    refuses("run colour=red", "run has no key 'colour'");
}

TEST(parse__malformed_words)
{
    refuses("run size", "not key=value");
    refuses("run  size=1", "one space");
    refuses("run size=1 ", "one space");
    refuses("run =1", "no key ''");
    refuses("run size=1 size=2", "size is given twice");
}

TEST(parse__bytes_that_are_not_printable)
{
    refuses("connect peer=\t", "encode it as %09");
    refuses("connect peer=\xc3\xa9", "%C3");
    assert_int_equal(command_parse(&command, "close\0x", 7), -EINVAL);
}

TEST(parse__longest_line)
{
    static const char START[] = "connect peer=";
    const size_t start_bytes = sizeof START - 1;
    char line[COMMAND_LINE_BYTES + 1];
    memset(line, 'x', sizeof line);
    for (size_t i = 0; i < start_bytes; i++) {
        line[i] = START[i];
    }
    assert_int_equal(command_parse(&command, line, COMMAND_LINE_BYTES), 0);
    assert_int_equal(strlen(command_text(&command, "peer", NULL)),
                     COMMAND_LINE_BYTES - start_bytes);
    assert_int_equal(command_parse(&command, line, COMMAND_LINE_BYTES + 1), -EINVAL);
}

TEST(parse__reason_of_a_long_word_is_one_short_line)
{
    char line[COMMAND_LINE_BYTES];
    memset(line, 'x', sizeof line);
    assert_int_equal(command_parse(&command, line, sizeof line), -EINVAL);
    assert_true(strlen(command.reason) < 100);
}

TEST(number__limits)
{
    uint64_t value = 0;
    assert_int_equal(parse("run size=18446744073709551615 count=0 skip=18446744073709551616"), 0);
    assert_int_equal(command_number(&command, "size", 1, UINT64_MAX, &value), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(command_number(&command, "count", 0, 5, &value), 0);
    assert_int_equal(value, 0);
    assert_int_equal(command_number(&command, "count", 1, 5, &value), -EINVAL);
    assert_string_equal(command.reason, "count must be a number from 1 to 5");
    assert_int_equal(command_number(&command, "skip", 0, UINT64_MAX, &value), -EINVAL);
}

TEST(number__absent_keeps_the_default)
{
    uint64_t value = 42;
    assert_int_equal(parse("run"), 0);
    assert_int_equal(command_number(&command, "size", 1, 5, &value), 0);
    assert_int_equal(value, 42);
}

TEST(number__what_is_none)
{
    static const char *const LINES[] = {"run size=",   "run size=-1",  "run size=+1",
                                        "run size=1k", "run size=0x1", "run size=%201"};
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        uint64_t value = 42;
        assert_int_equal(parse(LINES[i]), 0);
        assert_int_equal(command_number(&command, "size", 0, 100, &value), -EINVAL);
        assert_int_equal(value, 42);
    }
}

TEST(require__missing_key)
{
    assert_int_equal(parse("run size=1"), 0);
    assert_int_equal(command_require(&command, "size"), 0);
    assert_int_equal(command_require(&command, "count"), -EINVAL);
    assert_string_equal(command.reason, "run needs count=");
}
