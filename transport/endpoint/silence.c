/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a peer may be silent, and what is no silence of the peer's. */
#include "endpoint/core_internal.h"

uint64_t core_counted_absence(const struct core *core)
{
    uint64_t part_ns = core->options.peer_timeout_ns / 8;

    return part_ns > ABSENCE_COUNTED_NS ? part_ns : ABSENCE_COUNTED_NS;
}

static uint64_t later(uint64_t since_ns, uint64_t by_ns, uint64_t now_ns)
{
    if (since_ns == 0) {
        return 0; /* nothing is waited for */
    }
    return now_ns - since_ns < by_ns ? now_ns : since_ns + by_ns;
}

/** When did whoever owns the core begin to be late? */
static uint64_t late_since(const struct core *core)
{
    return core->deadline_ns > core->attended_ns ? core->deadline_ns : core->attended_ns;
}

void core_attend(struct core *core, uint64_t now_ns)
{
    uint64_t since_ns = late_since(core);

    if (since_ns < now_ns && now_ns - since_ns > core_counted_absence(core)) {
        core_forgive_absence(core, now_ns - since_ns, now_ns);
    }
    core->attended_ns = now_ns;
}

void core_forgive_absence(struct core *core, uint64_t absence_ns, uint64_t now_ns)
{
    uint64_t by_ns = absence_ns - core_counted_absence(core);

    for (uint32_t i = 0; i < core->peer_count; i++) {
        struct core_peer *peer = core->peers[i];
        struct flow *flow = &peer->message.flow;
        peer->connection.asking_since_ns = later(peer->connection.asking_since_ns, by_ns, now_ns);
        peer->connection.answered_ns = later(peer->connection.answered_ns, by_ns, now_ns);
        flow->waiting_since_ns = later(flow->waiting_since_ns, by_ns, now_ns);
        flow->stuck_since_ns = later(flow->stuck_since_ns, by_ns, now_ns);
        peer->message.data_silent_since_ns =
            later(peer->message.data_silent_since_ns, by_ns, now_ns);
    }
}

/** When has it lasted so many timeouts? @param since_ns 0: it has not begun */
static uint64_t end_of(const struct core *core, uint64_t since_ns, unsigned timeouts)
{
    uint64_t patience_ns = core->options.peer_timeout_ns;

    if (since_ns == 0 || patience_ns > (UINT64_MAX - since_ns) / timeouts) {
        return UINT64_MAX;
    }
    return since_ns + timeouts * patience_ns;
}

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/** When has nothing come for too long of the data that a peer is asked for, although it answers? */
static uint64_t unserved_at(const struct core *core, const struct message_peer *peer)
{
    return peer->pulls > 0 && peer->flow.unanswered == 0
               ? end_of(core, peer->data_silent_since_ns, PULL_STUCK_TIMEOUTS)
               : UINT64_MAX;
}

uint64_t core_dies_at(const struct core *core, const struct core_peer *peer)
{
    const struct flow *flow = &peer->message.flow;

    switch (peer->connection.state) {
    case CONNECTION_ASKING:
        return end_of(core, peer->connection.asking_since_ns, 1);
    case CONNECTION_ANSWERED:
        return sooner(end_of(core, peer->connection.asking_since_ns, 1),
                      end_of(core, peer->connection.answered_ns, 1));
    case CONNECTION_OPEN:
        if (!paths_is_proven(&peer->paths)) {
            return end_of(core, peer->connection.answered_ns, 1);
        }
        return sooner(sooner(end_of(core, flow->waiting_since_ns, 1),
                             end_of(core, flow_stuck_since(flow), 1)),
                      unserved_at(core, &peer->message));
    default:
        return UINT64_MAX;
    }
}
