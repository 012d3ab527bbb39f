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

/** `void *a, void *b, ...` of up to twelve names. */
#define ADDRESSES_1(name) void *name /* NOLINT(bugprone-macro-parentheses) */
#define ADDRESSES_2(name, ...) void *name, ADDRESSES_1(__VA_ARGS__)
#define ADDRESSES_3(name, ...) void *name, ADDRESSES_2(__VA_ARGS__)
#define ADDRESSES_4(name, ...) void *name, ADDRESSES_3(__VA_ARGS__)
#define ADDRESSES_5(name, ...) void *name, ADDRESSES_4(__VA_ARGS__)
#define ADDRESSES_6(name, ...) void *name, ADDRESSES_5(__VA_ARGS__)
#define ADDRESSES_7(name, ...) void *name, ADDRESSES_6(__VA_ARGS__)
#define ADDRESSES_8(name, ...) void *name, ADDRESSES_7(__VA_ARGS__)
#define ADDRESSES_9(name, ...) void *name, ADDRESSES_8(__VA_ARGS__)
#define ADDRESSES_10(name, ...) void *name, ADDRESSES_9(__VA_ARGS__)
#define ADDRESSES_11(name, ...) void *name, ADDRESSES_10(__VA_ARGS__)
#define ADDRESSES_12(name, ...) void *name, ADDRESSES_11(__VA_ARGS__)
#define ADDRESSES_PICK(a, b, c, d, e, f, g, h, i, j, k, l, pick, ...) pick
#define ADDRESSES(...)                                                                             \
    ADDRESSES_PICK(__VA_ARGS__, ADDRESSES_12, ADDRESSES_11, ADDRESSES_10, ADDRESSES_9,             \
                   ADDRESSES_8, ADDRESSES_7, ADDRESSES_6, ADDRESSES_5, ADDRESSES_4, ADDRESSES_3,   \
                   ADDRESSES_2, ADDRESSES_1, )                                                     \
    (__VA_ARGS__)

/** The same under all symbols. `arguments` are the names of its parameters, but for the error that
 *  all have at the end. */
#define FORTRAN_ALL(name, lower, before, after, arguments)                                         \
    FORTRAN_AS(name, mpi_##lower##_, before, after, (ADDRESSES arguments, void *error),            \
               (PROFILE_LIST arguments, error))                                                    \
    FORTRAN_AS(name, mpi_##lower##_f08_, before, after, (ADDRESSES arguments, void *error),        \
               (PROFILE_LIST arguments, error))

/** `before` is done before the call; */
#define FORTRAN(name, lower, before, arguments) FORTRAN_ALL(name, lower, before, (void)0, arguments)

/** `after` is done once the call has been made. */
#define FORTRAN_THEN(name, lower, after, arguments)                                                \
    FORTRAN_ALL(name, lower, (void)0, after, arguments)

/** A function, and the one that does the same and returns at once. */
#define FORTRAN_BOTH(name, lower, before, arguments)                                               \
    FORTRAN(name, lower, before, arguments)                                                        \
    FORTRAN(I##lower, i##lower, before, (PROFILE_LIST arguments, request))

/** The integer at an address. */
static inline MPI_Fint value(const MPI_Fint *address)
{
    return *address;
}

#endif /* BEOWIRE_APPS_FORTRAN_H */
