/* SPDX-License-Identifier: BSD-3-Clause */
/* drivers.h - the drivers over OpenSHMEM, one for each file beside table.c. */
#ifndef BEOWIRE_DRIVERS_SHMEM_DRIVERS_H
#define BEOWIRE_DRIVERS_SHMEM_DRIVERS_H

#include "../driver.h"

extern const struct driver driver_shmem_put; /**< put.c */
extern const struct driver driver_shmem_get; /**< get.c */

#endif
