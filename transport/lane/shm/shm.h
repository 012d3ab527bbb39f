/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm.h - the lane between processes of one host: carries frames by queues in shared memory, and
 * reads the memory of the other process. Needs no privilege and no network interface.
 *
 * Who: processes of one user, one running kernel and one network namespace (host.h).
 * How: a queue for each direction (shm_ring.h), created at the first send and found by a unix
 * socket (shm_socket.h). Sending and receiving make no system calls, unless the receiver sleeps.
 * Ends: the sockets of a process close when it ends, however it ends; lost() reports it when the
 * frames that it had sent were taken. Nothing remains. (If it has forked a child that neither execs
 * nor closes the endpoint, the sockets stay open; then only its silence shows its end.)
 *
 * Reading memory: process_vm_readv(2), from the process that the kernel names as the other end of
 * the socket. The kernel allows it between processes of one user, unless the process that is read
 * is not dumpable or in another user or process namespace, or Yama restricts tracing
 * (/proc/sys/kernel/yama/ptrace_scope is not 0, the default of some distributions). Then frames are
 * used. The lane does not lift Yama's restriction by prctl(PR_SET_PTRACER), which permits either
 * one process, or with PR_SET_PTRACER_ANY all processes of the user. An administrator can lift it
 * by setting ptrace_scope to 0, and an application by prctl().
 */
#ifndef BEOWIRE_LANE_SHM_H
#define BEOWIRE_LANE_SHM_H

#include "lane/lane.h"

struct shm_lane_options {
    uint64_t incarnation; /**< of the endpoint, as in its address */
    uint32_t peers;       /**< maximum number of peers */
};

/** Opens the lane.
 *  @return 0; -EADDRINUSE: this incarnation is open already; -ENOMEM, -EMFILE or another negative
 *  errno. */
int shm_lane_open(const struct shm_lane_options *options, struct lane **lane);

#endif /* BEOWIRE_LANE_SHM_H */
