/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * entropy.h - random bytes that nobody can predict, for keys and secrets.
 *
 * getrandom(2); where that is refused (before Linux 3.17, or by a filter of system calls),
 * /dev/urandom. Thread-safe.
 */
#ifndef BEOWIRE_LANE_ENTROPY_H
#define BEOWIRE_LANE_ENTROPY_H

#include <stddef.h>

/** Fills all of `room`. @return 0; a negative errno: neither is to be had, and nothing may be made
 * of what is there. */
int entropy_fill(void *room, size_t bytes);

#endif /* BEOWIRE_LANE_ENTROPY_H */
