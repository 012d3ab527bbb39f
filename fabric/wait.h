/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait.h - wait objects, on which programs sleep until there is something to read.
 *
 * FI_WAIT_FD is an epoll descriptor. It contains those of the endpoints (beowire_descriptor()), and
 * a bell for fi_cq_signal() and for events of other threads' calls.
 *
 * A child of fork() shares them with its parent. When it closes its copies, the parent's must not
 * change: nothing is removed, and the bell is not changed.
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
    int bell;         /**< an eventfd; or -1 */
    pid_t process;    /**< that opened it; children of fork() must not change the descriptors */
    atomic_bool rung; /**< the bell is readable and not yet handled */
};

/** @return 0; -FI_ENOSYS: unsupported kind of wait object; -FI_EMFILE: too many descriptors;
 *  -FI_ENOMEM. */
int wait_open(struct wait *wait, enum fi_wait_obj object);

void wait_close(struct wait *wait);

/** fi_control() for objects with a wait object. */
int wait_control(const struct wait *wait, int command, void *argument);

/** Makes its descriptor readable whenever `fd` is; repeating is harmless. Does nothing without a
 *  descriptor. @return 0, or -FI_ENOMEM. */
int wait_add(struct wait *wait, int fd);

void wait_remove(struct wait *wait, int fd);

/** Makes its descriptor readable until wait_quieten(). Any thread, at any time. */
void wait_ring(struct wait *wait);

/** @return true: it was rung since the last call. */
bool wait_quieten(struct wait *wait);

#endif /* BEOWIRE_FABRIC_WAIT_H */
