/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BEOWIRE_TESTS_FABRIC_MPI_STUB_H
#define BEOWIRE_TESTS_FABRIC_MPI_STUB_H

/** From now on MPI_Get_library_version() of this process says so. */
void mpi_stub_says(const char *version);

/** As MPI has it. */
int PMPI_Get_library_version(char *version, int *bytes);

#endif /* BEOWIRE_TESTS_FABRIC_MPI_STUB_H */
