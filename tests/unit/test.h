/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test.h - cmocka, and macros that define a test and list it in the section `unit_tests`. The
 * main() of main.c runs all tests of a program in the order of its file.
 */
#ifndef BEOWIRE_TESTS_UNIT_TEST_H
#define BEOWIRE_TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/** Start and end of that section: names that the linker defines. */
extern const struct CMUnitTest __start_unit_tests[];
extern const struct CMUnitTest __stop_unit_tests[];

#if __has_attribute(no_reorder)
#define TEST_IN_ORDER __attribute__((no_reorder)) /* gcc may turn their order round */
#else
#define TEST_IN_ORDER
#endif

/* With their own alignment, and no other that a compiler thinks better, they are an array. */
#define TEST_LISTED(name, function, setup, teardown)                                               \
    TEST_IN_ORDER static const struct CMUnitTest name##__test                                      \
        __attribute__((section("unit_tests"), used, aligned(sizeof(void *)))) = {                  \
            #name, function, setup, teardown, NULL}

/** A test without fixture: TEST(function__situation) { ... } */
#define TEST(name) TEST_AROUND(name, NULL, NULL)

/** A test between `setup` and `teardown`; its argument is `void **state`. */
#define TEST_AROUND(name, setup, teardown)                                                         \
    static void name(void **state);                                                                \
    TEST_LISTED(name, name, setup, teardown);                                                      \
    static void name(void **state __attribute__((unused)))

/** The same, where `argument`, such as `struct fixture *fixture`, is what `setup` left in *state.
 */
#define TEST_WITH(argument, name, setup, teardown)                                                 \
    static void name(argument);                                                                    \
    static void name##__with(void **state)                                                         \
    {                                                                                              \
        name(*state);                                                                              \
    }                                                                                              \
    TEST_LISTED(name, name##__with, setup, teardown);                                              \
    static void name(argument __attribute__((unused))) /* NOLINT(bugprone-macro-parentheses) */

/** Runs all listed tests. `setup` and `teardown`, if not NULL, are called once. @return how many
 *  failed. */
int run_listed_tests(CMFixtureFunction setup, CMFixtureFunction teardown);

#endif
