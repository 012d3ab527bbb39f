/* SPDX-License-Identifier: BSD-3-Clause */
#include "run.h"

#include "oracle.h"
#include "remote_oracle.h"
#include "scenario.h"
#include "stranger.h"
#include "trace.h"

#define SECOND UINT64_C(1000000000)

/** Time after the last post and fault in which everything must complete. */
#define LONGEST_NS (60 * SECOND)

/** Time for what is still on its way at the end, such as the last acknowledgements. */
#define LINGER_NS (5 * SECOND)

/** How long a host may take to report that a process has ended, if it seldom does: it is asked once
 *  a second. */
#define TOLD_NS (60 * SECOND)
#define LINGERS_MAX 6

/** The most nodes of which each connects to all others, to move sequence numbers. */
#define WRAP_NODES_MAX 8

/** Faults that may end an endpoint. */
#define KINDS_THAT_END                                                                             \
    (FAULT_BIT(FAULT_CRASH) | FAULT_BIT(FAULT_RESTART) | FAULT_BIT(FAULT_LEAVE) |                  \
     FAULT_BIT(FAULT_QUIET) | FAULT_BIT(FAULT_FLOOD) | FAULT_BIT(FAULT_PARTITION) |                \
     FAULT_BIT(FAULT_PAUSE) | FAULT_BIT(FAULT_NARROW))

struct running {
    const struct run_options *options;
    struct scenario scenario;
    struct cluster cluster;
    struct workload workload;
    struct remote_work remote;
    struct faults faults;
    struct stranger *stranger; /**< NULL: none */
    bool wrapped;              /**< sequence numbers began just before they wrap */
};

/** Moves sequence numbers to just before they wrap, at both ends. Nothing was sent yet, so they
 *  continue from there. */
static void move_sequences(struct cluster *cluster, uint32_t by)
{
    for (uint32_t from = 0; from < cluster->node_count; from++) {
        for (uint32_t to = 0; to < cluster->node_count; to++) {
            if (from == to) {
                continue;
            }
            struct flow *sender = &cluster_peer(cluster, from, to)->message.flow;
            struct flow *receiver = &cluster_peer(cluster, to, from)->message.flow;
            sender->first += by;
            sender->released += by;
            sender->highest += by;
            sender->next += by;
            sender->limit += by;
            sender->reported += by;
            for (unsigned way = 0; way < FLOW_WAYS; way++) {
                sender->loss.ways[way].forward += by;
            }
            receiver->expected += by;
            receiver->seen += by;
            receiver->granted += by;
            receiver->granted_sent += by;
        }
    }
}

/** Connects all pairs without a message, and waits until the wire is empty. */
static void connect_all(struct cluster *cluster)
{
    for (uint32_t from = 0; from < cluster->node_count; from++) {
        for (uint32_t to = from + 1; to < cluster->node_count; to++) {
            struct core_peer *peer = cluster_peer(cluster, from, to);
            connection_ask(&peer->connection, cluster_now(cluster));
            core_service(&cluster->nodes[from].core, peer, cluster_now(cluster));
        }
    }
    cluster_run(cluster, cluster_now(cluster) + LINGER_NS);
}

/** Limit of operations at a node, enough for all that the workload posts, up to a maximum. */
static uint32_t operations_for(const struct scenario *scenario)
{
    uint32_t wanted = 512 + 2 * scenario->work.messages;
    uint32_t room = 2000000 / scenario->wire.nodes;

    wanted = wanted < room ? wanted : room;
    return wanted < 32768 ? wanted : 32768;
}

static void begin(struct running *running)
{
    struct cluster *cluster = &running->cluster;
    const struct scenario *scenario = &running->scenario;

    bool strange = (scenario->kinds & FAULT_BIT(FAULT_STRANGER)) != 0;
    struct sim_options wire = scenario->wire;

    wire.nodes += strange; /* the stranger's place is behind the nodes */
    cluster_open(cluster, &wire);
    cluster->node_count = scenario->wire.nodes;
    cluster->trace = running->options->trace;
    if (cluster->trace != NULL) {
        sim_wire_observe(cluster->wire, trace_frame, cluster->trace);
    }
    if (strange) {
        running->stranger =
            stranger_open(cluster, scenario->work.duration_ns, running->options->seed);
        running->stranger->resets_allowed = !scenario_has_silence(scenario);
    }
    cluster->sealing = scenario->sealing;
    cluster->unchecked = scenario->unchecked;
    cluster->options.go_back_n = scenario->go_back_n;
    cluster->computing = scenario->computing;
    cluster->options.hold = scenario->bundle;
    cluster->options.limits = &scenario->limits;
    cluster->options.peer_timeout_ns = scenario->peer_timeout_ns;
    cluster->options.operations = operations_for(scenario);
    cluster->options.peers = 2 * scenario->wire.nodes + 16; /* some start again */
    for (uint32_t i = 0; i < scenario->wire.nodes; i++) {
        cluster_start(cluster, i);
    }
    if ((scenario->kinds & FAULT_BIT(FAULT_WRAP)) != 0 && scenario->wire.nodes <= WRAP_NODES_MAX) {
        connect_all(cluster);
        move_sequences(cluster, 0u - 1u - (uint32_t)(running->options->seed % 100));
        running->wrapped = true;
    }
}

/** When the last paused node continues. */
static uint64_t last_pause(const struct cluster *cluster)
{
    uint64_t until_ns = 0;

    for (uint32_t i = 0; i < cluster->node_count; i++) {
        uint64_t paused_ns = cluster->nodes[i].paused_until_ns;
        until_ns = cluster_is_up(cluster, i) && paused_ns > until_ns ? paused_ns : until_ns;
    }
    return until_ns;
}

/** @return when the stranger acts next; UINT64_MAX: never. */
static uint64_t step_stranger(struct running *running)
{
    return running->stranger != NULL ? stranger_step(running->stranger) : UINT64_MAX;
}

static void step_until(struct running *running, uint64_t until_ns)
{
    while (cluster_now(&running->cluster) < until_ns) {
        uint64_t next_ns = step_stranger(running);
        (void)workload_step(&running->workload, next_ns < until_ns ? next_ns : until_ns);
    }
}

/** No operation waits any longer for an endpoint that has ended; a receive that no message has
 *  matched must have failed, too. */
static void check_waiting(struct running *running)
{
    struct cluster *cluster = &running->cluster;
    struct workload *workload = &running->workload;

    for (uint32_t at = 0; at < cluster->node_count; at++) {
        const struct core *core = &cluster->nodes[at].core;
        for (uint32_t i = 0; cluster_is_up(cluster, at) && i < core->peer_count; i++) {
            const struct core_peer *peer = core->peers[i];
            uint32_t of = cluster_node_of(cluster, core, peer->message.handle);
            bool ended =
                !cluster_is_up(cluster, of) || cluster->nodes[of].incarnation != peer->incarnation;
            if (ended && message_depends_on(&peer->message)) {
                oracle_blame(workload, &workload->verdict.hung,
                             "node %u waits for an endpoint of node %u that has ended", at, of);
            }
        }
    }
}

/** Has every frame been acknowledged? If many frames are lost, several probes may be lost in
 *  succession, each after a longer pause. */
static bool is_quiet(const struct cluster *cluster)
{
    for (uint32_t at = 0; at < cluster->node_count; at++) {
        const struct core *core = &cluster->nodes[at].core;
        for (uint32_t i = 0; cluster_is_up(cluster, at) && i < core->peer_count; i++) {
            const struct core_peer *peer = core->peers[i];
            if (peer->connection.state == CONNECTION_OPEN && !flow_is_idle(&peer->message.flow)) {
                return false;
            }
        }
    }
    return true;
}

static void linger(struct running *running)
{
    unsigned times = 0;

    do {
        step_until(running, cluster_now(&running->cluster) + LINGER_NS);
    } while (++times < LINGERS_MAX && !is_quiet(&running->cluster));
}

static void live(struct running *running)
{
    struct cluster *cluster = &running->cluster;
    struct workload *workload = &running->workload;
    uint64_t end_ns = UINT64_MAX;
    bool finished = false;

    while (cluster_now(cluster) < end_ns && (!finished || !faults_are_over(&running->faults))) {
        uint64_t next_ns = faults_step(&running->faults);
        uint64_t strange_ns = step_stranger(running);
        next_ns = strange_ns < next_ns ? strange_ns : next_ns;
        if (end_ns == UINT64_MAX && running->faults.next == running->faults.count &&
            workload->messages_due == workload->message_count) {
            end_ns = cluster_now(cluster) + LONGEST_NS;
        }
        finished = workload_step(workload, next_ns < end_ns ? next_ns : end_ns);
    }
    step_until(running, last_pause(cluster));
    if ((running->scenario.kinds & KINDS_THAT_END) != 0) {
        /* Peers of an ended endpoint must give up. If hosts report it, this is when they are told,
         * which may take several questions. */
        uint64_t patience_ns =
            running->scenario.wire.told_ppm > 0
                ? TOLD_NS + STILL_ASKING_TIMEOUTS * cluster->options.peer_timeout_ns
                : cluster->options.peer_timeout_ns;
        step_until(running, cluster_now(cluster) + patience_ns + LINGER_NS);
        check_waiting(running);
    }
    workload_cancel(workload);
    linger(running);
    workload_cancel(workload);
}

/** Nothing may be left in any node, except what is expected. */
static void check_left(struct running *running)
{
    struct cluster *cluster = &running->cluster;
    const struct flood *flood = &running->faults.flood;

    cluster_check(cluster);
    bool mangled = (running->scenario.kinds & FAULT_BIT(FAULT_MANGLE)) != 0 ||
                   running->scenario.wire.deliver_corrupted;
    if ((mangled && cluster->unchecked != 0) || !oracle_is_well(&running->workload.verdict)) {
        return;
    }
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        bool flooded = running->faults.flooding && flood->received != flood->sent &&
                       (i == flood->to || i == flood->from);
        if (cluster_is_up(cluster, i) && !flooded) {
            cluster_check_node_empty(cluster, i);
        }
    }
}

static void count_wire(const struct running *running, struct run_result *result)
{
    const struct sim_counters *counters = sim_wire_counters(running->cluster.wire);

    memcpy(result->faults, running->faults.happened, sizeof result->faults);
    result->faults[FAULT_LOSS] = counters->lost;
    result->faults[FAULT_DUPLICATE] = counters->doubled;
    result->faults[FAULT_DELAY] = counters->delayed;
    result->faults[FAULT_REORDER] = counters->overtaken;
    result->faults[FAULT_CORRUPT] = counters->corrupted;
    result->faults[FAULT_REFUSE] = counters->refused;
    result->faults[FAULT_QUEUE] = counters->overflowed;
    result->faults[FAULT_MANGLE] = counters->mangled;
    result->faults[FAULT_NARROW] = counters->too_long;
    result->faults[FAULT_WRAP] = running->wrapped;
    result->faults[FAULT_CROWD] = running->cluster.node_count >= 200;
    result->kinds.tacit = counters->tacit;
    result->kinds.evened = counters->evened;
    result->kinds.unread = counters->unread;
    result->kinds.told = counters->told;
    result->frames = counters->sent;
    result->faults[FAULT_STRANGER] = counters->forged;
    if (running->stranger != NULL) {
        result->kinds.replayed = running->stranger->replayed;
        result->kinds.altered = running->stranger->altered;
    }
}

/** Segments received over lanes that cut. */
static void count_segments(const struct path_lanes *lanes, struct run_kinds *kinds)
{
    for (unsigned i = 0; i < lanes->count; i++) {
        const struct lane *lane = lanes->lanes[i];
        if (lane->cuts) {
            kinds->cut += lane->received_frames;
            kinds->placed += lane->placed_frames;
        }
    }
}

static void count_nodes(const struct cluster *cluster, struct run_result *result)
{
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        const struct core *core = &cluster->nodes[i].core;
        const struct message_counters *counters = &core->messages.counters;
        if (!cluster_is_up(cluster, i)) {
            continue;
        }
        result->kinds.eager += counters->eager_messages;
        result->kinds.long_messages += counters->announced_messages;
        result->kinds.bundled += counters->bundled_messages;
        result->kinds.held += cluster->nodes[i].held;
        result->kinds.computed += cluster->nodes[i].computed;
        result->kinds.kept += cluster->nodes[i].kept;
        result->kinds.unexpected += counters->unexpected_messages;
        result->kinds.unasked_blocks += counters->data_unasked;
        result->kinds.pulls_repeated += counters->pulls_repeated;
        result->kinds.messages_read += counters->messages_read;
        result->kinds.blocks_read += counters->blocks_read;
        count_segments(&cluster->nodes[i].lanes, &result->kinds);
        result->kinds.unsealed += core->counters.dropped_seal;
        result->kinds.damaged += core->counters.dropped_damaged;
        result->kinds.path_changes += core->counters.path_changes;
        result->kinds.peers_failed += core->counters.peers_failed;
        for (uint32_t j = 0; j < core->peer_count; j++) {
            result->retransmitted += core->peers[j]->message.flow.retransmitted_frames;
        }
        result->chunks_limit = core->messages.chunk_count + core->messages.chunks_added;
    }
}

bool run(const struct run_options *options, struct run_result *result)
{
    struct running running = {.options = options};

    *result = (struct run_result){0};
    scenario_plan(&running.scenario, options);
    begin(&running);
    workload_open(&running.workload, &running.cluster, &running.scenario.work, options->seed);
    if (running.scenario.remote.operations > 0) {
        remote_work_open(&running.remote, &running.workload, &running.scenario.remote,
                         options->seed);
    }
    faults_open(&running.faults, &running.workload, running.scenario.kinds,
                running.scenario.wire.told_ppm > 0, options->seed);
    live(&running);
    oracle_close(&running.workload);
    if (running.workload.remote != NULL) {
        remote_oracle_close(&running.remote);
    }
    faults_close(&running.faults);
    if (running.stranger != NULL) {
        stranger_check(running.stranger);
    }
    check_left(&running);
    result->nodes = running.cluster.node_count;
    result->messages = running.workload.message_count;
    result->counters = running.workload.counters;
    result->remote = running.remote.counters;
    result->verdict = running.workload.verdict;
    result->virtual_ns = cluster_now(&running.cluster) - running.scenario.wire.start_ns;
    result->hash = cluster_hash(&running.cluster);
    result->chunks_peak = running.cluster.chunks_peak;
    count_wire(&running, result);
    count_nodes(&running.cluster, result);
    workload_close(&running.workload);
    if (running.workload.remote != NULL) {
        remote_work_close(&running.remote);
    }
    if (running.stranger != NULL) {
        stranger_close(running.stranger);
    }
    cluster_close(&running.cluster);
    return oracle_is_well(&result->verdict);
}
