/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm.h - the lane between processes of one host: frames go through queues in shared memory, and
 * the memory of the other process can be read. Needs no privilege and no network interface.
 *
 * Who: processes of one user, one running kernel and one network namespace (host.h).
 * How: a queue for each direction (shm_ring.h), made when first sent to, found through a unix
 * socket (shm_socket.h). Sending and receiving are no system calls, unless the receiver sleeps.
 * Ends: a process that ends, in whatever way, closes its sockets; lost() names it as soon as the
 * frames that it had sent have been taken. It leaves nothing behind. (A child that it forked and
 * that neither execs nor closes the endpoint keeps the sockets open: then it is noticed only by its
 * silence.)
 *
 * Reading memory: process_vm_readv(2), with the process that the kernel says is at the other end of
 * the socket. The kernel allows it between processes of one user unless the one that is read is
 * not dumpable, or is in another user or process namespace, or Yama restricts tracing
 * (/proc/sys/kernel/yama/ptrace_scope is not 0: the default of some distributions). Then frames
 * are used. The lane does not lift Yama's restriction by prctl(PR_SET_PTRACER): that admits either
 * a single process, or with PR_SET_PTRACER_ANY everything that the user ever runs. An administrator
 * can, by setting ptrace_scope to 0, and an application, which knows whom it trusts.
 */
#ifndef BEOWIRE_LANE_SHM_H
#define BEOWIRE_LANE_SHM_H

#include "lane/lane.h"

struct shm_lane_options {
    uint64_t incarnation; /**< of the endpoint: its address has it */
    uint32_t peers;       /**< most peers */
};

/** Opens the lane.
 *  @return 0; -EADDRINUSE: this incarnation is open already; -ENOMEM, -EMFILE or another negative
 *  errno. */
int shm_lane_open(const struct shm_lane_options *options, struct lane **lane);

#endif /* BEOWIRE_LANE_SHM_H */
