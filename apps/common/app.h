/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * app.h - what all programs of apps/ share: the command line, the clock, the one line of result.
 *
 * Each is an ordinary MPI program, compiled with the wrapper of the MPI library that it is to try:
 *
 *     mpicc -std=c17 -O3 -I apps apps/cg.c apps/common/[a-z]*.c -lm -o cg
 *     mpirun -n 4 ./cg --class A
 *
 * Rank 0 prints one line of JSON on standard output. The exit status of every rank is 0 if the
 * result is right, 1 if it is wrong, and 2 if the program could not be asked for that. Times are in
 * seconds. All of this is for one thread.
 */
#ifndef BEOWIRE_APPS_APP_H
#define BEOWIRE_APPS_APP_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/** An option `--name VALUE` of a program. The list of them ends with one without a name. */
struct app_option {
    const char *name;
    /** One line for --help. */
    const char *meaning;
    /** The words it may be, such as "yes|no"; NULL if it is a whole number. */
    const char *words;
    /** The smallest and greatest number. */
    long minimum, maximum;
    /** Receives the number, or which of the words it was, from 0 on. Its value before is the
     *  default. */
    long *value;
};

/** What a program found out. */
struct app_result {
    /** Of the timed part, the slowest rank's (app_seconds()). */
    double seconds;
    /** The more the better, and of what. */
    double figure;
    const char *unit;
    bool verified;
    /** What was compared, in words. */
    const char *check;
    /** Share of the time that this rank spent in communication, 0 to 1; below 0: not known. */
    double communication_share;
};

/** Number of this process, and of all, in MPI_COMM_WORLD. */
extern int app_rank, app_ranks;

/** Initializes MPI and reads the command line. Does not return if it is wrong or asks for help.
 *  @param summary what the program is, for --help
 *  @param options kept for app_report(), and the value of one named "class" becomes part of it */
void app_start(int argc, char **argv, const char *name, const char *summary,
               const struct app_option *options);

/** Says why the program cannot do what was asked (rank 0 does) and ends every rank with status 2.
 *  All ranks have to call it. The rest is as for printf(). */
_Noreturn void app_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** The letter of the class that was asked for. */
char app_class(void);

/** Logarithm of the number of ranks to base 2; refuses other numbers than powers of two, and more
 *  than so many. */
int app_log2_ranks(int most);

/** Memory for so many elements, set to zero and at the start of a cache line; ends the job if there
 *  is none. It is given back by free(). */
void *app_memory(size_t count, size_t bytes_each);

/** Starts the clock on all ranks together; several times: the latest counts. */
void app_start_clock(void);

/** Seconds since app_start_clock(), those of the slowest rank. All ranks have to call it. */
double app_seconds(void);

/** Share of the time up to app_seconds() that was spent in communication, the mean of all ranks, of
 *  which this one spent so many seconds. */
double app_share(double seconds_communicating);

/** Whether a number is another to so small a part of it. */
bool app_agrees(double number, double expected, double tolerance);

/** Room for a check in words. */
#define APP_CHECK_BYTES 160

/** Prints the result, as rank 0 has it, and finalizes MPI; what to exit with. */
int app_report(const struct app_result *result);

#endif /* BEOWIRE_APPS_APP_H */
