/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c - the drivers over MPI, in one shared object. Each MPI's compiler wrapper builds it when
 * it is needed (evaluator/beowire/mpi/drivers.py), so it is not part of the build.
 */
#include "drivers.h"

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {
        &driver_mpi,           &driver_mpi_put,       &driver_mpi_get,
        &driver_mpi_put_fence, &driver_mpi_get_fence, NULL,
    };

    return TABLE;
}
