/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * entropy.h - unpredictable random bytes for keys and secrets.
 *
 * Uses getrandom(2); if that is refused (before Linux 3.17, or by a seccomp filter), /dev/urandom.
 * Thread-safe.
 */
#ifndef BEOWIRE_LANE_ENTROPY_H
#define BEOWIRE_LANE_ENTROPY_H

#include <stddef.h>

/** Fills `room`. @return 0; a negative errno: no random bytes are available, and the contents of
 *  `room` must not be used. */
int entropy_fill(void *room, size_t bytes);

#endif /* BEOWIRE_LANE_ENTROPY_H */
