/* SPDX-License-Identifier: BSD-3-Clause */
#include "link.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

static char name[LINK_NAME_BYTES];
static int listener;

static int open_listener(void **state)
{
    listener = link_listen(name);
    return listener < 0 ? -1 : 0;
}

static int close_listener(void **state)
{
    return close(listener);
}

#define FIXTURE_TEST(name) TEST_AROUND(name, open_listener, close_listener)

FIXTURE_TEST(connect__reaches_who_listens)
{
    char byte = 0;
    pid_t peer = 0;
    int near = link_connect(name);
    assert_true(near >= 0);
    int far = link_accept(listener, &peer);
    assert_true(far >= 0);
    assert_int_equal(peer, getpid());
    assert_int_equal(write(near, "x", 1), 1);
    assert_int_equal(read(far, &byte, 1), 1);
    assert_int_equal(byte, 'x');
    close(near);
    assert_int_equal(read(far, &byte, 1), 0);
    close(far);
}

FIXTURE_TEST(listen__each_has_a_name_of_its_own)
{
    char other[LINK_NAME_BYTES];
    int second = link_listen(other);
    assert_true(second >= 0);
    assert_string_not_equal(name, other);
    close(second);
}

TEST(connect__nobody_listens)
{
    assert_int_equal(link_connect("beowire-engine-nobody"), -ECONNREFUSED);
}

/* Only root can be somebody else; in a child, for there is no way back. */
static int as_another_user(void)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        _exit(setresuid(65534, 65534, 65534) != 0 || link_connect(name) != -EPERM);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
}

FIXTURE_TEST(connect__another_users_is_refused_by_both)
{
    pid_t peer = 0;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(as_another_user(), 0);
    assert_int_equal(link_accept(listener, &peer), -EPERM);
}
