/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_bell.h - one cache line by which peers signal an endpoint that they have sent something.
 *
 * An endpoint polls only busy rings; a producer of another ring sets its bit here. So polling costs
 * O(busy rings) and one line for all others. All peers may write the line. If one clears bits of
 * others, these are delayed until the endpoint polls its sockets, where they signal as well
 * (shm_socket.h).
 */
#ifndef BEOWIRE_LANE_SHM_BELL_H
#define BEOWIRE_LANE_SHM_BELL_H

#include <stdalign.h>
#include <stdint.h>

#define SHM_BELL_WORDS 8u

/** If there are more rings, they share bits. */
#define SHM_BELLS (SHM_BELL_WORDS * 64u)

/** The layout in shared memory. */
struct shm_bell {
    alignas(4096) uint64_t words[SHM_BELL_WORDS];
};

/** Sets bit `bell`, after something was added to a ring. */
static inline void shm_bell_ring(struct shm_bell *all, uint32_t bell)
{
    bell %= SHM_BELLS;
    (void)__atomic_fetch_or(&all->words[bell / 64], UINT64_C(1) << bell % 64, __ATOMIC_SEQ_CST);
}

/** Takes the bits of one word; poll their rings afterwards. */
static inline uint64_t shm_bell_take(struct shm_bell *all, uint32_t word)
{
    if (__atomic_load_n(&all->words[word], __ATOMIC_RELAXED) == 0) {
        return 0;
    }
    return __atomic_exchange_n(&all->words[word], 0, __ATOMIC_SEQ_CST);
}

#endif /* BEOWIRE_LANE_SHM_BELL_H */
