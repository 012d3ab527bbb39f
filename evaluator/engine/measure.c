/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"

/* How often a loop looks whether it should end. */
#define LOOK_INTERVAL_NS (10 * NS_PER_MS)

/* A loop that reads no clock aims at one clock read in this time. */
#define PACE_INTERVAL_NS NS_PER_MS
#define PACE_MESSAGES_MAX 4096

/* Bytes of the running number in a message. */
#define STAMP_BYTES 8

struct run {
    const struct measure_request *request;
    struct measure_result *result;
    struct histogram *samples;
    uint64_t stamp;       /* running number of the last message sent */
    size_t stamp_bytes;   /* as much of it as fits into a message */
    uint64_t started_ns;  /* clock at the first measured message */
    struct rusage before; /* usage of the process at that moment */
    uint64_t softirq_before_ns;
    bool stop;
};

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_usec * 1000;
}

static uint64_t softirq_now_ns(const struct run *run)
{
    return run->request->softirq == NULL ? 0 : softirq_ns(run->request->softirq);
}

static void begin_usage(struct run *run)
{
    run->softirq_before_ns = softirq_now_ns(run);
    getrusage(RUSAGE_SELF, &run->before);
}

static void begin_clock(struct run *run)
{
    run->started_ns = clock_now_ns();
}

static void begin_measured(struct run *run)
{
    begin_usage(run);
    begin_clock(run);
}

static void end_measured(struct run *run, uint64_t end_ns)
{
    struct rusage after;
    getrusage(RUSAGE_SELF, &after);
    run->result->elapsed_ns = end_ns - run->started_ns;
    run->result->cpu = (struct measure_cpu){
        .user_ns = timeval_ns(after.ru_utime) - timeval_ns(run->before.ru_utime),
        .system_ns = timeval_ns(after.ru_stime) - timeval_ns(run->before.ru_stime),
        .softirq_ns = softirq_now_ns(run) - run->softirq_before_ns,
        .voluntary_switches = (uint64_t)(after.ru_nvcsw - run->before.ru_nvcsw),
        .involuntary_switches = (uint64_t)(after.ru_nivcsw - run->before.ru_nivcsw),
    };
}

static bool should_end(const struct run *run, uint64_t now_ns)
{
    return now_ns >= run->request->deadline_ns || run->request->interrupted(run->request->context);
}

static int send_message(const struct run *run)
{
    const struct measure_request *request = run->request;
    return request->driver->send(request->session, request->outgoing, request->size);
}

static int receive_message(const struct run *run)
{
    const struct measure_request *request = run->request;
    return request->driver->receive(request->session, request->incoming, request->size);
}

/* One message of a stream, after which `more` follow. */
static int stream_out(const struct run *run, uint64_t more)
{
    const struct measure_request *request = run->request;
    return request->driver->stream_send == NULL
               ? send_message(run)
               : request->driver->stream_send(request->session, request->outgoing, request->size,
                                              more);
}

static int stream_in(const struct run *run, uint64_t more)
{
    const struct measure_request *request = run->request;
    return request->driver->stream_receive == NULL
               ? receive_message(run)
               : request->driver->stream_receive(request->session, request->incoming, request->size,
                                                 more);
}

static void stamp_message(struct run *run)
{
    run->stamp++;
    memcpy(run->request->outgoing, &run->stamp, run->stamp_bytes);
}

/* Pacing of the loops that read no clock: look after a number of messages that takes about
 * PACE_INTERVAL_NS to pass. */
struct pace {
    uint64_t left;
    uint64_t messages;
    uint64_t last_read_ns;
    uint64_t last_look_ns;
};

static struct pace pace_start(void)
{
    uint64_t now = clock_now_ns();
    return (struct pace){.left = 1, .messages = 1, .last_read_ns = now, .last_look_ns = now};
}

static void pace_look(struct pace *pace, struct run *run)
{
    uint64_t now = clock_now_ns();
    uint64_t passed = now - pace->last_read_ns;
    if (passed < PACE_INTERVAL_NS / 2 && pace->messages < PACE_MESSAGES_MAX) {
        pace->messages *= 2;
    } else if (passed > PACE_INTERVAL_NS * 2) {
        pace->messages = pace->messages > 1 ? pace->messages / 2 : 1;
    }
    pace->left = pace->messages;
    pace->last_read_ns = now;
    if (now - pace->last_look_ns >= LOOK_INTERVAL_NS || now >= run->request->deadline_ns) {
        run->stop = should_end(run, now);
        pace->last_look_ns = now;
    }
}

/* To be called after each message. */
static inline void pace_message(struct pace *pace, struct run *run)
{
    if (--pace->left == 0) {
        pace_look(pace, run);
    }
}

/* One message there and back. 0, -ETIMEDOUT (lost), or an error. */
static inline int exchange(struct run *run)
{
    const struct driver *driver = run->request->driver;
    if (driver->reliable) {
        int error = send_message(run);
        return error != 0 || driver->receive == NULL ? error : receive_message(run);
    }
    stamp_message(run);
    int error = send_message(run);
    while (error == 0) {
        error = receive_message(run);
        if (error == 0 &&
            memcmp(run->request->incoming, run->request->outgoing, run->stamp_bytes) == 0) {
            break;
        }
    }
    return error;
}

/* Sends and receives `count` messages; `measured` says whether they count. */
static int initiate_pingpong(struct run *run, uint64_t count, bool measured)
{
    struct measure_result *result = run->result;
    const uint64_t batch = run->request->batch;
    assert(batch > 0);
    uint64_t start_ns = measured ? run->started_ns : clock_now_ns();
    uint64_t end_ns = start_ns;
    uint64_t look_at_ns = start_ns + LOOK_INTERVAL_NS;
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
            run->stop = should_end(run, end_ns);
            start_ns = clock_now_ns();
            look_at_ns = start_ns + LOOK_INTERVAL_NS;
        }
    }
    if (measured) {
        end_measured(run, end_ns);
    }
    result->stopped = done < count;
    if (error == -ETIMEDOUT && !run->request->driver->reliable) {
        error = 0; /* the last message was lost: counted, and no failure of the run */
    }
    return error;
}

/* The last answer must be what was sent: a driver that mixes up messages is found out, at the cost
 * of one comparison a run. */
static int verify_echo(const struct run *run)
{
    const struct measure_request *request = run->request;
    if (request->driver->receive == NULL || run->result->received == 0 || run->result->lost > 0) {
        return 0;
    }
    return memcmp(request->incoming, request->outgoing, request->size) == 0 ? 0 : -EBADMSG;
}

static int pingpong_initiator(struct run *run)
{
    stamp_message(run);
    int error = initiate_pingpong(run, run->request->skip, false);
    if (error != 0 || run->stop) {
        run->result->stopped = true;
        run->result->in_step = error == 0;
        return error;
    }
    begin_measured(run);
    error = initiate_pingpong(run, run->request->count, true);
    run->result->in_step = error == 0;
    return error != 0 ? error : verify_echo(run);
}

/* The answer of a reliable stream: to the skipped messages, and to all. */
static uint64_t acknowledgement_bytes(const struct measure_request *request)
{
    uint64_t bytes = request->size < STAMP_BYTES ? request->size : STAMP_BYTES;
    return bytes < request->driver->min_size ? request->driver->min_size : bytes;
}

static bool is_answered(const struct measure_request *request)
{
    return request->driver->reliable && request->driver->receive != NULL;
}

static int send_answer(const struct measure_request *request)
{
    return request->driver->send(request->session, request->outgoing,
                                 acknowledgement_bytes(request));
}

static int receive_answer(const struct measure_request *request)
{
    return request->driver->receive(request->session, request->incoming,
                                    acknowledgement_bytes(request));
}

/* The responder's side of both patterns: receives, and for ping-pong sends back what came. */
static int respond(struct run *run, bool echo)
{
    const struct measure_request *request = run->request;
    const struct driver *driver = request->driver;
    const uint64_t wanted = request->skip + request->count;
    const uint64_t first = request->skip == 0 ? 1 : request->skip;
    struct pace pace = pace_start();
    uint64_t arrived = 0;
    uint64_t last_ns = 0;
    int error = 0;
    while (arrived < wanted && !run->stop) {
        error = echo ? receive_message(run) : stream_in(run, wanted - arrived - 1);
        if (error == -ETIMEDOUT && !driver->reliable) {
            error = 0;
            run->stop = should_end(run, clock_now_ns());
            continue;
        }
        if (error != 0) {
            break;
        }
        arrived++;
        if (arrived == first) {
            /* The other end waits for the answer: reading usage takes a while, so it comes first.
             */
            begin_usage(run);
            if (arrived == request->skip && !echo && is_answered(request) &&
                (error = send_answer(request)) != 0) {
                break;
            }
            begin_clock(run);
            last_ns = run->started_ns;
        } else if (!driver->reliable && !echo) {
            last_ns = clock_now_ns(); /* any message may turn out to be the last */
        }
        if (echo) {
            error = driver->send(request->session, request->incoming, request->size);
            if (error != 0) {
                break;
            }
        }
        pace_message(&pace, run);
    }
    if (arrived >= first && run->started_ns != 0) {
        bool known = !driver->reliable && !echo;
        end_measured(run, known ? last_ns : clock_now_ns());
    }
    run->result->received = arrived > request->skip ? arrived - request->skip : 0;
    run->result->sent = echo ? run->result->received : 0;
    run->result->stopped = arrived < wanted;
    run->result->in_step = echo || arrived == wanted;
    return error;
}

static int stream_initiator(struct run *run)
{
    const struct measure_request *request = run->request;
    const struct driver *driver = request->driver;
    struct pace pace = pace_start();
    const uint64_t wanted = request->skip + request->count;
    uint64_t done = 0;
    int error = 0;
    stamp_message(run);
    while (done < request->skip && !run->stop &&
           (error = stream_out(run, request->skip - done - 1)) == 0) {
        done++;
        pace_message(&pace, run);
    }
    /* What was skipped must not take the time of what is measured: it has arrived. */
    if (error == 0 && done > 0 && done == request->skip && is_answered(request)) {
        error = receive_answer(request);
    }
    begin_measured(run);
    while (error == 0 && done < wanted && !run->stop &&
           (error = stream_out(run, wanted - done - 1)) == 0) {
        done++;
        pace_message(&pace, run);
    }
    bool answered = false;
    if (error == 0 && done == wanted && is_answered(request)) {
        error = receive_answer(request);
        answered = error == 0;
    }
    end_measured(run, clock_now_ns());
    run->result->sent = done > request->skip ? done - request->skip : 0;
    run->result->received = driver->receive == NULL ? run->result->sent : 0;
    run->result->stopped = done < wanted;
    run->result->in_step = answered || driver->receive == NULL;
    return error;
}

static int stream_responder(struct run *run)
{
    const struct measure_request *request = run->request;
    int error = respond(run, false);
    if (error == 0 && !run->result->stopped && request->driver->reliable) {
        error = send_answer(request);
        run->result->in_step = error == 0;
    }
    return error;
}

int measure_run(const struct measure_request *request, struct measure_result *result,
                struct histogram *samples)
{
    assert(request->size > 0);
    *result = (struct measure_result){.in_step = true};
    struct run run = {
        .request = request,
        .result = result,
        .samples = samples,
        /* From the clock, so that no message of an earlier run has the same number. */
        .stamp = clock_now_ns(),
        .stamp_bytes = request->size < STAMP_BYTES ? (size_t)request->size : STAMP_BYTES,
    };
    int error;
    if (request->pattern == MEASURE_PINGPONG) {
        error = request->role == DRIVER_INITIATOR ? pingpong_initiator(&run) : respond(&run, true);
    } else {
        error = request->role == DRIVER_INITIATOR ? stream_initiator(&run) : stream_responder(&run);
    }
    if (error == 0 && request->driver->flush != NULL) {
        error = request->driver->flush(request->session);
    }
    if (error == -ECANCELED) {
        result->stopped = true;
        error = 0;
    }
    if (!request->driver->reliable) {
        result->in_step = true; /* leftovers are thrown away by prepare() and by their numbers */
    }
    return error;
}
