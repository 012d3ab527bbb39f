/* SPDX-License-Identifier: BSD-3-Clause */
/* The network to another host goes away while messages are sent there. Only over Beowire: the stock
 * daemons take minutes to find out. */
#include "pvm_tasks.h"

#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TAG 90
#define TAG_CUT (TAG + 1)
#define ROUNDS 10
#define GAP_NS 10000000
#define SENDS 6000 /* a minute of them */

void cut_parent(const int *children)
{
    const struct timespec gap = {.tv_nsec = GAP_NS};
    int far = 0;
    int sent = 0;

    (void)children; /* they are on this host */
    CHECK(pvm_spawn(own_program, NULL, PvmTaskHost, told_host, 1, &far) == 1);
    CHECK(pvm_psend(far, TAG_CASE, &own_case, 1, PVM_INT) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        int back = -1;
        CHECK(pvm_psend(far, TAG, &i, 1, PVM_INT) == 0);
        CHECK(pvm_precv(far, TAG, &back, 1, PVM_INT, NULL, NULL, NULL) == 0 && back == i);
    }
    CHECK(pvm_psend(far, TAG_CUT, &sent, 1, PVM_INT) == 0);
    for (int i = 0; i < SENDS && sent == 0; i++) {
        (void)nanosleep(&gap, NULL);
        sent = pvm_psend(far, TAG, &i, 1, PVM_INT);
    }
    printf("cut: pvm_psend %d\n", sent);
    /* What has failed fails at once, and others are as they were. */
    printf("cut: pvm_psend %d\n", pvm_psend(far, TAG, &sent, 1, PVM_INT));
    printf("cut: own host %d\n", pvm_psend(children[0], TAG, &sent, 1, PVM_INT));
    exit(0);
}

/* Answers, until it is to take its host off the network. */
void cut_child(int parent)
{
    for (;;) {
        int number = 0;
        int tag = 0;
        const int id = pvm_recv(parent, -1);
        CHECK(id > 0 && pvm_bufinfo(id, NULL, &tag, NULL) == 0);
        if (tag == TAG_CUT) {
            break;
        }
        CHECK(pvm_upkint(&number, 1, 1) == 0 && pvm_psend(parent, TAG, &number, 1, PVM_INT) == 0);
    }
    CHECK(system("ip link set dev eth0 down") == 0); /* NOLINT(cert-env33-c) */
    (void)pvm_recv(-1, TAG_CUT);                     /* until its daemon ends it */
}
