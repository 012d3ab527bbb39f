/* SPDX-License-Identifier: BSD-3-Clause */
#include "library.h"

#include "../engine/testing.h"

#define VERSION "Open MPI v4.1.4, package: Debian OpenMPI\nident: 4.1.4"

TEST(address__is_printable_and_without_spaces)
{
    char text[DRIVER_ADDRESS_BYTES];
    volatile size_t too_few = 20; /* not known to the compiler, which would warn */
    assert_int_equal(library_address(VERSION, text, sizeof text), 0);
    assert_string_equal(strchr(text, '@'), "@Open_MPI_v4.1.4");
    assert_int_equal(library_address("a\tb\x80 c\nmore", text, sizeof text), 0);
    assert_string_equal(strchr(text, '@'), "@a_b__c");
    assert_int_equal(library_address(VERSION, text, too_few), -ENOSPC);
}

TEST(compare__the_whole_text_counts)
{
    char text[DRIVER_ADDRESS_BYTES];
    char error[DRIVER_REASON_BYTES] = "";
    assert_int_equal(library_address(VERSION, text, sizeof text), 0);
    assert_int_equal(library_compare(VERSION, text, error, sizeof error), 0);
    assert_int_equal(library_compare(VERSION "-1", text, error, sizeof error), -ELIBBAD);
    assert_string_equal(error, "the other node has Open_MPI_v4.1.4, this one Open_MPI_v4.1.4:"
                               " install the same on both");
}

TEST(compare__what_is_no_address)
{
    static const char *const TEXTS[] = {"", "@", "x", "-1@Open", "123", "99999999999999999@x"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        char error[DRIVER_REASON_BYTES] = "";
        assert_int_equal(library_compare(VERSION, TEXTS[i], error, sizeof error), -EINVAL);
        assert_non_null(strstr(error, "is not the address of another end"));
    }
}
