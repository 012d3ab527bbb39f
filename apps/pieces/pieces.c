/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pieces.c - keeps how long each rank of a program computes between its calls of MPI, so that
 * simulations of it (SimGrid's SMPI, `beowire predict`) repeat.
 *
 *     cc -std=c17 -O2 -fPIC -shared apps/pieces/pieces.c -ldl -o libapps-pieces.so
 *     env LD_PRELOAD=$PWD/libapps-pieces.so BEOWIRE_PIECES_WRITE=FILE smpirun ... ./program
 *
 * SMPI runs the ranks of a program one after the other, and measures the processor's time of each
 * piece between two calls of MPI. It passes each to its function smpi_execute(), which has the rank
 * compute as long in the simulation. This library has that function under its own name, and
 *
 *     BEOWIRE_PIECES_WRITE=FILE    writes the pieces to a file
 *     BEOWIRE_PIECES_READ=FILE     passes those of the file on, not those measured
 *     BEOWIRE_PIECES_SAY=FILE      writes a line of JSON:
 *
 *     finalized          ranks that have called MPI_Finalize
 *     run_s              simulated time from MPI_Init to MPI_Finalize, of the slowest rank
 *     computing          share of it in which ranks compute
 *     timed_computing    the same between each rank's first and last call of MPI_Wtime, or null
 *     pieces             how many there were
 *     other              how many the file did not have, or had besides
 *
 * The file has, for each rank, the number of its pieces and their seconds, as doubles. The shortest
 * piece of all is what SMPI's own clock takes, and is subtracted from each. All ranks are in one
 * process and run one at a time, so there are no locks.
 */
#define _GNU_SOURCE /* for RTLD_NEXT */
#include <dlfcn.h>
#include <float.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SimGrid's, in the process that this is loaded into. */
long sg_actor_self_get_pid(void);
double simgrid_get_clock(void);

/* What this library has in place of SimGrid's. SimGrid binds a program's own calls to itself, so
 * MPI_Wtime() and MPI_Finalize() would not be called; they call these. */
void smpi_execute(double seconds);
double PMPI_Wtime(void);
int PMPI_Finalize(void);

struct rank {
    double *pieces;
    size_t count, room;
    size_t known; /**< of those, how many were read from the file */
    double computed_s;
    double ended_s; /**< MPI_Finalize's call, simulated; every MPI_Init returns at 0 */
    bool finalized;
    bool looked; /**< at MPI_Wtime, first and last: */
    double first_s, first_computed_s, last_s, last_computed_s;
};

static struct {
    struct rank *ranks;
    size_t count;
    size_t unmatched;
    double shortest_s;
    bool reading;
    void (*execute)(double); /**< SimGrid's; NULL: this is another process */
    double (*wtime)(void);
    int (*finalize)(void);
} all = {.shortest_s = DBL_MAX};

_Noreturn static void give_up(const char *what)
{
    (void)fprintf(stderr, "beowire: %s\n", what);
    exit(2);
}

static void *more(void *memory, size_t count, size_t bytes_each)
{
    void *grown = reallocarray(memory, count, bytes_each);

    if (grown == NULL) {
        give_up("no memory for the times of all pieces of work: simulate fewer ranks");
    }
    return grown;
}

static struct rank *rank_at(size_t index)
{
    if (index >= all.count) {
        all.ranks = more(all.ranks, index + 1, sizeof *all.ranks);
        memset(all.ranks + all.count, 0, (index + 1 - all.count) * sizeof *all.ranks);
        all.count = index + 1;
    }
    return &all.ranks[index];
}

/** The rank that runs now: SMPI numbers its actors from 1 on. */
static struct rank *rank_now(void)
{
    return rank_at((size_t)sg_actor_self_get_pid() - 1);
}

static void add_piece(struct rank *rank, double seconds)
{
    if (rank->count == rank->room) {
        rank->room = rank->room > 0 ? 2 * rank->room : 64;
        rank->pieces = more(rank->pieces, rank->room, sizeof *rank->pieces);
    }
    rank->pieces[rank->count++] = seconds;
}

static bool read_doubles(double *values, size_t count, FILE *file)
{
    return fread(values, sizeof *values, count, file) == count;
}

static void read_pieces(const char *name)
{
    FILE *file = fopen(name, "rb");
    double count = 0.0, shortest = 0.0;

    if (file == NULL || !read_doubles(&shortest, 1, file)) {
        give_up("cannot read the times of pieces of work");
    }
    all.reading = true;
    all.shortest_s = shortest;
    for (size_t index = 0; read_doubles(&count, 1, file); index++) {
        struct rank *rank = rank_at(index);

        rank->known = (size_t)count;
        rank->pieces = more(NULL, rank->known + 1, sizeof *rank->pieces);
        if (!read_doubles(rank->pieces, rank->known, file)) {
            give_up("the times of pieces of work end early");
        }
    }
    (void)fclose(file);
}

static void write_pieces(const char *name)
{
    FILE *file = fopen(name, "wb");
    bool whole = file != NULL && fwrite(&all.shortest_s, sizeof(double), 1, file) == 1;

    for (size_t i = 0; whole && i < all.count; i++) {
        double count = (double)all.ranks[i].count;

        whole = fwrite(&count, sizeof count, 1, file) == 1 &&
                fwrite(all.ranks[i].pieces, sizeof(double), all.ranks[i].count, file) ==
                    all.ranks[i].count;
    }
    if (file == NULL || fclose(file) != 0 || !whole) {
        (void)fprintf(stderr, "beowire: cannot write the times of pieces of work\n");
    }
}

static void say(const char *name)
{
    FILE *file = fopen(name, "w");
    double run_s = 0.0, running_s = 0.0, computed_s = 0.0, timed_s = 0.0, timed_computed_s = 0.0;
    size_t finalized = 0, pieces = 0, other = all.unmatched;

    for (size_t i = 0; i < all.count; i++) {
        const struct rank *rank = &all.ranks[i];

        run_s = rank->ended_s > run_s ? rank->ended_s : run_s;
        running_s += rank->ended_s;
        finalized += rank->finalized ? 1 : 0;
        computed_s += rank->computed_s;
        timed_s += rank->last_s - rank->first_s;
        timed_computed_s += rank->last_computed_s - rank->first_computed_s;
        pieces += rank->count;
        other += all.reading && rank->known > rank->count ? rank->known - rank->count : 0;
    }
    if (file == NULL) {
        return; /* whoever wanted it sees that it is not there */
    }
    (void)fprintf(file,
                  "{\"finalized\":%zu,\"run_s\":%.12g,\"computing\":%.9g,\"timed_computing\":",
                  finalized, run_s, running_s > 0.0 ? computed_s / running_s : 0.0);
    (void)(timed_s > 0.0 ? fprintf(file, "%.9g", timed_computed_s / timed_s)
                         : fprintf(file, "null"));
    (void)fprintf(file, ",\"pieces\":%zu,\"other\":%zu}\n", pieces, other);
    (void)fclose(file);
}

__attribute__((constructor)) static void begin(void)
{
    const char *from = getenv("BEOWIRE_PIECES_READ");

    all.execute = (void (*)(double))dlsym(RTLD_NEXT, "smpi_execute");
    all.wtime = (double (*)(void))dlsym(RTLD_NEXT, "PMPI_Wtime");
    all.finalize = (int (*)(void))dlsym(RTLD_NEXT, "PMPI_Finalize");
    if (all.execute != NULL && from != NULL) {
        read_pieces(from);
    }
}

__attribute__((destructor)) static void end(void)
{
    const char *to = getenv("BEOWIRE_PIECES_WRITE"), *about = getenv("BEOWIRE_PIECES_SAY");

    if (all.execute == NULL || all.count == 0) {
        return; /* a shell, or a program that did not come to run */
    }
    if (to != NULL) {
        write_pieces(to);
    }
    if (about != NULL) {
        say(about);
    }
}

void smpi_execute(double seconds)
{
    struct rank *rank = rank_now();

    if (!all.reading) {
        add_piece(rank, seconds);
        all.shortest_s = seconds < all.shortest_s ? seconds : all.shortest_s;
    } else if (rank->count < rank->known) {
        seconds = rank->pieces[rank->count++];
    } else {
        all.unmatched++; /* the program does not do the same each time */
    }
    seconds = seconds > all.shortest_s ? seconds - all.shortest_s : 0.0;
    double began_s = simgrid_get_clock();
    all.execute(seconds); /* meanwhile others run, and may move `ranks` */
    rank_now()->computed_s += simgrid_get_clock() - began_s;
}

double PMPI_Wtime(void)
{
    double now_s = all.wtime(); /* a piece ends before it, and others run */
    struct rank *rank = rank_now();

    if (!rank->looked) {
        rank->looked = true;
        rank->first_s = now_s;
        rank->first_computed_s = rank->computed_s;
    }
    rank->last_s = now_s;
    rank->last_computed_s = rank->computed_s;
    return now_s;
}

int PMPI_Finalize(void)
{
    double now_s = all.wtime();

    rank_now()->ended_s = now_s;
    rank_now()->finalized = true;
    return all.finalize();
}
