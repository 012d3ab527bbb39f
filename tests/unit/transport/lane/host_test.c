/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/host.h"
#include "unit/test.h"

#include <sched.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

/** What another process sees, after `unshared` (flags of unshare(2)). */
static uint64_t seen_by_child(int unshared)
{
    int ends[2];
    uint64_t identity = 0;
    int status = 0;

    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        if ((unshared != 0 && unshare(unshared) != 0) || host_identity(&identity) != 0 ||
            write(ends[1], &identity, sizeof identity) != sizeof identity) {
            _exit(1);
        }
        _exit(0);
    }
    assert_int_equal(read(ends[0], &identity, sizeof identity), sizeof identity);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(ends[0]);
    close(ends[1]);
    return identity;
}

TEST(host_identity__same_for_processes_of_one_namespace)
{
    uint64_t identity = 0;

    assert_int_equal(host_identity(&identity), 0);
    assert_int_not_equal(identity, 0);
    assert_int_equal(seen_by_child(0), identity);
}

TEST(host_identity__another_network_namespace_is_another_host)
{
    uint64_t identity = 0;

    assert_int_equal(host_identity(&identity), 0);
    /* Whoever is not root has to be root of a namespace first. */
    int flags = geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET;
    assert_int_not_equal(seen_by_child(flags), identity);
}

TEST(host_sees__a_mark_of_this_host_as_long_as_it_lasts)
{
    uint64_t mark = 0;
    int lasts = host_mark(&mark);

    assert_true(lasts >= 0);
    assert_true(host_sees(mark));
    assert_false(host_sees(mark + 1));
    close(lasts);
    assert_false(host_sees(mark));
}
