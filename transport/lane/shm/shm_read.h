/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_read.h - reads the memory of a peer's process: one copy by the kernel, and if that would be
 * slow (copy.h) a second one by us.
 */
#ifndef BEOWIRE_LANE_SHM_READ_H
#define BEOWIRE_LANE_SHM_READ_H

#include "lane/lane.h"

/** lane_operations.read_memory. @return 0; -EPERM: the kernel does not permit it (tried once for
 *  each peer); -EFAULT: the peer has no such memory; -ECONNRESET: the peer has ended, or has
 *  withdrawn its memory. */
int shm_read_memory(struct lane *lane, const struct lane_address *from, uint64_t address,
                    void *target, uint64_t bytes);

#endif /* BEOWIRE_LANE_SHM_READ_H */
