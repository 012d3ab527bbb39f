/* SPDX-License-Identifier: BSD-3-Clause */
/* A driver that does not survive being loaded. */
#include <stdlib.h>

__attribute__((constructor)) static void crash(void)
{
    abort();
}
