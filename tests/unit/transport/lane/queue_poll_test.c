/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's part is played by the test: meson.build has the linker wrap the calls. */
#include "lane/queue_poll.h"
#include "unit/test.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>

#define SOCKET 77

static struct kernel {
    int napi;     /* the queue's number, or 0 */
    bool refuses; /* to prefer polling */
    unsigned asked;
    unsigned looks;
    int busy_poll;
    int preferred;
    int budget;
} kernel;

int __wrap_getsockopt(int socket, int level, int option, void *value, socklen_t *bytes);
int __wrap_setsockopt(int socket, int level, int option, const void *value, socklen_t bytes);
ssize_t __wrap_recv(int socket, void *data, size_t bytes, int flags);

int __wrap_getsockopt(int socket, int level, int option, void *value, socklen_t *bytes)
{
    assert_int_equal(socket, SOCKET);
    assert_int_equal(level, SOL_SOCKET);
    assert_int_equal(option, 56);
    assert_int_equal(*bytes, sizeof(int));
    *(int *)value = kernel.napi;
    kernel.asked++;
    return 0;
}

int __wrap_setsockopt(int socket, int level, int option, const void *value, socklen_t bytes)
{
    int number = *(const int *)value;

    assert_int_equal(socket, SOCKET);
    assert_int_equal(level, SOL_SOCKET);
    assert_int_equal(bytes, sizeof number);
    if (option == SO_BUSY_POLL) {
        kernel.busy_poll = number;
    } else if (option == 69 && kernel.refuses) {
        errno = EPERM;
        return -1;
    } else if (option == 69) {
        kernel.preferred = number;
    } else {
        assert_int_equal(option, 70);
        kernel.budget = number;
    }
    return 0;
}

ssize_t __wrap_recv(int socket, void *data, size_t bytes, int flags)
{
    assert_int_equal(socket, SOCKET);
    assert_int_equal(bytes, 0);
    assert_int_equal(flags, MSG_PEEK | MSG_DONTWAIT); /* what is there stays there */
    kernel.looks++;
    errno = EAGAIN;
    return -1;
}

static int reset(void **state)
{
    kernel = (struct kernel){.busy_poll = -1, .preferred = -1, .budget = -1};
    return 0;
}

/** As often as it takes for one look into the queue. @return whether that was made, at the last. */
static bool poll_once(struct queue_poll *poll)
{
    unsigned looks = kernel.looks;

    for (unsigned i = 1; i < LANE_POLL_LOOKS; i++) {
        assert_false(queue_poll(poll));
    }
    assert_int_equal(kernel.looks, looks);
    return queue_poll(poll);
}

TEST_AROUND(queue_poll__not_wanted, reset, NULL)
{
    struct queue_poll poll = {0};

    kernel.napi = 513;
    assert_false(poll_once(&poll));
    assert_int_equal(kernel.asked + kernel.looks, 0);
}

TEST_AROUND(queue_poll__asks_now_and_then_until_the_queue_is_known, reset, NULL)
{
    struct queue_poll poll;

    queue_poll_by(&poll, SOCKET);
    for (unsigned i = 0; i < 64; i++) {
        assert_false(poll_once(&poll));
    }
    assert_int_equal(kernel.asked, 1);
    assert_int_equal(kernel.looks, 0);
    kernel.napi = 513;
    assert_true(poll_once(&poll));
    assert_int_equal(kernel.asked, 2);
    assert_int_equal(kernel.looks, 1);
    assert_true(poll_once(&poll)); /* it stays known */
    assert_int_equal(kernel.asked, 2);
    assert_int_equal(kernel.looks, 2);
}

TEST_AROUND(queue_poll_stop__ends_it, reset, NULL)
{
    struct queue_poll poll;

    kernel.napi = 513;
    queue_poll_by(&poll, SOCKET);
    assert_true(poll_once(&poll));
    queue_poll_stop(&poll);
    assert_false(poll_once(&poll));
    assert_int_equal(kernel.looks, 1);
}

TEST_AROUND(queue_poll_allow__prefers_polling, reset, NULL)
{
    queue_poll_allow(SOCKET, 20);
    assert_int_equal(kernel.busy_poll, 20);
    assert_int_equal(kernel.preferred, 1);
    assert_int_equal(kernel.budget, 64);
}

TEST_AROUND(queue_poll_allow__not_at_all, reset, NULL)
{
    queue_poll_allow(SOCKET, 0);
    assert_int_equal(kernel.busy_poll, 0);
    assert_int_equal(kernel.preferred, 0);
    assert_int_equal(kernel.budget, -1);
}

TEST_AROUND(queue_poll_allow__older_kernel, reset, NULL)
{
    kernel.refuses = true;
    queue_poll_allow(SOCKET, 20);
    assert_int_equal(kernel.busy_poll, 20);
    assert_int_equal(kernel.budget, -1);
}
