/* SPDX-License-Identifier: BSD-3-Clause */
#include "name.h"
#include "unit/test.h"

#include <stddef.h>
#include <string.h>

/** An address with one interface, as text. */
#define SECRET "000102030405060708090a0b0c0d0e0f"
#define RAIL ":02aabbccddee/00000000000000000000ffff0a4d0001/c351"
#define EXAMPLE "beowire:3:88b5:0007:4a53854b14855ddf:00000000deadbeef:00000123:" SECRET RAIL

static struct beowire_address example(void)
{
    struct beowire_address address;

    assert_int_equal(beowire_address_parse(EXAMPLE, &address), 0);
    return address;
}

TEST(name__there_and_back)
{
    struct beowire_address address = example();
    struct beowire_address back;
    uint8_t name[1 + NAME_BYTES];

    assert_true(name_from_address(&address, name + 1));
    assert_true(name_to_address(name + 1, &back));
    assert_memory_equal(&back, &address, sizeof back);
}

TEST(name_from_address__one_that_is_too_long)
{
    struct beowire_address address;
    uint8_t name[NAME_BYTES];

    assert_int_equal(beowire_address_parse(EXAMPLE RAIL RAIL, &address), 0);
    assert_false(name_from_address(&address, name));
}

TEST(name_to_address__what_is_none)
{
    struct beowire_address address;
    uint8_t name[NAME_BYTES] = {0};

    assert_false(name_to_address(name, &address));
    memset(name, 0xFF, sizeof name);
    assert_false(name_to_address(name, &address));
}
