/* SPDX-License-Identifier: BSD-3-Clause */
/* drivers.h - the drivers over MPI, one line for each file beside table.c. */
#ifndef BEOWIRE_DRIVERS_MPI_DRIVERS_H
#define BEOWIRE_DRIVERS_MPI_DRIVERS_H

#include "../driver.h"

extern const struct driver driver_mpi; /**< twosided.c */

/* onesided.c */
extern const struct driver driver_mpi_put;
extern const struct driver driver_mpi_get;
extern const struct driver driver_mpi_put_fence;
extern const struct driver driver_mpi_get_fence;

#endif
