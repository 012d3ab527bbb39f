/* SPDX-License-Identifier: BSD-3-Clause */
#include "error_text.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SECRET "-"
#define PEER                                                                                       \
    "beowire:3:88b5:0007:4a53854b14855ddf:00000000deadbeef:00000123:" SECRET                       \
    ":02aabbccddee/00000000000000000000ffff0a4d0001/c351"

static void error_text__names_the_peer(void **state)
{
    struct beowire_address peer;
    char text[ERROR_TEXT_BYTES];

    (void)state;
    assert_int_equal(beowire_address_parse(PEER, &peer), 0);
    error_text(text, -ECONNRESET, &peer);
    assert_ptr_equal(strstr(text, "process 291 on 10.77.0.1 (" PEER "): "), text);
    assert_non_null(strstr(text, beowire_error(-ECONNRESET)));
}

static void error_peer_text__says_who_it_is(void **state)
{
    struct beowire_address peer;
    char text[PEER_TEXT_BYTES];

    (void)state;
    assert_false(error_peer_text(text, NULL));
    assert_int_equal(beowire_address_parse(PEER, &peer), 0);
    assert_true(error_peer_text(text, &peer));
    assert_string_equal(text, "process 291 on 10.77.0.1 (" PEER ")");
}

static void error_text__a_peer_without_ip_address(void **state)
{
    struct beowire_address peer;
    char text[ERROR_TEXT_BYTES];

    (void)state;
    assert_int_equal(beowire_address_parse(
                         "beowire:3:88b5:0007:4a53854b14855ddf:00000000deadbeef:00000123:" SECRET
                         ":02aabbccddee/00000000000000000000000000000000/0000",
                         &peer),
                     0);
    error_text(text, -ETIMEDOUT, &peer);
    assert_ptr_equal(strstr(text, "process 291 on 02aabbccddee ("), text);
}

static void error_text__without_a_peer(void **state)
{
    struct beowire_address nobody = {0};
    char text[ERROR_TEXT_BYTES];

    (void)state;
    error_text(text, -ENETDOWN, NULL);
    assert_string_equal(text, beowire_error(-ENETDOWN));
    error_text(text, -ENETDOWN, &nobody);
    assert_string_equal(text, beowire_error(-ENETDOWN));
}

static void error_number__as_libfabric_counts(void **state)
{
    (void)state;
    assert_int_equal(error_number(-EMSGSIZE), FI_ETRUNC);
    assert_int_equal(error_number(-ECANCELED), FI_ECANCELED);
    assert_int_equal(error_number(-ENOMSG), FI_ENOMSG);
    assert_int_equal(error_number(-ETIMEDOUT), FI_ETIMEDOUT);
    assert_int_equal(error_number(-ECONNRESET), FI_ECONNRESET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_text__names_the_peer),
        cmocka_unit_test(error_peer_text__says_who_it_is),
        cmocka_unit_test(error_text__a_peer_without_ip_address),
        cmocka_unit_test(error_text__without_a_peer),
        cmocka_unit_test(error_number__as_libfabric_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
