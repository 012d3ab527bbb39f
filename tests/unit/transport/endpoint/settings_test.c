/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/settings.h"
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

TEST(settings_parse__every_key)
{
    struct settings settings;
    struct settings_fault fault;

    settings_default(&settings);
    assert_int_equal(settings_parse(&settings,
                                    "# measured\n"
                                    "\n"
                                    "eager_bytes = 4096\n"
                                    "eager_cut_frames = 20\n"
                                    "burst_frames = 5\n"
                                    "read_bytes = 65536\n"
                                    "  bundle_bytes=128  # short\r\n"
                                    "hold_posts\t=\t8\n"
                                    "unasked_blocks = 0\n"
                                    "spin_ns = 20000\n"
                                    "busy_poll_us = 50\n"
                                    "go_back_n = true\n"
                                    "bulk_by_packet = eth0,eth1",
                                    '\n', &fault),
                     0);
    assert_int_equal(settings.message.eager_bytes, 4096);
    assert_int_equal(settings.message.eager_cut_frames, 20);
    assert_int_equal(settings.message.burst_frames, 5);
    assert_int_equal(settings.message.read_bytes, 65536);
    assert_int_equal(settings.message.bundle_bytes, 128);
    assert_int_equal(settings.message.hold_posts, 8);
    assert_int_equal(settings.message.unasked_blocks, 0);
    assert_int_equal(settings.spin_ns, 20000);
    assert_int_equal(settings.busy_poll_us, 50);
    assert_true(settings.go_back_n);
    assert_string_equal(settings.bulk_by_packet, "eth0,eth1");
}

TEST(settings_parse__what_is_not_named_stays)
{
    const struct message_limits limits = MESSAGE_LIMITS_DEFAULT;
    struct settings settings;
    struct settings_fault fault;

    settings_default(&settings);
    assert_int_equal(settings_parse(&settings, "", '\n', &fault), 0);
    assert_int_equal(settings_parse(&settings, "go_back_n=true,eager_bytes=1", ',', &fault), 0);
    assert_int_equal(settings_parse(&settings, "bulk_by_packet=a+b", ',', &fault), 0);
    assert_true(settings.go_back_n);
    assert_int_equal(settings.message.eager_bytes, 1);
    assert_int_equal(settings.message.bundle_bytes, limits.bundle_bytes);
    assert_int_equal(settings.spin_ns, PATIENCE_SPIN_MAX_NS);
    assert_int_equal(settings.busy_poll_us, SETTINGS_AS_HOST);
    assert_string_equal(settings.bulk_by_packet, "a,b");
}

TEST(settings_parse__says_what_is_wrong_and_where)
{
    static const struct {
        const char *text;
        unsigned line;
        const char *reason;
    } faults[] = {
        {"eager_bytes = 1048577", 1, "eager_bytes is a number from 0 to 1048576"},
        {"\n\neager_bytes = -1\n", 3, "eager_bytes is a number from 0 to 1048576"},
        {"eager_bytes = 1k", 1, "eager_bytes is a number"},
        {"eager_bytes =", 1, "eager_bytes is a number"},
        {"eager_bytes = 99999999999999999999999", 1, "eager_bytes is a number"},
        {"hold_posts = 0", 1, "hold_posts is a number from 1 to 64"},
        {"unasked_blocks = 17", 1, "unasked_blocks is a number from 0 to 16"},
        {"spin_ns = 10", 1, "spin_ns is a number from 4000 to 10000000"},
        {"busy_poll_us = 10001", 1, "busy_poll_us is a number from 0 to 10000"},
        {"burst_frames = 1", 1, "burst_frames is a number from 2 to 64"},
        {"go_back_n = yes", 1, "go_back_n is true or false"},
        {"bulk_by_packet = eth0, eth1", 1, "bulk_by_packet is a list such as eth0,eth1"},
        {"bulk_by_packet = eth0\r,eth1", 1, "bulk_by_packet is a list such as eth0,eth1"},
        {"# fine\neager = 1", 2, "there is no setting eager"},
        {"eager_bytes = 1\neager_bytes = 2", 2, "eager_bytes is set twice"},
        {"eager_bytes", 1, "this is not \"key = value\": eager_bytes"},
        {"= 1", 1, "there is no setting "},
        {"\033[2Jeager\177\303\244 = 1", 1, "there is no setting ?[2Jeager???"},
    };

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct settings settings;
        struct settings_fault fault;
        struct settings before;
        settings_default(&settings);
        settings_default(&before);
        assert_int_equal(settings_parse(&settings, faults[i].text, '\n', &fault), -EBADMSG);
        assert_int_equal(fault.line, faults[i].line);
        assert_memory_equal(fault.reason, faults[i].reason, strlen(faults[i].reason));
        /* Half a configuration is none. */
        assert_int_equal(settings.message.eager_bytes, before.message.eager_bytes);
    }
}

TEST(settings_parse__longer_than_any_line)
{
    char text[1000];
    struct settings settings;
    struct settings_fault fault;

    settings_default(&settings);
    memset(text, 'x', sizeof text);
    text[0] = '\n';
    text[sizeof text - 1] = '\0';
    assert_int_equal(settings_parse(&settings, text, '\n', &fault), -EBADMSG);
    assert_int_equal(fault.line, 2);
    assert_string_equal(fault.reason, "the line is too long");
    (void)snprintf(text, sizeof text, "bulk_by_packet = %0200d", 0);
    assert_int_equal(settings_parse(&settings, text, '\n', &fault), -EBADMSG);
}

TEST(settings_packet_rails__by_name)
{
    struct settings settings;

    settings_default(&settings);
    assert_int_equal(settings_packet_rails(&settings, "eth0,eth1"), 0);
    (void)snprintf(settings.bulk_by_packet, sizeof settings.bulk_by_packet, "eth1,eth22");
    assert_int_equal(settings_packet_rails(&settings, "eth0,eth1"), 2);
    assert_int_equal(settings_packet_rails(&settings, "eth22,eth2,eth222,eth1"), 1 | 8);
    assert_int_equal(settings_packet_rails(&settings, NULL), 0);
    assert_int_equal(settings_packet_rails(&settings, ""), 0);
    (void)snprintf(settings.bulk_by_packet, sizeof settings.bulk_by_packet, "all");
    assert_int_equal(settings_packet_rails(&settings, "eth0,eth1"), 3);
}
