/* SPDX-License-Identifier: BSD-3-Clause */
#include "summary.h"

#include "notice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST_BYTES 65
#define LINE_BYTES 1024

/** Prefixes of lanes' names in counters: of sent bytes, and of open lanes. */
#define BY_LANE "sent_by_"
#define OPEN_LANES "lanes_"

#define NAME_BYTES_MAX 64

/** A line to which text is added; what does not fit is left out. */
struct text {
    char line[LINE_BYTES + 1]; /* its end has room */
    size_t bytes;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it has just been started */
    int bytes = vsnprintf(text->line + text->bytes, LINE_BYTES - text->bytes, format, arguments);
    va_end(arguments);
    if (bytes > 0) {
        text->bytes += (size_t)bytes;
        text->bytes = text->bytes < LINE_BYTES ? text->bytes : LINE_BYTES - 1;
    }
}

/** The value of a counter; 0: no such counter. */
static uint64_t counted(const beowire_endpoint *endpoint, const char *wanted)
{
    const char *name = NULL;
    uint64_t value = 0;

    for (unsigned i = 0; beowire_counter(endpoint, i, &name, &value) == 0; i++) {
        if (strcmp(name, wanted) == 0) {
            return value;
        }
    }
    return 0;
}

/** The number of this process in its job; NULL: none. */
static const char *own_rank(void)
{
    /* Of Open MPI; of PMIx; of the launcher of MPICH and Intel MPI; of Slurm. */
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    const char *rank = NULL;

    for (size_t i = 0; i < sizeof names / sizeof names[0] && rank == NULL; i++) {
        rank = getenv(names[i]);
        rank = rank != NULL && strspn(rank, "0123456789") == strlen(rank) ? rank : NULL;
    }
    return rank;
}

static bool is_open(const beowire_endpoint *endpoint, const char *lane)
{
    char name[NAME_BYTES_MAX];

    (void)snprintf(name, sizeof name, OPEN_LANES "%s", lane);
    return counted(endpoint, name) > 0;
}

static void add_lanes(struct text *text, const beowire_endpoint *endpoint)
{
    const char *before = " (";
    const char *name = NULL;
    uint64_t value = 0;

    for (unsigned i = 0; beowire_counter(endpoint, i, &name, &value) == 0; i++) {
        if (strncmp(name, BY_LANE, strlen(BY_LANE)) == 0 &&
            is_open(endpoint, name + strlen(BY_LANE))) {
            add(text, "%s%s %" PRIu64, before, name + strlen(BY_LANE), value);
            before = ", ";
        }
    }
    add(text, ")");
}

static void add_remote(struct text *text, const beowire_endpoint *endpoint)
{
    uint64_t puts = counted(endpoint, "remote_puts");
    uint64_t gets = counted(endpoint, "remote_gets");
    uint64_t atomics = counted(endpoint, "remote_atomics");

    if (puts + gets + atomics > 0) {
        add(text, "; puts %" PRIu64 ", gets %" PRIu64 ", atomics %" PRIu64, puts, gets, atomics);
    }
}

/** An MPI may have another endpoint, for puts and gets, that most programs never use: of a process
 *  whose other one has spoken, it says nothing. */
static bool is_worth_a_line(const beowire_endpoint *endpoint)
{
    static atomic_bool has_spoken;
    bool was_used = counted(endpoint, "lane_sent_frames") > 0 ||
                    counted(endpoint, "lane_received_frames") > 0 ||
                    counted(endpoint, "message_own") > 0;

    return !atomic_exchange(&has_spoken, true) || was_used;
}

void summary_say(const beowire_endpoint *endpoint, const char *interfaces)
{
    if (!is_worth_a_line(endpoint)) {
        return;
    }
    struct text text = {.bytes = 0};
    char host[HOST_BYTES] = "";
    const char *rank = own_rank();

    (void)gethostname(host, sizeof host - 1);
    add(&text, "beowire: %s: ", host);
    if (rank != NULL) {
        add(&text, "rank %s, ", rank);
    }
    add(&text, "process %d, over %s: messages %" PRIu64 " out, %" PRIu64 " in", (int)getpid(),
        interfaces, counted(endpoint, "message_eager") + counted(endpoint, "message_announced"),
        counted(endpoint, "message_received"));
    add_remote(&text, endpoint);
    add(&text, "; bytes out %" PRIu64, counted(endpoint, "lane_sent_bytes"));
    add_lanes(&text, endpoint);
    add(&text, "; again: frames %" PRIu64 ", blocks %" PRIu64,
        counted(endpoint, "flow_retransmitted_frames"), counted(endpoint, "pull_repeated"));
    memcpy(text.line + text.bytes, "\n", 2);
    notice_write(text.line);
}
