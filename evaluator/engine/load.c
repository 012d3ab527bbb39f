/* SPDX-License-Identifier: BSD-3-Clause */
#include "load.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "facts.h"
#include "hog.h"
#include "output.h"
#include "walk.h"

#define SECONDS_MAX (UINT64_C(365) * 24 * 3600)
#define NICE_MAX 19

/* Minimum buffer of each memory hog. */
#define MEMORY_MIN (UINT64_C(8) << 20)

static const struct {
    const char *name;
    enum hog_kind kind;
    bool idle;
} KINDS[] = {
    {"hog", HOG_COMPUTES, false},
    {"idle", HOG_COMPUTES, true},
    {"duty", HOG_DUTY, false},
    {"memory", HOG_MEMORY, false},
};

/* One set of hogs per process: the threads outlive the call that starts them. */
static struct hogs hogs;

/* The CPUs of this process's cpuset, even if it is pinned to some of them. */
static int usable_cpus(cpu_set_t *cpus)
{
    cpu_set_t own;
    cpu_set_t all;
    memset(&all, 0xFF, sizeof all);
    CPU_ZERO(cpus);
    if (sched_getaffinity(0, sizeof own, &own) != 0 ||
        sched_setaffinity(0, sizeof all, &all) != 0) {
        return -errno;
    }
    int error = sched_getaffinity(0, sizeof *cpus, cpus) == 0 ? 0 : -errno;
    (void)sched_setaffinity(0, sizeof own, &own);
    return error;
}

/* Keeps of the usable CPUs those named, as in "0,2,3". -EINVAL if a name is no usable CPU. */
static int only_named(cpu_set_t *cpus, const char *names)
{
    const cpu_set_t usable = *cpus;
    CPU_ZERO(cpus);
    do {
        char *end = NULL;
        unsigned long cpu = strtoul(names, &end, 10);
        if (*names < '0' || *names > '9' || (*end != '\0' && *end != ',') || cpu >= CPU_SETSIZE ||
            !CPU_ISSET(cpu, &usable)) {
            return -EINVAL;
        }
        CPU_SET(cpu, cpus);
        names = *end == ',' ? end + 1 : end;
    } while (*names != '\0');
    return 0;
}

/* All hogs' buffers together are four times the last-level cache, and each is at most that. */
static size_t memory_for(size_t count)
{
    char text[64];
    uint64_t free_bytes = facts_find("/proc/meminfo", "MemAvailable", text, sizeof text)
                              ? strtoull(text, NULL, 10) << 10
                              : 0;
    uint64_t wanted =
        walk_wanted_bytes(walk_cache_bytes("/sys/devices/system/cpu/cpu0/cache"), free_bytes);
    uint64_t each = 4 * wanted / count;
    each = each < wanted ? each : wanted;
    return each > MEMORY_MIN ? each : MEMORY_MIN;
}

static int start_hogs(struct load *load, const cpu_set_t *cpus)
{
    load->hogs = calloc(LOAD_HOGS_MAX, sizeof *load->hogs);
    if (load->hogs == NULL) {
        return -ENOMEM;
    }
    hogs.memory = memory_for((size_t)CPU_COUNT(cpus));
    for (size_t cpu = 0; cpu < CPU_SETSIZE && load->count < LOAD_HOGS_MAX; cpu++) {
        if (!CPU_ISSET(cpu, cpus)) {
            continue;
        }
        struct hog *hog = &load->hogs[load->count];
        hog->hogs = &hogs;
        hog->cpu = (int)cpu;
        int error = -pthread_create(&hog->thread, NULL, be_hog, hog);
        if (error != 0) {
            return error;
        }
        load->count++;
    }
    return hogs_wait_begun(&hogs, load->count);
}

/* Parses `load` into `hogs`. Returns the row of the kind, or -1 after an error answer. */
static int parse(struct command *command, cpu_set_t *cpus)
{
    uint64_t nice = 0;
    uint64_t percent = 0;
    uint64_t seconds = 0;
    const char *name = command_text(command, "kind", "hog");
    const char *named = command_text(command, "cpus", NULL);
    int kind = sizeof KINDS / sizeof KINDS[0] - 1;
    while (kind >= 0 && strcmp(KINDS[kind].name, name) != 0) {
        kind--;
    }
    if (kind < 0) {
        output_error(EINVAL, false, "kind must be hog, idle, duty or memory");
        return -1;
    }
    if (command_require(command, "seconds") != 0 ||
        (KINDS[kind].kind == HOG_DUTY && command_require(command, "percent") != 0) ||
        command_number(command, "nice", 0, NICE_MAX, &nice) != 0 ||
        command_number(command, "percent", 1, 100, &percent) != 0 ||
        command_number(command, "seconds", 1, SECONDS_MAX, &seconds) != 0) {
        output_error(EINVAL, false, "%s", command->reason);
        return -1;
    }
    int error = usable_cpus(cpus);
    if (error != 0) {
        output_error(error, false, "cannot tell which CPUs there are: %s", strerror(-error));
        return -1;
    }
    if (named != NULL && only_named(cpus, named) != 0) {
        output_error(EINVAL, false, "cpus=%.40s: not CPUs that this process may use", named);
        return -1;
    }
    hogs = (struct hogs){
        .kind = KINDS[kind].kind,
        .idle = KINDS[kind].idle,
        .nice = (int)nice,
        .percent = (int)percent,
        .ends_at_ns = clock_now_ns() + seconds * NS_PER_SECOND,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
    return kind;
}

void load_answer(struct load *load, struct command *command)
{
    cpu_set_t cpus;
    if (load->hogs != NULL) {
        output_error(EBUSY, false, "this engine makes load already");
        return;
    }
    int kind = parse(command, &cpus);
    if (kind < 0) {
        return;
    }
    int error = start_hogs(load, &cpus);
    if (error != 0) {
        load_end(load);
        output_error(error, false, "cannot start the load: %s", strerror(-error));
        return;
    }
    struct json json;
    output_begin(&json, "load");
    json_text(&json, "kind", KINDS[kind].name);
    json_unsigned(&json, "nice", (uint64_t)hogs.nice);
    json_unsigned(&json, "hogs", load->count);
    output_send(&json);
}

static bool is_there(const struct load *load)
{
    if (load->hogs == NULL) {
        output_error(EINVAL, false, "this engine makes no load: start it first");
    }
    return load->hogs != NULL;
}

void load_pause_answer(struct load *load, bool paused)
{
    if (is_there(load)) {
        hogs_pause(&hogs, load->count, paused);
        struct json json;
        output_begin(&json, paused ? "paused" : "resumed");
        output_send(&json);
    }
}

void load_meter_answer(const struct load *load)
{
    if (!is_there(load)) {
        return;
    }
    struct json json;
    output_begin(&json, "meter");
    json_unsigned(&json, "at_ns", clock_now_ns());
    json_text(&json, "unit", hogs.kind == HOG_MEMORY ? "bytes" : "turns");
    json_begin(&json, "hogs", '[');
    for (size_t i = 0; i < load->count; i++) {
        json_begin(&json, NULL, '{');
        json_unsigned(&json, "cpu", (uint64_t)load->hogs[i].cpu);
        json_unsigned(&json, "cpu_ns", hog_cpu_ns(&load->hogs[i]));
        json_unsigned(&json, "work", atomic_load(&load->hogs[i].work));
        json_end(&json, '}');
    }
    json_end(&json, ']');
    output_send(&json);
}

void load_end(struct load *load)
{
    if (load->hogs != NULL) {
        hogs_end(&hogs);
    }
    for (size_t i = 0; i < load->count; i++) {
        (void)pthread_join(load->hogs[i].thread, NULL);
    }
    free(load->hogs);
    *load = (struct load){0};
}
