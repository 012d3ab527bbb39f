/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * phases.c - how long MPI_Init, what follows it, and MPI_Finalize take in any MPI program.
 *
 *     cc -std=c17 -O2 -fPIC -shared apps/phases/phases.c -ldl -o libapps-phases.so
 *     mpirun -n 2 env LD_PRELOAD=$PWD/libapps-phases.so ./program
 *
 * The library has these functions under their own names, of C and of Fortran, and calls the MPI
 * library's: it sends nothing, and is of no MPI. When MPI_Finalize has returned, each rank writes
 * one line of JSON on standard error, after the word beowire-apps-phases:
 *
 *     init_s, run_s, finalize_s    seconds of MPI_Init, from its return to the call of
 * MPI_Finalize, and of MPI_Finalize
 *
 * MPI is initialized and finalized by one thread, so there are no locks. A static program, and one
 * that ends without MPI_Finalize, says nothing.
 */
#define _GNU_SOURCE /* for RTLD_NEXT and clock_gettime() in C17 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 160

static struct {
    double init_s;          /**< that MPI_Init took */
    double running_since_s; /**< on this host's clock; 0: MPI has not begun, or has been told of */
    int depth;              /**< calls within one another: Fortran's calls that of C */
} phases;

static double now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/** What a library is called, and the function in it. */
struct search {
    const char *symbol;
    void *found;
};

/** Looks into a library of MPI that is loaded, be it for one other library alone (Python's). */
static int look_into(struct dl_phdr_info *library, size_t bytes, void *argument)
{
    struct search *search = argument;
    const char *name = strrchr(library->dlpi_name, '/');

    (void)bytes;
    if (strncmp(name != NULL ? name + 1 : library->dlpi_name, "libmpi", 6) == 0) {
        void *handle = dlopen(library->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
        search->found = handle != NULL ? dlsym(handle, search->symbol) : NULL;
        if (handle != NULL) {
            (void)dlclose(handle); /* who has loaded it keeps it */
        }
    }
    return search->found != NULL;
}

/** The function of this name that this one stands before. */
static void *next_of(const char *symbol)
{
    struct search search = {symbol, dlsym(RTLD_NEXT, symbol)};

    if (search.found == NULL) {
        (void)dl_iterate_phdr(look_into, &search);
    }
    if (search.found == NULL) {
        (void)fprintf(stderr, "beowire-apps-phases: no library has %s behind this one\n", symbol);
        exit(1);
    }
    return search.found;
}

/** Begins a call. @return when, if it is not within another one; else 0 */
static double begins(void)
{
    return phases.depth++ == 0 ? now_s() : 0;
}

static void init_ended(double began_s)
{
    phases.depth--;
    if (began_s > 0) {
        phases.running_since_s = now_s();
        phases.init_s = phases.running_since_s - began_s;
    }
}

static void finalize_ended(double began_s)
{
    char line[LINE_BYTES];

    phases.depth--;
    if (began_s == 0 || phases.running_since_s == 0) {
        return;
    }
    int length = snprintf(line, sizeof line,
                          "beowire-apps-phases {\"init_s\":%.6f,\"run_s\":%.6f,"
                          "\"finalize_s\":%.6f}\n",
                          phases.init_s, began_s - phases.running_since_s, now_s() - began_s);
    (void)!write(STDERR_FILENO, line, (size_t)length); /* in one piece, whoever writes besides */
    phases.running_since_s = 0;
}

/** A function of the MPI library, of the same name and parameters, with its time taken. */
#define TIMED(type, name, parameters, arguments, ended)                                            \
    type name parameters;                                                                          \
    type name parameters                                                                           \
    {                                                                                              \
        type(*next) parameters = NULL; /* NOLINT(bugprone-macro-parentheses) */                    \
                                                                                                   \
        *(void **)&next = next_of(#name);                                                          \
        double began_s = begins();                                                                 \
        KEEP_##type next arguments;                                                                \
        ended(began_s);                                                                            \
        RETURN_##type;                                                                             \
    }
#define KEEP_int int result =
#define RETURN_int return result
#define KEEP_void
#define RETURN_void

TIMED(int, MPI_Init, (int *argc, char ***argv), (argc, argv), init_ended)
TIMED(int, MPI_Init_thread, (int *argc, char ***argv, int required, int *provided),
      (argc, argv, required, provided), init_ended)
TIMED(int, MPI_Finalize, (void), (), finalize_ended)

TIMED(void, mpi_init_, (int *error), (error), init_ended)
TIMED(void, mpi_init_f08_, (int *error), (error), init_ended)
TIMED(void, mpi_init_thread_, (const int *required, int *provided, int *error),
      (required, provided, error), init_ended)
TIMED(void, mpi_init_thread_f08_, (const int *required, int *provided, int *error),
      (required, provided, error), init_ended)
TIMED(void, mpi_finalize_, (int *error), (error), finalize_ended)
TIMED(void, mpi_finalize_f08_, (int *error), (error), finalize_ended)
