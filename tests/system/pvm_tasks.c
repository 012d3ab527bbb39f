/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pvm_tasks [CASE|all [HOST]]: a parent, whose children are on that host (all), or to whose case it
 * is told.
 */
#include "pvm_tasks.h"

#include <dlfcn.h>
#include <poll.h>
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAG 10

char *told_host;
char own_program[4096];
int own_case;

uint64_t pattern(uint64_t seed, uint64_t at)
{
    uint64_t x = seed * UINT64_C(0x9E3779B97F4A7C15) + at + 1;

    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

void fill(void *data, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i++) {
        ((unsigned char *)data)[i] = (unsigned char)pattern(seed, i);
    }
}

bool is_filled(const void *data, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i++) {
        if (((const unsigned char *)data)[i] != (unsigned char)pattern(seed, i)) {
            return false;
        }
    }
    return true;
}

void check(bool holds, const char *what, const char *file, int line)
{
    if (!holds) {
        printf("%s:%d: not so: %s\n", file, line, what);
        fflush(stdout);
        (void)pvm_exit();
        exit(1);
    }
}

void send_filled(int task, int tag, int encoding, int bytes, uint64_t seed)
{
    char *data = malloc((size_t)bytes + 1);

    CHECK(data != NULL);
    fill(data, (size_t)bytes, seed);
    CHECK(pvm_initsend(encoding) > 0);
    CHECK(pvm_pkbyte(data, bytes, 1) == 0);
    CHECK(pvm_send(task, tag) == 0);
    free(data); /* wherever it was: it is PVM's no more */
}

void take_filled(int bytes, uint64_t seed)
{
    char *data = malloc((size_t)bytes + 1);

    CHECK(data != NULL);
    CHECK(pvm_upkbyte(data, bytes, 1) == 0);
    CHECK(is_filled(data, (size_t)bytes, seed));
    free(data);
}

/* ---- the order of a task's messages, while it changes its route ------------------------------ */

#define ORDER_MESSAGES 200

static int order_bytes(int number)
{
    return number % 5 == 0 ? 150000 : number % 7 == 0 ? 5000 : 1 + number % 60;
}

static void order_parent(const int *children)
{
    int next[CHILDREN] = {0};

    for (int left = CHILDREN * ORDER_MESSAGES; left > 0; left--) {
        int bytes = 0;
        int tag = 0;
        int task = 0;
        const int id = pvm_recv(-1, left % 2 == 0 ? TAG : -1);
        CHECK(id > 0 && pvm_bufinfo(id, &bytes, &tag, &task) == 0 && tag == TAG);
        int child = 0;
        while (child < CHILDREN && children[child] != task) {
            child++;
        }
        CHECK(child < CHILDREN);
        int number = 0;
        CHECK(pvm_upkint(&number, 1, 1) == 0);
        CHECK(number == next[child]);
        next[child]++;
        CHECK(bytes == order_bytes(number) + (int)sizeof number);
        take_filled(order_bytes(number), (uint64_t)number);
    }
    printf("order: %d messages of each of %d tasks\n", ORDER_MESSAGES, CHILDREN);
}

static void order_child(int parent)
{
    static char data[150000];
    const int before = pvm_getopt(PvmRoute);

    for (int number = 0; number < ORDER_MESSAGES; number++) {
        if (number % 11 == 10) {
            (void)pvm_setopt(PvmRoute, number / 11 % 2 == 0 ? PvmDontRoute : before);
        }
        fill(data, (size_t)order_bytes(number), (uint64_t)number);
        CHECK(pvm_initsend(PvmDataRaw) > 0);
        CHECK(pvm_pkint(&number, 1, 1) == 0);
        CHECK(pvm_pkbyte(data, order_bytes(number), 1) == 0);
        CHECK(pvm_send(parent, TAG) == 0);
    }
    (void)pvm_setopt(PvmRoute, before);
}

/* ---- receiving in all ways, buffers ------------------------------------------------------------
 */

static void receive_parent(const int *children)
{
    struct timeval soon = {.tv_usec = 20000};
    struct timeval late = {.tv_sec = 20};
    int bytes = 0;
    int tag = 0;
    int task = 0;

    CHECK(pvm_nrecv(-1, TAG) == 0 && pvm_probe(-1, TAG) == 0 && pvm_trecv(-1, TAG, &soon) == 0);
    for (int i = 0; i < CHILDREN; i++) {
        send_filled(children[i], TAG, PvmDataRaw, 100 + i, 1);
    }
    CHECK(pvm_recv(children[2], TAG + 2) > 0); /* the others' before it stay */
    take_filled(300, 2);
    const int kept = pvm_setrbuf(0);
    CHECK(pvm_trecv(children[1], -1, &late) > 0);
    take_filled(300, 1);
    int id;
    while ((id = pvm_probe(children[0], -1)) == 0) {
    }
    CHECK(pvm_bufinfo(id, &bytes, &tag, &task) == 0);
    printf("receive: probe finds %d bytes, tag %d, the first child's: %d\n", bytes, tag,
           task == children[0]);
    while ((id = pvm_nrecv(-1, -1)) == 0) {
    }
    CHECK(id == pvm_getrbuf());
    CHECK(pvm_setrbuf(kept) == id && pvm_bufinfo(kept, &bytes, &tag, &task) == 0);
    printf("receive: the one that was kept has %d bytes, tag %d\n", bytes, tag);
    CHECK(pvm_freebuf(id) == 0 && pvm_freebuf(kept) == 0 && pvm_freebuf(kept) == PvmNoSuchBuf);
    CHECK(pvm_nrecv(-1, -1) == 0);
}

static void receive_child(int parent)
{
    int bytes = 0;
    const int id = pvm_recv(parent, TAG);

    CHECK(id > 0 && pvm_bufinfo(id, &bytes, NULL, NULL) == 0);
    take_filled(bytes, 1);
    send_filled(parent, TAG + bytes - 100, PvmDataInPlace, 300, (uint64_t)bytes - 100);
}

/* ---- contexts, message handlers -------------------------------------------------------------- */

static int handled;

/* Answers from within: what the program was about to send stays as it is. */
static int handle(int id)
{
    int bytes = 0;
    int task = 0;

    CHECK(pvm_bufinfo(id, &bytes, NULL, &task) == 0);
    handled += bytes;
    const int before = pvm_setsbuf(pvm_mkbuf(PvmDataRaw));
    CHECK(pvm_pkint(&handled, 1, 1) == 0 && pvm_send(task, TAG + 2) == 0);
    CHECK(pvm_freebuf(pvm_setsbuf(before)) == 0);
    return 0;
}

static void context_parent(const int *children)
{
    int context = pvm_newcontext();
    const int base = pvm_getcontext();

    CHECK(context > 0 && context != base);
    const int handler = pvm_addmhf(children[0], TAG + 1, context, handle);
    CHECK(handler >= 0);
    CHECK(pvm_psend(children[0], TAG, &context, 1, PVM_INT) == 0);
    CHECK(pvm_setcontext(context) == base);
    CHECK(pvm_recv(children[0], -1) > 0); /* that of this context, though others are before it */
    take_filled(30, 3);
    printf("context: in the new one 30 bytes, and %d for the handler\n", handled);
    CHECK(pvm_nrecv(-1, -1) == 0);
    CHECK(pvm_delmhf(handler) == 0);
    CHECK(pvm_setcontext(base) == context && pvm_freecontext(context) == 0);
    CHECK(pvm_recv(-1, -1) > 0);
    take_filled(10, 1);
}

static void context_child(int parent)
{
    int context = 0;
    int answer = 0;

    CHECK(pvm_precv(parent, TAG, &context, 1, PVM_INT, NULL, NULL, NULL) == 0);
    send_filled(parent, TAG, PvmDataRaw, 10, 1);
    const int base = pvm_setcontext(context);
    send_filled(parent, TAG + 1, PvmDataRaw, 4321, 2);
    send_filled(parent, TAG, PvmDataDefault, 30, 3);
    CHECK(pvm_recv(parent, TAG + 2) > 0 && pvm_upkint(&answer, 1, 1) == 0 && answer == 4321);
    CHECK(pvm_setcontext(base) == context);
}

/* ---- to many, both ways at once, long ----------------------------------------------------------
 */

#define LONG_BYTES (4 << 20)

static void many_parent(const int *children)
{
    static const int sizes[] = {0, 8, 3000, 200000};
    int three[CHILDREN + 2] = {children[0], children[1], children[2], children[1], pvm_mytid()};
    char *data = malloc((size_t)sizes[3]);

    CHECK(data != NULL);
    fill(data, (size_t)sizes[3], 9);
    for (int i = 0; i < 4; i++) {
        CHECK(pvm_initsend(i % 2 == 0 ? PvmDataRaw : PvmDataInPlace) > 0);
        CHECK(pvm_pkbyte(data, sizes[i], 1) == 0);
        CHECK(pvm_mcast(three, CHILDREN + 2, TAG) == 0);
        for (int child = 0; child < CHILDREN; child++) {
            int got = 0;
            CHECK(pvm_precv(children[child], TAG, &got, 1, PVM_INT, NULL, NULL, NULL) == 0);
            CHECK(got == sizes[i]);
        }
        printf("many: %d bytes to each of %d\n", sizes[i], CHILDREN);
    }
    free(data);
    CHECK(pvm_nrecv(-1, -1) == 0);
}

static void many_child(int parent)
{
    for (int i = 0; i < 4; i++) {
        int bytes = 0;
        const int id = pvm_recv(parent, TAG);
        CHECK(id > 0 && pvm_bufinfo(id, &bytes, NULL, NULL) == 0);
        take_filled(bytes, 9);
        CHECK(pvm_psend(parent, TAG, &bytes, 1, PVM_INT) == 0);
    }
}

static void both_parent(const int *children)
{
    for (int i = 0; i < 2; i++) {
        send_filled(children[0], TAG, i == 0 ? PvmDataRaw : PvmDataInPlace, LONG_BYTES, 4);
        CHECK(pvm_recv(children[0], TAG) > 0);
        take_filled(LONG_BYTES, 5);
    }
    printf("both: twice %d bytes, each way at once\n", LONG_BYTES);
}

static void both_child(int parent)
{
    for (int i = 0; i < 2; i++) {
        send_filled(parent, TAG, i == 0 ? PvmDataRaw : PvmDataInPlace, LONG_BYTES, 5);
        CHECK(pvm_recv(parent, TAG) > 0);
        take_filled(LONG_BYTES, 4);
    }
}

/* ---- select() on PVM's descriptors
 * --------------------------------------------------------------- */

static void sleep_parent(const int *children)
{
    int *list;
    struct pollfd pollers[64];
    int got = 0;

    CHECK(pvm_psend(children[0], TAG, &got, 1, PVM_INT) == 0);
    while (got < 20) {
        const int count = pvm_getfds(&list);
        CHECK(count > 0 && count < 64);
        for (int i = 0; i < count; i++) {
            pollers[i] = (struct pollfd){.fd = list[i], .events = POLLIN};
        }
        while (pvm_nrecv(children[0], TAG) > 0) {
            got++;
        }
        if (got < 20) {
            CHECK(poll(pollers, (nfds_t)count, 20000) > 0);
        }
    }
    printf("sleep: woken for %d messages\n", got);
}

static void sleep_child(int parent)
{
    int nothing = 0;

    CHECK(pvm_precv(parent, TAG, &nothing, 1, PVM_INT, NULL, NULL, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        send_filled(parent, TAG, PvmDataRaw, 100, 1);
        (void)usleep(1000);
    }
}

/* ---- the end
 * -------------------------------------------------------------------------------------- */

static void let_end(int child, int how)
{
    int nothing = 0;

    if (how == 1) {
        CHECK(pvm_psend(child, TAG + 6, &nothing, 1, PVM_INT) == 0);
    } else if (how == 2) {
        CHECK(pvm_kill(child) == 0);
    }
}

static void end_parent(const int *children)
{
    int tasks[CHILDREN];

    memcpy(tasks, children, sizeof tasks);
    CHECK(pvm_notify(PvmTaskExit, TAG + 5, CHILDREN, tasks) == 0);
    for (int i = 0; i < CHILDREN; i++) {
        int bytes = i;
        CHECK(pvm_psend(children[i], TAG, &bytes, 1, PVM_INT) == 0);
        for (int what = 0; what < 3;
             what++) { /* what it has sent is there before its end is said */
            int tag = 0;
            const int id = pvm_recv(-1, -1);
            CHECK(id > 0 && pvm_bufinfo(id, &bytes, &tag, NULL) == 0);
            CHECK(tag == (what == 2 ? TAG + 5 : TAG + what));
            if (what < 2) {
                take_filled(bytes, (uint64_t)what);
                if (what == 1) {
                    let_end(children[i], i);
                }
            } else {
                CHECK(pvm_upkint(&tag, 1, 1) == 0 && tag == children[i]);
            }
        }
        send_filled(children[i], TAG, PvmDataRaw, 10, 1); /* to nobody */
        send_filled(children[i], TAG, PvmDataInPlace, 300000, 1);
        CHECK(pvm_pstat(children[i]) == PvmNoTask);
        printf("end: child %d\n", i);
    }
}

/* By pvm_exit(); by exit(), before which PVM may lose what it has of a task; by being killed. */
static void end_child(int parent)
{
    int how = 0;
    int nothing = 0;

    CHECK(pvm_precv(parent, TAG, &how, 1, PVM_INT, NULL, NULL, NULL) == 0);
    send_filled(parent, TAG, PvmDataRaw, 500000, 0);
    send_filled(parent, TAG + 1, PvmDataRaw, 5, 1);
    if (how == 0) {
        CHECK(pvm_exit() == 0);
    } else if (how == 1) {
        CHECK(pvm_precv(parent, TAG + 6, &nothing, 1, PVM_INT, NULL, NULL, NULL) == 0);
    } else {
        (void)pause();
    }
    exit(0);
}

static const struct {
    const char *name;
    void (*parent)(const int *children);
    void (*child)(int parent);
    int children; /* that take part: the first ones */
    bool apart;   /* only if it is asked for by name */
} cases[] = {
    {"types", types_parent, types_child, 1, false},
    {"calls", calls_parent, calls_child, 1, false},
    {"order", order_parent, order_child, CHILDREN, false},
    {"receive", receive_parent, receive_child, CHILDREN, false},
    {"context", context_parent, context_child, 1, false},
    {"mailbox", mailbox_parent, mailbox_child, 1, false},
    {"many", many_parent, many_child, CHILDREN, false},
    {"both", both_parent, both_child, 1, false},
    {"sleep", sleep_parent, sleep_child, 1, false},
    {"groups", groups_parent, groups_child, CHILDREN, false},
    {"end", end_parent, end_child, CHILDREN, false},
    {"hosts", hosts_parent, hosts_child, 1, true},
    {"full", full_parent, full_child, 1, true},
    {"memory", memory_parent, memory_child, 1, true},
    {"cut", cut_parent, cut_child, 0, true},
    {"lost", lost_parent, lost_child, 1, true},
};

#define CASES ((int)(sizeof cases / sizeof cases[0]))

static int be_child(int parent)
{
    for (;;) {
        int number = 0;
        CHECK(pvm_precv(parent, TAG_CASE, &number, 1, PVM_INT, NULL, NULL, NULL) == 0);
        if (number < 0) {
            return pvm_exit();
        }
        own_case = number;
        cases[number].child(parent);
    }
}

/* Not for the output, which is to be the same: how many messages went over Beowire. */
static void say_carried(void)
{
    unsigned long (*carried)(void);

    *(void **)&carried = dlsym(RTLD_DEFAULT, "beowire_pvm_carried");
    (void)fprintf(stderr, "carried %lu\n", carried != NULL ? carried() : 0);
}

/* With PVM_TASKS_PRELOAD every other child has the library that it names, and nobody else. */
static void spawn_children(char *host, int *children)
{
    const char *library = getenv("PVM_TASKS_PRELOAD");
    const int how = host != NULL ? PvmTaskHost : PvmTaskDefault;
    char word[4200];

    if (library == NULL) {
        CHECK(pvm_spawn(own_program, NULL, how, host, CHILDREN, children) == CHILDREN);
        return;
    }
    (void)snprintf(word, sizeof word, "LD_PRELOAD=%s", library);
    char *words[] = {word, own_program, NULL};
    char loader[] = "/usr/bin/env";
    for (int i = 0; i < CHILDREN; i++) {
        CHECK(pvm_spawn(i % 2 == 0 ? loader : own_program, i % 2 == 0 ? words : NULL, how, host, 1,
                        &children[i]) == 1);
    }
}

static int be_parent(const char *wanted)
{
    static char here[] = ".";
    /* What is for the case goes away in it: nobody is there when it begins. */
    char *host = wanted == NULL ? told_host : told_host != NULL ? here : NULL;
    int children[CHILDREN];
    int last = -1;

    spawn_children(host, children);
    for (int number = 0; number < CASES; number++) {
        if (wanted != NULL ? strcmp(wanted, cases[number].name) != 0 : cases[number].apart) {
            continue;
        }
        own_case = number;
        for (int i = 0; i < cases[number].children; i++) {
            CHECK(pvm_psend(children[i], TAG_CASE, &number, 1, PVM_INT) == 0);
        }
        cases[number].parent(children);
        fflush(stdout);
    }
    for (int i = 0; i < CHILDREN; i++) {
        CHECK(pvm_psend(children[i], TAG_CASE, &last, 1, PVM_INT) == 0);
    }
    say_carried();
    return pvm_exit();
}

int main(int argc, char **argv)
{
    const ssize_t bytes = readlink("/proc/self/exe", own_program, sizeof own_program - 1);
    int parent;

    CHECK(bytes > 0);
    (void)pvm_setopt(PvmAutoErr, getenv("PVM_TASKS_SPEAK") != NULL ? 1 : 0);
    CHECK(pvm_mytid() > 0);
    parent = pvm_parent();
    if (parent > 0) {
        return be_child(parent) == 0 ? 0 : 1;
    }
    const char *wanted = argc > 1 && strcmp(argv[1], "all") != 0 ? argv[1] : NULL;
    told_host = argc > 2 ? argv[2] : NULL;
    return be_parent(wanted) == 0 ? 0 : 1;
}
