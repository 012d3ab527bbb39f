/* SPDX-License-Identifier: BSD-3-Clause */
/* environment_host.c - the facts about the machine, its kernel, and this program. */
#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "environment.h"
#include "facts.h"

/* Clang's __VERSION__ begins with its name, GCC's does not. */
#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "GCC " __VERSION__
#endif

#ifdef __OPTIMIZE__
#define BUILD_TYPE "optimised"
#else
#define BUILD_TYPE "not optimised"
#endif

/* The version of glibc; other C libraries have no function that tells it. */
static void write_libc(struct json *json)
{
    static const char family[] = "glibc ";
    char text[64] = "";
    const size_t skipped = sizeof family - 1;
    (void)confstr(_CS_GNU_LIBC_VERSION, text, sizeof text);
    json_text(json, "libc", strncmp(text, family, skipped) == 0 ? text + skipped : "not glibc");
}

static void found_text(struct json *json, const char *key, const char *path, const char *name)
{
    char text[1024];
    if (facts_find(path, name, text, sizeof text)) {
        json_text(json, key, text);
    } else {
        json_null(json, key);
    }
}

/* A line of /proc/meminfo, "1234 kB", as bytes. */
static void meminfo_bytes(struct json *json, const char *key, const char *name)
{
    char text[64];
    if (facts_find("/proc/meminfo", name, text, sizeof text)) {
        json_unsigned(json, key, strtoull(text, NULL, 10) * 1024);
    } else {
        json_null(json, key);
    }
}

static bool flag_is_set(const char *flags, const char *flag)
{
    size_t length = strlen(flag);
    for (const char *at = strstr(flags, flag); at != NULL; at = strstr(at + 1, flag)) {
        if ((at == flags || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static void write_processor(struct json *json)
{
    static char flags[16384];
    found_text(json, "cpu_model", "/proc/cpuinfo", "model name");
    found_text(json, "cpu_vendor", "/proc/cpuinfo", "vendor_id");
    found_text(json, "cpu_microcode", "/proc/cpuinfo", "microcode");
    found_text(json, "cpu_mhz_now", "/proc/cpuinfo", "cpu MHz");
    found_text(json, "cpu_cache", "/proc/cpuinfo", "cache size");
    json_signed(json, "cpus_online", sysconf(_SC_NPROCESSORS_ONLN));
    json_signed(json, "cpus_configured", sysconf(_SC_NPROCESSORS_CONF));
    found_text(json, "cores_per_socket", "/proc/cpuinfo", "cpu cores");
    facts_value(json, "smt_active", "/sys/devices/system/cpu/smt/active");
    facts_text(json, "cpus_isolated", "/sys/devices/system/cpu/isolated");
    facts_text(json, "cpus_nohz_full", "/sys/devices/system/cpu/nohz_full");
    facts_text(json, "cpu_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    facts_text(json, "cpu_frequency_driver", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver");
    facts_value(json, "cpu_max_khz", "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    facts_value(json, "cpu_boost", "/sys/devices/system/cpu/cpufreq/boost");
    facts_value(json, "cpu_no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo");
    facts_text(json, "cpuidle_driver", "/sys/devices/system/cpu/cpuidle/current_driver");
    facts_text(json, "cpuidle_governor", "/sys/devices/system/cpu/cpuidle/current_governor_ro");
    facts_text(json, "numa_nodes", "/sys/devices/system/node/online");
    facts_value(json, "numa_balancing", "/proc/sys/kernel/numa_balancing");
    if (facts_find("/proc/cpuinfo", "flags", flags, sizeof flags)) {
        json_bool(json, "virtual_machine", flag_is_set(flags, "hypervisor"));
        json_bool(json, "tsc_invariant",
                  flag_is_set(flags, "constant_tsc") && flag_is_set(flags, "nonstop_tsc"));
    } else {
        json_null(json, "virtual_machine");
        json_null(json, "tsc_invariant");
    }
    facts_text(json, "machine_vendor", "/sys/class/dmi/id/sys_vendor");
    facts_text(json, "machine_model", "/sys/class/dmi/id/product_name");
}

static void write_mitigations(struct json *json)
{
    static const char *const NAMES[] = {
        "meltdown", "spectre_v1", "spectre_v2", "spec_store_bypass",    "l1tf",
        "mds",      "retbleed",   "srbds",      "spec_rstack_overflow", "gather_data_sampling",
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        char key[64];
        char path[128];
        (void)snprintf(key, sizeof key, "mitigation_%s", NAMES[i]);
        (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/vulnerabilities/%s", NAMES[i]);
        facts_text(json, key, path);
    }
}

static void write_kernel(struct json *json)
{
    struct utsname names;
    if (uname(&names) == 0) {
        json_text(json, "hostname", names.nodename);
        json_text(json, "kernel", names.release);
        json_text(json, "kernel_version", names.version);
        json_text(json, "architecture", names.machine);
    }
    found_text(json, "distribution", "/etc/os-release", "PRETTY_NAME");
    facts_text(json, "boot_command_line", "/proc/cmdline");
    facts_text(json, "clocksource",
               "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    facts_text(json, "clocksources_available",
               "/sys/devices/system/clocksource/clocksource0/available_clocksource");
    facts_choice(json, "preemption", "/sys/kernel/debug/sched/preempt");
    facts_value(json, "sched_rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us");
    facts_value(json, "perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid");
    facts_value(json, "unprivileged_bpf_disabled", "/proc/sys/kernel/unprivileged_bpf_disabled");
    facts_value(json, "bpf_jit_enable", "/proc/sys/net/core/bpf_jit_enable");
}

static void write_memory(struct json *json)
{
    meminfo_bytes(json, "memory_total_bytes", "MemTotal");
    meminfo_bytes(json, "memory_available_bytes", "MemAvailable");
    meminfo_bytes(json, "swap_total_bytes", "SwapTotal");
    facts_value(json, "swappiness", "/proc/sys/vm/swappiness");
    facts_value(json, "huge_pages", "/proc/sys/vm/nr_hugepages");
    meminfo_bytes(json, "huge_page_bytes", "Hugepagesize");
    facts_choice(json, "transparent_huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled");
    facts_value(json, "kernel_same_page_merging", "/sys/kernel/mm/ksm/run");
    json_signed(json, "page_bytes", sysconf(_SC_PAGESIZE));
}

static void write_load(struct json *json)
{
    double loads[3] = {0};
    static const char *const KEYS[3] = {"load_1min", "load_5min", "load_15min"};
    int count = getloadavg(loads, 3);
    for (int i = 0; i < 3; i++) {
        if (i < count) {
            json_real(json, KEYS[i], loads[i]);
        } else {
            json_null(json, KEYS[i]);
        }
    }
    struct timespec uptime;
    if (clock_gettime(CLOCK_BOOTTIME, &uptime) == 0) {
        json_signed(json, "uptime_s", uptime.tv_sec);
    }
}

/* The CPUs of this process as a list of ranges, "0-3,8". */
static void write_affinity(struct json *json)
{
    cpu_set_t allowed;
    char text[1024] = "";
    size_t used = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        json_null(json, "affinity");
        return;
    }
    for (size_t cpu = 0; cpu < CPU_SETSIZE && used < sizeof text - 16; cpu++) {
        if (!CPU_ISSET(cpu, &allowed)) {
            continue;
        }
        size_t last = cpu;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &allowed)) {
            last++;
        }
        const char *comma = used == 0 ? "" : ",";
        int length = last == cpu
                         ? snprintf(text + used, sizeof text - used, "%s%zu", comma, cpu)
                         : snprintf(text + used, sizeof text - used, "%s%zu-%zu", comma, cpu, last);
        used += length > 0 ? (size_t)length : 0;
        cpu = last;
    }
    json_text(json, "affinity", text);
}

static void write_process(struct json *json)
{
    struct rlimit limit;
    write_affinity(json);
    json_signed(json, "user_id", getuid());
    found_text(json, "capabilities", "/proc/self/status", "CapEff");
    json_signed(json, "nice", getpriority(PRIO_PROCESS, 0));
    int policy = sched_getscheduler(0);
    json_text(json, "scheduling_policy",
              policy == SCHED_FIFO ? "fifo"
              : policy == SCHED_RR ? "round-robin"
                                   : "normal");
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        json_unsigned(json, "locked_memory_limit_bytes", limit.rlim_cur);
    } else {
        json_null(json, "locked_memory_limit_bytes");
    }
    write_libc(json);
    json_text(json, "engine_version", BEOWIRE_VERSION);
    json_text(json, "engine_compiler", COMPILER);
    json_text(json, "engine_build", BUILD_TYPE);
}

void environment_host(struct json *json)
{
    write_kernel(json);
    write_processor(json);
    write_mitigations(json);
    write_memory(json);
    write_load(json);
    write_process(json);
}
