/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/verbs/verbs_library.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

static void verbs_library_find__no_such_library(void **state)
{
    struct verbs_library library = {0};

    (void)state;
    assert_int_equal(verbs_library_find("libnone-such.so.1", &library), -ELIBBAD);
}

static void verbs_library_find__one_that_lacks_a_function(void **state)
{
    struct verbs_library library = {0};

    (void)state;
    assert_int_equal(verbs_library_find("libc.so.6", &library), -ELIBBAD);
}

/** Where its headers are the library is, too. */
static void verbs_library_load__the_installed_one(void **state)
{
    const struct verbs_library *library = verbs_library_load();
    int count = -1;

    (void)state;
    assert_non_null(library);
    assert_ptr_equal(verbs_library_load(), library);
    struct ibv_device **devices = library->get_device_list(&count);
    assert_true(devices != NULL ? count >= 0 : errno == ENOSYS); /* no such module is loaded */
    if (devices != NULL) {
        library->free_device_list(devices);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verbs_library_find__no_such_library),
        cmocka_unit_test(verbs_library_find__one_that_lacks_a_function),
        cmocka_unit_test(verbs_library_load__the_installed_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
