/* SPDX-License-Identifier: BSD-3-Clause */
#include "pattern_pingpong.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "clock.h"
#include "pattern.h"

/* One message there and back. 0, -ETIMEDOUT (lost), or an error. */
static inline int exchange(struct run *run)
{
    const struct driver *driver = run->request->driver;
    if (run->place != NULL) {
        run->place(run);
    }
    if (driver->reliable) {
        int error = run_send(run);
        return error != 0 || driver->receive == NULL ? error : run_receive(run);
    }
    run_stamp(run);
    int error = run_send(run);
    while (error == 0) {
        error = run_receive(run);
        if (error == 0 && memcmp(run->incoming, run->outgoing, run->stamp_bytes) == 0) {
            break;
        }
    }
    return error;
}

/* Exchanges `count` messages; `measured`: they count. */
static int exchange_all(struct run *run, uint64_t count, bool measured)
{
    struct measure_result *result = run->result;
    const uint64_t batch = run->request->batch;
    assert(batch > 0);
    uint64_t start_ns = measured ? run->started_ns : clock_now_ns();
    uint64_t end_ns = start_ns;
    uint64_t look_at_ns = start_ns + RUN_LOOK_INTERVAL_NS;
    uint64_t done = 0;
    int error = 0;
    while (done < count && !run->stop) {
        uint64_t wanted = count - done < batch ? count - done : batch;
        uint64_t finished = 0;
        while (finished < wanted && (error = exchange(run)) == 0) {
            finished++;
        }
        end_ns = clock_now_ns();
        done += finished;
        if (measured) {
            result->sent += finished;
            result->received += finished;
        }
        if (error == -ETIMEDOUT && !run->request->driver->reliable) {
            done++;
            if (measured) {
                result->sent++;
                result->lost++;
            }
        } else if (error != 0) {
            break;
        } else if (measured) {
            histogram_add(run->samples, (end_ns - start_ns + wanted / 2) / wanted);
        }
        start_ns = end_ns;
        if (end_ns >= look_at_ns || end_ns >= run->request->deadline_ns) {
            run->stop = run_should_end(run, end_ns);
            start_ns = clock_now_ns();
            look_at_ns = start_ns + RUN_LOOK_INTERVAL_NS;
        }
    }
    if (measured) {
        run_end_measured(run, end_ns);
    }
    result->stopped = done < count;
    if (error == -ETIMEDOUT && !run->request->driver->reliable) {
        error = 0; /* a lost message is counted, and is not a failure of the run */
    }
    return error;
}

/* The last answer must begin with the bytes sent. This detects a driver that confuses messages,
 * with one comparison a run. */
static int verify_echo(const struct run *run)
{
    const uint64_t bytes =
        run->send_bytes < run->receive_bytes ? run->send_bytes : run->receive_bytes;
    if (run->request->driver->receive == NULL || run->result->received == 0 ||
        run->result->lost > 0) {
        return 0;
    }
    return memcmp(run->incoming, run->outgoing, bytes) == 0 ? 0 : -EBADMSG;
}

int pingpong_initiate(struct run *run)
{
    run_stamp(run);
    int error = exchange_all(run, run->request->skip, false);
    if (error != 0 || run->stop) {
        run->result->stopped = true;
        run->result->in_step = error == 0;
        return error;
    }
    run_begin_measured(run);
    error = exchange_all(run, run->request->count, true);
    run->result->in_step = error == 0;
    return error != 0 ? error : verify_echo(run);
}

/* Receives, and sends the same back. */
static int echo_all(struct run *run, uint64_t *arrived)
{
    const struct measure_request *request = run->request;
    const struct driver *driver = request->driver;
    const uint64_t wanted = request->skip + request->count;
    const uint64_t first = request->skip == 0 ? 1 : request->skip;
    struct pace pace = pace_start();
    while (*arrived < wanted && !run->stop) {
        if (run->place != NULL) {
            run->place(run);
        }
        int error = run_receive(run);
        if (error == -ETIMEDOUT && !driver->reliable) {
            run->stop = run_should_end(run, clock_now_ns());
            continue;
        }
        if (error != 0) {
            return error;
        }
        ++*arrived;
        if (*arrived == first) {
            run_begin_measured(run);
        }
        error = run_echo(run);
        if (error != 0) {
            return error;
        }
        pace_message(&pace, run);
    }
    return 0;
}

int pingpong_respond(struct run *run)
{
    const struct measure_request *request = run->request;
    const uint64_t wanted = request->skip + request->count;
    uint64_t arrived = 0;
    int error = echo_all(run, &arrived);
    if (run->started_ns != 0) {
        run_end_measured(run, clock_now_ns());
    }
    run->result->received = arrived > request->skip ? arrived - request->skip : 0;
    run->result->sent = run->result->received;
    run->result->stopped = arrived < wanted;
    run->result->in_step = true;
    return error;
}

const struct pattern PATTERN_PINGPONG = {
    .name = "pingpong",
    .summary = "one message there, and one of the same size back",
    .reports = PATTERN_TIMES,
    .initiate = pingpong_initiate,
    .respond = pingpong_respond,
};
