/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * openmpi_persistent.h - persistent sends of Open MPI 4.1 before 4.1.6, which send from a wrong
 * address.
 *
 * Its pml/cm passes the address of the buffer to mtl/ofi, with any provider, when a persistent send
 * (MPI_Send_init, and MPI_Alltoallw, which uses some) has a datatype with contiguous data that does
 * not begin at the buffer's address: a plane of a box, or MPI_BOTTOM (docs/UPSTREAM.md). Then wrong
 * data arrives without an error. The provider cannot detect this in the message. So the call that
 * makes such a request is corrected.
 */
#ifndef BEOWIRE_FABRIC_OPENMPI_PERSISTENT_H
#define BEOWIRE_FABRIC_OPENMPI_PERSISTENT_H

/** Corrects persistent sends of this process from now on, if its MPI is such an Open MPI and uses
 *  pml/cm. So call it when the MPI names its peers; it may be called again. Does not affect other
 *  MPIs. Any thread. */
void openmpi_mend_persistent_sends(void);

#endif /* BEOWIRE_FABRIC_OPENMPI_PERSISTENT_H */
