/* SPDX-License-Identifier: BSD-3-Clause */
#include "route/address.h"
#include "unit/test.h"

#include <errno.h>
#include <stdio.h>

#define SECRET "000102030405060708090a0b0c0d0e0f"
#define HEAD "beowire:3:88b5:0007:4a53854b14855ddf:00000000deadbeef:00000123:" SECRET
#define RAIL ":02aabbccddee/00000000000000000000ffff0a4d0001/c351"
#define RAIL_WITHOUT_MAC ":000000000000/00000000000000000000ffff0a4e0001/c352"
#define RAIL_IPV6 ":02aabbccddee/fd000000000000000000000000000001/c351"
#define TIPC ":000000000000/0000000000000000020000cae8030000/0000"
#define VERBS ":000000000000/1110000000000000000000000a4d0001/0000"
#define RAIL_MAC ":02aabbccddee/00000000000000000000000000000000/0000"

static const char text_of_valid[] = HEAD RAIL;

static struct beowire_address valid(void)
{
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .rails = 1,
        .endpoint = to_le16(7),
        .ethertype = to_le16(0x88B5),
        .incarnation = to_le64(0x4A53854B14855DDF),
        .host = to_le64(0xDEADBEEF),
        .process = to_le32(0x123),
        .rail[0] = {.mac = {0x02, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE},
                    .port = to_le16(50001),
                    .ip = {[10] = 0xFF, 0xFF, 10, 77, 0, 1}},
        .secret = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    };
    struct beowire_address address;

    memcpy(address.bytes, &layout, sizeof layout);
    return address;
}

TEST(beowire_address_format__as_documented)
{
    struct beowire_address address = valid();
    char text[BEOWIRE_ADDRESS_TEXT_BYTES];

    assert_int_equal(beowire_address_format(&address, text, sizeof text), 0);
    assert_string_equal(text, text_of_valid);
}

TEST(beowire_address_format__bad_arguments)
{
    struct beowire_address address = valid();
    char text[BEOWIRE_ADDRESS_TEXT_BYTES];

    assert_int_equal(beowire_address_format(NULL, text, sizeof text), -EINVAL);
    assert_int_equal(beowire_address_format(&address, NULL, sizeof text), -EINVAL);
    assert_int_equal(beowire_address_format(&address, text, sizeof text - 1), -ENOSPC);
    address.bytes[0] = 0;
    assert_int_equal(beowire_address_format(&address, text, sizeof text), -EINVAL);
}

TEST(beowire_address_parse__reads_what_was_written)
{
    struct beowire_address expected = valid();
    struct beowire_address address;

    assert_int_equal(beowire_address_parse(text_of_valid, &address), 0);
    assert_memory_equal(&address, &expected, sizeof address);
}

TEST(beowire_address_parse__refuses)
{
    static const char *const bad[] = {
        "",
        "beowire",
        "beowire:",
        HEAD ":",      /* too short */
        HEAD RAIL "0", /* too long */
        HEAD RAIL "++",
        HEAD ":000000000000/00000000000000000000ffff0a4d0001/c351+", /* no MAC */
        HEAD RAIL " ",
        " " HEAD RAIL,
        HEAD RAIL RAIL RAIL RAIL RAIL, /* too many interfaces */
        HEAD TIPC RAIL,                /* TIPC is the last, */
        HEAD TIPC TIPC,                /* there is one, */
        HEAD TIPC "+",                 /* and no network card cuts it */
        HEAD TIPC VERBS,               /* verbs comes before it, */
        HEAD VERBS RAIL,               /* behind interfaces, */
        HEAD VERBS VERBS,              /* there is one, */
        HEAD VERBS "+",                /* and no network card cuts it, either */
        HEAD ":000000000000/0100000000000000000000000a4d0001/0000", /* the manager's */
        HEAD ":000000000000/ffffff0000000000000000000a4d0001/0000", /* a group's */
        HEAD ":000000000000/1110000100000000000000000a4d0001/0000", /* 24 bits */
        HEAD ":000000000000/1110000000000000000000010a4d0001/0000",
        HEAD ":000000000000/111000000000000000000000000d0001/0000",
        HEAD ":000000000000/111000000000000000000000ef4d0001/0000",
        HEAD ":020000000000/1110000000000000000000000a4d0001/0000",
        HEAD ":020000000000/0000000000000000020000cae8030000/0000",
        HEAD ":000000000000/0000000000000001020000cae8030000/0000",
        HEAD ":000000000000/0000000000000000020000cae8030000/0001" TIPC "+",
        HEAD ":000000000000/000000000000000000000000e8030000/0000",
        HEAD ":000000000000/0000000000000000020000ca00000000/0000",
        "Beowire:3:88b5:0007:4a53854b14855ddf:00000000deadbeef:00000123:" SECRET RAIL,
        "beowire:3:88B5:0007:4a53854b14855ddf:00000000deadbeef:00000123:" SECRET
            RAIL, /* one spelling */
        "beowire:3:88b5:007:4a53854b14855ddf:00000000deadbeef:00000123:" SECRET RAIL,
        "beowire:1:88b5:0007:4a53854b14855ddf:00000000deadbeef:00000123:" SECRET RAIL, /* version */
        "beowire:3:05ff:0007:4a53854b14855ddf:00000000deadbeef:00000123:" SECRET
            RAIL, /* a length */
        "beowire:3:88b5:0000:4a53854b14855ddf:00000000deadbeef:00000123:" SECRET
            RAIL, /* endpoint 0 */
        "beowire:3:88b5:0007:0000000000000000:00000000deadbeef:00000123:" SECRET
            RAIL, /* incarnation 0 */
        "beowire:3:88b5:0007:4a53854b14855ddf:00000000deadbeef:00000000:" SECRET
            RAIL, /* half a process */
        "beowire:3:88b5:0007:4a53854b14855ddf:0000000000000000:00000000:" SECRET, /* no way at all
                                                                                   */
        HEAD ":03aabbccddee/00000000000000000000ffff0a4d0001/c351", /* a group of hosts */
        HEAD ":02aabbccddee/00000000000000000000ffff0a4d0001/0000", /* no port */
        HEAD ":02aabbccddee/00000000000000000000000000000000/c351", /* no address */
        HEAD ":000000000000/00000000000000000000000000000000/0000", /* nothing */
        HEAD ":02aabbccddee/00000000000000000000ffff0a4d0001/c35g",
        HEAD ":02aabbccddee:00000000000000000000ffff0a4d0001/c351",
        "beowire:3:88b5:0007:4a53854b14855ddf:00000000deadbeef:00000123" RAIL, /* no secret, and no
                                                                                  word of it */
        "beowire:3:88b5:0007:4a53854b14855ddf:00000000deadbeef:00000123:"
        "00000000000000000000000000000000" RAIL,
        "beowire:3:88b5:0007:4a53854b14855ddf:00000000deadbeef:00000123:"
        "010102030405060708090a0b0c0d0e0f" RAIL,
    };
    struct beowire_address address;

    memset(&address, 0x77, sizeof address);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(beowire_address_parse(bad[i], &address), -EINVAL);
        assert_int_equal(address.bytes[0], 0x77);
    }
    assert_int_equal(beowire_address_parse(NULL, &address), -EINVAL);
    assert_int_equal(beowire_address_parse(text_of_valid, NULL), -EINVAL);
}

TEST(beowire_address_parse__of_memory_only_and_of_many_interfaces)
{
    static const char *const good[] = {HEAD,
                                       HEAD RAIL RAIL RAIL RAIL,
                                       HEAD RAIL "+",
                                       HEAD RAIL "+" RAIL "+" RAIL RAIL "+",
                                       HEAD ":02aabbccddee/00000000000000000000000000000000/0000",
                                       HEAD ":000000000000/00000000000000000000ffff0a4d0001/c351",
                                       HEAD TIPC,
                                       HEAD VERBS,
                                       HEAD RAIL "+" RAIL VERBS TIPC,
                                       HEAD RAIL "+" RAIL RAIL TIPC};
    struct beowire_address address;
    char text[BEOWIRE_ADDRESS_TEXT_BYTES];

    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(beowire_address_parse(good[i], &address), 0);
        assert_int_equal(beowire_address_format(&address, text, sizeof text), 0);
        assert_string_equal(text, good[i]);
    }
}

static bool is_reserved(size_t at)
{
    return (at >= offsetof(struct address_layout, reserved) &&
            at < offsetof(struct address_layout, incarnation)) ||
           (at >= offsetof(struct address_layout, more) &&
            at < offsetof(struct address_layout, rail)) ||
           (at >= offsetof(struct address_layout, rail[1]) &&
            at < offsetof(struct address_layout, secret));
}

/** The one follows from the other. */
static bool is_name_or_secret(size_t at)
{
    return (at >= offsetof(struct address_layout, incarnation) &&
            at < offsetof(struct address_layout, host)) ||
           at >= offsetof(struct address_layout, secret);
}

TEST(address_is_valid__every_reserved_byte_counts)
{
    const struct beowire_address good = valid();

    assert_true(address_is_valid(&good));
    for (size_t i = 0; i < BEOWIRE_ADDRESS_BYTES; i++) {
        struct beowire_address address = good;
        /* Version, number of interfaces, and one that is not there. */
        bool shape = i < 2 || i == offsetof(struct address_layout, tso_rails);
        address.bytes[i] ^= 0x40;
        assert_int_equal(address_is_valid(&address),
                         !is_reserved(i) && !shape && !is_name_or_secret(i));
    }
}

TEST(beowire_address_describe__says_no_secret)
{
    struct beowire_address address = valid();
    char text[BEOWIRE_ADDRESS_TEXT_BYTES];
    struct beowire_address read;

    assert_int_equal(beowire_address_describe(&address, text, sizeof text), 0);
    assert_null(strstr(text, SECRET));
    assert_int_equal(beowire_address_parse(text, &read), 0);
    assert_true(beowire_address_same(&read, &address));
    memset(address.bytes + offsetof(struct address_layout, secret), 0, ADDRESS_SECRET_BYTES);
    assert_memory_equal(&read, &address, sizeof read);
}

TEST(beowire_address_shorten__is_read_again)
{
    const struct beowire_address address = valid();
    uint8_t bytes[1 + BEOWIRE_ADDRESS_SHORT_BYTES];
    struct beowire_address read;

    assert_int_equal(beowire_address_shorten(&address, bytes + 1), 0);
    assert_int_equal(beowire_address_lengthen(bytes + 1, &read), 0);
    assert_memory_equal(&read, &address, sizeof read);
    assert_int_equal(beowire_address_shorten(NULL, bytes), -EINVAL);
    assert_int_equal(beowire_address_shorten(&address, NULL), -EINVAL);
    assert_int_equal(beowire_address_lengthen(NULL, &read), -EINVAL);
    assert_int_equal(beowire_address_lengthen(bytes + 1, NULL), -EINVAL);
}

/** Of two interfaces, if both have an IPv4 address; they need not have a MAC. Or one of them, or
 * the only one, is TIPC. */
TEST(beowire_address_shorten__two_interfaces)
{
    static const char *const texts[] = {HEAD RAIL "+" RAIL_WITHOUT_MAC,
                                        HEAD RAIL_WITHOUT_MAC RAIL,
                                        HEAD TIPC,
                                        HEAD RAIL "+" TIPC,
                                        HEAD VERBS,
                                        HEAD RAIL "+" VERBS,
                                        HEAD VERBS TIPC};
    uint8_t bytes[BEOWIRE_ADDRESS_SHORT_BYTES];
    struct beowire_address address;
    struct beowire_address read;

    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(beowire_address_parse(texts[i], &address), 0);
        assert_int_equal(beowire_address_shorten(&address, bytes), 0);
        assert_int_equal(beowire_address_lengthen(bytes, &read), 0);
        assert_memory_equal(&read, &address, sizeof read);
    }
}

TEST(beowire_address_shorten__of_what_has_no_short_form)
{
    uint8_t bytes[BEOWIRE_ADDRESS_SHORT_BYTES];
    struct beowire_address address;

    assert_int_equal(beowire_address_parse(HEAD RAIL RAIL RAIL, &address), 0);
    assert_int_equal(beowire_address_shorten(&address, bytes), -EMSGSIZE);
    assert_int_equal(beowire_address_parse(HEAD RAIL RAIL_IPV6, &address), 0);
    assert_int_equal(beowire_address_shorten(&address, bytes), -EMSGSIZE);
    assert_int_equal(beowire_address_parse(HEAD RAIL_MAC VERBS, &address), 0);
    assert_int_equal(beowire_address_shorten(&address, bytes), -EMSGSIZE);
    assert_int_equal(beowire_address_parse(HEAD RAIL_MAC TIPC, &address), 0);
    assert_int_equal(beowire_address_shorten(&address, bytes), -EMSGSIZE);
    assert_int_equal(beowire_address_parse(HEAD RAIL_MAC RAIL, &address), 0);
    assert_int_equal(beowire_address_shorten(&address, bytes), -EMSGSIZE);
    address = valid();
    memset(address.bytes + offsetof(struct address_layout, secret), 0, ADDRESS_SECRET_BYTES);
    assert_int_equal(beowire_address_shorten(&address, bytes), -EINVAL);
}

TEST(beowire_address_lengthen__refuses)
{
    const struct beowire_address good = valid();
    uint8_t bytes[BEOWIRE_ADDRESS_SHORT_BYTES];
    struct beowire_address read;

    assert_int_equal(beowire_address_shorten(&good, bytes), 0);
    bytes[0] = 99; /* version */
    assert_int_equal(beowire_address_lengthen(bytes, &read), -EINVAL);
    bytes[0] = ADDRESS_VERSION;
    memset(bytes + 8, 0, ADDRESS_SECRET_BYTES);
    assert_int_equal(beowire_address_lengthen(bytes, &read), -EINVAL);
}
