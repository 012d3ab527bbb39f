/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crosswise [LONGEST]: every process of a job sends every other one messages of all lengths from 0
 * to LONGEST bytes (4,000,000), all at the same time, and checks each byte of what it gets.
 *
 * Each process prints one line, its rank and its counters as a JSON object, and ends with 0. If
 * something is wrong it says what in one line, and ends with 1. Uses only the public headers.
 */
#include <beowire.h>
#include <beowire_job.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONGEST_BYTES UINT64_C(4000000)
#define WAIT_NS UINT64_C(1000000000)
#define SECONDS_MAX 120

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "crosswise: %s\n", what);
    exit(1);
}

static void check(int status)
{
    if (status < 0) {
        fail(beowire_error(status));
    }
}

/** The byte at this place of what `from` sends `to`. */
static uint8_t byte_at(uint32_t from, uint32_t to, uint64_t bytes, uint64_t at)
{
    return (uint8_t)(at * 7 + (at >> 8) * 13 + from * 101 + to * 31 + bytes);
}

static uint8_t *new_buffer(uint64_t bytes)
{
    uint8_t *buffer = malloc(bytes + 1);

    if (buffer == NULL) {
        fail("out of memory");
    }
    return buffer;
}

/** Lengths from 0 on: the shortest all, then by a half more each, and what lies beside it. */
static uint64_t next_length(uint64_t bytes)
{
    return bytes < 4 ? bytes + 1 : bytes + bytes / 2 + bytes % 3;
}

/** Everybody sends everybody else one message of this length. */
static void exchange(beowire_endpoint *endpoint, const beowire_peer *peers, uint32_t rank,
                     uint32_t size, uint64_t bytes, uint64_t tag)
{
    uint8_t **sent = calloc(size, sizeof *sent);
    uint8_t **received = calloc(size, sizeof *received);
    uint32_t pending = 0;

    if (sent == NULL || received == NULL) {
        fail("out of memory");
    }
    for (uint32_t other = 0; other < size; other++) {
        if (other == rank) {
            continue;
        }
        sent[other] = new_buffer(bytes);
        received[other] = new_buffer(bytes);
        for (uint64_t at = 0; at < bytes; at++) {
            sent[other][at] = byte_at(rank, other, bytes, at);
        }
        check(beowire_receive(endpoint, peers[other], tag, 0, received[other], bytes, NULL));
        check(beowire_send(endpoint, peers[other], tag, 0, sent[other], bytes, NULL));
        pending += 2;
    }
    while (pending > 0) {
        struct beowire_completion done;
        check(beowire_wait(endpoint, WAIT_NS));
        int count = beowire_poll(endpoint, &done, 1);
        check(count);
        if (count > 0) {
            check(done.status);
            if (done.bytes != bytes) {
                fail("a message has another length");
            }
            pending--;
        }
    }
    for (uint32_t other = 0; other < size; other++) {
        for (uint64_t at = 0; other != rank && at < bytes; at++) {
            if (received[other][at] != byte_at(other, rank, bytes, at)) {
                fail("a byte is wrong");
            }
        }
        free(sent[other]);
        free(received[other]);
    }
    free(sent);
    free(received);
}

static void print_counters(const beowire_endpoint *endpoint, uint32_t rank)
{
    static char line[16384]; /* in one piece: others print, too */
    const char *name = NULL;
    uint64_t value = 0;
    int used = snprintf(line, sizeof line, "{\"rank\":%" PRIu32, rank);

    for (unsigned i = 0; beowire_counter(endpoint, i, &name, &value) == 0; i++) {
        used += snprintf(line + used, sizeof line - (size_t)used, ",\"%s\":%" PRIu64, name, value);
    }
    used += snprintf(line + used, sizeof line - (size_t)used, "}\n");
    (void)fwrite(line, 1, (size_t)used, stdout);
}

int main(int argc, char **argv)
{
    uint64_t longest = argc > 1 ? strtoull(argv[1], NULL, 10) : LONGEST_BYTES;
    char reason[BEOWIRE_JOB_REASON_BYTES];
    beowire_job *job = NULL;
    beowire_endpoint *endpoint = NULL;
    uint64_t tag = 0;

    (void)alarm(SECONDS_MAX); /* ends us, whatever happens */
    if (beowire_job_open(&job, reason, sizeof reason) != 0) {
        fail(reason);
    }
    uint32_t rank = beowire_job_rank(job);
    uint32_t size = beowire_job_size(job);
    beowire_peer *peers = calloc(size, sizeof *peers);
    if (peers == NULL) {
        fail("out of memory");
    }
    if (beowire_job_connect(job, NULL, &endpoint, peers, reason, sizeof reason) != 0) {
        fail(reason);
    }
    for (uint64_t bytes = 0; bytes < longest; bytes = next_length(bytes)) {
        exchange(endpoint, peers, rank, size, bytes, tag++);
    }
    exchange(endpoint, peers, rank, size, longest, tag);
    print_counters(endpoint, rank);
    check(beowire_close(endpoint, WAIT_NS));
    beowire_job_close(job);
    free(peers);
    return 0;
}
