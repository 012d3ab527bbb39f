/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit/test.h"

int run_listed_tests(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    return _cmocka_run_group_tests("tests", __start_unit_tests,
                                   (size_t)(__stop_unit_tests - __start_unit_tests), setup,
                                   teardown);
}

/** Weak: a test that has to prepare something first has a main() of its own. */
__attribute__((weak)) int main(void)
{
    return run_listed_tests(NULL, NULL);
}
