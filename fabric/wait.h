/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait.h - what a program sleeps on until there is something to read: its wait object.
 *
 * FI_WAIT_FD is an epoll descriptor. In it are those of the endpoints (beowire_descriptor()), and a
 * bell: for fi_cq_signal(), and for what another thread's call has brought about.
 *
 * A child that fork() has made shares them with its parent. When it closes what it has a copy of,
 * the parent's stay as they are: nothing is taken out, and the bell neither rings nor falls silent.
 */
#ifndef BEOWIRE_FABRIC_WAIT_H
#define BEOWIRE_FABRIC_WAIT_H

#include <rdma/fi_eq.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct wait {
    enum fi_wait_obj object;
    int fd;           /**< -1: only our own calls wait */
    int bell;         /**< an eventfd; -1 likewise */
    pid_t process;    /**< that opened it: its descriptors are not a child's of fork() to change */
    atomic_bool rung; /**< the bell is readable, and nobody has heeded it */
};

/** @return 0; -FI_ENOSYS: a kind of wait object that there is not; -FI_EMFILE: there are too many
 *  descriptors, or -FI_ENOMEM. */
int wait_open(struct wait *wait, enum fi_wait_obj object);

void wait_close(struct wait *wait);

/** What fi_control() of whatever has the wait object does. */
int wait_control(const struct wait *wait, int command, void *argument);

/** From now on its descriptor is readable whenever this one is; twice does no harm. Does nothing
 *  where there is no descriptor.
 *  @return 0, or -FI_ENOMEM. */
int wait_add(struct wait *wait, int fd);

void wait_remove(struct wait *wait, int fd);

/** Its descriptor is readable until wait_quieten(). Any thread may call this at any time. */
void wait_ring(struct wait *wait);

/** @return true: it was rung since. */
bool wait_quieten(struct wait *wait);

#endif /* BEOWIRE_FABRIC_WAIT_H */
