/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * namespace_main.c - main() for tests that test.h lists and that need a network.
 */
#include "namespace.h"
#include "unit/test.h"

/** Weak: a test that has to prepare something first has a main() of its own. */
__attribute__((weak)) int main(int argc, char **argv)
{
    namespace_enter(argv);
    return run_listed_tests(NULL, NULL);
}
