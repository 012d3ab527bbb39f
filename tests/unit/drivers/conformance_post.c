/* SPDX-License-Identifier: BSD-3-Clause */
/* What driver.h asks of drivers that can post messages and go on. Others have nothing to show. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/testing.h"
#include "conformance.h"
#include "pair.h"

/* As many as can be posted at least. */
#define POSTS 64

static const uint64_t SIZES[] = {8, 1000, 65536};

/* Moves on until all that is posted has ended. */
static void settle(const struct pair *pair, struct driver_ended ended, uint64_t sends,
                   uint64_t receives)
{
    while (ended.sends < sends || ended.receives < receives) {
        const uint64_t before = ended.sends + ended.receives;
        int result = driver->progress(pair->sessions[0], true, &ended);
        pair_check(result == 0, result);
        pair_check(ended.sends + ended.receives > before, before);
    }
    pair_check(ended.sends == sends && ended.receives == receives, ended.sends + ended.receives);
    struct driver_ended nothing = {0};
    int result = driver->progress(pair->sessions[0], false, &nothing);
    pair_check(result == 0 && nothing.sends + nothing.receives == 0, result);
}

/* A send may have to wait for room, which progress() makes. */
static void post_send(const struct pair *pair, const uint8_t *data, uint64_t size,
                      struct driver_ended *ended)
{
    int result;
    while ((result = driver->post_send(pair->sessions[0], data, size)) == -EAGAIN) {
        result = driver->progress(pair->sessions[0], false, ended);
        pair_check(result == 0, result);
    }
    pair_check(result == 0, result);
}

/* There is room for 64 receives. */
static void post_receive(const struct pair *pair, uint8_t *data, uint64_t size)
{
    int result = driver->post_receive(pair->sessions[0], data, size);
    pair_check(result == 0, result);
}

/* Both ends: 64 receives, then 64 messages to the other, all under way at once. */
static void both_ways(struct pair *pair)
{
    for (size_t index = 0; index < sizeof SIZES / sizeof SIZES[0]; index++) {
        const uint64_t size = SIZES[index];
        const uint64_t own = pair->role == DRIVER_INITIATOR ? 0 : 1000;
        uint8_t *out = malloc(POSTS * size);
        uint8_t *in = calloc(POSTS, size);
        struct driver_ended ended = {0};
        pair_check(out != NULL && in != NULL, size);
        if (driver->prepare != NULL) { /* a run of its own, with memory of its own */
            int result = driver->prepare(pair->sessions[0], size);
            pair_check(result == 0, result);
        }
        for (uint64_t i = 0; i < POSTS; i++) {
            fill(out + i * size, size, own + i);
            post_receive(pair, in + i * size, size);
        }
        for (uint64_t i = 0; i < POSTS; i++) {
            post_send(pair, out + i * size, size, &ended);
        }
        settle(pair, ended, POSTS, POSTS);
        for (uint64_t i = 0; i < POSTS; i++) {
            check_content(in + i * size, 0, size, 1000 - own + i);
        }
        free(out);
        free(in);
    }
    /* Nothing is left over: a message goes as before. */
    uint64_t word = 7;
    int result = driver->send(pair->sessions[0], &word, sizeof word);
    pair_check(result == 0, result);
    result = driver->receive(pair->sessions[0], &word, sizeof word);
    pair_check(result == 0 && word == 7, result);
}

void post__both_ways_at_once(void **state)
{
    if (driver->progress == NULL) {
        assert_null(driver->post_send);
        assert_null(driver->post_receive);
        return;
    }
    assert_int_equal(pair_play(driver, with_interfaces, 1, both_ways, both_ways), 0);
}

static void wait_in_vain(struct pair *pair)
{
    struct driver_ended ended = {0};
    (void)pair_hear(pair);
    post_receive(pair, message, 8);
    int result = driver->progress(pair->sessions[0], false, &ended);
    pair_check(result == 0 && ended.receives == 0, result);
    pair_stop_after_ms(pair, 50);
    result = driver->progress(pair->sessions[0], true, &ended);
    pair_check(result == -ECANCELED, result);
    pair_say(pair, 0);
}

static void let_wait(struct pair *pair)
{
    pair_say(pair, 0);
    (void)pair_hear(pair);
}

void post__stop_while_waiting(void **state)
{
    if (driver->progress != NULL) {
        assert_int_equal(pair_play(driver, with_interfaces, 1, wait_in_vain, let_wait), 0);
    }
}
