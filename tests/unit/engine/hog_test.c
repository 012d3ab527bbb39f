/* SPDX-License-Identifier: BSD-3-Clause */
#include "hog.h"

#include <sched.h>
#include <string.h>

#include "clock.h"
#include "testing.h"

static struct hogs hogs;
static struct hog hog;
static bool joined;

static void begin(enum hog_kind kind, int percent)
{
    hogs = (struct hogs){
        .kind = kind,
        .nice = 0,
        .percent = percent,
        .memory = 8 << 20,
        .ends_at_ns = clock_now_ns() + 60 * NS_PER_SECOND,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
    hog = (struct hog){.hogs = &hogs, .cpu = sched_getcpu()};
    joined = false;
    assert_int_equal(pthread_create(&hog.thread, NULL, be_hog, &hog), 0);
    assert_int_equal(hogs_wait_begun(&hogs, 1), 0);
}

static int finish(void **state)
{
    hogs_end(&hogs);
    return joined ? 0 : pthread_join(hog.thread, NULL);
}

#define FINISHED_TEST(name) TEST_AROUND(name, NULL, finish)

static void wait_for_work(uint64_t more)
{
    const uint64_t before = atomic_load(&hog.work);
    while (atomic_load(&hog.work) < before + more) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
}

FINISHED_TEST(hog__computes_and_counts)
{
    begin(HOG_COMPUTES, 0);
    const uint64_t before_ns = hog_cpu_ns(&hog);
    wait_for_work(1000000);
    assert_true(hog_cpu_ns(&hog) > before_ns);
}

FINISHED_TEST(hog__copies_memory)
{
    begin(HOG_MEMORY, 0);
    wait_for_work(3 * hogs.memory); /* more than once around */
}

/* Of a hundred periods it takes a tenth, or less where others want the CPU. */
FINISHED_TEST(hog__keeps_to_its_share)
{
    begin(HOG_DUTY, 10);
    const uint64_t begun_ns = clock_now_ns();
    const uint64_t before_ns = hog_cpu_ns(&hog);
    wait_for_work(1);
    while (clock_now_ns() - begun_ns < 20 * HOG_PERIOD_NS) {
        (void)nanosleep(&(struct timespec){.tv_nsec = HOG_PERIOD_NS}, NULL);
    }
    const uint64_t used_ns = hog_cpu_ns(&hog) - before_ns;
    assert_true(used_ns > 0);
    assert_true(used_ns < (clock_now_ns() - begun_ns) / 4);
}

FINISHED_TEST(pause__does_nothing_until_told_to_go_on)
{
    begin(HOG_COMPUTES, 0);
    wait_for_work(1);
    hogs_pause(&hogs, 1, true);
    const uint64_t work = atomic_load(&hog.work);
    const uint64_t cpu_ns = hog_cpu_ns(&hog);
    (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    assert_int_equal(atomic_load(&hog.work), work);
    assert_true(hog_cpu_ns(&hog) - cpu_ns < NS_PER_MS);
    hogs_pause(&hogs, 1, false);
    wait_for_work(1);
}

FINISHED_TEST(end__of_one_that_rests)
{
    begin(HOG_COMPUTES, 0);
    hogs_pause(&hogs, 1, true);
    hogs_end(&hogs);
    assert_int_equal(pthread_join(hog.thread, NULL), 0);
    joined = true;
    assert_true(hog_cpu_ns(&hog) > 0); /* also when it is gone */
    hogs_pause(&hogs, 1, true);        /* and this does not wait for it */
}

FINISHED_TEST(begin__a_cpu_that_is_none)
{
    begin(HOG_COMPUTES, 0);
    hogs_end(&hogs);
    assert_int_equal(pthread_join(hog.thread, NULL), 0);
    joined = true;
    hog.cpu = CPU_SETSIZE - 1;
    atomic_store(&hogs.ended, false);
    hogs.begun = hogs.resting = 0;
    assert_int_equal(pthread_create(&hog.thread, NULL, be_hog, &hog), 0);
    joined = false;
    assert_true(hogs_wait_begun(&hogs, 1) < 0);
}
