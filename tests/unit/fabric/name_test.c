/* SPDX-License-Identifier: BSD-3-Clause */
#include "name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

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

static void name__there_and_back(void **state)
{
    struct beowire_address address = example();
    struct beowire_address back;
    uint8_t name[1 + NAME_BYTES];

    (void)state;
    assert_true(name_from_address(&address, name + 1));
    assert_true(name_to_address(name + 1, &back));
    assert_memory_equal(&back, &address, sizeof back);
}

static void name_from_address__one_that_is_too_long(void **state)
{
    struct beowire_address address;
    uint8_t name[NAME_BYTES];

    (void)state;
    assert_int_equal(beowire_address_parse(EXAMPLE RAIL RAIL, &address), 0);
    assert_false(name_from_address(&address, name));
}

static void name_to_address__what_is_none(void **state)
{
    struct beowire_address address;
    uint8_t name[NAME_BYTES] = {0};

    (void)state;
    assert_false(name_to_address(name, &address));
    memset(name, 0xFF, sizeof name);
    assert_false(name_to_address(name, &address));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name__there_and_back),
        cmocka_unit_test(name_from_address__one_that_is_too_long),
        cmocka_unit_test(name_to_address__what_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
