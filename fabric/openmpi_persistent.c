/* SPDX-License-Identifier: BSD-3-Clause */
#include "openmpi_persistent.h"

#include "openmpi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The first version without the error, and the first of its series. */
#define MENDED 40106
#define FAULTY 40100

/* From opal/datatype/opal_datatype.h, 4.1: the data is contiguous; so are several elements. */
#define CONTIGUOUS 0x0010
#define NO_GAPS 0x0020

/** From ompi/mca/pml/pml_constants.h: copied at once, from the right address. */
#define BUFFERED 2

/** From opal/datatype/opal_datatype.h: the beginning of a datatype. */
struct datatype {
    struct {
        void *class;
        int32_t references;
    } object; /* which is as long as its alignment makes it */
    uint16_t flags;
    uint16_t id;
    uint32_t used;
    size_t size_bytes;
    ptrdiff_t true_lower;
};

typedef int isend_init_fn(const void *buffer, size_t count, struct datatype *datatype, int peer,
                          int tag, int mode, void *communicator, void **request);

/** From ompi/mca/pml/pml.h: the beginning of mca_pml. */
struct pml {
    void (*others[9])(void);
    isend_init_fn *isend_init;
};

/** From opal/mca/mca.h: the beginning of the chosen component. */
struct component {
    int interface[3];
    char project[16];
    int project_version[3];
    char type[32];
    int version[3];
    char name[64];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static isend_init_fn *faulty;

/** Makes a persistent send, as pml/cm does in 4.1.6. */
static int isend_init(const void *buffer, size_t count, struct datatype *datatype, int peer,
                      int tag, int mode, void *communicator, void **request)
{
    const bool one_piece =
        (datatype->flags & CONTIGUOUS) != 0 && (count == 1 || (datatype->flags & NO_GAPS) != 0);

    if (one_piece && mode != BUFFERED) {
        /* The buffer may be MPI_BOTTOM, which is no address to count from. */
        buffer = (const void *)((uintptr_t)buffer + (uintptr_t)datatype->true_lower);
    }
    return faulty(buffer, count, datatype, peer, tag, mode, communicator, request);
}

/** What is called so, of which a program may have a copy that the library uses instead of its own.
 */
static void *symbol_of(void *library, const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);

    return symbol != NULL ? symbol : dlsym(library, name);
}

/** Do datatypes have the expected layout? Checked with MPI_BYTE. */
static bool is_byte(const struct datatype *datatype)
{
    return datatype != NULL && datatype->size_bytes == 1 && datatype->true_lower == 0 &&
           (datatype->flags & (CONTIGUOUS | NO_GAPS)) == (CONTIGUOUS | NO_GAPS);
}

/** Is pml/cm chosen? Its code is in a separate file, or in the library. */
static bool is_cm(const struct component *chosen)
{
    return chosen != NULL && strncmp(chosen->type, "pml", sizeof chosen->type) == 0 &&
           strncmp(chosen->name, "cm", sizeof chosen->name) == 0;
}

void openmpi_mend_persistent_sends(void)
{
    const uint32_t version = openmpi_version();

    if (version < FAULTY || version >= MENDED) {
        return;
    }
    void *library = dlopen(OPENMPI_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        return;
    }
    struct pml *pml = symbol_of(library, "mca_pml");
    pthread_mutex_lock(&lock);
    if (pml != NULL && pml->isend_init != NULL && pml->isend_init != isend_init &&
        is_byte(symbol_of(library, "ompi_mpi_byte")) &&
        is_cm(symbol_of(library, "mca_pml_base_selected_component"))) {
        faulty = pml->isend_init;
        pml->isend_init = isend_init;
    }
    pthread_mutex_unlock(&lock);
    (void)dlclose(library); /* the program keeps it loaded */
}
