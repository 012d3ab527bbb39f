/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * openmpi_persistent.h - what Open MPI 4.1 before 4.1.6 sends from the wrong place.
 *
 * Its pml/cm hands the address of the buffer to mtl/ofi, whichever provider that has, when a
 * persistent send (MPI_Send_init, and MPI_Alltoallw, which makes some) has a datatype whose data is
 * in one piece but does not begin where the buffer does: a plane of a box, or MPI_BOTTOM
 * (docs/UPSTREAM.md). Other data arrives, and nobody says so. The provider is told of a message
 * that looks right; so the call that makes such a request is given the right address.
 */
#ifndef BEOWIRE_FABRIC_OPENMPI_PERSISTENT_H
#define BEOWIRE_FABRIC_OPENMPI_PERSISTENT_H

/** From now on persistent sends of this process begin where they have to, if its MPI is such an
 * Open MPI and has chosen pml/cm: so it is to be called when the MPI names its peers, and may be
 * called again. Of any other MPI nothing changes. From any thread. */
void openmpi_mend_persistent_sends(void);

#endif /* BEOWIRE_FABRIC_OPENMPI_PERSISTENT_H */
