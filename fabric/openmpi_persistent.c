/* SPDX-License-Identifier: BSD-3-Clause */
#include "openmpi_persistent.h"

#include "openmpi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The first one without the fault, and the first one of whose kind it is. */
#define MENDED 40106
#define FAULTY 40100

/* Of opal/datatype/opal_datatype.h, 4.1: the data is in one piece; so are several in a row. */
#define CONTIGUOUS 0x0010
#define NO_GAPS 0x0020

/** Of ompi/mca/pml/pml_constants.h: it is copied at once, and from the right place. */
#define BUFFERED 2

/** Of opal/datatype/opal_datatype.h: how a datatype begins. */
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

/** Of ompi/mca/pml/pml.h: how mca_pml begins. */
struct pml {
    void (*others[9])(void);
    isend_init_fn *isend_init;
};

/** Of opal/mca/mca.h: how what has been chosen begins. */
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

/** Is the layout of datatypes the one that is expected? MPI_BYTE tells. */
static bool is_byte(const struct datatype *datatype)
{
    return datatype != NULL && datatype->size_bytes == 1 && datatype->true_lower == 0 &&
           (datatype->flags & (CONTIGUOUS | NO_GAPS)) == (CONTIGUOUS | NO_GAPS);
}

/** Has pml/cm been chosen? Its code is in a file of its own, or in the library. */
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
    (void)dlclose(library); /* it is the program's, and stays */
}
