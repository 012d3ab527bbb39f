/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/turn.h"
#include "unit/test.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>

#define ROUNDS 50000

/** What the lock protects: `plain` is not atomic, and a lost update shows. */
struct shared {
    struct turn turn;
    uint64_t plain;
    uint64_t keeper_turns;
    bool ending; /* atomic */
};

/** How often the kernel was asked to make ready for barriers, which it takes its time for. */
static unsigned registrations;

/** What the kernel refuses from now on; 0: nothing. */
static long refused_command;

long __real_syscall(long number, ...); /* NOLINT: the linker's names */
long __wrap_syscall(long number, long command, long flags, long cpu); /* NOLINT */

long __wrap_syscall(long number, long command, long flags, long cpu) /* NOLINT */
{
    if (number == SYS_membarrier && command == refused_command && command != 0) {
        errno = EPERM;
        return -1;
    }
    registrations +=
        number == SYS_membarrier && command == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    return __real_syscall(number, command, flags, cpu);
}

TEST(turn_open__leaves_what_takes_long_to_the_keeper)
{
    struct turn turn;

    registrations = 0;
    turn_open(&turn);
    turn_enter(&turn);
    turn_leave(&turn);
    assert_int_equal(registrations, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(turn_try(&turn));
        turn_end(&turn);
        assert_int_equal(registrations, turn.fence ? 0 : 1);
    }
}

/** As a filter does that the application sets once the endpoint is open. */
static void refuse_after_opening(long command, bool after_a_turn)
{
    struct turn turn;

    turn_open(&turn);
    if (after_a_turn) {
        assert_true(turn_try(&turn));
        turn_end(&turn);
    }
    turn.fence = false;
    refused_command = command;
    turn_enter(&turn);
    turn_leave(&turn);
    assert_false(turn_try(&turn)); /* the application has not executed a barrier */
    assert_true(turn_is_free(&turn));
    assert_true(turn.fence);
    turn_enter(&turn);
    turn_leave(&turn);
    assert_true(turn_try(&turn));
    turn_end(&turn);
    refused_command = 0;
}

TEST(turn_try__goes_on_when_the_kernel_refuses_later)
{
    refuse_after_opening(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, false);
    refuse_after_opening(MEMBARRIER_CMD_PRIVATE_EXPEDITED, true);
}

TEST(turn_try__only_when_nobody_is_inside)
{
    struct turn turn;

    turn_open(&turn);
    assert_true(turn_try(&turn));
    turn_end(&turn);
    turn_enter(&turn);
    assert_false(turn_try(&turn));
    turn_leave(&turn);
    assert_true(turn_try(&turn));
    turn_end(&turn);
}

TEST(turn_is_free__unless_somebody_is_inside)
{
    struct turn turn;

    turn_open(&turn);
    assert_true(turn_is_free(&turn));
    turn_enter(&turn);
    assert_false(turn_is_free(&turn));
    turn_leave(&turn);
    assert_true(turn_try(&turn));
    assert_false(turn_is_free(&turn));
    turn_end(&turn);
    assert_true(turn_is_free(&turn));
}

TEST(turn_entered__counts_the_application_only)
{
    struct turn turn;

    turn_open(&turn);
    assert_true(turn_try(&turn));
    turn_end(&turn);
    assert_int_equal(turn_entered(&turn), 0);
    turn_enter(&turn);
    turn_leave(&turn);
    assert_int_equal(turn_entered(&turn), 1);
}

static void *try_always(void *argument)
{
    struct shared *shared = argument;

    const struct timespec pause = {.tv_nsec = 10000};

    while (!__atomic_load_n(&shared->ending, __ATOMIC_RELAXED)) {
        (void)nanosleep(&pause, NULL);
        if (turn_try(&shared->turn)) {
            shared->plain++;
            shared->keeper_turns++;
            turn_end(&shared->turn);
        }
    }
    return NULL;
}

static void compete(bool fence)
{
    struct shared shared = {0};
    pthread_t keeper;
    uint64_t turns = 0;

    turn_open(&shared.turn);
    shared.turn.fence = shared.turn.fence || fence;
    assert_int_equal(pthread_create(&keeper, NULL, try_always, &shared), 0);
    /* As long as it takes until both have been there often. */
    const struct timespec pause = {.tv_nsec = 10000};
    bool both = false;
    while (!both) {
        if (turns % 1024 == 0) {
            (void)nanosleep(&pause, NULL); /* or a quick machine never lets the keeper in */
        }
        turn_enter(&shared.turn);
        shared.plain++;
        turns++;
        both = turns >= ROUNDS && shared.keeper_turns >= 100;
        turn_leave(&shared.turn);
    }
    __atomic_store_n(&shared.ending, true, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(keeper, NULL), 0);
    assert_int_equal(shared.plain, turns + shared.keeper_turns);
}

TEST(turn__excludes_each_other)
{
    compete(false);
}

TEST(turn__excludes_each_other_where_the_kernel_does_not_help)
{
    compete(true);
}
