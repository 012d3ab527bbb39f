/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: by the application's calls, while it waits, and by the keeper. */
#include "endpoint/endpoint.h"

#include "pull/pull.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>

/** While nothing arrives, the clock is read only at each of this many polls. */
#define POLLS_PER_CLOCK 16

/** And the status of the lanes is read at each of this many. */
#define POLLS_PER_STATUS (1u << 20)

/** Rounds of progress of the keeper in one turn. */
#define KEEPER_ROUNDS 16

static void publish_if_due(struct beowire_endpoint *endpoint, uint64_t now_ns)
{
    if (now_ns >= endpoint->stats.due_ns) {
        stats_publish(&endpoint->stats, &endpoint->core, now_ns);
    }
}

bool endpoint_progress(struct beowire_endpoint *endpoint)
{
    struct core *core = &endpoint->core;

    if (endpoint->status != 0) {
        endpoint->status = core_status(core); /* an interface may be up again */
    }
    if (core_receive(core, endpoint_clock_of, endpoint) > 0) {
        endpoint->idle_polls = 0;
        publish_if_due(endpoint, core->messages.now_ns);
        if (core_asks_looks(core)) {
            core_look_held(core, false, endpoint_clock(endpoint));
        }
        return true;
    }
    if (core_asks_looks(core)) {
        core_look_held(core, true, endpoint_clock(endpoint));
    }
    if (core_has_bulk(core)) {
        core_bulk(core, endpoint_clock(endpoint));
    }
    unsigned polls = ++endpoint->idle_polls;
    if (core->deadline_ns != UINT64_MAX && polls % POLLS_PER_CLOCK == 0) {
        core_timers(core, endpoint_clock(endpoint));
    }
    if (polls % POLLS_PER_STATUS == 0) {
        endpoint->status = core_status(core);
    }
    return false;
}

/* ---- sleeping ------------------------------------------------------------------------------ */

static struct pollfd to_read(int descriptor)
{
    return (struct pollfd){.fd = descriptor, .events = POLLIN};
}

/** Fills in the descriptors that become readable when a frame comes, at most
 * ENDPOINT_DESCRIPTORS_MAX. @return their number; 0: frames have arrived already. */
static unsigned arm(struct beowire_endpoint *endpoint, struct pollfd *readable)
{
    const struct path_lanes *lanes = &endpoint->core.options.lanes;
    unsigned count = 0;

    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        const struct lane_operations *operations = lane->operations;
        if (operations->arm != NULL && !operations->arm(lane)) {
            return 0;
        }
        readable[count++] = to_read(operations->descriptor(lane));
        if (operations->other_descriptor != NULL) {
            readable[count++] = to_read(operations->other_descriptor(lane));
        }
    }
    return count;
}

static int sleep_on(struct pollfd *readable, unsigned count, uint64_t time_ns)
{
    struct timespec timeout = {.tv_sec = (time_t)(time_ns / 1000000000u),
                               .tv_nsec = (long)(time_ns % 1000000000u)};

    return ppoll(readable, count, &timeout, NULL) < 0 ? -errno : 0;
}

/** The latest time at which a thread that sleeps now must wake up. */
static uint64_t wake_time(const struct beowire_endpoint *endpoint, uint64_t now_ns, uint64_t end_ns)
{
    uint64_t wake_ns = endpoint->core.deadline_ns < end_ns ? endpoint->core.deadline_ns : end_ns;

    if (stats_is_stale(&endpoint->stats, &endpoint->core)) {
        /* The last change must be published, too. */
        uint64_t due_ns = endpoint->stats.due_ns;
        wake_ns = due_ns > now_ns && due_ns < wake_ns ? due_ns : wake_ns;
    }
    return wake_ns;
}

/** Sleeps until a frame comes, a timer is due, or `end_ns`. */
static int sleep_until(struct beowire_endpoint *endpoint, uint64_t now_ns, uint64_t end_ns)
{
    uint64_t wake_ns = wake_time(endpoint, now_ns, end_ns);
    struct pollfd readable[ENDPOINT_DESCRIPTORS_MAX];

    if (core_has_bulk(&endpoint->core)) {
        if (!endpoint->core.bulk_is_stuck) {
            return 0;
        }
        uint64_t pull_ns = pull_deadline(&endpoint->core.messages);
        wake_ns = end_ns < now_ns + POLL_STUCK_NS ? end_ns : now_ns + POLL_STUCK_NS;
        wake_ns = pull_ns > now_ns && pull_ns < wake_ns ? pull_ns : wake_ns;
    }
    if (wake_ns <= now_ns) {
        return 0;
    }
    if (core_has_held(&endpoint->core)) {
        core_send_held(&endpoint->core, now_ns);
        return 0;
    }
    endpoint->status = core_status(&endpoint->core);
    if (endpoint->status != 0) {
        return endpoint->status;
    }
    unsigned count = arm(endpoint, readable);
    if (count == 0) {
        return 0;
    }
    core_look_at_all(&endpoint->core);
    return sleep_on(readable, count, wake_ns - now_ns);
}

/* ---- the application waits ----------------------------------------------------------------- */

static bool has_completions(const struct beowire_endpoint *endpoint)
{
    return message_has_completions(&endpoint->core.messages);
}

static void note_patience(struct patience *patience, bool disturbed)
{
    if (disturbed) {
        patience_disturbed(patience);
    } else {
        patience_undisturbed(patience);
    }
}

static int wait_for_completions(struct beowire_endpoint *endpoint, uint64_t timeout_ns)
{
    struct patience *patience = &endpoint->patience;
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    uint64_t spun_since_ns = 0;
    uint64_t now_ns = 0;
    bool disturbed = false;
    bool found = false; /* a frame has come since the clock was read */

    for (unsigned looks = 0;; looks++) {
        found = endpoint_progress(endpoint) || found;
        if (has_completions(endpoint)) {
            if (!disturbed) {
                note_patience(patience, false);
            }
            return 1;
        }
        if (endpoint->status != 0) {
            return endpoint->status;
        }
        if (start_ns != 0 && looks % POLLS_PER_CLOCK != 0 && timeout_ns != 0) {
            continue; /* polling is cheaper than reading the clock */
        }
        uint64_t before_ns = now_ns;
        now_ns = endpoint_clock(endpoint);
        if (start_ns == 0) {
            start_ns = spun_since_ns = before_ns = now_ns;
            end_ns = start_ns + timeout_ns < start_ns ? UINT64_MAX : start_ns + timeout_ns;
        }
        core_timers(&endpoint->core, now_ns);
        publish_if_due(endpoint, now_ns);
        if (now_ns >= end_ns) {
            return has_completions(endpoint);
        }
        if (found) {
            spun_since_ns = now_ns; /* a message is arriving: its next frame will come soon */
        } else if (patience_is_gap(now_ns - before_ns)) {
            disturbed = true;
            note_patience(patience, true);
        }
        if (now_ns - spun_since_ns >= patience->spin_ns && !has_completions(endpoint)) {
            int status = sleep_until(endpoint, now_ns, end_ns);
            if (status != 0) {
                return status;
            }
            now_ns = spun_since_ns = endpoint_clock(endpoint);
        }
        found = false;
    }
}

int beowire_wait(beowire_endpoint *endpoint, uint64_t timeout_ns)
{
    int status = endpoint_enter(endpoint);

    if (status == 0) {
        status = wait_for_completions(endpoint, timeout_ns);
        endpoint_leave(endpoint);
    }
    return status;
}

int endpoint_flush(struct beowire_endpoint *endpoint, uint64_t timeout_ns)
{
    struct core *core = &endpoint->core;
    uint64_t start_ns = endpoint_clock(endpoint);
    uint64_t end_ns = start_ns + timeout_ns < start_ns ? UINT64_MAX : start_ns + timeout_ns;
    uint64_t spun_since_ns = start_ns;
    uint64_t now_ns = start_ns;

    while (!core_is_flushed(core)) {
        bool found = endpoint_progress(endpoint);
        if (endpoint->status != 0) {
            return endpoint->status;
        }
        now_ns = endpoint_clock(endpoint);
        core_timers(core, now_ns);
        publish_if_due(endpoint, now_ns);
        if (core_is_flushed(core)) {
            break;
        }
        if (now_ns >= end_ns) {
            return -ETIMEDOUT;
        }
        spun_since_ns = found ? now_ns : spun_since_ns;
        if (now_ns - spun_since_ns >= endpoint->patience.spin_ns) {
            /* The next poll notices a signal, or an interface that is down. */
            (void)sleep_until(endpoint, now_ns, end_ns);
            spun_since_ns = endpoint_clock(endpoint);
        }
    }
    core_acknowledge(core, now_ns);
    return 0;
}

/** Do others want the core? */
static bool is_contended(struct beowire_endpoint *endpoint, uint64_t now_ns)
{
    bool contended = contention_look(&endpoint->contention, now_ns);

    if (contended) {
        crowd_noticed(&endpoint->crowd, now_ns);
    }
    return contended;
}

/** Sleeps for a short time, or until a frame comes, unless there is something for the application
 *  already: what the keeper received, or what it has not asked for. */
static void take_break(struct beowire_endpoint *endpoint, uint64_t now_ns)
{
    if (!has_completions(endpoint) && endpoint_served(endpoint) == endpoint->served_seen) {
        (void)sleep_until(endpoint, now_ns, now_ns + POLL_BREAK_NS);
    }
}

void endpoint_break(struct beowire_endpoint *endpoint)
{
    publish_if_due(endpoint, endpoint_clock(endpoint));
    uint64_t now_ns = endpoint_clock(endpoint);

    note_patience(&endpoint->patience, is_contended(endpoint, now_ns));
    if (patience_is_crowded(&endpoint->patience)) {
        take_break(endpoint, now_ns);
    }
}

/** Yields the core. Meanwhile the keeper waits, as it does while the application polls. */
static void give_way(struct beowire_endpoint *endpoint, uint64_t now_ns)
{
    (void)sched_yield();
    uint64_t back_ns = endpoint_clock(endpoint);
    if (crowd_yielded(&endpoint->crowd, now_ns, back_ns)) {
        (void)is_contended(endpoint, back_ns);
    }
    if (back_ns - now_ns >= FLOW_PROBE_MIN_NS) {
        core_timers(&endpoint->core, back_ns); /* POLLS_PER_CLOCK such polls would take long */
    }
}

void endpoint_idle(struct beowire_endpoint *endpoint)
{
    if (core_has_bulk(&endpoint->core) && !endpoint->core.bulk_is_stuck) {
        return; /* nothing arrives, but there is work */
    }
    uint64_t now_ns = endpoint_clock(endpoint);
    enum crowd_advice advice = crowd_look(&endpoint->crowd, now_ns, endpoint->idle_polls);

    if (advice == CROWD_YIELD) {
        give_way(endpoint, now_ns);
    } else if (advice == CROWD_SLEEP) {
        core_timers(&endpoint->core, now_ns); /* POLLS_PER_CLOCK such polls would take long */
        publish_if_due(endpoint, now_ns);
        (void)is_contended(endpoint, now_ns);
        take_break(endpoint, now_ns);
        crowd_slept(&endpoint->crowd, endpoint_clock(endpoint));
    }
}

/* ---- the application waits at a descriptor --------------------------------------------------- */

int beowire_descriptor(beowire_endpoint *endpoint)
{
    int status = endpoint_enter(endpoint);

    if (status != 0) {
        return status;
    }
    if (!endpoint->descriptor.is_open) {
        status = descriptor_open(&endpoint->descriptor, &endpoint->core.options.lanes);
    }
    endpoint_leave(endpoint);
    return status != 0 ? status : endpoint->descriptor.all;
}

static int arm_descriptor(struct beowire_endpoint *endpoint)
{
    struct core *core = &endpoint->core;
    struct pollfd readable[ENDPOINT_DESCRIPTORS_MAX];

    if (!endpoint->descriptor.is_open) {
        return -EINVAL;
    }
    descriptor_quieten(&endpoint->descriptor);
    if (endpoint_progress(endpoint)) {
        return -EAGAIN;
    }
    uint64_t now_ns = endpoint_clock(endpoint);
    core_send_held(core, now_ns);
    core_timers(core, now_ns);
    publish_if_due(endpoint, now_ns);
    if (has_completions(endpoint) || core_has_bulk(core) ||
        endpoint_served(endpoint) != endpoint->served_seen) {
        return -EAGAIN;
    }
    endpoint->status = core_status(core);
    if (endpoint->status != 0) {
        return endpoint->status;
    }
    if (arm(endpoint, readable) == 0) {
        return -EAGAIN;
    }
    core_look_at_all(core);
    descriptor_set_timer(&endpoint->descriptor, wake_time(endpoint, now_ns, UINT64_MAX));
    return 0;
}

int beowire_arm(beowire_endpoint *endpoint)
{
    int status = endpoint_enter(endpoint);

    if (status == 0) {
        status = arm_descriptor(endpoint);
        endpoint_leave(endpoint);
    }
    return status;
}

/* ---- the keeper ------------------------------------------------------------------------------ */

/** The application may sleep on the descriptor, and the keeper has received the frames that would
 *  have woken it. `quiet`: there is no work until a frame arrives or a timer is due. */
static void keep_descriptor(struct beowire_endpoint *endpoint, bool quiet)
{
    bool stays = endpoint->keeper.duty.sleep != NULL; /* then the keeper does the rest in time */

    if (has_completions(endpoint) || endpoint_served(endpoint) != endpoint->served_seen ||
        (!quiet && !stays)) {
        descriptor_ring(&endpoint->descriptor);
    } else {
        descriptor_set_timer(&endpoint->descriptor,
                             stays ? UINT64_MAX : endpoint->core.deadline_ns);
    }
}

/** Bytes received and sent, over all lanes. */
static uint64_t moved_bytes(const struct core *core)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < core->options.lanes.count; i++) {
        const struct lane *lane = core->options.lanes.lanes[i];
        bytes += lane->sent_bytes + lane->received_bytes;
    }
    return bytes;
}

static bool keeper_progress(void *context)
{
    struct beowire_endpoint *endpoint = context;
    struct core *core = &endpoint->core;
    uint64_t before_bytes = moved_bytes(core);

    core_look_at_all(core);
    for (unsigned i = 0; i < KEEPER_ROUNDS; i++) {
        if (!endpoint_progress(endpoint) && (!core_has_bulk(core) || core->bulk_is_stuck)) {
            break; /* nothing has arrived, and nothing can be sent */
        }
    }
    uint64_t arrived_ns = endpoint_clock(endpoint);
    if (core_has_held(&endpoint->core)) {
        core_look_held(&endpoint->core, true, arrived_ns); /* noticed late */
    }
    core_timers(&endpoint->core, arrived_ns);
    publish_if_due(endpoint, arrived_ns);
    endpoint->keeper_sleep_ns = 0;
    if (endpoint->keeper.duty.sleep != NULL) {
        endpoint->status =
            core_status(&endpoint->core); /* clears errors, which would end any sleep */
    }
    bool has_bulk = core_has_bulk(core);
    endpoint->keeper_descriptors =
        has_bulk && !core->bulk_is_stuck ? 0 : arm(endpoint, endpoint->keeper_readable);
    bool quiet = endpoint->keeper_descriptors > 0 && !has_bulk;
    if (quiet) {
        uint64_t now_ns = endpoint_clock(endpoint);
        endpoint->keeper_sleep_ns = core->deadline_ns > now_ns ? core->deadline_ns - now_ns : 0;
    } else if (endpoint->keeper_descriptors > 0) {
        endpoint->keeper_sleep_ns = POLL_STUCK_NS; /* until a lane has room */
    }
    if (endpoint->descriptor.is_open) {
        keep_descriptor(endpoint, quiet);
    }
    return moved_bytes(core) - before_bytes >= KEEPER_MOVING_BYTES;
}

static void keeper_sleep(void *context, uint64_t timeout_ns, int wake)
{
    struct beowire_endpoint *endpoint = context;
    unsigned count = endpoint->keeper_descriptors;
    uint64_t time_ns = endpoint->keeper_sleep_ns;

    if (time_ns == 0) {
        return;
    }
    /* Longer than the interval, so that an idle process costs nothing. */
    uint64_t most_ns = timeout_ns * 100;
    endpoint->keeper_readable[count] = (struct pollfd){.fd = wake, .events = POLLIN};
    (void)sleep_on(endpoint->keeper_readable, count + 1, time_ns < most_ns ? time_ns : most_ns);
}

int endpoint_keeper(struct beowire_endpoint *endpoint, enum beowire_progress progress)
{
    struct keeper_duty duty = {.progress = keeper_progress, .context = endpoint};

    switch (progress) {
    case BEOWIRE_PROGRESS_CALLS:
        return 0;
    case BEOWIRE_PROGRESS_KEEPER:
        return keeper_start(&endpoint->keeper, &endpoint->turn, KEEPER_INTERVAL_NS, &duty);
    case BEOWIRE_PROGRESS_THREAD:
        duty.sleep = keeper_sleep;
        return keeper_start(&endpoint->keeper, &endpoint->turn, KEEPER_THREAD_INTERVAL_NS, &duty);
    }
    return -EINVAL;
}
