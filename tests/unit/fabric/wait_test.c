/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit/test.h"
#include "wait.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/fi_errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_readable(int fd)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};

    return poll(&readable, 1, 0) == 1;
}

TEST(wait_open__each_kind)
{
    const enum fi_wait_obj without[] = {FI_WAIT_NONE, FI_WAIT_UNSPEC, FI_WAIT_YIELD};
    const enum fi_wait_obj refused[] = {FI_WAIT_SET, FI_WAIT_MUTEX_COND, FI_WAIT_POLLFD};
    struct wait wait;
    enum fi_wait_obj object = FI_WAIT_SET;
    int fd = -1;

    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(wait_open(&wait, without[i]), 0);
        assert_int_equal(wait_control(&wait, FI_GETWAITOBJ, &object), 0);
        assert_int_equal(object, without[i]);
        assert_int_equal(wait_control(&wait, FI_GETWAIT, &fd), -FI_ENOSYS);
        wait_ring(&wait); /* nobody can hear it */
        assert_false(wait_quieten(&wait));
        wait_close(&wait);
        assert_int_equal(wait_open(&wait, refused[i]), -FI_ENOSYS);
    }
    assert_int_equal(wait_open(&wait, (enum fi_wait_obj)77), -FI_ENOSYS);
    assert_int_equal(wait_open(&wait, FI_WAIT_FD), 0);
    assert_int_equal(wait_control(&wait, FI_GETWAITOBJ, &object), 0);
    assert_int_equal(object, FI_WAIT_FD);
    assert_int_equal(wait_control(&wait, FI_GETWAIT, NULL), -FI_EINVAL);
    assert_int_equal(wait_control(&wait, FI_GETWAIT, &fd), 0);
    assert_false(is_readable(fd));
    wait_close(&wait);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

TEST(wait_ring__until_it_is_quietened)
{
    struct wait wait;

    assert_int_equal(wait_open(&wait, FI_WAIT_FD), 0);
    for (int i = 0; i < 2; i++) {
        assert_false(wait_quieten(&wait));
        wait_ring(&wait);
        wait_ring(&wait);
        assert_true(is_readable(wait.fd));
        assert_true(wait_quieten(&wait));
        assert_false(is_readable(wait.fd));
    }
    wait_close(&wait);
}

static void *ring_often(void *argument)
{
    struct wait *wait = argument;

    for (int i = 0; i < 20000; i++) {
        wait_ring(wait);
    }
    return NULL;
}

TEST(wait_quieten__leaves_no_bell_that_nobody_quietens)
{
    struct wait wait;
    pthread_t thread;

    assert_int_equal(wait_open(&wait, FI_WAIT_FD), 0);
    assert_int_equal(pthread_create(&thread, NULL, ring_often, &wait), 0);
    for (int i = 0; i < 20000; i++) {
        (void)wait_quieten(&wait);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)wait_quieten(&wait);
    assert_false(is_readable(wait.fd));
    wait_close(&wait);
}

TEST(wait_add__and_remove)
{
    int other = eventfd(1, EFD_CLOEXEC);
    struct wait wait;

    assert_int_equal(wait_open(&wait, FI_WAIT_FD), 0);
    assert_int_equal(wait_add(&wait, other), 0);
    assert_int_equal(wait_add(&wait, other), 0);
    assert_true(is_readable(wait.fd));
    assert_false(wait_quieten(&wait)); /* it is not the bell */
    wait_remove(&wait, other);
    wait_remove(&wait, other);
    assert_false(is_readable(wait.fd));
    wait_close(&wait);
    assert_int_equal(wait_open(&wait, FI_WAIT_UNSPEC), 0);
    assert_int_equal(wait_add(&wait, other), 0);
    wait_remove(&wait, other);
    wait_close(&wait);
    assert_int_equal(close(other), 0);
}

/** What a child that fork() has made closes, the parent may be asleep on. */
TEST(wait_remove__in_a_child_the_parent_goes_on)
{
    int other = eventfd(1, EFD_CLOEXEC);
    struct wait wait;
    int status = -1;

    assert_int_equal(wait_open(&wait, FI_WAIT_FD), 0);
    assert_int_equal(wait_add(&wait, other), 0);
    pid_t child = fork();
    if (child == 0) {
        wait_ring(&wait);
        wait_remove(&wait, other);
        wait_close(&wait);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(is_readable(wait.fd));
    assert_false(is_readable(wait.bell)); /* nobody here would quieten it */
    wait_ring(&wait);
    child = fork();
    if (child == 0) {
        (void)wait_quieten(&wait);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(is_readable(wait.bell));
    wait_close(&wait);
    assert_int_equal(close(other), 0);
}
