/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipe.c - two pipes between two processes of one host, one in each direction, blocking.
 *
 * The responder creates both pipes and passes the other end's descriptors (unix_meeting.h).
 *
 * read() and write() of a pipe have no timeout, and a poll() before each would be measured, too. So
 * a timer sends a signal to this thread ten times a second during a run, which interrupts them
 * (EINTR), and then the host is asked whether to stop. If a signal comes just before the call, the
 * next one interrupts it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"
#include "fail.h"
#include "unix_meeting.h"

#define WAKE_SIGNAL (SIGRTMIN + 6)
#define NS_PER_MS 1000000L

/* glibc does not define this name. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

struct session {
    struct unix_meeting meeting;
    int in;  /* or -1 */
    int out; /* or -1 */
    timer_t timer;
    bool ticking; /* the timer exists */
};

static int pipe_probe(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    int ends[2];
    (void)options;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return fail(reason, reason_bytes, "cannot make a pipe");
    }
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static int pipe_open(const struct driver_options *options, void **opened, char *error,
                     size_t error_bytes)
{
    struct session *session = malloc(sizeof *session);
    if (session == NULL) {
        return -ENOMEM;
    }
    *session = (struct session){.in = -1, .out = -1};
    int result = unix_meeting_open(&session->meeting, options, error, error_bytes);
    if (result != 0) {
        free(session);
        return result;
    }
    *opened = session;
    return 0;
}

static int pipe_address(void *opened, char *text, size_t text_bytes)
{
    const struct session *session = opened;
    return unix_meeting_address(&session->meeting, text, text_bytes);
}

/* The responder creates the pipes, and keeps its end of each. */
static int make_pipes(struct session *session, char *error, size_t error_bytes)
{
    int to[2];
    int from[2];
    if (pipe2(to, O_CLOEXEC) != 0) {
        return fail(error, error_bytes, "cannot make a pipe");
    }
    if (pipe2(from, O_CLOEXEC) != 0) {
        int result = fail(error, error_bytes, "cannot make a pipe");
        close(to[0]);
        close(to[1]);
        return result;
    }
    const int given[] = {to[0], from[1]};
    session->out = to[1];
    session->in = from[0];
    int result = unix_meeting_give(&session->meeting, given, 2, error, error_bytes);
    close(given[0]);
    close(given[1]);
    return result;
}

static int take_pipes(struct session *session, char *error, size_t error_bytes)
{
    int taken[2];
    int result = unix_meeting_take(&session->meeting, taken, 2, error, error_bytes);
    if (result == 0) {
        session->in = taken[0];
        session->out = taken[1];
    }
    return result;
}

static void wake(int number)
{
    (void)number; /* interrupting the call is all it does */
}

static int make_timer(struct session *session, char *error, size_t error_bytes)
{
    struct sigaction action = {.sa_handler = wake}; /* without SA_RESTART */
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = WAKE_SIGNAL};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    session->ticking = sigaction(WAKE_SIGNAL, &action, NULL) == 0 &&
                       timer_create(CLOCK_MONOTONIC, &event, &session->timer) == 0;
    return session->ticking ? 0 : fail(error, error_bytes, "cannot make a timer");
}

/* No timer runs while the session is idle. */
static int set_timer(const struct session *session, long interval_ns)
{
    const struct itimerspec times = {.it_interval = {.tv_nsec = interval_ns},
                                     .it_value = {.tv_nsec = interval_ns}};
    return timer_settime(session->timer, 0, &times, NULL) == 0 ? 0 : -errno;
}

static int pipe_prepare(void *opened, uint64_t size)
{
    (void)size;
    return set_timer(opened, UNIX_MEETING_WAIT_MS * NS_PER_MS);
}

static int pipe_flush(void *opened)
{
    return set_timer(opened, 0);
}

static int pipe_connect(void *opened, const char *peer, char *error, size_t error_bytes)
{
    struct session *session = opened;
    /* A write to a pipe without a reader returns an error instead of ending the process. */
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    if (sigaction(SIGPIPE, &ignore, NULL) != 0) {
        return fail(error, error_bytes, "cannot ignore SIGPIPE");
    }
    int result = unix_meeting_connect(&session->meeting, peer, error, error_bytes);
    if (result == 0) {
        result = session->meeting.role == DRIVER_RESPONDER
                     ? make_pipes(session, error, error_bytes)
                     : take_pipes(session, error, error_bytes);
    }
    return result == 0 ? make_timer(session, error, error_bytes) : result;
}

/* The error of a failed call; 0: try again. */
static int trouble(const struct session *session)
{
    if (errno != EINTR) {
        return -errno;
    }
    return unix_meeting_stopped(&session->meeting) ? -ECANCELED : 0;
}

static int pipe_send(void *opened, const void *data, uint64_t size)
{
    const struct session *session = opened;
    const char *at = data;
    while (size > 0) {
        ssize_t count = write(session->out, at, size);
        if (count > 0) {
            at += count;
            size -= (uint64_t)count;
            continue;
        }
        int error = trouble(session);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static int pipe_receive(void *opened, void *data, uint64_t size)
{
    const struct session *session = opened;
    char *at = data;
    while (size > 0) {
        ssize_t count = read(session->in, at, size);
        if (count > 0) {
            at += count;
            size -= (uint64_t)count;
            continue;
        }
        int error = count == 0 ? -ECONNRESET : trouble(session);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static void pipe_close(void *opened)
{
    struct session *session = opened;
    if (session->ticking) {
        timer_delete(session->timer);
    }
    if (session->in >= 0) {
        close(session->in);
    }
    if (session->out >= 0) {
        close(session->out);
    }
    unix_meeting_close(&session->meeting);
    free(session);
}

static const struct driver PIPE = {
    .abi = DRIVER_ABI,
    .name = "pipe",
    .summary = "two pipes between two processes of one host, blocking",
    .placement = DRIVER_HOST,
    .reliable = true,
    .min_size = 1,
    .max_size = UINT64_C(1) << 30,
    .probe = pipe_probe,
    .open = pipe_open,
    .address = pipe_address,
    .connect = pipe_connect,
    .prepare = pipe_prepare,
    .send = pipe_send,
    .receive = pipe_receive,
    .flush = pipe_flush,
    .close = pipe_close,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&PIPE, NULL};
    return TABLE;
}
