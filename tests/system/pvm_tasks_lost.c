/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon is killed while its tasks send and wait. */
#include "pvm_tasks.h"

#include <poll.h>
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TAG 80
#define BYTES (4 << 20)

void lost_parent(const int *children)
{
    char *data = calloc(1, BYTES);
    int ready = 0;

    CHECK(data != NULL);
    CHECK(pvm_precv(children[0], TAG, &ready, 1, PVM_INT, NULL, NULL, NULL) == 0);
    printf("lost: ready\n");
    fflush(stdout);
    /* Its receiver does not receive: without a daemon this ends all the same, and the data is
     * nobody's but ours again. */
    CHECK(pvm_initsend(PvmDataInPlace) > 0 && pvm_pkbyte(data, BYTES, 1) == 0);
    const int sent = pvm_send(children[0], TAG);
    free(data);
    CHECK(sent == 0 || sent == PvmSysErr);
    printf("lost: pvm_recv %d\n", pvm_recv(children[0], TAG));
    printf("lost: pvm_send %d\n", pvm_send(children[0], TAG));
    printf("lost: pvm_exit %d\n", pvm_exit());
    printf("lost: pvm_mytid %d\n", pvm_mytid());
    exit(0);
}

/* Computes until its daemon has gone. */
void lost_child(int parent)
{
    struct pollfd poller = {.events = POLLRDHUP};
    int *list = NULL;

    CHECK(pvm_psend(parent, TAG, &(int){1}, 1, PVM_INT) == 0);
    CHECK(pvm_getfds(&list) > 0);
    poller.fd = list[0];
    (void)poll(&poller, 1, -1);
    exit(0);
}
