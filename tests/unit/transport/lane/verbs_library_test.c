/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/verbs/verbs_library.h"
#include "unit/test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

TEST(verbs_library_find__no_such_library)
{
    struct verbs_library library = {0};

    assert_int_equal(verbs_library_find("libnone-such.so.1", &library), -ELIBBAD);
}

TEST(verbs_library_find__one_that_lacks_a_function)
{
    struct verbs_library library = {0};

    assert_int_equal(verbs_library_find("libc.so.6", &library), -ELIBBAD);
}

/** Where its headers are the library is, too. */
TEST(verbs_library_load__the_installed_one)
{
    const struct verbs_library *library = verbs_library_load();
    int count = -1;

    assert_non_null(library);
    assert_ptr_equal(verbs_library_load(), library);
    struct ibv_device **devices = library->get_device_list(&count);
    assert_true(devices != NULL ? count >= 0 : errno == ENOSYS); /* no such module is loaded */
    if (devices != NULL) {
        library->free_device_list(devices);
    }
}
