/* SPDX-License-Identifier: BSD-3-Clause */
#include "hog.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "work.h"

/* Iterations between two clock reads: about 10 us, without a system call on most machines. */
#define TURNS 20000

/* The same for memory. */
#define CHUNK_BYTES (size_t)(64 << 10)

static int settle(const struct hog *hog)
{
    const struct sched_param none = {0};
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)hog->cpu, &one);
    /* All three calls affect this thread only. */
    if (sched_setaffinity(0, sizeof one, &one) != 0 ||
        (hog->hogs->idle && sched_setscheduler(0, SCHED_IDLE, &none) != 0) ||
        (!hog->hogs->idle && setpriority(PRIO_PROCESS, (id_t)gettid(), hog->hogs->nice) != 0)) {
        return errno;
    }
    return 0;
}

static uint64_t timespec_ns(struct timespec time)
{
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

static bool is_over(const struct hogs *hogs, uint64_t now_ns)
{
    return atomic_load_explicit(&hogs->ended, memory_order_relaxed) || now_ns >= hogs->ends_at_ns;
}

static void rest(struct hogs *hogs)
{
    pthread_mutex_lock(&hogs->lock);
    hogs->resting++;
    pthread_cond_broadcast(&hogs->changed);
    while (atomic_load(&hogs->paused) && !atomic_load(&hogs->ended)) {
        pthread_cond_wait(&hogs->changed, &hogs->lock);
    }
    hogs->resting--;
    pthread_cond_broadcast(&hogs->changed);
    pthread_mutex_unlock(&hogs->lock);
}

/* Computes for its share of the period, then sleeps until the next one. */
static void be_dutiful(struct hog *hog)
{
    const uint64_t now_ns = clock_now_ns();
    const uint64_t at_ns = now_ns % HOG_PERIOD_NS;
    if (at_ns >= HOG_PERIOD_NS * (uint64_t)hog->hogs->percent / 100) {
        const uint64_t next_ns = now_ns - at_ns + HOG_PERIOD_NS;
        const struct timespec next = {.tv_sec = (time_t)(next_ns / NS_PER_SECOND),
                                      .tv_nsec = (long)(next_ns % NS_PER_SECOND)};
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
}

static void work(struct hog *hog, uint8_t *memory, size_t *at)
{
    if (memory == NULL) {
        work_do(TURNS);
        atomic_fetch_add_explicit(&hog->work, TURNS, memory_order_relaxed);
        return;
    }
    const size_t half = hog->hogs->memory / 2;
    memcpy(memory + half + *at, memory + *at, CHUNK_BYTES);
    __asm__ volatile("" : : "r"(memory) : "memory");
    *at = *at + 2 * CHUNK_BYTES <= half ? *at + CHUNK_BYTES : 0;
    atomic_fetch_add_explicit(&hog->work, 2 * CHUNK_BYTES, memory_order_relaxed);
}

static uint8_t *get_memory(const struct hogs *hogs, int *error)
{
    if (hogs->kind != HOG_MEMORY || *error != 0) {
        return NULL;
    }
    void *memory =
        mmap(NULL, hogs->memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        *error = errno;
        return NULL;
    }
    memset(memory, 1, hogs->memory); /* otherwise every page read would be the one zero page */
    return memory;
}

void *be_hog(void *argument)
{
    struct hog *hog = argument;
    struct hogs *hogs = hog->hogs;
    int error = settle(hog);
    size_t at = 0;
    uint8_t *memory = get_memory(hogs, &error);
    if (error != 0) {
        atomic_store(&hogs->failure, error);
    }
    pthread_mutex_lock(&hogs->lock);
    hogs->begun++;
    pthread_cond_broadcast(&hogs->changed);
    pthread_mutex_unlock(&hogs->lock);
    while (error == 0 && !is_over(hogs, clock_now_ns())) {
        if (atomic_load_explicit(&hogs->paused, memory_order_relaxed)) {
            rest(hogs);
            continue;
        }
        work(hog, memory, &at);
        if (hogs->kind == HOG_DUTY) {
            be_dutiful(hog);
        }
    }
    if (memory != NULL) {
        munmap(memory, hogs->memory);
    }
    struct timespec used;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    atomic_store(&hog->last_cpu_ns, timespec_ns(used));
    pthread_mutex_lock(&hogs->lock);
    hogs->resting++;
    pthread_cond_broadcast(&hogs->changed);
    pthread_mutex_unlock(&hogs->lock);
    return NULL;
}

int hogs_wait_begun(struct hogs *hogs, size_t count)
{
    pthread_mutex_lock(&hogs->lock);
    while (hogs->begun < count) {
        pthread_cond_wait(&hogs->changed, &hogs->lock);
    }
    pthread_mutex_unlock(&hogs->lock);
    return -atomic_load(&hogs->failure);
}

void hogs_pause(struct hogs *hogs, size_t count, bool paused)
{
    pthread_mutex_lock(&hogs->lock);
    atomic_store(&hogs->paused, paused);
    pthread_cond_broadcast(&hogs->changed);
    while (paused && hogs->resting < count) {
        pthread_cond_wait(&hogs->changed, &hogs->lock);
    }
    pthread_mutex_unlock(&hogs->lock);
}

void hogs_end(struct hogs *hogs)
{
    pthread_mutex_lock(&hogs->lock);
    atomic_store(&hogs->ended, true);
    pthread_cond_broadcast(&hogs->changed);
    pthread_mutex_unlock(&hogs->lock);
}

uint64_t hog_cpu_ns(const struct hog *hog)
{
    clockid_t clock;
    struct timespec used;
    if (atomic_load(&hog->last_cpu_ns) == 0 && pthread_getcpuclockid(hog->thread, &clock) == 0 &&
        clock_gettime(clock, &used) == 0) {
        return timespec_ns(used);
    }
    return atomic_load(&hog->last_cpu_ns); /* it has ended */
}
