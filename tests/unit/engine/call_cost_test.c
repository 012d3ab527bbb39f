/* SPDX-License-Identifier: BSD-3-Clause */
#include "call_cost.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "facts.h"
#include "testing.h"
#include "trial.h"

static char reason[256];

/* Filters cannot be taken away again, so whatever adds one is a child's. */

static int filters(void)
{
    char text[32] = "";
    return facts_find("/proc/self/status", "Seccomp_filters", text, sizeof text)
               ? (int)strtol(text, NULL, 10)
               : -1;
}

static int adds_two(const void *context, char *text, size_t bytes)
{
    struct call_cost cost;
    if (call_cost_add(0, &cost, text, bytes) != 0 ||
        call_cost_add(CALL_COST_STEPS_MAX, &cost, text, bytes) != 0) {
        return -EIO;
    }
    return cost.before_ns > 0 && cost.added_ns > 0 ? filters() : -ERANGE;
}

/* A kernel without filters, as far as the child can tell. */
static int adds_without_seccomp(const void *context, char *text, size_t bytes)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    struct call_cost cost;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        return -EIO;
    }
    return call_cost_add(0, &cost, text, bytes);
}

TEST(call_cost_add__puts_filters_in_and_measures_them)
{
    int before = filters();
    if (before < 0) {
        skip(); /* a kernel before 5.9 */
    }
    assert_int_equal(trial(adds_two, NULL, TRIAL_MS, reason, sizeof reason), before + 2);
}

TEST(call_cost_add__without_seccomp__says_so)
{
    assert_int_equal(trial(adds_without_seccomp, NULL, TRIAL_MS, reason, sizeof reason), -ENOSYS);
    assert_non_null(
        strstr(reason, "the kernel accepts no seccomp filter (Function not implemented)"));
}

TEST(call_cost_steps__more_than_a_filter_can_add__names_what_it_can)
{
    uint64_t steps = 0;
    assert_int_equal(call_cost_steps(1, &steps, reason, sizeof reason), -ERANGE);
    assert_non_null(strstr(reason, "not 1 ns"));
}

TEST(call_cost_steps__leaves_no_filter_here)
{
    int before = filters();
    uint64_t steps = 0;
    assert_int_equal(call_cost_steps(1000, &steps, reason, sizeof reason), 0);
    assert_in_range(steps, 1, CALL_COST_STEPS_MAX);
    assert_int_equal(filters(), before);
}

/* What the engine prints, and how it ends. */
static int run_engine(const char *words, char *said, size_t bytes)
{
    char line[512];
    (void)snprintf(line, sizeof line, "%s %s 2>&1", getenv("BEOWIRE_TEST_ENGINE"), words);
    FILE *out = popen(line, "r");
    assert_non_null(out);
    said[fread(said, 1, bytes - 1, out)] = '\0';
    return WEXITSTATUS(pclose(out));
}

TEST(call_cost_main__the_command_inherits_the_filter)
{
    char said[256];
    char wanted[64];
    if (filters() < 0) {
        skip();
    }
    (void)snprintf(wanted, sizeof wanted, "Seccomp_filters:\t%d\n", filters() + 1);
    int status = run_engine(CALL_COST_OPTION " 1000 grep ^Seccomp_filters /proc/self/status", said,
                            sizeof said);
    assert_int_equal(status, 0);
    assert_string_equal(said, wanted);
}

TEST(call_cost_main__bad_input_gets_one_line)
{
    static const struct {
        const char *words;
        const char *said;
    } BAD[] = {
        {"12x true", "takes 1 to 10000 (ns), not '12x'"},
        {"-3 true", "takes 1 to 10000 (ns), not '-3'"},
        {"10001 true", "takes 1 to 10000 (ns), not '10001'"},
        {"1000 /no/such", "cannot start /no/such: No such file or directory"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        char line[128];
        char said[512];
        (void)snprintf(line, sizeof line, "%s %s", CALL_COST_OPTION, BAD[i].words);
        assert_int_not_equal(run_engine(line, said, sizeof said), 0);
        assert_non_null(strstr(said, BAD[i].said));
        assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
    }
}
