/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c - the drivers over OpenSHMEM, in one shared object that the library's own wrapper
 * compiles where it is wanted (evaluator/beowire/mpi/drivers.py); so the build does not know of
 * them.
 */
#include "drivers.h"

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&driver_shmem_put, &driver_shmem_get, NULL};

    return TABLE;
}
