/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fortran.h - wraps functions of Fortran, under the names that gfortran and most compilers give
 * them: mpi_send_, and mpi_send_f08_ where the module mpi_f08 is used.
 *
 * Their parameters are all addresses; where the next library has the function is looked up when it
 * is called first. That function may call the one of C, which is in profile's hands as well and is
 * then within this one.
 */
#ifndef BEOWIRE_APPS_FORTRAN_H
#define BEOWIRE_APPS_FORTRAN_H

#include "profile.h"

#include <stddef.h>

/** The function of that name which this library stands in front of; ends the program if there is
 *  none, since nobody can have called it then. */
void *fortran_next(const char *symbol);

/** Whether an address stands for MPI_IN_PLACE. */
bool fortran_in_place(const void *address);

/** A function `name` under a symbol; `before` and `after` are done for calls of the program. */
#define FORTRAN_AS(name, symbol, before, after, parameters, arguments)                             \
    void symbol parameters;                                                                        \
    void symbol parameters                                                                         \
    {                                                                                              \
        static void(*next) parameters; /* NOLINT(bugprone-macro-parentheses) */                    \
        struct profile_span span = profile_enter(CALL_##name);                                     \
                                                                                                   \
        if (next == NULL) {                                                                        \
            *(void **)&next = fortran_next(#symbol);                                               \
        }                                                                                          \
        if (span.outer) {                                                                          \
            before;                                                                                \
        }                                                                                          \
        next arguments;                                                                            \
        if (span.outer) {                                                                          \
            after;                                                                                 \
        }                                                                                          \
        profile_leave(span);                                                                       \
    }

/** The same under all symbols; `before` is done before the call. */
#define FORTRAN(name, lower, before, parameters, arguments)                                        \
    FORTRAN_AS(name, mpi_##lower##_, before, (void)0, parameters, arguments)                       \
    FORTRAN_AS(name, mpi_##lower##_f08_, before, (void)0, parameters, arguments)

/** The same; `after` is done once the call has been made. */
#define FORTRAN_THEN(name, lower, after, parameters, arguments)                                    \
    FORTRAN_AS(name, mpi_##lower##_, (void)0, after, parameters, arguments)                        \
    FORTRAN_AS(name, mpi_##lower##_f08_, (void)0, after, parameters, arguments)

#endif /* BEOWIRE_APPS_FORTRAN_H */
