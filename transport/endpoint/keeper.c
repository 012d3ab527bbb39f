/* SPDX-License-Identifier: BSD-3-Clause */
#include "keeper.h"

#include "lane/clock.h"
#include "tuning.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/** Mapped, but rarely used: frames of a whole train are encoded on it. */
#define STACK_BYTES (256u << 10)

static bool is_ending(const struct keeper *keeper)
{
    return __atomic_load_n(&keeper->ending, __ATOMIC_ACQUIRE);
}

/** Sleeps for this time, or until woken. */
static void let_pass(const struct keeper *keeper, uint64_t time_ns)
{
    struct pollfd woken = {.fd = keeper->wake, .events = POLLIN};
    struct timespec timeout = {.tv_sec = (time_t)(time_ns / 1000000000u),
                               .tv_nsec = (long)(time_ns % 1000000000u)};
    uint64_t count;

    if (ppoll(&woken, 1, &timeout, NULL) > 0) {
        (void)!read(keeper->wake, &count, sizeof count);
    }
}

/** Sleeps for this time, even if hurried. */
static void pause_for(uint64_t time_ns)
{
    struct timespec time = {.tv_nsec = (long)time_ns};

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/** Makes progress instead of the application until that calls again. */
static void stand_in(struct keeper *keeper, uint32_t seen)
{
    while (!is_ending(keeper) && turn_entered(keeper->turn) == seen && turn_try(keeper->turn)) {
        bool more = keeper->duty.progress(keeper->duty.context);
        turn_end(keeper->turn);
        if (keeper->duty.sleep != NULL) {
            keeper->duty.sleep(keeper->duty.context, keeper->interval_ns, keeper->wake);
        } else if (more) {
            let_pass(keeper, KEEPER_MOVING_INTERVAL_NS);
        } else {
            return;
        }
    }
}

static void *keep(void *argument)
{
    struct keeper *keeper = argument;
    uint32_t seen = turn_entered(keeper->turn);
    uint64_t hurry_ns = KEEPER_HURRY_NS;

    (void)prctl(PR_SET_TIMERSLACK, KEEPER_SLACK_NS, 0, 0, 0);
    while (!is_ending(keeper)) {
        if (!__atomic_load_n(&keeper->hurried, __ATOMIC_ACQUIRE)) { /* hurried again meanwhile */
            uint64_t since_ns = clock_now_ns();
            let_pass(keeper, keeper->interval_ns);
            hurry_ns = clock_now_ns() - since_ns < KEEPER_CALM_NS ? hurry_ns : KEEPER_HURRY_NS;
        }
        if (!is_ending(keeper) && __atomic_exchange_n(&keeper->hurried, false, __ATOMIC_ACQ_REL)) {
            seen = turn_entered(keeper->turn);
            pause_for(hurry_ns);
            hurry_ns = hurry_ns < KEEPER_HURRY_MAX_NS / 2 ? 2 * hurry_ns : KEEPER_HURRY_MAX_NS;
        }
        uint32_t entered = turn_entered(keeper->turn);
        if (entered == seen) {
            stand_in(keeper, seen);
        }
        seen = entered;
    }
    return NULL;
}

int keeper_start(struct keeper *keeper, struct turn *turn, uint64_t interval_ns,
                 const struct keeper_duty *duty)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;

    *keeper = (struct keeper){.duty = *duty, .turn = turn, .interval_ns = interval_ns};
    keeper->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (keeper->wake < 0) {
        return -errno;
    }
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    /* Signals must not be delivered to a thread that the application does not know. */
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(&keeper->thread, &attributes, keep, keeper);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (status != 0) {
        close(keeper->wake);
        return -status;
    }
    keeper->running = true;
    return 0;
}

void keeper_hurry(struct keeper *keeper)
{
    uint64_t one = 1;

    if (keeper->running && !__atomic_load_n(&keeper->hurried, __ATOMIC_RELAXED) &&
        !__atomic_exchange_n(&keeper->hurried, true, __ATOMIC_ACQ_REL)) {
        (void)!write(keeper->wake, &one, sizeof one);
    }
}

void keeper_stop(struct keeper *keeper)
{
    if (!keeper->running) {
        return;
    }
    uint64_t one = 1;
    __atomic_store_n(&keeper->ending, true, __ATOMIC_RELEASE);
    (void)!write(keeper->wake, &one, sizeof one);
    (void)pthread_join(keeper->thread, NULL);
    close(keeper->wake);
    keeper->running = false;
}

void keeper_abandon(struct keeper *keeper)
{
    if (keeper->running) {
        close(keeper->wake);
        keeper->running = false;
    }
}
