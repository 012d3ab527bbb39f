/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pingpong.c - two processes send each other a message, and see how long it takes.
 *
 *      beowire run -n 2 pingpong
 *      mpiexec -n 2 pingpong
 *
 * Rank 0 sends ("ping"), rank 1 sends it back ("pong"), ROUNDS times for each size. Half of the
 * time of a round is what one message takes. This is the smallest program that does everything:
 * meet, post, wait, close.
 */
#include <beowire.h>
#include <beowire_job.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TAG 1
#define ROUNDS 1000
#define LONGEST (64 * 1024)
#define SECOND_NS UINT64_C(1000000000)

static uint8_t message[LONGEST];

static void fail(const char *what)
{
    (void)fprintf(stderr, "pingpong: %s\n", what);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/** Waits for the end of the one operation that is under way. Nothing moves but inside these calls
 *  (and in the library's own thread, if the program stays away for long). */
static void finish(beowire_endpoint *endpoint)
{
    struct beowire_completion completion;
    int count = 0;

    while (count == 0) {
        count = beowire_poll(endpoint, &completion, 1);
    }
    if (count < 0 || completion.status != 0) {
        fail(beowire_error(count < 0 ? count : completion.status));
    }
}

static void send_message(beowire_endpoint *endpoint, beowire_peer peer, uint64_t bytes)
{
    int status = beowire_send(endpoint, peer, TAG, 0, message, bytes, NULL);

    if (status != 0) {
        fail(beowire_error(status));
    }
    finish(endpoint); /* from here on `message` is ours again */
}

static void receive_message(beowire_endpoint *endpoint, beowire_peer peer, uint64_t bytes)
{
    int status = beowire_receive(endpoint, peer, TAG, 0, message, bytes, NULL);

    if (status != 0) {
        fail(beowire_error(status));
    }
    finish(endpoint);
}

/** @return half of the average round, in nanoseconds. */
static double play(beowire_endpoint *endpoint, beowire_peer peer, bool serves, uint64_t bytes)
{
    uint64_t start_ns = now_ns();

    for (int round = 0; round < ROUNDS; round++) {
        if (serves) {
            send_message(endpoint, peer, bytes);
            receive_message(endpoint, peer, bytes);
        } else {
            receive_message(endpoint, peer, bytes);
            send_message(endpoint, peer, bytes);
        }
    }
    return (double)(now_ns() - start_ns) / ROUNDS / 2;
}

int main(void)
{
    char reason[BEOWIRE_JOB_REASON_BYTES];
    beowire_job *job = NULL;
    beowire_endpoint *endpoint = NULL;
    beowire_peer peers[2];

    if (beowire_job_open(&job, reason, sizeof reason) != 0) {
        fail(reason);
    }
    if (beowire_job_size(job) != 2) {
        fail("this takes two processes: beowire run -n 2 pingpong");
    }
    if (beowire_job_connect(job, NULL, &endpoint, peers, reason, sizeof reason) != 0) {
        fail(reason);
    }
    bool serves = beowire_job_rank(job) == 0;
    beowire_peer other = peers[serves ? 1 : 0];
    if (serves) {
        (void)memset(message, 'p', sizeof message);
    }
    (void)play(endpoint, other, serves, 8); /* the first message has to connect */
    for (uint64_t bytes = 8; bytes <= LONGEST; bytes *= 8) {
        double half_round_ns = play(endpoint, other, serves, bytes);
        if (message[0] != 'p' || message[bytes - 1] != 'p') {
            fail("what came back is not what was sent");
        }
        if (serves) {
            (void)printf("%6u bytes: %8.2f us\n", (unsigned)bytes, half_round_ns / 1000);
        }
    }
    /* The last message is acknowledged before the process ends. */
    int status = beowire_close(endpoint, SECOND_NS);
    beowire_job_close(job);
    if (status != 0) {
        fail(beowire_error(status));
    }
    return 0;
}
