/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BEOWIRE_TESTS_FABRIC_MPI_STUB_H
#define BEOWIRE_TESTS_FABRIC_MPI_STUB_H

#include <stddef.h>
#include <stdint.h>

/** As Open MPI 4.1 has them, as far as they are looked at. */
struct mpi_stub_datatype {
    struct {
        void *class;
        int32_t references;
    } object;
    uint16_t flags;
    uint16_t id;
    uint32_t used;
    size_t size_bytes;
    ptrdiff_t true_lower;
};
typedef int mpi_stub_isend_init(const void *buffer, size_t count,
                                struct mpi_stub_datatype *datatype, int peer, int tag, int mode,
                                void *communicator, void **request);
struct mpi_stub_pml {
    void (*others[9])(void);
    mpi_stub_isend_init *isend_init;
};

struct mpi_stub_component {
    char others[40];
    char type[32];
    int version[3];
    char name[64];
};

/** What the library has under these names. */
extern struct mpi_stub_pml mca_pml;
extern struct mpi_stub_datatype ompi_mpi_byte;
extern struct mpi_stub_component mca_pml_base_selected_component;

/** From now on MPI_Get_library_version() of this process says so. */
void mpi_stub_says(const char *version);

/** As MPI has it. */
int PMPI_Get_library_version(char *version, int *bytes);

#endif /* BEOWIRE_TESTS_FABRIC_MPI_STUB_H */
