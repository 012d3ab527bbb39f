/* SPDX-License-Identifier: BSD-3-Clause */
/* Receivers that take nothing for a while: for want of time, or of memory. Only over Beowire: the
 * stock daemons take in whatever there is. */
#include "pvm_tasks.h"

#include <fcntl.h>
#include <pvm3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TAG 60
#define MANY 250000
#define MANY_WAIT 200000 /* more than so many short ones, and their senders wait */
#define LONG_ONES 72     /* of 1 MiB: more than may be on their way */
#define LONG_BYTES (1 << 20)
#define HUGE_BYTES (64 << 20)

/* How far a child is, which it says by no message. */
static atomic_int *meter(const char *path, bool create)
{
    const int file = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0600);

    CHECK(file >= 0 && ftruncate(file, sizeof(atomic_int)) == 0);
    void *there = mmap(NULL, sizeof(atomic_int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(there != MAP_FAILED);
    (void)close(file);
    return there;
}

static void name_meter(int parent, char *path, size_t bytes)
{
    const char *directory = getenv("PVM_TMP");

    (void)snprintf(path, bytes, "%s/meter.t%x", directory != NULL ? directory : "/tmp",
                   (unsigned)parent);
}

/* Without a call of PVM's: until it has not moved for 0.2 s. */
static int settle(atomic_int *at)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    int before = -1;

    for (int still = 0; still < 10;) {
        const int now = atomic_load(at);
        still = now == before && now > 0 ? still + 1 : 0;
        before = now;
        (void)nanosleep(&pause, NULL);
    }
    return before;
}

void full_parent(const int *children)
{
    char path[256];
    int nothing = 0;

    name_meter(pvm_mytid(), path, sizeof path);
    atomic_int *at = meter(path, true);
    CHECK(pvm_psend(children[0], TAG, &nothing, 1, PVM_INT) == 0);
    CHECK(settle(at) < MANY_WAIT);
    for (int i = 0; i < MANY; i++) {
        int number = -1;
        CHECK(pvm_precv(children[0], TAG, &number, 1, PVM_INT, NULL, NULL, NULL) == 0);
        CHECK(number == i);
    }
    /* Both send what neither receives yet. */
    for (int i = 0; i < LONG_ONES; i++) {
        send_filled(children[0], TAG, PvmDataRaw, LONG_BYTES, (uint64_t)i);
    }
    for (int i = 0; i < LONG_ONES; i++) {
        CHECK(pvm_recv(children[0], TAG) > 0);
        take_filled(LONG_BYTES, (uint64_t)i);
    }
    (void)unlink(path);
    printf("full: %d short ones, %d long ones each way\n", MANY, LONG_ONES);
}

void full_child(int parent)
{
    char path[256];
    int nothing = 0;

    CHECK(pvm_precv(parent, TAG, &nothing, 1, PVM_INT, NULL, NULL, NULL) == 0);
    name_meter(parent, path, sizeof path);
    atomic_int *at = meter(path, false);
    for (int i = 0; i < MANY; i++) {
        CHECK(pvm_psend(parent, TAG, &i, 1, PVM_INT) == 0);
        atomic_store(at, i + 1);
    }
    for (int i = 0; i < LONG_ONES; i++) {
        send_filled(parent, TAG, PvmDataRaw, LONG_BYTES, (uint64_t)i);
    }
    for (int i = 0; i < LONG_ONES; i++) {
        CHECK(pvm_recv(parent, TAG) > 0);
        take_filled(LONG_BYTES, (uint64_t)i);
    }
}

static uint64_t address_space(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    char text[64] = "";

    CHECK(file != NULL && fgets(text, sizeof text, file) != NULL);
    (void)fclose(file);
    return strtoul(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The message does not fit, and then it does; what was sent behind it is still behind it. */
void memory_parent(const int *children)
{
    struct rlimit before;
    int nothing = 0;

    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    const struct rlimit low = {address_space() + HUGE_BYTES / 4, before.rlim_max};
    CHECK(pvm_psend(children[0], TAG, &nothing, 1, PVM_INT) == 0);
    CHECK(setrlimit(RLIMIT_AS, &low) == 0);
    const int status = pvm_recv(children[0], TAG);
    CHECK(pvm_recv(children[0], TAG + 1) == status);
    CHECK(pvm_psend(children[0], TAG, &nothing, 1, PVM_INT) == 0); /* what is sent goes on */
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(pvm_recv(children[0], -1) > 0);
    char *data = malloc(HUGE_BYTES);
    CHECK(data != NULL && pvm_upkbyte(data, HUGE_BYTES, 1) == 0);
    for (size_t at = 0; at < HUGE_BYTES; at += 4096) {
        CHECK(data[at] == (char)(at / 4096));
    }
    free(data);
    CHECK(pvm_recv(children[0], -1) > 0);
    take_filled(10, 1);
    printf("memory: first error %d, then all of it\n", status);
}

void memory_child(int parent)
{
    char *data = malloc(HUGE_BYTES);
    int nothing = 0;

    CHECK(data != NULL);
    for (size_t at = 0; at < HUGE_BYTES; at += 4096) {
        data[at] = (char)(at / 4096);
    }
    CHECK(pvm_precv(parent, TAG, &nothing, 1, PVM_INT, NULL, NULL, NULL) == 0);
    CHECK(pvm_initsend(PvmDataInPlace) > 0 && pvm_pkbyte(data, HUGE_BYTES, 1) == 0);
    CHECK(pvm_send(parent, TAG) == 0);
    free(data);
    send_filled(parent, TAG + 1, PvmDataRaw, 10, 1);
    CHECK(pvm_precv(parent, TAG, &nothing, 1, PVM_INT, NULL, NULL, NULL) == 0);
}
