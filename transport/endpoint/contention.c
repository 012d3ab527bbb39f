/* SPDX-License-Identifier: BSD-3-Clause */
#include "contention.h"

#include "tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

void contention_close(struct contention *contention)
{
    if (contention->file >= 0) {
        close(contention->file);
    }
    contention_open(contention);
}

bool contention_parse(const char *line, uint64_t *waited_ns)
{
    char *end = NULL;

    (void)strtoull(line, &end, 10);
    if (end == line || *end != ' ') {
        return false;
    }
    const char *second = end + 1;
    errno = 0;
    *waited_ns = strtoull(second, &end, 10);
    return end != second && errno == 0;
}

/** @return false: not available. */
static bool read_waited(const struct contention *contention, uint64_t *waited_ns)
{
    char line[96];
    ssize_t bytes = contention->file < 0 ? -1 : pread(contention->file, line, sizeof line - 1, 0);

    if (bytes <= 0) {
        return false;
    }
    line[bytes] = '\0';
    return contention_parse(line, waited_ns);
}

bool contention_judge(struct contention *contention, long switches, uint64_t waited_ns,
                      uint64_t now_ns)
{
    bool switched = switches != contention->switches;

    contention->switches = switches;
    if (now_ns - contention->next_ns >= CONTENTION_WINDOW_NS) {
        contention->since_ns = contention->next_ns;
        contention->waited_ns = contention->next_waited_ns;
        contention->next_ns = now_ns;
        contention->next_waited_ns = waited_ns;
    }
    uint64_t time_ns = now_ns - contention->since_ns;
    time_ns = time_ns > CONTENTION_WINDOW_NS ? time_ns : CONTENTION_WINDOW_NS;
    return switched && (waited_ns - contention->waited_ns) * CONTENTION_PARTS > time_ns;
}

/** The first call by this thread: nothing is known of it. */
static void begin(struct contention *contention, long switches, uint64_t now_ns)
{
    contention_close(contention);
    contention->file = open(CONTENTION_SOURCE, O_RDONLY | O_CLOEXEC);
    contention->thread = pthread_self();
    contention->asked = true;
    contention->switches = switches;
    contention->since_ns = contention->next_ns = now_ns;
    if (read_waited(contention, &contention->waited_ns)) {
        contention->next_waited_ns = contention->waited_ns;
    } else if (contention->file >= 0) {
        close(contention->file);
        contention->file = -1;
    }
}

bool contention_look(struct contention *contention, uint64_t now_ns)
{
    struct rusage usage;
    uint64_t waited_ns = 0;

    if (getrusage(RUSAGE_THREAD, &usage) != 0) {
        return false;
    }
    if (!contention->asked || pthread_equal(pthread_self(), contention->thread) == 0) {
        begin(contention, usage.ru_nivcsw, now_ns);
        return false;
    }
    if (usage.ru_nivcsw == contention->switches) {
        return false;
    }
    if (!read_waited(contention, &waited_ns)) {
        contention->switches = usage.ru_nivcsw;
        return true;
    }
    return contention_judge(contention, usage.ru_nivcsw, waited_ns, now_ns);
}
