/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit/test.h"

#include <stdlib.h>

int run_listed_tests(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    size_t count = (size_t)(__stop_unit_tests - __start_unit_tests);
    struct CMUnitTest *tests = calloc(count, sizeof *tests);

    if (tests == NULL) {
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < count; i++) {
        tests[i] = *__start_unit_tests[i];
    }
    int failed = _cmocka_run_group_tests("tests", tests, count, setup, teardown);
    free(tests);
    return failed;
}

/** Weak: a test that has to prepare something first has a main() of its own. */
__attribute__((weak)) int main(void)
{
    return run_listed_tests(NULL, NULL);
}
