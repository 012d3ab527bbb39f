/* SPDX-License-Identifier: BSD-3-Clause */
/* Posting, over a driver that has little room and does what the test says. */
#include "posts.h"

#include <errno.h>

#include "testing.h"

static struct posted {
    uint64_t room;            /* how many more can be posted */
    uint64_t calls;           /* of progress() */
    uint64_t waits;           /* of those, with `wait` */
    struct driver_ended ends; /* by each progress() */
    int error;
    bool interrupt;
} posted;

static int post_send(void *session, const void *data, uint64_t size)
{
    if (posted.room == 0) {
        return -EAGAIN;
    }
    posted.room--;
    return 0;
}

static int post_receive(void *session, void *data, uint64_t size)
{
    return post_send(session, data, size);
}

static int progress(void *session, bool wait, struct driver_ended *ended)
{
    posted.calls++;
    posted.waits += wait ? 1 : 0;
    posted.room += posted.ends.sends + posted.ends.receives;
    ended->sends += posted.ends.sends;
    ended->receives += posted.ends.receives;
    return posted.error;
}

static bool interrupted(void *context)
{
    return posted.interrupt;
}

static const struct driver DRIVER = {
    .post_send = post_send, .post_receive = post_receive, .progress = progress};
static const struct measure_request REQUEST = {
    .driver = &DRIVER, .deadline_ns = UINT64_MAX, .interrupted = interrupted};
static struct run run;
static struct posts posts;
static uint8_t data[8];

static int prepare(void **state)
{
    posted = (struct posted){.room = 2};
    run = (struct run){.request = &REQUEST};
    posts = (struct posts){.run = &run};
    return 0;
}

TEST_AROUND(post__counts_what_is_under_way, prepare, NULL)
{
    assert_int_equal(posts_send(&posts, data, 8), 0);
    assert_int_equal(posts_receive(&posts, data, 8), 0);
    assert_int_equal(posts.sending, 1);
    assert_int_equal(posts.receiving, 1);
    assert_int_equal(posted.calls, 0);
    posted.ends.sends = 1;
    assert_int_equal(posts_progress(&posts, true), 0);
    assert_int_equal(posted.waits, 1);
    assert_int_equal(posts.sending, 0);
    assert_int_equal(posts.sent, 1);
    assert_int_equal(posts.received, 0);
}

TEST_AROUND(post__without_room_moves_on_until_there_is, prepare, NULL)
{
    assert_int_equal(posts_send(&posts, data, 8), 0);
    assert_int_equal(posts_send(&posts, data, 8), 0);
    posted.ends.sends = 1;
    assert_int_equal(posts_receive(&posts, data, 8), 0);
    assert_int_equal(posted.calls, 1);
    assert_int_equal(posted.waits, 0);
    assert_int_equal(posts.sending, 1);
    assert_int_equal(posts.receiving, 1);
}

TEST_AROUND(post__tried_without_room_says_so, prepare, NULL)
{
    posted.room = 1;
    assert_int_equal(posts_try_send(&posts, data, 8), 0);
    assert_int_equal(posts_try_send(&posts, data, 8), -EAGAIN);
    assert_int_equal(posts.sending, 1);
    assert_int_equal(posted.calls, 0);
    assert_int_equal(posts_progress(&posts, false), 0);
    assert_int_equal(posted.waits, 0);
}

TEST_AROUND(post__without_room_for_ever_ends_when_asked, prepare, NULL)
{
    posted.room = 0;
    posted.interrupt = true;
    assert_int_equal(posts_send(&posts, data, 8), -ECANCELED);
    assert_int_equal(posts_receive(&posts, data, 8), -ECANCELED);
    posted.error = -ECONNRESET;
    assert_int_equal(posts_send(&posts, data, 8), -ECONNRESET);
}

TEST_AROUND(settle__waits_for_all, prepare, NULL)
{
    assert_int_equal(posts_settle(&posts), 0);
    assert_int_equal(posted.calls, 0);
    assert_int_equal(posts_send(&posts, data, 8), 0);
    assert_int_equal(posts_send(&posts, data, 8), 0);
    posted.ends.sends = 1;
    assert_int_equal(posts_settle(&posts), 0);
    assert_int_equal(posted.waits, 2);
    assert_int_equal(posts.sent, 2);
}

TEST_AROUND(progress__more_ends_than_were_posted, prepare, NULL)
{
    assert_int_equal(posts_send(&posts, data, 8), 0);
    posted.ends.receives = 1;
    assert_int_equal(posts_progress(&posts, true), -EPROTO);
    posted.ends = (struct driver_ended){.sends = 2};
    assert_int_equal(posts_settle(&posts), -EPROTO);
}
