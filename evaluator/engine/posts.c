/* SPDX-License-Identifier: BSD-3-Clause */
#include "posts.h"

#include <errno.h>

#include "clock.h"

/* Attempts to get room between two checks whether to end. */
#define LOOKS_A_QUESTION 1024

int posts_progress(struct posts *posts, bool wait)
{
    const struct measure_request *request = posts->run->request;
    struct driver_ended ended = {0};
    int error = request->driver->progress(request->session, wait, &ended);
    if (error != 0) {
        return error;
    }
    if (ended.sends > posts->sending || ended.receives > posts->receiving) {
        return -EPROTO; /* a message completed that was never posted */
    }
    posts->sending -= ended.sends;
    posts->receiving -= ended.receives;
    posts->sent += ended.sends;
    posts->received += ended.receives;
    return 0;
}

/* One attempt to get room; `looks` counts them. */
static int make_room(struct posts *posts, unsigned *looks)
{
    int error = posts_progress(posts, false);
    if (error == 0 && ++*looks % LOOKS_A_QUESTION == 0 &&
        run_should_end(posts->run, clock_now_ns())) {
        error = -ECANCELED;
    }
    return error;
}

int posts_try_send(struct posts *posts, const uint8_t *data, uint64_t size)
{
    const struct measure_request *request = posts->run->request;
    int error = request->driver->post_send(request->session, data, size);
    posts->sending += error == 0 ? 1 : 0;
    return error;
}

int posts_send(struct posts *posts, const uint8_t *data, uint64_t size)
{
    unsigned looks = 0;
    int error;
    while ((error = posts_try_send(posts, data, size)) == -EAGAIN) {
        error = make_room(posts, &looks);
        if (error != 0) {
            return error;
        }
    }
    return error;
}

int posts_receive(struct posts *posts, uint8_t *data, uint64_t size)
{
    const struct measure_request *request = posts->run->request;
    unsigned looks = 0;
    int error;
    while ((error = request->driver->post_receive(request->session, data, size)) == -EAGAIN) {
        error = make_room(posts, &looks);
        if (error != 0) {
            return error;
        }
    }
    posts->receiving += error == 0 ? 1 : 0;
    return error;
}

int posts_settle(struct posts *posts)
{
    int error = 0;
    while (error == 0 && (posts->sending > 0 || posts->receiving > 0)) {
        error = posts_progress(posts, true);
    }
    return error;
}
