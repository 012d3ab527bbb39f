/* SPDX-License-Identifier: BSD-3-Clause */
#include "openmpi_persistent.h"

#include "mpi_stub.h"
#include "unit/test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BYTE_FLAGS 0x5F36 /* of Debian's 4.1.4 */
#define CONTIGUOUS 0x0010
#define NO_GAPS 0x0020
#define LOWER 16

enum { SYNCHRONOUS, COMPLETE, BUFFERED, READY, STANDARD };

static const char buffer[64];

/** Makes the address of the buffer the request, and returns the tag. It is in the program, as it is
 *  in the library of an Open MPI that has no files of components (--disable-dlopen). */
static int cm_isend_init(const void *data, size_t count, struct mpi_stub_datatype *datatype,
                         int peer, int tag, int mode, void *communicator, void **request)
{
    *request = (void *)(uintptr_t)data;
    return tag;
}

/** An MPI that says so, has chosen this, and then names its peers. */
static void begin(const char *version, const char *name)
{
    mca_pml_base_selected_component = (struct mpi_stub_component){.type = "pml"};
    (void)stpncpy(mca_pml_base_selected_component.name, name,
                  sizeof mca_pml_base_selected_component.name);
    mpi_stub_says(version);
    ompi_mpi_byte = (struct mpi_stub_datatype){.flags = BYTE_FLAGS, .size_bytes = 1};
    mca_pml = (struct mpi_stub_pml){.isend_init = cm_isend_init};
    openmpi_mend_persistent_sends();
}

/** How far behind the buffer's beginning a send of this begins. */
static ptrdiff_t offset_of(uint16_t flags, size_t count, int mode)
{
    struct mpi_stub_datatype datatype = {.flags = flags, .size_bytes = 8, .true_lower = LOWER};
    void *request = NULL;

    assert_int_equal(mca_pml.isend_init(buffer, count, &datatype, 1, 7, mode, NULL, &request), 7);
    return (const char *)request - buffer;
}

TEST(mend__data_in_one_piece_begins_where_it_does)
{
    begin("Open MPI v4.1.4, package: Debian OpenMPI", "cm");
    assert_int_equal(offset_of(CONTIGUOUS, 1, STANDARD), LOWER);
    assert_int_equal(offset_of(CONTIGUOUS | NO_GAPS, 3, READY), LOWER);
    assert_int_equal(offset_of(CONTIGUOUS, 1, SYNCHRONOUS), LOWER);
    openmpi_mend_persistent_sends(); /* when more peers are named */
    assert_int_equal(offset_of(CONTIGUOUS, 1, STANDARD), LOWER);
}

TEST(mend__other_data_is_packed_from_the_buffers_beginning)
{
    begin("Open MPI v4.1.5", "cm");
    assert_int_equal(offset_of(0, 1, STANDARD), 0);
    assert_int_equal(offset_of(CONTIGUOUS, 2, STANDARD), 0);
    assert_int_equal(offset_of(CONTIGUOUS, 1, BUFFERED), 0);
}

TEST(mend__others_are_left_alone)
{
    static const char *const others[] = {"Open MPI v4.1.6",  "Open MPI v4.0.7", "Open MPI v5.0.11",
                                         "Open MPI v14.1.4", "MPICH 4.1.4",     ""};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        begin(others[i], "cm");
        assert_true(mca_pml.isend_init == cm_isend_init);
    }
    begin("Open MPI v4.1.4", "ob1");
    assert_true(mca_pml.isend_init == cm_isend_init);
    mca_pml_base_selected_component = (struct mpi_stub_component){.type = "btl", .name = "cm"};
    openmpi_mend_persistent_sends();
    assert_true(mca_pml.isend_init == cm_isend_init);
}

/** Built otherwise, it would be another place that is read. */
TEST(mend__datatypes_of_another_layout__nothing_is_changed)
{
    static const struct mpi_stub_datatype others[] = {
        {.flags = BYTE_FLAGS, .size_bytes = 2},
        {.flags = NO_GAPS, .size_bytes = 1},
        {.flags = BYTE_FLAGS, .size_bytes = 1, .true_lower = 1},
    };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        begin("", "cm");
        mpi_stub_says("Open MPI v4.1.4");
        ompi_mpi_byte = others[i];
        openmpi_mend_persistent_sends();
        assert_true(mca_pml.isend_init == cm_isend_init);
    }
}
