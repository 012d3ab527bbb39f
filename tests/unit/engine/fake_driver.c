/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"

uint64_t now_ns;

int __wrap_clock_gettime(clockid_t id, struct timespec *time);

int __wrap_clock_gettime(clockid_t id, struct timespec *time)
{
    time->tv_sec = (time_t)(now_ns / NS_PER_SECOND);
    time->tv_nsec = (long)(now_ns % NS_PER_SECOND);
    return 0;
}

struct fake fake;
struct driver driver;
struct histogram samples;
struct measure_result result;
uint8_t outgoing[MESSAGE_BYTES];
uint8_t incoming[MESSAGE_BYTES];
struct measure_request request;
uint64_t interrupt_after;

static int fake_send(void *session, const void *data, uint64_t size)
{
    fake.sends++;
    fake.last_sent_bytes = size;
    now_ns += fake.send_ns;
    memcpy(fake.wire, data, size);
    return 0;
}

static int fake_receive(void *session, void *data, uint64_t size)
{
    fake.receives++;
    fake.last_received_bytes = size;
    if (fake.timeouts_after != 0 && fake.receives > fake.timeouts_after) {
        now_ns += 20 * NS_PER_MS;
        return -ETIMEDOUT;
    }
    bool slow = fake.slow_every != 0 && fake.receives % fake.slow_every == 0;
    now_ns += slow ? 10 * fake.receive_ns : fake.receive_ns;
    if (fake.receives == fake.fail_receive) {
        return fake.fail_with;
    }
    memcpy(data, fake.wire, size);
    if (fake.receives == fake.stale_receive || fake.receives == fake.corrupt_receive) {
        *(uint8_t *)data ^= 1;
    }
    return 0;
}

int fake_stream_send(void *session, const void *data, uint64_t size, uint64_t more)
{
    fake.more[fake.sends % FAKE_MORE] = more;
    return fake_send(session, data, size);
}

int fake_stream_receive(void *session, void *data, uint64_t size, uint64_t more)
{
    fake.more[fake.receives % FAKE_MORE] = more;
    return fake_receive(session, data, size);
}

static int fake_flush(void *session)
{
    fake.flushes++;
    return 0;
}

static bool interrupted(void *context)
{
    return interrupt_after != 0 && fake.sends >= interrupt_after;
}

void fake_prepare(const struct pattern *pattern)
{
    now_ns = 1000 * NS_PER_SECOND;
    interrupt_after = 0;
    fake = (struct fake){.send_ns = 300, .receive_ns = 700};
    driver = (struct driver){
        .placement = DRIVER_PAIR,
        .reliable = true,
        .min_size = 1,
        .max_size = MESSAGE_BYTES,
        .send = fake_send,
        .receive = fake_receive,
        .flush = fake_flush,
    };
    request = (struct measure_request){
        .driver = &driver,
        .role = DRIVER_INITIATOR,
        .pattern = pattern,
        .size = MESSAGE_BYTES,
        .count = 10,
        .batch = 1,
        .deadline_ns = now_ns + 10 * NS_PER_SECOND,
        .outgoing = outgoing,
        .incoming = incoming,
        .interrupted = interrupted,
    };
    histogram_clear(&samples);
}

int measure(void)
{
    return measure_run(&request, &result, &samples);
}

void expect_samples(uint64_t value_ns, uint64_t count)
{
    assert_int_equal(samples.counts[histogram_index(value_ns)], count);
}
