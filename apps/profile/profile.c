/* SPDX-License-Identifier: BSD-3-Clause */
/* profile.c - the counters, and what rank 0 says of them in the end. */
#define _GNU_SOURCE /* for dprintf() and clock_gettime() in C17 */
#include "profile.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1e9
/** Sizes 0, 1, 2, 4, ... 2^62. */
#define SIZES 64
/** Room for the whole line. */
#define LINE_BYTES 16384

static const char *const names[CALL_COUNT] = {
#define CALL(name) "MPI_" #name,
    PROFILE_CALLS(CALL)
#undef CALL
};

/** All numbers are of one kind, and in a row, so that they can be reduced in one call. */
static struct {
    uint64_t calls[CALL_COUNT];
    /** Until the end these are ticks. */
    uint64_t ns[CALL_COUNT];
    uint64_t bytes[WAY_COUNT], sizes[WAY_COUNT][SIZES];
} counts, sums;

static uint64_t began_ns, began_ticks;
static _Thread_local int depth;

static uint64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/** The processor's own counter, where it has one that a program can read: the kernel's clock takes
 *  several times as long. What a tick is comes out at the end. */
static uint64_t now_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks = 0;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return now_ns();
#endif
}

static void add(uint64_t *counter, uint64_t number)
{
    (void)__atomic_fetch_add(counter, number, __ATOMIC_RELAXED);
}

struct profile_span profile_enter(enum profile_call call)
{
    struct profile_span span = {0, call, depth++ == 0};

    if (span.outer) {
        span.began_ticks = now_ticks();
    }
    return span;
}

void profile_leave(struct profile_span span)
{
    depth--;
    if (span.outer) {
        add(&counts.calls[span.call], 1);
        add(&counts.ns[span.call], now_ticks() - span.began_ticks);
    }
}

/** Where a size is counted. */
static int slot_of(uint64_t bytes)
{
    int slot = bytes == 0 ? 0 : bytes == 1 ? 1 : 65 - __builtin_clzll(bytes - 1);

    return slot < SIZES ? slot : SIZES - 1;
}

void profile_count(enum profile_way way, uint64_t bytes)
{
    add(&counts.bytes[way], bytes);
    add(&counts.sizes[way][slot_of(bytes)], 1);
}

uint64_t profile_bytes(int count, MPI_Datatype type)
{
    int each = 0;

    /* A count or type that is wrong is reported by the call itself. */
    if (count <= 0 || type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &each) != MPI_SUCCESS) {
        return 0;
    }
    return (uint64_t)count * (uint64_t)(each > 0 ? each : 0);
}

/** Ranks that a collective call goes to. */
static int ranks_of(MPI_Comm comm)
{
    int ranks = 0, inter = 0;

    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) {
        return 0;
    }
    (void)(inter ? PMPI_Comm_remote_size(comm, &ranks) : PMPI_Comm_size(comm, &ranks));
    return ranks;
}

bool profile_is_root(int root, MPI_Comm comm)
{
    int rank = -1, inter = 0;

    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) {
        return false;
    }
    (void)PMPI_Comm_rank(comm, &rank);
    return inter ? root == MPI_ROOT : root == rank;
}

/** Counts a collective call that gives so many bytes to so many ranks together. */
static void gives_parts(uint64_t bytes, int parts)
{
    add(&counts.bytes[WAY_COLLECTIVE], bytes);
    add(&counts.sizes[WAY_COLLECTIVE][slot_of(parts > 0 ? bytes / (uint64_t)parts : 0)], 1);
}

void profile_gives(int count, MPI_Datatype type)
{
    gives_parts(profile_bytes(count, type), 1);
}

void profile_gives_each(int count, MPI_Datatype type, MPI_Comm comm)
{
    int ranks = ranks_of(comm);

    gives_parts(profile_bytes(count, type) * (uint64_t)ranks, ranks);
}

void profile_gives_counts(const int given[], MPI_Datatype type, MPI_Comm comm)
{
    int ranks = ranks_of(comm);
    uint64_t elements = 0;

    for (int i = 0; i < ranks; i++) {
        elements += given[i] > 0 ? (uint64_t)given[i] : 0;
    }
    gives_parts(elements * profile_bytes(1, type), ranks);
}

void profile_gives_types(const int given[], const MPI_Datatype types[], MPI_Comm comm)
{
    int ranks = ranks_of(comm);
    uint64_t bytes = 0;

    for (int i = 0; i < ranks; i++) {
        bytes += profile_bytes(given[i], types[i]);
    }
    gives_parts(bytes, ranks);
}

void profile_gives_own(const int given[], MPI_Datatype type, MPI_Comm comm)
{
    int rank = 0;

    (void)PMPI_Comm_rank(comm, &rank);
    profile_gives(given[rank], type);
}

void profile_sent(int count, MPI_Datatype type, int to)
{
    if (to != MPI_PROC_NULL) {
        profile_count(WAY_MESSAGE, profile_bytes(count, type));
    }
}

void profile_begin(void)
{
    began_ns = now_ns();
    began_ticks = now_ticks();
}

/** A line that is being written. */
struct line {
    char text[LINE_BYTES];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct line *line, const char *format, ...)
{
    va_list arguments;
    int length = 0;

    va_start(arguments, format);
    length =
        vsnprintf(line->text + line->length, sizeof line->text - line->length, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < sizeof line->text - line->length) {
        line->length += (size_t)length;
    }
}

static void say_way(struct line *line, enum profile_way way)
{
    const char *comma = "";
    uint64_t messages = 0;

    for (int slot = 0; slot < SIZES; slot++) {
        messages += sums.sizes[way][slot];
    }
    say(line, "\"messages\":%llu,\"bytes\":%llu,\"sizes\":{", (unsigned long long)messages,
        (unsigned long long)sums.bytes[way]);
    for (int slot = 0; slot < SIZES; slot++) {
        if (sums.sizes[way][slot] > 0) {
            say(line, "%s\"%llu\":%llu", comma, slot == 0 ? 0ULL : 1ULL << (slot - 1),
                (unsigned long long)sums.sizes[way][slot]);
            comma = ",";
        }
    }
    say(line, "}");
}

static void say_calls(struct line *line, int ranks)
{
    const char *comma = "";

    say(line, "\"calls\":{");
    for (int call = 0; call < CALL_COUNT; call++) {
        if (sums.calls[call] > 0) {
            say(line, "%s\"%s\":{\"count\":%llu,\"seconds\":%.6f}", comma, names[call],
                (unsigned long long)sums.calls[call], (double)sums.ns[call] / NS_PER_S / ranks);
            comma = ",";
        }
    }
    say(line, "}");
}

static void say_all(uint64_t slowest_ns, uint64_t all_ns, int ranks)
{
    static struct line line;
    uint64_t in_calls_ns = 0;

    for (int call = 0; call < CALL_COUNT; call++) {
        in_calls_ns += sums.ns[call];
    }
    line.length = 0;
    say(&line, "beowire-apps-profile {\"ranks\":%d,\"seconds\":%.6f,\"mpi_seconds\":%.6f,", ranks,
        (double)slowest_ns / NS_PER_S, (double)in_calls_ns / NS_PER_S / ranks);
    say(&line, "\"mpi_share\":%.4f,", all_ns > 0 ? (double)in_calls_ns / (double)all_ns : 0.0);
    say_way(&line, WAY_MESSAGE);
    say(&line, ",\"collectives\":{");
    say_way(&line, WAY_COLLECTIVE);
    say(&line, "},\"puts\":{");
    say_way(&line, WAY_PUT);
    say(&line, "},");
    say_calls(&line, ranks);
    say(&line, "}\n");
    (void)fflush(stderr);
    (void)!write(STDERR_FILENO, line.text, line.length); /* in one piece, whoever writes besides */
}

/** From here on the time in calls is no longer in ticks. */
static void end_ticks(uint64_t run_ns)
{
    double run_ticks = (double)(now_ticks() - began_ticks);

    for (int call = 0; call < CALL_COUNT; call++) {
        counts.ns[call] = (uint64_t)((double)counts.ns[call] / run_ticks * (double)run_ns);
    }
}

void profile_report(void)
{
    int rank = 0, ranks = 1;
    uint64_t own_ns = now_ns() - began_ns, slowest_ns = 0, all_ns = 0;
    static bool reported;

    if (reported) {
        return; /* MPICH's mpi_finalize_ calls MPI_Finalize */
    }
    reported = true;
    end_ticks(own_ns);
    (void)PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    (void)PMPI_Reduce(&counts, &sums, (int)(sizeof counts / sizeof(uint64_t)), MPI_UINT64_T,
                      MPI_SUM, 0, MPI_COMM_WORLD);
    (void)PMPI_Reduce(&own_ns, &slowest_ns, 1, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    (void)PMPI_Reduce(&own_ns, &all_ns, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        say_all(slowest_ns, all_ns, ranks);
    }
}
