/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pvm_speed.c - a PVM program that measures what PVM's own library and ours can be compared by:
 *
 *      pvm-speed-benchmark [ROUNDS [HOST]]
 *
 * Half a round trip to one task, packed as PvmDataRaw, and a multicast to eight, each of which
 * answers: from pvm_mcast() until the last answer is there. Medians of ROUNDS (default: 1000). The
 * tasks are on HOST, or where PVM puts them. PvmRoute is as libpvm3 has it, by the daemons;
 * BEOWIRE_SPEED_ROUTE=direct asks for PvmRouteDirect.
 *
 * Over Beowire: env $(beowire pvm-env --words) pvm-speed-benchmark
 */
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TASKS 8
#define WARM_UP 50

#define TAG_ASK 1
#define TAG_ANSWER 2
#define TAG_END 3

static const int SIZES[] = {8, 1 << 10, 16 << 10, 64 << 10, 1 << 20};
#define SIZE_COUNT ((int)(sizeof SIZES / sizeof SIZES[0]))
#define BYTES_MAX (1 << 20)

static char data[BYTES_MAX];

static double now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void need(int code, const char *what)
{
    if (code < 0) {
        (void)fprintf(stderr, "pvm-speed-benchmark: %s has failed: %d\n", what, code);
        (void)pvm_exit();
        exit(1);
    }
}

static void direct_if_asked(void)
{
    const char *route = getenv("BEOWIRE_SPEED_ROUTE");

    if (route != NULL && strcmp(route, "direct") == 0) {
        need(pvm_setopt(PvmRoute, PvmRouteDirect), "pvm_setopt");
    }
}

/* A child: answers with as much as is asked for, until it is told to end. */
static int answer(int parent)
{
    for (;;) {
        int bytes = 0;
        int tag = 0;
        const int id = pvm_recv(parent, -1);
        need(id, "pvm_recv");
        need(pvm_bufinfo(id, &bytes, &tag, NULL), "pvm_bufinfo");
        if (tag == TAG_END) {
            return pvm_exit();
        }
        int wanted = 0;
        need(pvm_upkint(&wanted, 1, 1), "pvm_upkint");
        need(pvm_upkbyte(data, bytes - (int)sizeof wanted, 1), "pvm_upkbyte");
        need(pvm_initsend(PvmDataRaw), "pvm_initsend");
        need(pvm_pkbyte(data, wanted, 1), "pvm_pkbyte");
        need(pvm_send(parent, TAG_ANSWER), "pvm_send");
    }
}

/* One message of so many bytes, its first word what is to be answered with. */
static double ask(int *tasks, int count, int bytes, int wanted)
{
    const double start = now_us();

    need(pvm_initsend(PvmDataRaw), "pvm_initsend");
    need(pvm_pkint(&wanted, 1, 1), "pvm_pkint");
    need(pvm_pkbyte(data, bytes - (int)sizeof wanted, 1), "pvm_pkbyte");
    need(count == 1 ? pvm_send(tasks[0], TAG_ASK) : pvm_mcast(tasks, count, TAG_ASK), "sending");
    for (int i = 0; i < count; i++) {
        need(pvm_recv(-1, TAG_ANSWER), "pvm_recv");
        need(pvm_upkbyte(data, wanted, 1), "pvm_upkbyte");
    }
    return now_us() - start;
}

static int compare(const void *a, const void *b)
{
    const double one = *(const double *)a;
    const double other = *(const double *)b;

    return (one > other) - (one < other);
}

static double median_of(int *tasks, int count, int bytes, int wanted, int rounds)
{
    double *times = malloc((size_t)rounds * sizeof *times);

    need(times != NULL ? 0 : -1, "malloc");
    for (int i = -WARM_UP; i < rounds; i++) {
        const double took = ask(tasks, count, bytes, wanted);
        if (i >= 0) {
            times[i] = took;
        }
    }
    qsort(times, (size_t)rounds, sizeof *times, compare);
    const double median = times[rounds / 2];
    free(times);
    return median;
}

/* Longer ones take longer: so many of them are enough. */
static int rounds_for(int rounds, int bytes)
{
    const int fewer = (int)((long)rounds * SIZES[1] / bytes);

    return bytes <= SIZES[1] ? rounds : fewer > 10 ? fewer : 10;
}

int main(int count, char **words)
{
    char program[4096] = "";
    const int rounds = count > 1 ? (int)strtol(words[1], NULL, 10) : 1000;
    char *host = count > 2 ? words[2] : NULL;
    int tasks[TASKS];

    need(pvm_mytid(), "pvm_mytid");
    direct_if_asked();
    if (pvm_parent() > 0) {
        return answer(pvm_parent());
    }
    if (rounds < 1 || readlink("/proc/self/exe", program, sizeof program - 1) < 0) {
        (void)fprintf(stderr, "usage: pvm-speed-benchmark [ROUNDS [HOST]]\n");
        return 2;
    }
    const int flag = host != NULL ? PvmTaskHost : PvmTaskDefault;
    need(pvm_spawn(program, NULL, flag, host, TASKS, tasks) == TASKS ? 0 : -1, "pvm_spawn");
    for (int i = 0; i < SIZE_COUNT; i++) {
        const int times = rounds_for(rounds, SIZES[i]);
        const double one = median_of(tasks, 1, SIZES[i], SIZES[i], times) / 2;
        const double many = median_of(tasks, TASKS, SIZES[i], (int)sizeof(int), times);
        (void)printf(
            "%7d bytes: half a round trip %9.1f us, to %d tasks and their answers %9.1f us\n",
            SIZES[i], one, TASKS, many);
        (void)fflush(stdout);
    }
    need(pvm_initsend(PvmDataRaw), "pvm_initsend");
    need(pvm_mcast(tasks, TASKS, TAG_END), "pvm_mcast");
    return pvm_exit();
}
