/* SPDX-License-Identifier: BSD-3-Clause */
#include "soaker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "exit.h"

/* Descriptor of the shared memory in a soaker. */
#define CELLS_DESCRIPTOR 3

/* A longer gap between two readings of the clock means that something else ran. An interrupt takes
 * a microsecond; a reading about 50 ns, or 300 ns if it is a system call. */
#define GAP_NS UINT64_C(500)

#define START_LIMIT_NS NS_PER_SECOND
#define START_LOOK_NS 200000

/* One cache line each, so that CPUs do not share lines. */
struct soaker_cell {
    _Alignas(64) atomic_uint_least64_t left_ns; /* 0: not counting yet */
};

int soak_main(const char *where)
{
    char *end = NULL;
    unsigned long number = strtoul(where, &end, 10);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(number, &one);
    const struct sched_param none = {0};
    /* Descriptors inherited from the caller must not stay open. */
    (void)syscall(SYS_close_range, CELLS_DESCRIPTOR + 1, ~0U, 0);
    struct soaker_cell *cells = mmap(NULL, SOAKER_CPUS_MAX * sizeof *cells, PROT_READ | PROT_WRITE,
                                     MAP_SHARED, CELLS_DESCRIPTOR, 0);
    const pid_t parent = getppid();
    if (end == where || *end != ':' || cells == MAP_FAILED ||
        sched_setaffinity(0, sizeof one, &one) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
        getppid() != parent) {
        return EXIT_USAGE;
    }
    struct soaker_cell *cell = &cells[strtoul(end + 1, NULL, 10) % SOAKER_CPUS_MAX];
    uint64_t left_ns = 1;
    atomic_store(&cell->left_ns, left_ns);
    /* Last, because after this it may take long until it gets the CPU. */
    if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) {
        return EXIT_USAGE;
    }
    for (uint64_t before_ns = clock_now_ns();;) {
        const uint64_t now_ns = clock_now_ns();
        if (now_ns - before_ns < GAP_NS) {
            left_ns += now_ns - before_ns;
            atomic_store_explicit(&cell->left_ns, left_ns, memory_order_relaxed);
        }
        before_ns = now_ns;
    }
}

static int make_cells(struct soaker *soaker, int *file)
{
    const size_t bytes = SOAKER_CPUS_MAX * sizeof *soaker->cells;
    *file = memfd_create("beowire-soaker", MFD_CLOEXEC);
    if (*file < 0 || ftruncate(*file, (off_t)bytes) != 0) {
        return -errno;
    }
    soaker->cells = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
    if (soaker->cells == MAP_FAILED) {
        soaker->cells = NULL;
        return -errno;
    }
    return 0;
}

static int spawn(struct soaker *soaker, const char *program, int file, size_t cpu)
{
    char where[48];
    char option[] = SOAKER_OPTION;
    char name[] = "beowire-soaker";
    (void)snprintf(where, sizeof where, "%zu:%zu", cpu, soaker->count);
    char *const words[] = {name, option, where, NULL};
    char *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) {
        return -error;
    }
    error = posix_spawn_file_actions_adddup2(&actions, file, CELLS_DESCRIPTOR);
    pid_t pid = 0;
    if (error == 0) {
        error = posix_spawn(&pid, program, &actions, NULL, words, environment);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    if (error == 0) {
        soaker->pids[soaker->count++] = pid;
    }
    return -error;
}

/* Waits until all count. Each does before it lowers its priority. */
static int wait_for_all(const struct soaker *soaker)
{
    const uint64_t until_ns = clock_now_ns() + START_LIMIT_NS;
    for (size_t i = 0; i < soaker->count; i++) {
        while (atomic_load(&soaker->cells[i].left_ns) == 0) {
            if (clock_now_ns() > until_ns) {
                return -ETIMEDOUT;
            }
            (void)nanosleep(&(struct timespec){.tv_nsec = START_LOOK_NS}, NULL);
        }
    }
    return 0;
}

int soaker_start(struct soaker *soaker, const char *program)
{
    cpu_set_t cpus;
    int file = -1;
    *soaker = (struct soaker){0};
    CPU_ZERO(&cpus);
    int error = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? 0 : -errno;
    if (error == 0) {
        error = make_cells(soaker, &file);
    }
    for (size_t cpu = 0; cpu < CPU_SETSIZE && error == 0; cpu++) {
        if (CPU_ISSET(cpu, &cpus) && soaker->count < SOAKER_CPUS_MAX) {
            error = spawn(soaker, program, file, cpu);
        }
    }
    if (file >= 0) {
        close(file);
    }
    if (error == 0) {
        error = wait_for_all(soaker);
    }
    if (error != 0) {
        soaker_stop(soaker);
    }
    return error;
}

uint64_t soaker_left_ns(const struct soaker *soaker)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < soaker->count; i++) {
        sum += atomic_load_explicit(&soaker->cells[i].left_ns, memory_order_relaxed);
    }
    return sum;
}

void soaker_stop(struct soaker *soaker)
{
    for (size_t i = 0; i < soaker->count; i++) {
        (void)kill(soaker->pids[i], SIGKILL);
        while (waitpid(soaker->pids[i], NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (soaker->cells != NULL) {
        munmap(soaker->cells, SOAKER_CPUS_MAX * sizeof *soaker->cells);
    }
    *soaker = (struct soaker){0};
}
