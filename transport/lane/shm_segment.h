/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_segment.h - unnamed memory shared by two processes.
 *
 * A segment is a memfd (memfd_create(2)) of fixed size, sealed against shrinking, so that the other
 * end cannot cause SIGBUS by truncating it. It is passed over a unix socket, and disappears with
 * its last mapping, however the processes end.
 */
#ifndef BEOWIRE_LANE_SHM_SEGMENT_H
#define BEOWIRE_LANE_SHM_SEGMENT_H

#include <stddef.h>

/** Creates a segment of `bytes` zeroed bytes and maps it. `file` is for passing it on; the mapping
 *  does not need it. `name` appears in /proc/PID/fd and /proc/PID/maps. @return 0, or a negative
 *  errno. */
int shm_segment_make(const char *name, size_t bytes, void **memory, int *file);

/** Maps a segment of another process; `file` remains the caller's. @return 0; -EINVAL: it is not a
 *  sealed segment of `bytes` bytes in ordinary memory; another negative errno. */
int shm_segment_map(int file, size_t bytes, void **memory);

/** Undoes the mapping; NULL is allowed. */
void shm_segment_unmap(void *memory, size_t bytes);

#endif /* BEOWIRE_LANE_SHM_SEGMENT_H */
