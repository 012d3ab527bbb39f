/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that comes and goes, twice, while messages are on their way between all. */
#include "pvm_tasks.h"

#include <pvm3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TAG 70
#define TAG_STOP (TAG + 1)
#define TAG_ADDED (TAG + 2)
#define TAG_DELETED (TAG + 3)
#define TAG_EXITED (TAG + 4)
#define TAG_LAST (TAG + 5)
#define STREAM_BYTES 3000
#define AT_ONCE 50 /* messages of a stream, before its sender waits to be told to go on */

/* One that sends numbered messages, and what it has sent last. */
struct sender {
    int task;
    int next;
};

/* The tasks whose host has been deleted. Each lives until its daemon has ended it, and until then
 * what it sends over Beowire may come, later than the news of its end. */
static int gone[2];

static bool is_of_gone(int id)
{
    int task = 0;

    CHECK(pvm_bufinfo(id, NULL, NULL, &task) == 0);
    return task == gone[0] || task == gone[1];
}

/* A message of a stream; the next one of its sender's. */
static void take_stream(struct sender *senders, int count, int id)
{
    int number = -1;
    int task = 0;

    CHECK(pvm_bufinfo(id, NULL, NULL, &task) == 0);
    CHECK(pvm_upkint(&number, 1, 1) == 0);
    take_filled(STREAM_BYTES, (uint64_t)number);
    for (int i = 0; i < count; i++) {
        if (senders[i].task == task) {
            CHECK(number == senders[i].next);
            senders[i].next++;
            if (senders[i].next % AT_ONCE == 0) {
                CHECK(pvm_psend(task, TAG, &number, 1, PVM_INT) == 0);
            }
            return;
        }
    }
    check(false, "of a sender that is known", __FILE__, __LINE__);
}

/* Receives streams until one has sent so many. */
static void take_until(struct sender *senders, int count, const struct sender *one, int next)
{
    while (one->next < next) {
        const int id = pvm_recv(-1, TAG);
        CHECK(id > 0);
        if (!is_of_gone(id)) {
            take_stream(senders, count, id);
        }
    }
}

static int host_number(void)
{
    struct pvmhostinfo *hosts = NULL;
    int count = 0;

    CHECK(pvm_config(&count, NULL, &hosts) == 0);
    for (int i = 0; i < count; i++) {
        if (strcmp(hosts[i].hi_name, told_host) == 0) {
            return hosts[i].hi_tid;
        }
    }
    return 0;
}

static void add(struct sender *there)
{
    int status = 0;
    int number = 0;

    CHECK(pvm_notify(PvmHostAdd, TAG_ADDED, 1, NULL) >= 0);
    CHECK(pvm_addhosts(&told_host, 1, &status) == 1 && status == host_number());
    CHECK(pvm_recv(-1, TAG_ADDED) > 0);
    CHECK(pvm_upkint(&number, 1, 1) == 0 && number == 1);
    CHECK(pvm_upkint(&number, 1, 1) == 0 && number == status);
    CHECK(pvm_notify(PvmHostDelete, TAG_DELETED, 1, &status) == 0);
    CHECK(pvm_spawn(own_program, NULL, PvmTaskHost, told_host, 1, &there->task) == 1);
    CHECK(pvm_tidtohost(there->task) == status);
    CHECK(pvm_notify(PvmTaskExit, TAG_EXITED, 1, &there->task) == 0);
    CHECK(pvm_psend(there->task, TAG_CASE, &own_case, 1, PVM_INT) == 0);
    there->next = 0;
}

/* The host goes, and with it its task, which is in the midst of a message. */
static void take_away(struct sender *senders)
{
    int status = 0;
    int notices = 0;

    CHECK(pvm_delhosts(&told_host, 1, &status) == 1);
    gone[gone[0] != 0] = senders[1].task;
    while (notices < 2) {
        int tag = 0;
        const int id = pvm_recv(-1, -1);
        CHECK(id > 0 && pvm_bufinfo(id, NULL, &tag, NULL) == 0);
        if (tag == TAG_DELETED || tag == TAG_EXITED) {
            notices++;
        } else if (!is_of_gone(id)) {
            CHECK(tag == TAG);
            take_stream(senders, 1, id);
        }
    }
    CHECK(host_number() == 0);
    send_filled(senders[1].task, TAG_STOP, PvmDataRaw, 10, 1); /* to nobody */
    send_filled(senders[1].task, TAG_STOP, PvmDataInPlace, 100000, 1);
    CHECK(pvm_pstat(senders[1].task) == PvmNoTask);
}

void hosts_parent(const int *children)
{
    struct sender senders[2] = {{.task = children[0]}};
    int last = 0;

    CHECK(told_host != NULL);
    if (host_number() != 0) {
        CHECK(pvm_delhosts(&told_host, 1, &last) == 1);
        while (host_number() != 0) { /* it is there until all daemons know */
            (void)usleep(1000);
        }
    }
    for (int i = 0; i < 2; i++) {
        add(&senders[1]);
        take_until(senders, 2, &senders[1], 100);
        const int before = senders[0].next;
        take_until(senders, 2, &senders[0], before + 100);
        take_away(senders);
        take_until(senders, 1, &senders[0], senders[0].next + 100);
        printf("hosts: added and deleted %d\n", i + 1);
    }
    CHECK(pvm_psend(children[0], TAG_STOP, &last, 1, PVM_INT) == 0);
    CHECK(pvm_precv(children[0], TAG_LAST, &last, 1, PVM_INT, NULL, NULL, NULL) == 0);
    take_until(senders, 1, &senders[0], last);
    while ((last = pvm_nrecv(-1, -1)) > 0) {
        CHECK(is_of_gone(last));
    }
    CHECK(last == 0);
}

/* May it go on? Only once in AT_ONCE it waits to be told. */
static bool goes_on(int parent, int number)
{
    int tag = 0;

    if (pvm_nrecv(parent, TAG_STOP) > 0) {
        return false;
    }
    if (number == 0 || number % AT_ONCE != 0) {
        return true;
    }
    const int id = pvm_recv(parent, -1);
    CHECK(id > 0 && pvm_bufinfo(id, NULL, &tag, NULL) == 0);
    return tag != TAG_STOP;
}

void hosts_child(int parent)
{
    static char data[STREAM_BYTES];
    int number = 0;

    for (; goes_on(parent, number); number++) {
        fill(data, sizeof data, (uint64_t)number);
        CHECK(pvm_initsend(PvmDataRaw) > 0 && pvm_pkint(&number, 1, 1) == 0);
        CHECK(pvm_pkbyte(data, STREAM_BYTES, 1) == 0);
        CHECK(pvm_send(parent, TAG) == 0);
    }
    CHECK(pvm_psend(parent, TAG_LAST, &number, 1, PVM_INT) == 0);
}
