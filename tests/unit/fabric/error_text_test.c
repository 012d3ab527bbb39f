/* SPDX-License-Identifier: BSD-3-Clause */
#include "error_text.h"
#include "unit/test.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <stddef.h>
#include <string.h>

#define SECRET "-"
#define PEER                                                                                       \
    "beowire:3:88b5:0007:4a53854b14855ddf:00000000deadbeef:00000123:" SECRET                       \
    ":02aabbccddee/00000000000000000000ffff0a4d0001/c351"

TEST(error_text__names_the_peer)
{
    struct beowire_address peer;
    char text[ERROR_TEXT_BYTES];

    assert_int_equal(beowire_address_parse(PEER, &peer), 0);
    error_text(text, -ECONNRESET, &peer);
    assert_ptr_equal(strstr(text, "process 291 on 10.77.0.1 (" PEER "): "), text);
    assert_non_null(strstr(text, beowire_error(-ECONNRESET)));
}

TEST(error_peer_text__says_who_it_is)
{
    struct beowire_address peer;
    char text[PEER_TEXT_BYTES];

    assert_false(error_peer_text(text, NULL));
    assert_int_equal(beowire_address_parse(PEER, &peer), 0);
    assert_true(error_peer_text(text, &peer));
    assert_string_equal(text, "process 291 on 10.77.0.1 (" PEER ")");
}

TEST(error_text__a_peer_without_ip_address)
{
    struct beowire_address peer;
    char text[ERROR_TEXT_BYTES];

    assert_int_equal(beowire_address_parse(
                         "beowire:3:88b5:0007:4a53854b14855ddf:00000000deadbeef:00000123:" SECRET
                         ":02aabbccddee/00000000000000000000000000000000/0000",
                         &peer),
                     0);
    error_text(text, -ETIMEDOUT, &peer);
    assert_ptr_equal(strstr(text, "process 291 on 02aabbccddee ("), text);
}

TEST(error_text__without_a_peer)
{
    struct beowire_address nobody = {0};
    char text[ERROR_TEXT_BYTES];

    error_text(text, -ENETDOWN, NULL);
    assert_string_equal(text, beowire_error(-ENETDOWN));
    error_text(text, -ENETDOWN, &nobody);
    assert_string_equal(text, beowire_error(-ENETDOWN));
}

TEST(error_number__as_libfabric_counts)
{
    assert_int_equal(error_number(-EMSGSIZE), FI_ETRUNC);
    assert_int_equal(error_number(-ECANCELED), FI_ECANCELED);
    assert_int_equal(error_number(-ENOMSG), FI_ENOMSG);
    assert_int_equal(error_number(-ETIMEDOUT), FI_ETIMEDOUT);
    assert_int_equal(error_number(-ECONNRESET), FI_ECONNRESET);
}
