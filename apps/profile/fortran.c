/* SPDX-License-Identifier: BSD-3-Clause */
/* fortran.c - what all wrappers of Fortran need, and where a Fortran program begins and ends. */
#define _GNU_SOURCE /* for RTLD_NEXT */
#include "fortran.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void *fortran_next(const char *symbol)
{
    void *found = dlsym(RTLD_NEXT, symbol);

    if (found == NULL) {
        (void)fprintf(stderr,
                      "beowire-apps-profile: no library has %s behind this one: link the program "
                      "with the shared libraries of its MPI\n",
                      symbol);
        exit(1);
    }
    return found;
}

bool fortran_in_place(const void *address)
{
    /* Open MPI: a common block; MPICH and Intel MPI: a variable that has the address of one. */
    const void *block = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
    void *const *variable = dlsym(RTLD_DEFAULT, "MPIR_F_MPI_IN_PLACE");

    return address != NULL && (address == block || (variable != NULL && address == *variable));
}

/** Initializing: whatever it calls of C, time begins once it is done. */
#define FORTRAN_INIT(symbol, parameters, arguments)                                                \
    void symbol parameters;                                                                        \
    void symbol parameters                                                                         \
    {                                                                                              \
        void(*next) parameters = NULL; /* NOLINT(bugprone-macro-parentheses) */                    \
                                                                                                   \
        *(void **)&next = fortran_next(#symbol);                                                   \
        next arguments;                                                                            \
        profile_begin();                                                                           \
    }

FORTRAN_INIT(mpi_init_, (MPI_Fint * error), (error))
FORTRAN_INIT(mpi_init_f08_, (MPI_Fint * error), (error))
FORTRAN_INIT(mpi_init_thread_, (const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error),
             (required, provided, error))
FORTRAN_INIT(mpi_init_thread_f08_, (const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error),
             (required, provided, error))

#define FORTRAN_FINALIZE(symbol)                                                                   \
    void symbol(MPI_Fint *error);                                                                  \
    void symbol(MPI_Fint *error)                                                                   \
    {                                                                                              \
        void (*next)(MPI_Fint *) = NULL;                                                           \
                                                                                                   \
        *(void **)&next = fortran_next(#symbol);                                                   \
        profile_report();                                                                          \
        next(error);                                                                               \
    }

FORTRAN_FINALIZE(mpi_finalize_)
FORTRAN_FINALIZE(mpi_finalize_f08_)
