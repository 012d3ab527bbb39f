/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c - the drivers over OpenSHMEM, in one shared object. The library's compiler wrapper builds
 * it when it is needed (evaluator/beowire/mpi/drivers.py), so it is not part of the build.
 */
#include "drivers.h"

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&driver_shmem_put, &driver_shmem_get, NULL};

    return TABLE;
}
