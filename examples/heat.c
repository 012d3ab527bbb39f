/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heat.c - how heat spreads along a rod, computed by as many processes as there are.
 *
 *      beowire run -n 4 heat
 *      mpiexec -n 4 heat
 *
 * The rod is cut into pieces, one a process. In each step a cell's new temperature follows from its
 * own and from those of its two neighbours, so before each step every process needs one cell of the
 * piece to its left and one of the piece to its right (its *halo*):
 *
 *          rank 0                  rank 1                  rank 2
 *      0 [a . . . b] h  <---->  h [c . . . d] h  <---->  h [e . . . f] 0      0: cold ends
 *
 * The first temperatures are half a sine wave, which keeps its form and shrinks in each step by a
 * factor that is known exactly; so at the end every process checks all of its cells, and rank 0
 * collects from whoever is ready first how far off they are.
 */
#include <beowire.h>
#include <beowire_job.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS_PER_PROCESS 1000
#define STEPS 500
#define SPEED 0.25     /* of the spread, in cells squared a step; above 0.5 it would explode */
#define TOLERANCE 1e-9 /* rounding errors are far below */
#define SECOND_NS UINT64_C(1000000000)
#define PI 3.14159265358979323846

/* Tags say what a message is. Between two processes messages with the same tag stay in order, so
 * the halo of the next step cannot overtake this one's. */
enum tag { TO_THE_LEFT = 1, TO_THE_RIGHT = 2, RESULT = 3 };

struct rod {
    beowire_endpoint *endpoint;
    beowire_peer *peers; /* by rank */
    uint32_t rank;
    uint32_t size;
    /* Cells 1 .. CELLS_PER_PROCESS are ours; 0 and the last are the halo. */
    double now[CELLS_PER_PROCESS + 2];
    double next[CELLS_PER_PROCESS + 2];
};

static void fail(const char *what)
{
    (void)fprintf(stderr, "heat: %s\n", what);
    exit(1);
}

static void check(int status)
{
    if (status < 0) {
        fail(beowire_error(status));
    }
}

/** Waits until `count` operations have ended. beowire_wait() sleeps when it takes long. */
static void finish(beowire_endpoint *endpoint, int count)
{
    struct beowire_completion completions[4];

    while (count > 0) {
        check(beowire_wait(endpoint, SECOND_NS));
        int ended = beowire_poll(endpoint, completions, 4);
        check(ended);
        for (int i = 0; i < ended; i++) {
            check(completions[i].status); /* such as: the peer does not answer */
        }
        count -= ended;
    }
}

/** Gives `ours` to a neighbour, and takes `theirs` from it. @return operations under way. */
static int swap(struct rod *rod, uint32_t neighbour, enum tag sent, enum tag received,
                const double *ours, double *theirs)
{
    beowire_peer peer = rod->peers[neighbour];

    /* The receive first: then the message finds its place when it comes. */
    check(beowire_receive(rod->endpoint, peer, received, 0, theirs, sizeof *theirs, NULL));
    check(beowire_send(rod->endpoint, peer, sent, 0, ours, sizeof *ours, NULL));
    return 2;
}

static void exchange_halo(struct rod *rod)
{
    const int last = CELLS_PER_PROCESS;
    int under_way = 0;

    if (rod->rank > 0) {
        under_way +=
            swap(rod, rod->rank - 1, TO_THE_LEFT, TO_THE_RIGHT, &rod->now[1], &rod->now[0]);
    }
    if (rod->rank < rod->size - 1) {
        under_way += swap(rod, rod->rank + 1, TO_THE_RIGHT, TO_THE_LEFT, &rod->now[last],
                          &rod->now[last + 1]);
    }
    finish(rod->endpoint, under_way);
}

static void step(struct rod *rod)
{
    exchange_halo(rod);
    for (int i = 1; i <= CELLS_PER_PROCESS; i++) {
        rod->next[i] = rod->now[i] + SPEED * (rod->now[i - 1] - 2 * rod->now[i] + rod->now[i + 1]);
    }
    for (int i = 1; i <= CELLS_PER_PROCESS; i++) {
        rod->now[i] = rod->next[i];
    }
}

/** The exact temperature of our cell `i` after so many steps. */
static double exact(const struct rod *rod, int i, int steps)
{
    double angle = PI / (CELLS_PER_PROCESS * (double)rod->size + 1);
    double shrinks = 1 - 4 * SPEED * pow(sin(angle / 2), 2);

    return sin(angle * (rod->rank * (double)CELLS_PER_PROCESS + i)) * pow(shrinks, steps);
}

static double largest_error(const struct rod *rod)
{
    double largest = 0;

    for (int i = 1; i <= CELLS_PER_PROCESS; i++) {
        largest = fmax(largest, fabs(rod->now[i] - exact(rod, i, STEPS)));
    }
    return largest;
}

/** On rank 0: the largest error of all. The others hand theirs in. */
static double collect(struct rod *rod, double largest)
{
    if (rod->rank > 0) {
        check(
            beowire_send(rod->endpoint, rod->peers[0], RESULT, 0, &largest, sizeof largest, NULL));
        finish(rod->endpoint, 1);
        return largest;
    }
    for (uint32_t i = 1; i < rod->size; i++) {
        double theirs = 0;
        /* From anyone: who is ready first is heard first. */
        check(beowire_receive(rod->endpoint, BEOWIRE_ANY_PEER, RESULT, 0, &theirs, sizeof theirs,
                              NULL));
        finish(rod->endpoint, 1);
        largest = fmax(largest, theirs);
    }
    return largest;
}

int main(void)
{
    static struct rod rod;
    char reason[BEOWIRE_JOB_REASON_BYTES];
    beowire_job *job = NULL;

    if (beowire_job_open(&job, reason, sizeof reason) != 0) {
        fail(reason);
    }
    rod.rank = beowire_job_rank(job);
    rod.size = beowire_job_size(job);
    rod.peers = calloc(rod.size, sizeof *rod.peers);
    if (rod.peers == NULL) {
        fail("out of memory");
    }
    if (beowire_job_connect(job, NULL, &rod.endpoint, rod.peers, reason, sizeof reason) != 0) {
        fail(reason);
    }
    for (int i = 1; i <= CELLS_PER_PROCESS; i++) {
        rod.now[i] = exact(&rod, i, 0);
    }
    for (int i = 0; i < STEPS; i++) {
        step(&rod);
    }
    double largest = collect(&rod, largest_error(&rod));
    if (rod.rank == 0) {
        (void)printf("%u processes, %u cells, %d steps: largest error %.1e\n", (unsigned)rod.size,
                     (unsigned)rod.size * CELLS_PER_PROCESS, STEPS, largest);
    }
    check(beowire_close(rod.endpoint, SECOND_NS));
    beowire_job_close(job);
    free(rod.peers);
    return largest < TOLERANCE ? 0 : 1;
}
