/* SPDX-License-Identifier: BSD-3-Clause */
#include "turn.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/** Reads of the keeper's flag before other threads may run. */
#define SPINS 1000

static long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

void turn_open(struct turn *turn)
{
    long known = membarrier(MEMBARRIER_CMD_QUERY);

    *turn = (struct turn){0};
    turn->fence = known < 0 || (known & MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

void turn_wait(struct turn *turn)
{
    do {
        __atomic_store_n(&turn->inside, 0, __ATOMIC_RELEASE);
        for (unsigned i = 0; __atomic_load_n(&turn->wanted, __ATOMIC_ACQUIRE) != 0; i++) {
            if (i >= SPINS) {
                (void)sched_yield();
            }
        }
        __atomic_store_n(&turn->inside, 1, __ATOMIC_RELAXED);
        /* Rare enough for a full barrier. */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    } while (__atomic_load_n(&turn->wanted, __ATOMIC_ACQUIRE) != 0);
}

/** The kernel now refuses membarrier, perhaps because of a new seccomp filter. The application uses
 *  full barriers from its next entry on. The keeper tries again when all earlier stores of the
 *  application are visible. */
static void do_without(struct turn *turn)
{
    __atomic_store_n(&turn->fence, true, __ATOMIC_SEQ_CST);
}

bool turn_try(struct turn *turn)
{
    /* Here and not in turn_open(): in a process of several threads the kernel waits 5 to 15 ms for
     * an RCU grace period, which would delay the application. */
    if (!turn->fence && !turn->registered) {
        turn->registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
        if (!turn->registered) {
            do_without(turn);
            return false;
        }
    }
    __atomic_store_n(&turn->wanted, 1, __ATOMIC_SEQ_CST);
    if (turn->fence) {
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    } else if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) {
        do_without(turn); /* the application may be inside, unnoticed */
        turn_end(turn);
        return false;
    }
    if (__atomic_load_n(&turn->inside, __ATOMIC_ACQUIRE) != 0) {
        turn_end(turn);
        return false;
    }
    return true;
}

void turn_end(struct turn *turn)
{
    __atomic_store_n(&turn->wanted, 0, __ATOMIC_RELEASE);
}
