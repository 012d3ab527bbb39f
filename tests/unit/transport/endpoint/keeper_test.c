/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/keeper.h"

#include "tuning.h"
#include "unit/test.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_NS 1000000u
#define HOUR_NS UINT64_C(3600000000000)

/** Counts what the keeper does. */
struct work {
    struct turn turn;
    struct keeper keeper;
    uint32_t progress; /* atomic, like the next */
    uint32_t moving;   /* so many times much has moved */
    uint32_t sleeps;
    bool blocked; /* its signals are */
};

static uint32_t read_count(const uint32_t *count)
{
    return __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

static bool do_progress(void *context)
{
    struct work *work = context;
    sigset_t mask;

    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    work->blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGALRM) == 1;
    return __atomic_add_fetch(&work->progress, 1, __ATOMIC_RELEASE) <= read_count(&work->moving);
}

static void do_sleep(void *context, uint64_t timeout_ns, int wake)
{
    struct work *work = context;
    struct pollfd ended = {.fd = wake, .events = POLLIN};

    __atomic_fetch_add(&work->sleeps, 1, __ATOMIC_RELEASE);
    (void)poll(&ended, 1, 1);
}

static void start_every(struct work *work, uint64_t interval_ns, bool sleeps)
{
    const struct keeper_duty duty = {
        .progress = do_progress, .sleep = sleeps ? do_sleep : NULL, .context = work};

    *work = (struct work){0};
    turn_open(&work->turn);
    assert_int_equal(keeper_start(&work->keeper, &work->turn, interval_ns, &duty), 0);
}

static void start(struct work *work, bool sleeps)
{
    start_every(work, INTERVAL_NS, sleeps);
}

static void pause_us(unsigned time_us)
{
    struct timespec time = {.tv_nsec = (long)time_us * 1000};

    (void)nanosleep(&time, NULL);
}

/** Waits until the count is that high, however long it takes. */
static void await(const uint32_t *count, uint32_t value)
{
    while (read_count(count) < value) {
        (void)poll(NULL, 0, 1);
    }
}

TEST(keeper__stands_in_while_the_application_is_away)
{
    struct work work;

    start(&work, false);
    await(&work.progress, 3);
    keeper_stop(&work.keeper);
    assert_true(work.blocked);
    assert_int_equal(work.sleeps, 0);
}

TEST(keeper__sleeps_between_rounds)
{
    struct work work;

    start(&work, true);
    await(&work.progress, 3);
    assert_true(read_count(&work.sleeps) >= 2);
    keeper_stop(&work.keeper);
}

TEST(keeper__stays_away_while_the_application_is_inside)
{
    struct work work;

    start(&work, true);
    turn_enter(&work.turn);
    uint32_t before = read_count(&work.progress);
    (void)poll(NULL, 0, 20); /* twenty of its intervals */
    assert_int_equal(read_count(&work.progress), before);
    turn_leave(&work.turn);
    await(&work.progress, before + 1); /* and comes when it has left */
    keeper_stop(&work.keeper);
}

/** Whoever hurries it again while it waits, and then goes away, is not forgotten. */
TEST(keeper_hurry__again_while_it_waits)
{
    struct work work;

    start_every(&work, HOUR_NS, false);
    for (unsigned round = 0; round < 20; round++) {
        uint32_t before = read_count(&work.progress);
        for (unsigned i = 0; i < 20; i++) {
            turn_enter(&work.turn);
            keeper_hurry(&work.keeper);
            turn_leave(&work.turn);
            pause_us(KEEPER_HURRY_NS / 1000 / 7);
        }
        await(&work.progress, before + 1);
    }
    keeper_stop(&work.keeper);
}

TEST(keeper_hurry__looks_at_once)
{
    struct work work;

    start_every(&work, HOUR_NS, false);
    keeper_hurry(&work.keeper);
    await(&work.progress, 1);
    keeper_hurry(&work.keeper);
    await(&work.progress, 2);
    keeper_stop(&work.keeper);
    keeper_hurry(&work.keeper); /* there is nobody to hurry */
}

/** While much moves it does not let its interval pass, which is an hour here. */
TEST(keeper__looks_again_soon_while_much_moves)
{
    struct work work;

    start_every(&work, HOUR_NS, false);
    __atomic_store_n(&work.moving, 4, __ATOMIC_RELEASE);
    keeper_hurry(&work.keeper);
    await(&work.progress, 5);
    keeper_stop(&work.keeper);
    assert_int_equal(work.progress, 5); /* and then no more */
}

/** Nor when its application comes back meanwhile. */
TEST(keeper__leaves_while_much_moves_if_the_application_comes)
{
    struct work work;

    start_every(&work, HOUR_NS, false);
    __atomic_store_n(&work.moving, UINT32_MAX, __ATOMIC_RELEASE);
    keeper_hurry(&work.keeper);
    await(&work.progress, 2);
    turn_enter(&work.turn);
    uint32_t before = read_count(&work.progress);
    (void)poll(NULL, 0, 20); /* twenty of its looks */
    assert_int_equal(read_count(&work.progress), before);
    turn_leave(&work.turn);
    keeper_stop(&work.keeper);
}

TEST(keeper_stop__wakes_it_and_may_be_called_without_one)
{
    struct work work;
    struct keeper none = {0};
    const struct keeper_duty duty = {.progress = do_progress, .context = &work};

    work = (struct work){0};
    turn_open(&work.turn);
    /* It would sleep for an hour. */
    assert_int_equal(keeper_start(&work.keeper, &work.turn, UINT64_C(3600000000000), &duty), 0);
    keeper_stop(&work.keeper);
    assert_int_equal(work.progress, 0);
    keeper_stop(&work.keeper);
    keeper_stop(&none);
}

/** The thread is not there, and the parent's sleeps on. */
TEST(keeper_abandon__in_a_child)
{
    struct work work;
    int status = -1;

    start_every(&work, HOUR_NS, false);
    pid_t child = fork();
    if (child == 0) {
        int wake = work.keeper.wake;
        keeper_abandon(&work.keeper);
        keeper_stop(&work.keeper); /* there is none */
        _exit(fcntl(wake, F_GETFD) == -1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read_count(&work.progress), 0);
    keeper_hurry(&work.keeper);
    await(&work.progress, 1);
    keeper_stop(&work.keeper);
}
