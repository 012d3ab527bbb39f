/* SPDX-License-Identifier: BSD-3-Clause */
#include "timed.h"

#include <errno.h>
#include <string.h>

#include "clock.h"

bool timed_lost(const struct run *run, int error)
{
    return error == -ETIMEDOUT && !run->request->driver->reliable;
}

int timed_exchange(struct run *run, struct timed_exchange *exchange)
{
    const bool reliable = run->request->driver->reliable;
    exchange->sent_ns = clock_now_ns();
    memcpy(run->outgoing, &exchange->sent_ns, sizeof exchange->sent_ns);
    int error = run_send(run);
    while (error == 0) {
        error = run_receive(run);
        if (error != 0) {
            break;
        }
        exchange->done_ns = clock_now_ns();
        if (memcmp(run->incoming, &exchange->sent_ns, sizeof exchange->sent_ns) == 0) {
            memcpy(&exchange->came_ns, run->incoming + sizeof exchange->sent_ns,
                   sizeof exchange->came_ns);
            break;
        }
        error = reliable ? -EBADMSG : 0;
    }
    return error;
}

static int answer_all(struct run *run, uint64_t *arrived)
{
    const struct measure_request *request = run->request;
    const uint64_t wanted = request->skip + request->count;
    struct pace pace = pace_start();
    run_begin_measured(run);
    while (*arrived < wanted && !run->stop) {
        int error = run_receive(run);
        if (timed_lost(run, error)) {
            run->stop = run_should_end(run, clock_now_ns());
            continue;
        }
        if (error != 0) {
            return error;
        }
        const uint64_t came_ns = clock_now_ns();
        memcpy(run->incoming + sizeof came_ns, &came_ns, sizeof came_ns);
        error = run_echo(run);
        if (error != 0) {
            return error;
        }
        if (++*arrived == request->skip) {
            run_begin_measured(run);
        }
        pace_message(&pace, run);
    }
    return 0;
}

int timed_respond(struct run *run)
{
    const struct measure_request *request = run->request;
    uint64_t arrived = 0;
    int error = answer_all(run, &arrived);
    run_end_measured(run, clock_now_ns());
    run->result->received = arrived > request->skip ? arrived - request->skip : 0;
    run->result->sent = run->result->received;
    run->result->stopped = arrived < request->skip + request->count;
    return error; /* in step: the initiator stops only between messages */
}
