/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints of several threads, each with a thread of its own beside it, over the lanes that
 * threads share memory by. What is asked for is that messages arrive; what it is built for is the
 * thread sanitizer, which sees whether any two threads touch the same without order.
 */
#include "beowire.h"

#include "unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)
#define PATIENCE_NS (60 * SECOND)
#define ROUNDS 300
#define BYTES_MAX 300000

/** One thread with one endpoint. */
struct user {
    beowire_endpoint *endpoint;
    beowire_peer peer;
    pthread_t thread;
    uint64_t failures;
};

static beowire_endpoint *open_endpoint(const char *lanes, enum beowire_progress progress)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;

    options.interface = "lo";
    options.lanes = lanes;
    options.progress = progress;
    options.peer_timeout_ns = PATIENCE_NS;
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    return endpoint;
}

static void know(struct user *user, const beowire_endpoint *other)
{
    struct beowire_address address;

    beowire_address(other, &address);
    assert_int_equal(beowire_peer_add(user->endpoint, &address, &user->peer), 0);
}

/** The application computes: its endpoint's thread has the turn meanwhile. */
static void be_away(void)
{
    const struct timespec time = {.tv_nsec = 3000000};

    (void)nanosleep(&time, NULL);
}

/** Takes completions until both operations of the round have ended well. */
static bool finish(struct user *user)
{
    struct beowire_completion done[4];
    unsigned ended = 0;

    while (ended < 2) {
        if (beowire_wait(user->endpoint, PATIENCE_NS) != 1) {
            return false;
        }
        int count = beowire_poll(user->endpoint, done, 4);
        for (int i = 0; i < count; i++) {
            if (done[i].status != 0) {
                return false;
            }
            ended++;
        }
    }
    return true;
}

static void *work(void *argument)
{
    static const uint64_t sizes[] = {0, 8, 200, 5000, 16000, 60000, BYTES_MAX};
    struct user *user = argument;
    uint8_t *data = calloc(1, BYTES_MAX);
    uint8_t *buffer = calloc(1, BYTES_MAX);

    for (uint64_t round = 0; round < ROUNDS && user->failures == 0; round++) {
        uint64_t bytes = sizes[round % (sizeof sizes / sizeof *sizes)];
        memset(data, (int)round, bytes);
        user->failures +=
            beowire_receive(user->endpoint, user->peer, round, 0, buffer, BYTES_MAX, NULL) != 0;
        user->failures +=
            beowire_send(user->endpoint, user->peer, round, 0, data, bytes, NULL) != 0;
        if (round % 16 == 15) {
            be_away();
        }
        user->failures += !finish(user);
        user->failures += bytes > 0 && (buffer[0] != data[0] || buffer[bytes - 1] != data[0]);
    }
    user->failures += beowire_flush(user->endpoint, PATIENCE_NS) != 0;
    free(data);
    free(buffer);
    return NULL;
}

static void talk(const char *lanes, enum beowire_progress progress)
{
    struct user users[2] = {{.endpoint = open_endpoint(lanes, progress)},
                            {.endpoint = open_endpoint(lanes, progress)}};

    know(&users[0], users[1].endpoint);
    know(&users[1], users[0].endpoint);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&users[i].thread, NULL, work, &users[i]), 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(users[i].thread, NULL), 0);
        assert_int_equal(users[i].failures, 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(beowire_close(users[i].endpoint, SECOND), 0);
    }
}

TEST(endpoints__with_a_thread_that_makes_progress_over_memory)
{
    talk("shm", BEOWIRE_PROGRESS_THREAD);
}

TEST(endpoints__with_a_thread_that_makes_progress_over_udp)
{
    talk("udp", BEOWIRE_PROGRESS_THREAD);
}

TEST(endpoints__with_a_keeper)
{
    talk("shm", BEOWIRE_PROGRESS_KEEPER);
}
