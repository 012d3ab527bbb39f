/* SPDX-License-Identifier: BSD-3-Clause */
#include "faults.h"

#include <stdlib.h>

#define MILLISECOND UINT64_C(1000000)
#define SECOND (1000 * MILLISECOND)

/** Sum of outages without excuse: less than a third of the peer timeout. */
#define OUTAGE_MAX_NS (1500 * MILLISECOND)

/** Time between two bursts of a flood. */
#define FLOOD_PAUSE_NS 20000u

/** Frames per million to and from a mangled node that arrive with a changed byte. */
#define MANGLED_PPM 10000

const char *fault_name(enum fault_kind kind)
{
    static const char *const names[FAULT_KINDS] = {
#define FAULT_ENTRY(name, text) text,
        FAULTS(FAULT_ENTRY)
#undef FAULT_ENTRY
    };

    return names[kind];
}

/* ---- the plan ------------------------------------------------------------------------------ */

static void plan(struct faults *faults, const struct fault_event *event)
{
    if (faults->count == FAULT_EVENTS_MAX) {
        abort();
    }
    faults->events[faults->count++] = *event;
}

/** Between a microsecond and `most_ns`; each order of magnitude is equally likely. */
static uint64_t some_time(struct random *random, uint64_t most_ns)
{
    unsigned shift = (unsigned)random_below(random, 20);
    uint64_t most = most_ns >> shift;

    return 1000 + random_below(random, most + 1);
}

static uint64_t some_moment(struct faults *faults)
{
    return cluster_now(faults->workload->cluster) + random_below(&faults->random, faults->span_ns);
}

static uint32_t some_node(struct faults *faults)
{
    return (uint32_t)random_below(&faults->random, faults->workload->cluster->node_count);
}

static uint32_t some_other(struct faults *faults, uint32_t node)
{
    uint32_t nodes = faults->workload->cluster->node_count;

    return (uint32_t)((node + 1 + random_below(&faults->random, nodes - 1)) % nodes);
}

/** The length of an outage that all peers must survive. */
static uint64_t short_outage(struct faults *faults)
{
    uint64_t outage_ns = some_time(&faults->random, faults->outage_left_ns);

    outage_ns = outage_ns < faults->outage_left_ns ? outage_ns : faults->outage_left_ns;
    faults->outage_left_ns -= outage_ns;
    return outage_ns;
}

static uint64_t long_outage(struct faults *faults)
{
    uint64_t patience_ns = faults->workload->cluster->options.peer_timeout_ns;

    return patience_ns / 2 + random_below(&faults->random, 2 * patience_ns);
}

static void plan_flap(struct faults *faults)
{
    const struct cluster *cluster = faults->workload->cluster;
    struct fault_event event = {
        .at_ns = some_moment(faults), .action = ACTION_UNPLUG, .node = some_node(faults)};
    bool for_good = cluster->whole_rails > 1 && random_below(&faults->random, 3) == 0;

    /* Only rail 0 is unplugged permanently, at any node, so another rail remains. */
    event.other = for_good ? 0 : (uint32_t)random_below(&faults->random, cluster->rails);
    plan(faults, &event);
    if (!for_good) {
        event.at_ns += short_outage(faults);
        event.action = ACTION_PLUG;
        plan(faults, &event);
    }
}

static void plan_partition(struct faults *faults)
{
    struct fault_event event = {
        .at_ns = some_moment(faults), .action = ACTION_CUT, .node = some_node(faults)};
    bool is_long = random_below(&faults->random, 2) == 0;

    event.other = some_other(faults, event.node);
    event.excuse = is_long ? EXCUSE_PARTED : 0;
    plan(faults, &event);
    event.at_ns += is_long ? long_outage(faults) : short_outage(faults);
    event.action = ACTION_MEND;
    plan(faults, &event);
}

static void plan_end(struct faults *faults, enum fault_action action, bool restarts)
{
    struct fault_event event = {
        .at_ns = some_moment(faults), .action = action, .node = some_node(faults)};

    event.excuse = restarts || action == ACTION_LEAVE ? EXCUSE_ENDED : EXCUSE_CRASHED;
    plan(faults, &event);
    if (restarts) {
        event.at_ns += some_time(&faults->random, 2 * SECOND);
        event.action = ACTION_START;
        plan(faults, &event);
    }
}

static void plan_jump(struct faults *faults)
{
    plan(faults, &(struct fault_event){.at_ns = some_moment(faults),
                                       .action = ACTION_JUMP,
                                       .node = some_node(faults),
                                       .value_ns = some_time(&faults->random, 60 * SECOND)});
}

/** The pause may be of any length: the host is there, and reports that the process has not
 *  ended. */
static void plan_pause(struct faults *faults)
{
    bool is_long = random_below(&faults->random, 4) == 0;

    plan(faults,
         &(struct fault_event){.at_ns = some_moment(faults),
                               .action = ACTION_PAUSE,
                               .node = some_node(faults),
                               .value_ns = is_long ? long_outage(faults) : short_outage(faults),
                               .excuse = is_long && !faults->hosts_tell ? EXCUSE_PARTED : 0});
}

/** Any length below the wire's; most often one with which a connection can be opened. */
static uint16_t some_length(struct faults *faults)
{
    static const uint16_t ways[] = {CONNECTION_SHORTEST_MTU, 1280, 1420, 1472, 1500, 4000, 8999};
    struct random *random = &faults->random;
    uint32_t carried = faults->workload->cluster->frame_bytes;
    uint32_t least = random_below(random, 8) == 0 || carried <= CONNECTION_SHORTEST_MTU
                         ? FRAME_BYTES_MIN / 2
                         : CONNECTION_SHORTEST_MTU;
    uint16_t way = ways[random_below(random, sizeof ways / sizeof *ways)];
    uint16_t any = (uint16_t)(least + random_below(random, carried - least));

    return way < carried && least == CONNECTION_SHORTEST_MTU && random_below(random, 2) == 0 ? way
                                                                                             : any;
}

/** From the beginning or later; permanently or not; one way or both; on all networks or one. */
static void plan_narrow(struct faults *faults)
{
    struct random *random = &faults->random;
    const struct cluster *cluster = faults->workload->cluster;
    bool at_once = random_below(random, 3) > 0;
    bool both_ways = random_below(random, 2) == 0;
    struct fault_event event = {.at_ns = at_once ? cluster_now(cluster) : some_moment(faults),
                                .action = ACTION_NARROW,
                                .node = some_node(faults),
                                .rails = (1u << cluster->rails) - 1,
                                .bytes = some_length(faults)};

    event.other = some_other(faults, event.node);
    if (random_below(random, 4) == 0) {
        event.rails = 1u << random_below(random, cluster->rails);
    }
    uint64_t end_ns = random_below(random, 3) == 0 ? some_moment(faults) + long_outage(faults) : 0;
    for (unsigned i = 0; i < (both_ways ? 2u : 1u); i++) {
        plan(faults, &event);
        if (end_ns != 0) {
            struct fault_event end = event;
            end.at_ns = end_ns;
            end.action = ACTION_WIDEN;
            plan(faults, &end);
        }
        uint32_t node = event.node;
        event.node = event.other;
        event.other = node;
    }
}

/** A node that posts nothing begins late, or leaves without having posted anything. */
static void plan_quiet(struct faults *faults)
{
    uint32_t node = some_node(faults);
    bool for_ever = random_below(&faults->random, 2) == 0;

    workload_mute(faults->workload, node, true);
    faults->happened[FAULT_QUIET]++;
    plan(faults, &(struct fault_event){.at_ns = some_moment(faults) + faults->span_ns + SECOND +
                                                random_below(&faults->random, 8 * SECOND),
                                       .action = for_ever ? ACTION_LEAVE : ACTION_UNMUTE,
                                       .node = node,
                                       .excuse = for_ever ? EXCUSE_ENDED : 0});
}

static void plan_flood(struct faults *faults)
{
    struct fault_event event = {
        .at_ns = some_moment(faults), .action = ACTION_FLOOD, .node = some_node(faults)};

    event.other = some_other(faults, event.node);
    plan(faults, &event);
    event.at_ns += faults->span_ns + random_below(&faults->random, SECOND);
    event.action = ACTION_DRAIN;
    if (random_below(&faults->random, 3) == 0) {
        event.action = ACTION_LEAVE;
        event.node = event.other;
        event.excuse = EXCUSE_ENDED;
    }
    plan(faults, &event);
}

static void mangle(struct faults *faults)
{
    const struct cluster *cluster = faults->workload->cluster;
    uint32_t node = some_node(faults);

    for (uint32_t other = 0; other < cluster->node_count; other++) {
        if (!cluster_checks(cluster, node) || !cluster_checks(cluster, other)) {
            workload_excuse(faults->workload, node, other, EXCUSE_MANGLED);
        }
    }
    sim_wire_mangle(faults->workload->cluster->wire, node, MANGLED_PPM);
}

static int by_time(const void *a, const void *b)
{
    const struct fault_event *left = a;
    const struct fault_event *right = b;

    if (left->at_ns != right->at_ns) {
        return left->at_ns > right->at_ns ? 1 : -1;
    }
    return (int)left->action - (int)right->action;
}

void faults_open(struct faults *faults, struct workload *workload, uint32_t kinds, bool hosts_tell,
                 uint64_t seed)
{
    *faults = (struct faults){.workload = workload,
                              .kinds = kinds,
                              .hosts_tell = hosts_tell,
                              .outage_left_ns = OUTAGE_MAX_NS,
                              .span_ns = workload->options.duration_ns * 3 / 2 + 1};
    random_seed(&faults->random, seed ^ UINT64_C(0xFA17));
    for (enum fault_kind kind = 0; kind < FAULT_KINDS; kind++) {
        unsigned times = 1 + (unsigned)random_below(&faults->random, 3);
        if ((kinds & FAULT_BIT(kind)) == 0) {
            continue;
        }
        switch (kind) {
        case FAULT_FLAP:
            for (; times > 0; times--) {
                plan_flap(faults);
            }
            break;
        case FAULT_PARTITION:
            for (; times > 0; times--) {
                plan_partition(faults);
            }
            break;
        case FAULT_CRASH:
            plan_end(faults, ACTION_CRASH, false);
            break;
        case FAULT_RESTART:
            for (; times > 0; times--) {
                plan_end(faults, ACTION_CRASH, true);
            }
            break;
        case FAULT_LEAVE:
            plan_end(faults, ACTION_LEAVE, false);
            break;
        case FAULT_CLOCK:
            for (; times > 0; times--) {
                plan_jump(faults);
            }
            break;
        case FAULT_PAUSE:
            for (; times > 0; times--) {
                plan_pause(faults);
            }
            break;
        case FAULT_QUIET:
            plan_quiet(faults);
            break;
        case FAULT_FLOOD:
            plan_flood(faults);
            break;
        case FAULT_MANGLE:
            mangle(faults);
            break;
        case FAULT_NARROW:
            for (; times > 0; times--) {
                plan_narrow(faults);
            }
            break;
        case FAULT_LOSS:
        case FAULT_DUPLICATE:
        case FAULT_DELAY:
        case FAULT_REORDER:
        case FAULT_CORRUPT:
        case FAULT_REFUSE:
        case FAULT_QUEUE:
        case FAULT_WRAP:
        case FAULT_CROWD:
        case FAULT_STRANGER:
        case FAULT_KINDS:
            break; /* faults of the wire, or of the start */
        }
    }
    qsort(faults->events, faults->count, sizeof *faults->events, by_time);
}

/* ---- what happens -------------------------------------------------------------------------- */

static void excuse(struct faults *faults, const struct fault_event *event)
{
    if (event->excuse == 0) {
        return;
    }
    if (event->action == ACTION_CUT) {
        workload_excuse(faults->workload, event->node, event->other,
                        (enum workload_excuse)event->excuse);
    } else {
        workload_excuse_all(faults->workload, event->node, (enum workload_excuse)event->excuse);
    }
}

/** Has one of these nodes begun to connect to the other? */
static bool have_met(const struct cluster *cluster, uint32_t a, uint32_t b)
{
    const struct core *core = &cluster->nodes[a].core;

    for (uint32_t i = 0; cluster_is_up(cluster, a) && i < core->peer_count; i++) {
        if (cluster_node_of(cluster, core, core->peers[i]->message.handle) == b &&
            core->peers[i]->connection.state != CONNECTION_NONE) {
            return true;
        }
    }
    return false;
}

/** Nodes that have not met yet must lose nothing if some length arrives: they find it when they
 *  connect. But if they meet over another network, and lose that later, they first use the limited
 *  one then. */
static void narrow(struct faults *faults, const struct fault_event *event)
{
    const struct cluster *cluster = faults->workload->cluster;
    bool wide = event->action == ACTION_WIDEN;
    bool some_rails = event->rails != (1u << cluster->rails) - 1;
    bool flaps = (faults->kinds & FAULT_BIT(FAULT_FLAP)) != 0;

    if (!wide && ((some_rails && flaps) || event->bytes < CONNECTION_SHORTEST_MTU ||
                  have_met(cluster, event->node, event->other) ||
                  have_met(cluster, event->other, event->node))) {
        workload_excuse(faults->workload, event->node, event->other, EXCUSE_PARTED);
    }
    for (uint32_t rail = 0; rail < cluster->rails; rail++) {
        if ((event->rails >> rail & 1) != 0) {
            sim_wire_narrow(cluster->wire, event->node, event->other, rail,
                            wide ? SIM_ANY_LENGTH : event->bytes);
        }
    }
}

static void end_node(struct faults *faults, const struct fault_event *event)
{
    struct cluster *cluster = faults->workload->cluster;
    bool leaves = event->action == ACTION_LEAVE;

    if (!cluster_is_up(cluster, event->node)) {
        return; /* another fault ended it before */
    }
    if (leaves) {
        cluster_leave(cluster, event->node);
    } else {
        cluster_crash(cluster, event->node);
    }
    workload_node_ended(faults->workload, event->node);
    workload_mute(faults->workload, event->node, false); /* its successor is not */
    faults->happened[leaves ? FAULT_LEAVE : FAULT_CRASH]++;
}

static void act(struct faults *faults, const struct fault_event *event)
{
    static const char *const names[] = {
        [ACTION_CUT] = "cut",       [ACTION_MEND] = "mend",   [ACTION_UNPLUG] = "unplug",
        [ACTION_PLUG] = "plug",     [ACTION_CRASH] = "crash", [ACTION_START] = "start",
        [ACTION_LEAVE] = "leave",   [ACTION_JUMP] = "clock",  [ACTION_PAUSE] = "pause",
        [ACTION_UNMUTE] = "unmute", [ACTION_FLOOD] = "flood", [ACTION_DRAIN] = "drain",
        [ACTION_NARROW] = "narrow", [ACTION_WIDEN] = "widen",
    };
    struct workload *workload = faults->workload;
    struct cluster *cluster = workload->cluster;

    cluster_trace(cluster, "fault %s node %u other %u value %llu", names[event->action],
                  event->node, event->other,
                  (unsigned long long)(event->bytes > 0 ? event->bytes : event->value_ns));
    excuse(faults, event);
    switch (event->action) {
    case ACTION_CUT:
        sim_wire_cut(cluster->wire, event->node, event->other, true);
        faults->happened[FAULT_PARTITION]++;
        break;
    case ACTION_MEND:
        sim_wire_cut(cluster->wire, event->node, event->other, false);
        break;
    case ACTION_UNPLUG:
        sim_wire_unplug(cluster->wire, event->node, event->other, true);
        faults->happened[FAULT_FLAP]++;
        break;
    case ACTION_PLUG:
        sim_wire_unplug(cluster->wire, event->node, event->other, false);
        break;
    case ACTION_CRASH:
    case ACTION_LEAVE:
        end_node(faults, event);
        break;
    case ACTION_START:
        if (!cluster_is_up(cluster, event->node)) {
            cluster_start(cluster, event->node);
            workload_node_started(workload, event->node);
            workload_excuse_all(workload, event->node, EXCUSE_ENDED);
            faults->happened[FAULT_RESTART]++;
        }
        break;
    case ACTION_JUMP:
        cluster_jump_clock(cluster, event->node, event->value_ns);
        faults->happened[FAULT_CLOCK]++;
        break;
    case ACTION_PAUSE:
        cluster_pause(cluster, event->node, cluster_now(cluster) + event->value_ns);
        faults->happened[FAULT_PAUSE]++;
        break;
    case ACTION_UNMUTE:
        workload_mute(workload, event->node, false);
        break;
    case ACTION_FLOOD:
        if (cluster_is_up(cluster, event->node) && cluster_is_up(cluster, event->other)) {
            flood_open(&faults->flood, workload, event->node, event->other);
            faults->flooding = true;
            faults->happened[FAULT_FLOOD]++;
        }
        break;
    case ACTION_DRAIN:
        if (faults->flooding) {
            flood_drain(&faults->flood);
        }
        break;
    case ACTION_NARROW:
    case ACTION_WIDEN:
        narrow(faults, event);
        break;
    }
}

uint64_t faults_step(struct faults *faults)
{
    const struct cluster *cluster = faults->workload->cluster;

    while (faults->next < faults->count &&
           faults->events[faults->next].at_ns <= cluster_now(cluster)) {
        act(faults, &faults->events[faults->next++]);
    }
    uint64_t next_ns =
        faults->next < faults->count ? faults->events[faults->next].at_ns : UINT64_MAX;
    if (faults->flooding) {
        flood_step(&faults->flood);
        uint64_t again_ns = cluster_now(cluster) + FLOOD_PAUSE_NS;
        next_ns = flood_is_over(&faults->flood) || next_ns < again_ns ? next_ns : again_ns;
    }
    return next_ns;
}

bool faults_are_over(const struct faults *faults)
{
    return faults->next == faults->count && (!faults->flooding || flood_is_over(&faults->flood));
}

void faults_close(struct faults *faults)
{
    if (faults->flooding) {
        flood_close(&faults->flood);
    }
}
