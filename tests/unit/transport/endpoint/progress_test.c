/* SPDX-License-Identifier: BSD-3-Clause */
/* Who makes progress, over the veth pair of a network namespace of the test's own. */
#include "endpoint/endpoint.h"

#include "namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "endpoints.h"
#include "unit/test.h"

#define MILLISECOND UINT64_C(1000000)
#define LONG_BYTES (4u << 20)

static beowire_endpoint *open_endpoint(const char *interface, enum beowire_progress progress,
                                       uint64_t peer_timeout_ns)
{
    return open_over(NULL, interface, progress, peer_timeout_ns);
}

static struct beowire_completion await(beowire_endpoint *endpoint)
{
    struct beowire_completion done = {0};

    assert_int_equal(beowire_wait(endpoint, PATIENCE_NS), 1);
    assert_int_equal(beowire_poll(endpoint, &done, 1), 1);
    return done;
}

TEST(keeper__acknowledges_for_an_application_that_is_away)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, SECOND);
    beowire_endpoint *b = open_endpoint("end1", BEOWIRE_PROGRESS_KEEPER, SECOND);

    assert_int_equal(beowire_send(a, know(a, b), 1, 0, "x", 1, NULL), 0);
    assert_int_equal(beowire_flush(a, PATIENCE_NS), 0);
    assert_int_equal(beowire_close(a, 0), 0);
    assert_int_equal(beowire_close(b, 0), 0);
}

TEST(keeper__proves_that_the_process_lives)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, SECOND / 2);
    beowire_endpoint *b = open_endpoint("end1", BEOWIRE_PROGRESS_KEEPER, SECOND / 2);
    beowire_peer peer = know(a, b);
    char buffer[1];

    assert_int_equal(beowire_inject(a, peer, 1, 0, "x", 1), -EAGAIN); /* connects */
    assert_int_equal(beowire_send(a, peer, 1, 0, "x", 1, NULL), 0);
    assert_int_equal(await(a).status, 0);
    assert_int_equal(beowire_receive(a, peer, 2, 0, buffer, 1, NULL), 0);
    assert_int_equal(beowire_wait(a, 2 * SECOND), 0); /* four times the timeout: no error */
    assert_int_equal(beowire_close(a, 0), 0);
    assert_int_equal(beowire_close(b, 0), 0);
}

/** Its host is there, and does not refuse what is for it: it stands still. */
TEST(calls__whoever_does_not_call_is_waited_for)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, SECOND);
    beowire_endpoint *b = open_endpoint("end1", BEOWIRE_PROGRESS_CALLS, SECOND);
    beowire_peer peer = know(a, b);
    struct beowire_event event = {0};

    assert_int_equal(beowire_event(a, NULL), -EINVAL);
    assert_int_equal(beowire_event(a, &event), 0);
    assert_int_equal(beowire_send(a, peer, 1, 0, "x", 1, a), 0);
    while (beowire_event(a, &event) == 0) { /* the test has a timeout */
        assert_int_equal(beowire_wait(a, SECOND / 100), 0);
    }
    assert_int_equal(event.kind, BEOWIRE_PEER_STANDS_STILL);
    assert_int_equal(event.peer, peer);
    assert_true(event.since_ns >= SECOND);
    while (beowire_wait(a, SECOND / 100) == 0) {
        assert_true(beowire_poll(b, NULL, 0) >= 0);
    }
    struct beowire_completion done = await(a);
    assert_int_equal(done.status, 0);
    assert_int_equal(beowire_event(a, &event), 1);
    assert_int_equal(event.kind, BEOWIRE_PEER_GOES_ON);
    assert_int_equal(beowire_event(a, &event), 0);
    while (beowire_flush(a, 0) != 0) {
        assert_true(beowire_poll(b, NULL, 0) >= 0);
    }
    assert_int_equal(beowire_close(a, 0), 0);
    assert_int_equal(beowire_close(b, 0), 0);
}

/** Over Ethernet frames alone nobody would say that a process has ended. */
TEST(calls__whoever_does_not_call_and_has_only_frames_is_taken_for_dead)
{
    beowire_endpoint *a = open_over("packet", "end0", BEOWIRE_PROGRESS_CALLS, SECOND / 5);
    beowire_endpoint *b = open_over("packet", "end1", BEOWIRE_PROGRESS_CALLS, SECOND / 5);
    beowire_peer peer = know(a, b);

    assert_int_equal(beowire_send(a, peer, 1, 0, "x", 1, a), 0);
    struct beowire_completion done = await(a);
    assert_int_equal(done.status, -ETIMEDOUT);
    assert_int_equal(done.peer, peer);
    assert_int_equal(beowire_close(a, 0), 0);
    assert_int_equal(beowire_close(b, 0), 0);
}

TEST(thread__moves_a_long_message_while_both_compute)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_THREAD, 5 * SECOND);
    beowire_endpoint *b = open_endpoint("end1", BEOWIRE_PROGRESS_THREAD, 5 * SECOND);
    char *source = malloc(LONG_BYTES);
    char *target = calloc(1, LONG_BYTES);

    assert_non_null(source);
    assert_non_null(target);
    memset(source, 7, LONG_BYTES);
    assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, 1, 0, target, LONG_BYTES, NULL), 0);
    assert_int_equal(beowire_send(a, know(a, b), 1, 0, source, LONG_BYTES, NULL), 0);
    /* Nobody makes progress here, and now and then somebody looks. */
    bool done = false;
    for (int i = 0; i < 1000 && !done; i++) {
        struct timespec pause = {.tv_nsec = 20000000};
        (void)nanosleep(&pause, NULL);
        turn_enter(&b->turn);
        done = !list_is_empty(&b->core.messages.completed);
        turn_leave(&b->turn);
    }
    assert_true(done);
    assert_int_equal(await(b).status, 0);
    assert_memory_equal(source, target, LONG_BYTES);
    assert_int_equal(await(a).status, 0);
    assert_int_equal(beowire_close(a, PATIENCE_NS), 0);
    assert_int_equal(beowire_close(b, PATIENCE_NS), 0);
    free(source);
    free(target);
}

/** By which it is decided how soon it looks again. */
TEST(keeper__says_whether_much_has_moved)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, 5 * SECOND);
    beowire_endpoint *b = open_endpoint("end1", BEOWIRE_PROGRESS_KEEPER, 5 * SECOND);
    const struct keeper_duty *duty = &b->keeper.duty;
    char *data = calloc(2, LONG_BYTES);
    bool much = false;
    bool done = false;

    assert_non_null(data);
    assert_int_equal(
        beowire_receive(b, BEOWIRE_ANY_PEER, 1, 0, data + LONG_BYTES, LONG_BYTES, NULL), 0);
    assert_int_equal(beowire_send(a, know(a, b), 1, 0, data, LONG_BYTES, NULL), 0);
    while (!done) {
        assert_int_equal(beowire_poll(a, NULL, 0), 0);
        turn_enter(&b->turn); /* the keeper's own thread stays away */
        much = duty->progress(duty->context) || much;
        done = !list_is_empty(&b->core.messages.completed);
        turn_leave(&b->turn);
    }
    assert_true(much);
    assert_int_equal(await(b).status, 0);
    assert_int_equal(await(a).status, 0);
    turn_enter(&b->turn);
    (void)duty->progress(duty->context); /* what is left of it */
    assert_false(duty->progress(duty->context));
    turn_leave(&b->turn);
    assert_int_equal(beowire_close(a, PATIENCE_NS), 0);
    assert_int_equal(beowire_close(b, PATIENCE_NS), 0);
    free(data);
}

TEST(poll__gives_the_core_away_only_if_it_is_wanted)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, SECOND);

    for (unsigned i = 0; i < 10 * POLLS_PER_BREAK; i++) {
        assert_int_equal(beowire_poll(a, NULL, 0), 0);
    }
    a->patience.spin_ns = PATIENCE_SPIN_MIN_NS; /* as if it were */
    uint64_t start_ns = now_ns();
    endpoint_break(a);
    assert_true(now_ns() - start_ns >= POLL_BREAK_NS);
    assert_int_equal(beowire_close(a, 0), 0);
}

/** A program that looks elsewhere for so long after each poll. */
static void poll_slowly(beowire_endpoint *a, unsigned polls, uint64_t apart_ns)
{
    for (unsigned i = 0; i < polls; i++) {
        uint64_t end_ns = now_ns() + apart_ns;
        while (now_ns() < end_ns) {
            /* elsewhere */
        }
        assert_int_equal(beowire_poll(a, NULL, 0), 0);
    }
}

/** In place of libc's: counts, and may take long. */
static unsigned yields;
static uint64_t yield_ns;

int sched_yield(void)
{
    uint64_t long_ns = __atomic_load_n(&yield_ns, __ATOMIC_RELAXED);
    uint64_t end_ns = now_ns() + long_ns;

    __atomic_add_fetch(&yields, 1, __ATOMIC_RELAXED);
    while (long_ns != 0 && now_ns() < end_ns) {
        /* others compute */
    }
    return (int)syscall(SYS_sched_yield);
}

/** In place of libc's: the same thread has always lost its core as often, each another number. */
static _Thread_local long losses;

int getrusage(__rusage_who_t who, struct rusage *usage)
{
    if (losses == 0 || who != RUSAGE_THREAD) {
        return (int)syscall(SYS_getrusage, who, usage);
    }
    *usage = (struct rusage){.ru_nivcsw = losses};
    return 0;
}

/** As if the kernel did not tell how long a thread has waited for its core: then any loss of it
 *  counts. */
static void count_any_loss(beowire_endpoint *endpoint)
{
    struct contention *contention = &endpoint->contention;
    long switches = contention->switches;

    contention_close(contention);
    contention->asked = true;
    contention->thread = pthread_self();
    contention->switches = switches;
}

static void *break_off(void *endpoint)
{
    losses = 9;
    endpoint_break(endpoint);
    return NULL;
}

TEST(poll__by_several_threads_is_not_disturbance)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, SECOND);
    pthread_t other;

    losses = 5;
    endpoint_break(a);
    assert_int_equal(pthread_create(&other, NULL, break_off, a), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    endpoint_break(a);
    assert_false(patience_is_crowded(&a->patience));
    assert_false(crowd_is_there(&a->crowd));
    count_any_loss(a);
    losses = 6; /* and this is */
    endpoint_break(a);
    assert_true(crowd_is_there(&a->crowd));
    losses = 0;
    assert_int_equal(beowire_close(a, 0), 0);
}

/** In place of libc's: counts. What happens just before the calling thread sleeps, if anything:
 * then only that ends its sleep. */
static unsigned sleeps;
static _Thread_local void (*before_sleep)(void);
static _Thread_local uint64_t sleep_ns;

int ppoll(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout, const sigset_t *ss)
{
    struct timespec left = timeout != NULL ? *timeout : (struct timespec){0};

    __atomic_add_fetch(&sleeps, 1, __ATOMIC_RELAXED);
    sleep_ns = (uint64_t)left.tv_sec * SECOND + (uint64_t)left.tv_nsec;
    if (before_sleep != NULL) {
        before_sleep();
        left = (struct timespec){.tv_sec = PATIENCE_NS / SECOND};
    }
    return (int)syscall(SYS_ppoll, fds, nfds, timeout != NULL ? &left : NULL, ss, 8);
}

static unsigned yields_of(beowire_endpoint *a, unsigned polls)
{
    unsigned before = __atomic_load_n(&yields, __ATOMIC_RELAXED);

    a->idle_polls = 0;
    poll_slowly(a, polls, POLL_YIELD_AFTER_NS);
    return __atomic_load_n(&yields, __ATOMIC_RELAXED) - before;
}

TEST(poll__yields_only_where_others_want_the_core)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, SECOND);

    assert_int_equal(yields_of(a, 1 + 4 * POLLS_PER_CROWDED_LOOK), 0);
    crowd_noticed(&a->crowd, now_ns() + 10 * SECOND);
    assert_int_equal(yields_of(a, POLLS_PER_CROWDED_LOOK), 0); /* not at once */
    assert_in_range(yields_of(a, 1 + 4 * POLLS_PER_CROWDED_LOOK), 1, 4);
    a->crowd.yield_again_ns = now_ns() + 10 * SECOND;
    assert_int_equal(yields_of(a, 1 + 4 * POLLS_PER_CROWDED_LOOK), 0);
    assert_int_equal(beowire_close(a, 0), 0);
}

/** Two endpoints, one of which has long messages for the other that takes none, and their data. */
struct stuck {
    beowire_endpoint *a;
    beowire_endpoint *b;
    char *data;
};

/** The receiver shares our core, say, and our lane is full until it has had it. */
static struct stuck get_stuck(void)
{
    beowire_endpoint *a = open_over("shm", "end0", BEOWIRE_PROGRESS_CALLS, SECOND);
    beowire_endpoint *b = open_over("shm", "end0", BEOWIRE_PROGRESS_CALLS, SECOND);
    beowire_peer peer = know(a, b);
    const size_t bytes = LONG_BYTES / 16;
    char *data = calloc(2, LONG_BYTES);

    assert_non_null(data);
    for (unsigned i = 0; i < 16; i++) {
        char *target = data + i * bytes;
        assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, 1, 0, target, bytes, NULL), 0);
        assert_int_equal(beowire_send(a, peer, 1, 0, target + LONG_BYTES, bytes, NULL), 0);
    }
    for (unsigned i = 0; i < 100000 && !a->core.bulk_is_stuck; i++) {
        if (!core_has_bulk(&a->core)) {
            assert_int_equal(beowire_poll(b, NULL, 0), 0);
        }
        assert_int_equal(beowire_poll(a, NULL, 0), 0);
    }
    assert_true(a->core.bulk_is_stuck);
    return (struct stuck){.a = a, .b = b, .data = data};
}

static void close_stuck(const struct stuck *stuck)
{
    assert_int_equal(beowire_close(stuck->a, 0), -ETIMEDOUT); /* they were not delivered */
    assert_int_equal(beowire_close(stuck->b, 0), 0);
    free(stuck->data);
}

TEST(poll__yields_while_the_receiver_takes_nothing)
{
    struct stuck stuck = get_stuck();

    crowd_noticed(&stuck.a->crowd, now_ns() + 10 * SECOND);
    assert_true(yields_of(stuck.a, 1 + 4 * POLLS_PER_CROWDED_LOOK) > 0);
    close_stuck(&stuck);
}

/** It, or its own thread (NULL), sleeps again and again, though it has something to send. */
static void wait_asleep(beowire_endpoint *endpoint)
{
    unsigned slept = __atomic_load_n(&sleeps, __ATOMIC_RELAXED);
    uint64_t end_ns = now_ns() + SECOND / 2;

    while (__atomic_load_n(&sleeps, __ATOMIC_RELAXED) < slept + 10 && now_ns() < end_ns) {
        assert_int_equal(endpoint == NULL ? usleep(1000) : beowire_wait(endpoint, MILLISECOND), 0);
    }
    assert_true(__atomic_load_n(&sleeps, __ATOMIC_RELAXED) >= slept + 10);
}

TEST(wait__sleeps_while_the_receiver_takes_nothing)
{
    struct stuck stuck = get_stuck();

    wait_asleep(stuck.a);
    close_stuck(&stuck);
}

static unsigned take_none(struct lane *lane, const struct lane_address *to,
                          const struct lane_outgoing *frames, unsigned count)
{
    return 0;
}

static void set_operations(beowire_endpoint *endpoint, const struct lane_operations *operations)
{
    assert_int_equal(endpoint_enter(endpoint), 0);
    endpoint->core.options.lanes.lanes[0]->operations = operations;
    endpoint_leave(endpoint);
}

static bool is_announced(beowire_endpoint *endpoint)
{
    assert_int_equal(endpoint_enter(endpoint), 0);
    bool announced = !list_is_empty(&endpoint->core.messages.unexpected);
    endpoint_leave(endpoint);
    return announced;
}

/** A long message has been announced, and every card is full. */
static void refuse_requests(enum beowire_progress progress)
{
    beowire_endpoint *a = open_over("packet", "end0", progress, SECOND);
    beowire_endpoint *b = open_over("packet", "end1", BEOWIRE_PROGRESS_CALLS, SECOND);
    const struct lane_operations *before = a->core.options.lanes.lanes[0]->operations;
    struct lane_operations full = *before;
    static char data[2 * LONG_BYTES];

    (void)know(a, b);
    assert_int_equal(beowire_send(b, know(b, a), 1, 0, data, LONG_BYTES, NULL), 0);
    while (!is_announced(a)) {
        assert_int_equal(beowire_poll(a, NULL, 0), 0);
        assert_int_equal(beowire_poll(b, NULL, 0), 0);
    }
    full.send = take_none;
    set_operations(a, &full);
    assert_int_equal(
        beowire_receive(a, BEOWIRE_ANY_PEER, 1, 0, data + LONG_BYTES, LONG_BYTES, NULL), 0);
    wait_asleep(progress == BEOWIRE_PROGRESS_THREAD ? NULL : a);
    set_operations(a, before);
    assert_int_equal(await_both(a, b).status, 0);
    assert_int_equal(await_both(b, a).status, 0);
    (void)beowire_close(a, 0);
    (void)beowire_close(b, 0); /* the last acknowledgement may be missing */
}

TEST(wait__sleeps_while_no_lane_takes_requests)
{
    refuse_requests(BEOWIRE_PROGRESS_CALLS);
    refuse_requests(BEOWIRE_PROGRESS_THREAD);
}

TEST(poll__does_not_yield_to_those_that_compute)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, SECOND);

    crowd_noticed(&a->crowd, now_ns() + 10 * SECOND);
    a->crowd.yield_pause_ns = 10 * SECOND;
    __atomic_store_n(&yield_ns, YIELD_LONG_NS, __ATOMIC_RELAXED);
    assert_int_equal(yields_of(a, 1 + 4 * POLLS_PER_CROWDED_LOOK), 1);
    __atomic_store_n(&yield_ns, 0, __ATOMIC_RELAXED);
    assert_true(a->crowd.yield_again_ns > now_ns());
    assert_int_equal(beowire_close(a, 0), 0);
}

TEST(poll__sleeps_after_a_few_polls_that_are_far_apart)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, SECOND);

    a->patience.spin_ns = PATIENCE_SPIN_MIN_NS; /* as if others had wanted it */
    a->crowd.until_ns = now_ns() + 10 * SECOND;
    a->crowd.yield_again_ns = now_ns() + 10 * SECOND;
    uint64_t start_ns = now_ns();
    poll_slowly(a, POLLS_PER_BREAK / 2, POLL_FAR_SLEEP_AFTER_NS / 4);
    assert_true(crowd_is_there(&a->crowd));
    assert_true(a->crowd.idle_since_ns - start_ns >= POLL_FAR_SLEEP_AFTER_NS + POLL_BREAK_NS);
    assert_int_equal(beowire_close(a, 0), 0);
}

TEST(poll__does_not_sleep_between_pieces_of_work)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, SECOND);
    unsigned slept = __atomic_load_n(&sleeps, __ATOMIC_RELAXED);

    a->patience.spin_ns = PATIENCE_SPIN_MIN_NS;
    a->crowd.until_ns = a->crowd.yield_again_ns = now_ns() + 10 * SECOND;
    poll_slowly(a, 1 + 8 * POLLS_PER_CROWDED_LOOK, 2 * POLL_WORK_APART_NS);
    assert_int_equal(__atomic_load_n(&sleeps, __ATOMIC_RELAXED), slept);
    assert_int_equal(beowire_close(a, 0), 0);
}

/** As if polls far apart had found nothing for long on a core on which others compute. @return did
 *  it sleep? */
static bool wait_for_long(beowire_endpoint *a)
{
    unsigned slept = __atomic_load_n(&sleeps, __ATOMIC_RELAXED);

    for (unsigned i = 0; i < 100 && __atomic_load_n(&sleeps, __ATOMIC_RELAXED) == slept; i++) {
        (void)endpoint_progress(a);
        uint64_t now = endpoint_clock(a);
        a->crowd = (struct crowd){.until_ns = now + 10 * SECOND,
                                  .yield_again_ns = now + 10 * SECOND,
                                  .idle_since_ns = now - POLL_FAR_SLEEP_AFTER_NS,
                                  .look_ns = now - POLLS_PER_CROWDED_LOOK * POLL_FAR_APART_NS,
                                  .look_polls = a->idle_polls};
        a->idle_polls += POLLS_PER_CROWDED_LOOK;
        endpoint_idle(a);
    }
    return __atomic_load_n(&sleeps, __ATOMIC_RELAXED) != slept;
}

TEST(poll__sleeps_even_if_a_wait_would_spin)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, SECOND);

    assert_false(patience_is_crowded(&a->patience));
    assert_true(wait_for_long(a));
    assert_in_range(sleep_ns, 1, POLL_BREAK_NS);
    /* Until a timer is due. */
    uint64_t end_ns = now_ns() + PATIENCE_NS;
    do {
        assert_true(now_ns() < end_ns);
        a->core.deadline_ns = endpoint_clock(a) + POLL_BREAK_NS / 2;
        assert_true(wait_for_long(a));
    } while (sleep_ns > POLL_BREAK_NS / 2);
    assert_int_equal(beowire_close(a, 0), 0);
}

TEST(poll__does_not_sleep_while_there_is_something_for_the_application)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, SECOND);
    struct beowire_completion done[2];
    char buffer[1];

    assert_int_equal(beowire_receive(a, BEOWIRE_ANY_PEER, 1, 0, buffer, 1, NULL), 0);
    assert_int_equal(beowire_send(a, know(a, a), 1, 0, "x", 1, NULL), 0);
    assert_false(wait_for_long(a));
    unsigned slept = __atomic_load_n(&sleeps, __ATOMIC_RELAXED);
    a->patience.spin_ns = PATIENCE_SPIN_MIN_NS;
    endpoint_break(a);
    assert_int_equal(__atomic_load_n(&sleeps, __ATOMIC_RELAXED), slept);
    assert_int_equal(beowire_poll(a, done, 2), 2);
    /* The keeper has let a peer write. */
    a->served_seen--;
    assert_false(wait_for_long(a));
    a->served_seen++;
    assert_true(wait_for_long(a));
    assert_int_equal(beowire_close(a, 0), 0);
}

static beowire_endpoint *sender;
static beowire_peer sleeper;

static void send_to_sleeper(void)
{
    before_sleep = NULL;
    assert_int_equal(beowire_inject(sender, sleeper, 1, 0, "y", 1), 0);
}

TEST(poll__sleeps_until_a_frame_comes)
{
    const char *const lanes[] = {"packet", "udp", "shm", NULL};

    for (unsigned i = 0; i < sizeof lanes / sizeof lanes[0]; i++) {
        beowire_endpoint *a = open_over(lanes[i], "end0", BEOWIRE_PROGRESS_CALLS, SECOND);
        beowire_endpoint *b = open_over(lanes[i], "end1", BEOWIRE_PROGRESS_CALLS, SECOND);
        char buffer[2];
        sender = b;
        sleeper = know(b, a);
        for (unsigned j = 0; j < 2; j++) {
            assert_int_equal(beowire_receive(a, BEOWIRE_ANY_PEER, 1, 0, buffer + j, 1, NULL), 0);
        }
        assert_int_equal(beowire_send(b, sleeper, 1, 0, "x", 1, NULL), 0);
        assert_int_equal(await_both(a, b).status, 0);
        assert_int_equal(await_both(b, a).status, 0);
        uint64_t start_ns = now_ns();
        before_sleep = send_to_sleeper;
        assert_true(wait_for_long(a));
        assert_true(now_ns() - start_ns < PATIENCE_NS);
        assert_int_equal(await_both(a, b).status, 0);
        assert_int_equal(buffer[1], 'y');
        assert_int_equal(beowire_close(a, 0), 0);
        (void)beowire_close(b, 0); /* perhaps without an acknowledgement */
    }
}

TEST(poll__forgets_that_others_wanted_the_core)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, SECOND);

    a->crowd.until_ns = now_ns();
    poll_slowly(a, 1, 1);
    assert_false(crowd_is_there(&a->crowd));
    assert_int_equal(beowire_close(a, 0), 0);
}

TEST(poll__notices_that_the_core_is_wanted)
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, SECOND);

    assert_false(patience_is_crowded(&a->patience));
    endpoint_break(a);
    assert_false(patience_is_crowded(&a->patience));
    count_any_loss(a);
    a->contention.switches--; /* as if it had been taken away since the last look */
    endpoint_break(a);
    assert_true(patience_is_crowded(&a->patience));
    assert_true(crowd_is_there(&a->crowd));
    assert_int_equal(beowire_close(a, 0), 0);
}

/* ---- counters for other processes ---------------------------------------------------------- */

/** What is published of an endpoint, read while its own threads go on. */
static uint64_t published_eager_frames(const beowire_endpoint *endpoint)
{
    struct stats_type row;
    off_t at = offsetof(struct stats_file, types) + FRAME_EAGER * sizeof row;

    assert_int_equal(pread(endpoint->stats.descriptor, &row, sizeof row, at), sizeof row);
    assert_string_equal(row.name, "eager");
    return row.received;
}

TEST(keeper__publishes_for_an_application_that_is_away)
{
    const enum beowire_progress kinds[] = {BEOWIRE_PROGRESS_KEEPER, BEOWIRE_PROGRESS_THREAD};

    for (unsigned i = 0; i < 2; i++) {
        beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, 5 * SECOND);
        beowire_endpoint *b = open_endpoint("end1", kinds[i], 5 * SECOND);
        uint64_t start_ns = now_ns();
        assert_int_equal(published_eager_frames(b), 0);
        assert_int_equal(beowire_send(a, know(a, b), 1, 0, "x", 1, NULL), 0);
        while (published_eager_frames(b) == 0) {
            assert_true(now_ns() - start_ns < PATIENCE_NS);
            (void)beowire_flush(a, MILLISECOND);
        }
        assert_int_equal(published_eager_frames(b), 1);
        assert_int_equal(beowire_close(a, 0), 0);
        assert_int_equal(beowire_close(b, 0), 0);
    }
}

/** Lets `look` have its way with an endpoint until all that has happened is published. */
static void publishes_in_the_end(void (*look)(beowire_endpoint *endpoint))
{
    beowire_endpoint *a = open_endpoint("end0", BEOWIRE_PROGRESS_CALLS, 5 * SECOND);
    beowire_endpoint *b = open_endpoint("end1", BEOWIRE_PROGRESS_CALLS, 5 * SECOND);
    struct beowire_completion done;
    char buffer[1];
    uint64_t start_ns = now_ns();

    assert_int_equal(beowire_receive(b, BEOWIRE_ANY_PEER, 1, 0, buffer, 1, NULL), 0);
    assert_int_equal(beowire_send(a, know(a, b), 1, 0, "x", 1, NULL), 0);
    while (beowire_poll(b, &done, 1) == 0) {
        assert_true(now_ns() - start_ns < PATIENCE_NS);
        (void)beowire_wait(a, 0);
    }
    while (stats_is_stale(&b->stats, &b->core)) {
        assert_true(now_ns() - start_ns < PATIENCE_NS);
        look(b);
    }
    assert_int_equal(published_eager_frames(b), 1);
    assert_int_equal(beowire_close(a, 0), 0);
    assert_int_equal(beowire_close(b, 0), 0);
}

static void wait_for_nothing(beowire_endpoint *endpoint)
{
    assert_int_equal(beowire_wait(endpoint, SECOND), 0);
    assert_false(stats_is_stale(&endpoint->stats, &endpoint->core)); /* it was woken for it */
}

static void poll_for_nothing(beowire_endpoint *endpoint)
{
    struct beowire_completion completion;

    assert_int_equal(beowire_poll(endpoint, &completion, 1), 0);
}

TEST(wait__publishes_what_happened_last)
{
    publishes_in_the_end(wait_for_nothing);
}

TEST(poll__publishes_what_happened_last)
{
    publishes_in_the_end(poll_for_nothing);
}

/** How many of this process's sockets poll the network card for so long? */
static unsigned sockets_that_poll_us(int wanted_us)
{
    unsigned count = 0;

    for (int i = 0; i < 256; i++) {
        int time_us = -1;
        socklen_t length = sizeof time_us;
        if (getsockopt(i, SOL_SOCKET, SO_BUSY_POLL, &time_us, &length) == 0) {
            count += time_us == wanted_us;
        }
    }
    return count;
}

TEST(beowire_wait__polls_the_card_if_configured)
{
    assert_int_equal(setenv("BEOWIRE_SETTINGS", "busy_poll_us=37", 1), 0);
    beowire_endpoint *endpoint = open_with_lanes("end0", "packet,udp");
    assert_int_equal(sockets_that_poll_us(37), namespace_may_busy_poll() ? 2 : 0);
    assert_int_equal(beowire_close(endpoint, 0), 0);
    assert_int_equal(unsetenv("BEOWIRE_SETTINGS"), 0);
    endpoint = open_with_lanes("end0", "packet,udp");
    assert_int_equal(sockets_that_poll_us(37), 0);
    assert_int_equal(beowire_close(endpoint, 0), 0);
}
