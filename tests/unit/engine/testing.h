/* SPDX-License-Identifier: BSD-3-Clause */
/* testing.h - cmocka, after the headers that it wants before it. */
#ifndef BEOWIRE_TEST_TESTING_H
#define BEOWIRE_TEST_TESTING_H

#include "unit/test.h"

#include <stddef.h>
#include <stdint.h>

#endif
