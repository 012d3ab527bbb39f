/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/address.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char text_of_valid[] = "beowire:1:02aabbccddee:88b5:0007:0123456789abcdef";

static struct beowire_address valid(void)
{
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .lane = ADDRESS_PACKET,
        .endpoint = to_le16(7),
        .mac = {0x02, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE},
        .ethertype = to_le16(0x88B5),
        .incarnation = to_le64(0x0123456789ABCDEF),
    };
    struct beowire_address address;

    memcpy(address.bytes, &layout, sizeof layout);
    return address;
}

static void beowire_address_format__as_documented(void **state)
{
    struct beowire_address address = valid();
    char text[BEOWIRE_ADDRESS_TEXT_BYTES];

    (void)state;
    assert_int_equal(beowire_address_format(&address, text, sizeof text), 0);
    assert_string_equal(text, text_of_valid);
}

static void beowire_address_format__bad_arguments(void **state)
{
    struct beowire_address address = valid();
    char text[BEOWIRE_ADDRESS_TEXT_BYTES];

    (void)state;
    assert_int_equal(beowire_address_format(NULL, text, sizeof text), -EINVAL);
    assert_int_equal(beowire_address_format(&address, NULL, sizeof text), -EINVAL);
    assert_int_equal(beowire_address_format(&address, text, sizeof text - 1), -ENOSPC);
    address.bytes[0] = 0;
    assert_int_equal(beowire_address_format(&address, text, sizeof text), -EINVAL);
}

static void beowire_address_parse__reads_what_was_written(void **state)
{
    struct beowire_address expected = valid();
    struct beowire_address address;

    (void)state;
    assert_int_equal(beowire_address_parse(text_of_valid, &address), 0);
    assert_memory_equal(&address, &expected, sizeof address);
}

static void beowire_address_parse__refuses(void **state)
{
    static const char *const bad[] = {
        "",
        "beowire",
        "beowire:",
        "beowire:1:02aabbccddee:88b5:0007:0123456789abcde",   /* too short */
        "beowire:1:02aabbccddee:88b5:0007:0123456789abcdef0", /* too long */
        "beowire:1:02aabbccddee:88b5:0007:0123456789abcdef ",
        " beowire:1:02aabbccddee:88b5:0007:0123456789abcdef",
        "Beowire:1:02aabbccddee:88b5:0007:0123456789abcdef",
        "beowire:1:02AABBCCDDEE:88b5:0007:0123456789abcdef", /* there is one spelling */
        "beowire:1:02aabbccddee:88b5:0007:0123456789abcdeg",
        "beowire:1:02aabbccddee:88b5:007:0123456789abcdef",
        "beowire:2:02aabbccddee:88b5:0007:0123456789abcdef", /* no such lane */
        "beowire:1:03aabbccddee:88b5:0007:0123456789abcdef", /* a group of hosts */
        "beowire:1:02aabbccddee:05ff:0007:0123456789abcdef", /* a length, no EtherType */
        "beowire:1:02aabbccddee:88b5:0000:0123456789abcdef", /* endpoint 0 */
        "beowire:1:02aabbccddee:88b5:0007:0000000000000000", /* incarnation 0 */
    };
    struct beowire_address address;

    (void)state;
    memset(&address, 0x77, sizeof address);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(beowire_address_parse(bad[i], &address), -EINVAL);
        assert_int_equal(address.bytes[0], 0x77);
    }
    assert_int_equal(beowire_address_parse(NULL, &address), -EINVAL);
    assert_int_equal(beowire_address_parse(text_of_valid, NULL), -EINVAL);
}

static void address_is_valid__every_reserved_byte_counts(void **state)
{
    const struct beowire_address good = valid();

    (void)state;
    assert_true(address_is_valid(&good));
    for (size_t i = 0; i < BEOWIRE_ADDRESS_BYTES; i++) {
        struct beowire_address address = good;
        bool reserved = (i >= offsetof(struct address_layout, reserved) &&
                         i < offsetof(struct address_layout, incarnation)) ||
                        i >= offsetof(struct address_layout, more);
        address.bytes[i] ^= 0x40;
        bool identity = i < 2;
        assert_int_equal(address_is_valid(&address), !reserved && !identity);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beowire_address_format__as_documented),
        cmocka_unit_test(beowire_address_format__bad_arguments),
        cmocka_unit_test(beowire_address_parse__reads_what_was_written),
        cmocka_unit_test(beowire_address_parse__refuses),
        cmocka_unit_test(address_is_valid__every_reserved_byte_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
