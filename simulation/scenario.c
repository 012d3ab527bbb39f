/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario.h"

#include <string.h>

#define MILLISECOND UINT64_C(1000000)
#define SECOND (1000 * MILLISECOND)

/** The longest messages that are read at once from their sender's memory. */
#define READ_BYTES_MOST 400000

/** Faults of frames. */
#define KINDS_OF_WIRE                                                                              \
    (FAULT_BIT(FAULT_LOSS) | FAULT_BIT(FAULT_DUPLICATE) | FAULT_BIT(FAULT_DELAY) |                 \
     FAULT_BIT(FAULT_REORDER) | FAULT_BIT(FAULT_CORRUPT))

/** Faults of networks, which shared memory does not have. */
#define KINDS_OF_NETWORKS                                                                          \
    (KINDS_OF_WIRE | FAULT_BIT(FAULT_QUEUE) | FAULT_BIT(FAULT_FLAP) | FAULT_BIT(FAULT_PARTITION) | \
     FAULT_BIT(FAULT_MANGLE) | FAULT_BIT(FAULT_NARROW) | FAULT_BIT(FAULT_STRANGER))

/** Faults that may silence a peer for a while: then little else is lost, so that no peer times
 *  out. */
#define KINDS_OF_SILENCE                                                                           \
    (FAULT_BIT(FAULT_FLAP) | FAULT_BIT(FAULT_PARTITION) | FAULT_BIT(FAULT_CRASH) |                 \
     FAULT_BIT(FAULT_RESTART) | FAULT_BIT(FAULT_LEAVE) | FAULT_BIT(FAULT_PAUSE) |                  \
     FAULT_BIT(FAULT_QUIET) | FAULT_BIT(FAULT_FLOOD) | FAULT_BIT(FAULT_MANGLE) |                   \
     FAULT_BIT(FAULT_NARROW))

bool scenario_find(const char *name, uint32_t *kinds)
{
    if (strcmp(name, "all") == 0) {
        *kinds = RUN_ANY;
        return true;
    }
    if (strcmp(name, "wire") == 0) {
        *kinds = KINDS_OF_WIRE;
        return true;
    }
    for (enum fault_kind kind = 0; kind < FAULT_KINDS; kind++) {
        if (strcmp(name, fault_name(kind)) == 0) {
            *kinds = FAULT_BIT(kind);
            return true;
        }
    }
    return false;
}

/** How many of a thousand seeds have a fault of each kind. */
static uint32_t random_kinds(struct random *random)
{
    static const uint16_t permille[FAULT_KINDS] = {
        [FAULT_LOSS] = 650,    [FAULT_DUPLICATE] = 500, [FAULT_DELAY] = 500,
        [FAULT_REORDER] = 500, [FAULT_CORRUPT] = 400,   [FAULT_REFUSE] = 500,
        [FAULT_QUEUE] = 250,   [FAULT_FLAP] = 200,      [FAULT_PARTITION] = 150,
        [FAULT_CRASH] = 100,   [FAULT_RESTART] = 100,   [FAULT_LEAVE] = 80,
        [FAULT_CLOCK] = 200,   [FAULT_PAUSE] = 150,     [FAULT_QUIET] = 100,
        [FAULT_FLOOD] = 100,   [FAULT_MANGLE] = 150,    [FAULT_WRAP] = 200,
        [FAULT_CROWD] = 10,
    };
    uint32_t kinds = 0;

    for (enum fault_kind kind = 0; kind < FAULT_NARROW; kind++) {
        kinds |= random_below(random, 1000) < permille[kind] ? FAULT_BIT(kind) : 0;
    }
    return kinds;
}

/** One seed in this many has paths that lose long frames. */
#define NARROW_EVERY 6

/** Decided by a separate generator, so that nothing else depends on it. */
static uint32_t narrow_kind(uint64_t seed)
{
    struct random random;

    random_seed(&random, seed ^ UINT64_C(0x4A0700));
    return random_below(&random, NARROW_EVERY) == 0 ? FAULT_BIT(FAULT_NARROW) : 0;
}

/** One seed in this many has a stranger. */
#define STRANGER_EVERY 5

/** By a separate generator, too. */
static uint32_t stranger_kind(uint64_t seed)
{
    struct random random;

    random_seed(&random, seed ^ UINT64_C(0x574A4E));
    return random_below(&random, STRANGER_EVERY) == 0 ? FAULT_BIT(FAULT_STRANGER) : 0;
}

/** One seed in this many has nodes that want sealed frames: all, or every second one. */
#define SEALING_EVERY 4

/** In all but one seed in this many, applications compute, after one post in 1 to 2^this - 1. */
#define COMPUTING_EVERY 8
#define COMPUTING_POSTS_BITS 7

/** By a separate generator, too. */
static uint32_t sealing(uint64_t seed)
{
    struct random random;

    random_seed(&random, seed ^ UINT64_C(0x5EA1));
    return random_below(&random, SEALING_EVERY) == 0 ? 1 + (uint32_t)random_below(&random, 2) : 0;
}

/** By a separate generator, too. @return a node computes after one post in this many; 0: never. */
static uint32_t computing(uint64_t seed)
{
    struct random random;

    random_seed(&random, seed ^ UINT64_C(0xC0717E));
    return random_below(&random, COMPUTING_EVERY) == 0
               ? 0
               : UINT32_C(1) << random_below(&random, COMPUTING_POSTS_BITS);
}

/** One seed in this many has nodes that offer no checksums: all, or every second one. */
#define UNCHECKED_EVERY 6

/** By a separate generator, too. */
static uint32_t unchecked(uint64_t seed)
{
    struct random random;

    random_seed(&random, seed ^ UINT64_C(0xC43C));
    return random_below(&random, UNCHECKED_EVERY) == 0 ? 1 + (uint32_t)random_below(&random, 2) : 0;
}

static uint32_t pick(struct random *random, const uint32_t *from, unsigned count)
{
    return from[random_below(random, count)];
}

static bool has(const struct scenario *scenario, enum fault_kind kind)
{
    return (scenario->kinds & FAULT_BIT(kind)) != 0;
}

bool scenario_has_silence(const struct scenario *scenario)
{
    return (scenario->kinds & KINDS_OF_SILENCE) != 0;
}

static void plan_wire(struct scenario *scenario, struct random *random)
{
    static const uint32_t losses[] = {1000, 10000, 50000, 200000};
    static const uint32_t few_losses[] = {1000, 5000, 20000};
    static const uint32_t others[] = {1000, 20000, 100000};
    static const uint32_t frames[] = {FRAME_BYTES_MIN + 1, 1500, 1500, 9000};
    struct sim_options *wire = &scenario->wire;
    bool silence = scenario_has_silence(scenario);

    wire->nodes = 2 + (uint32_t)(random_below(random, 5) * random_below(random, 3) / 2);
    wire->rails =
        1 + (uint32_t)(random_below(random, 3) == 0) * (1 + (uint32_t)random_below(random, 2));
    wire->frame_bytes = pick(random, frames, 4);
    wire->delay_ns = 1000 + random_below(random, 50000);
    wire->jitter_ns = 1 + random_below(random, has(scenario, FAULT_REORDER) ? 2000000 : 20000);
    wire->ring_frames = 512;
    uint32_t lost = silence ? pick(random, few_losses, 3) : pick(random, losses, 4);
    uint32_t doubled = pick(random, others, 3);
    uint32_t delayed = pick(random, others, 3);
    uint32_t corrupted = pick(random, others, silence ? 2 : 3);
    uint32_t refused = pick(random, others, 3);
    wire->lost_ppm = has(scenario, FAULT_LOSS) ? lost : 0;
    wire->doubled_ppm = has(scenario, FAULT_DUPLICATE) ? doubled : 0;
    wire->delayed_ppm = has(scenario, FAULT_DELAY) || has(scenario, FAULT_REORDER) ? delayed : 0;
    wire->corrupted_ppm = has(scenario, FAULT_CORRUPT) ? corrupted : 0;
    wire->refused_ppm = has(scenario, FAULT_REFUSE) ? refused : 0;
    if (has(scenario, FAULT_QUEUE)) {
        wire->bytes_per_s = UINT64_C(12500000) << random_below(random, 8); /* 0.1 to 12 Gbit/s */
        wire->queue_bytes = UINT64_C(16384) << random_below(random, 6);
        wire->ring_frames = 32u << random_below(random, 4);
    }
}

static void plan_work(struct scenario *scenario, struct random *random)
{
    scenario->work = (struct workload_options){
        .messages = 10 + (uint32_t)random_below(random, 70),
        .bytes_max = random_below(random, 4) == 0 ? 200000 : 30000,
        .duration_ns = 1000 + random_below(random, 5 * MILLISECOND),
        .tags = 1 + (uint32_t)random_below(random, 4),
        .any_peer_ppm = 200000,
        .any_tag_ppm = 200000,
        .short_ppm = 100000,
        .claim_ppm = 100000,
        .cancel_ppm = 50000,
        .burst_ppm = random_below(random, 2) == 0 ? 0 : 400000,
        .into_first = random_below(random, 8) == 0,
    };
}

/** Hundreds of nodes, and little work for each. */
static void plan_crowd(struct scenario *scenario, struct random *random)
{
    scenario->wire.nodes = 200 + (uint32_t)random_below(random, 101);
    scenario->wire.rails = 1;
    scenario->wire.frames = 32768;
    scenario->work.messages = 400 + (uint32_t)random_below(random, 200);
    scenario->work.bytes_max = 20000;
    scenario->work.duration_ns = 10 * MILLISECOND;
    scenario->work.into_first = random_below(random, 2) == 0;
}

/** One seed in this many has operations on remote memory. */
#define REMOTE_EVERY 3

/** By a separate generator, too. */
static void plan_remote(struct scenario *scenario, uint64_t seed)
{
    struct random random;

    random_seed(&random, seed ^ UINT64_C(0x4E307E));
    if (random_below(&random, REMOTE_EVERY) != 0) {
        return;
    }
    scenario->remote = (struct remote_options){
        .operations = 10 + (uint32_t)random_below(&random, 60),
        .duration_ns = scenario->work.duration_ns,
        .crossing = random_below(&random, 4) == 0 && !has(scenario, FAULT_CROWD),
    };
    if (scenario->remote.crossing) {
        /* Both ways; some are flawed or no long gets. The remaining ones each way still exceed what
         * a node serves. */
        scenario->remote.operations = 5 * REMOTE_SERVED_PER_PEER;
    }
}

/** One seed in this many has cards that cut on one more network. */
#define CUTTING_EVERY 3

/** By a separate generator, too. */
static void plan_cutting(struct scenario *scenario, uint64_t seed)
{
    struct sim_options *wire = &scenario->wire;
    struct random random;

    random_seed(&random, seed ^ UINT64_C(0xC0775));
    if (random_below(&random, CUTTING_EVERY) != 0 || has(scenario, FAULT_CROWD)) {
        return;
    }
    wire->cutting = 1u << wire->rails++;
    wire->joined_ppm =
        random_below(&random, 4) == 0 ? 0 : 500000 + (uint32_t)random_below(&random, 500001);
}

/** One seed in this many has all nodes on one host. */
#define SHARING_EVERY 6

/** By a separate generator, too: are the nodes processes of one host? Not if options or faults need
 *  a network. */
static bool shares_memory(const struct run_options *options, uint32_t kinds)
{
    struct random random;
    bool asked = (options->kinds != RUN_ANY && (options->kinds & KINDS_OF_NETWORKS) != 0) ||
                 options->lost_ppm != RUN_ANY || options->doubled_ppm != RUN_ANY ||
                 options->delayed_ppm != RUN_ANY || options->corrupted_ppm != RUN_ANY ||
                 options->undetected_ppm != RUN_ANY;

    random_seed(&random, options->seed ^ UINT64_C(0x5AA4E));
    return random_below(&random, SHARING_EVERY) == 0 && !asked &&
           (kinds & FAULT_BIT(FAULT_CROWD)) == 0;
}

/** In some of these seeds the kernel forbids reading, in others sometimes. */
static void plan_sharing(struct scenario *scenario, uint64_t seed)
{
    static const uint32_t unread[] = {0, 0, 200000, 1000000};
    struct sim_options *wire = &scenario->wire;
    struct random random;

    random_seed(&random, seed ^ UINT64_C(0x0E4D));
    wire->rails = 1;
    wire->cutting = 0;
    wire->sharing = 1;
    wire->unread_ppm = pick(&random, unread, 4);
}

/** One seed in this many has hosts that report, always or sometimes, that a frame found no
 *  process. */
#define TELLING_EVERY 3

/** By a separate generator, too. */
static void plan_telling(struct scenario *scenario, uint64_t seed)
{
    static const uint32_t told[] = {1000000, 500000, 250000};
    struct random random;

    random_seed(&random, seed ^ UINT64_C(0x7E11));
    if (random_below(&random, TELLING_EVERY) == 0) {
        scenario->wire.told_ppm = pick(&random, told, 3);
    }
}

static void plan_limits(struct scenario *scenario, uint64_t seed)
{
    struct message_limits *limits = &scenario->limits;
    struct random random;

    random_seed(&random, seed ^ UINT64_C(0x11417));
    limits->burst_frames = 2 + (uint32_t)random_below(&random, 2 * CONVOY_FRAMES_MIN);
    limits->eager_cut_frames = 1 + (uint32_t)random_below(&random, 2 * MESSAGE_EAGER_CUT_FRAMES);
    if (random_below(&random, 2) == 0) {
        limits->read_bytes = (uint32_t)random_below(&random, READ_BYTES_MOST);
    }
}

static void override(uint32_t *value, uint32_t by)
{
    *value = by != RUN_ANY ? by : *value;
}

void scenario_plan(struct scenario *scenario, const struct run_options *options)
{
    struct random random;

    random_seed(&random, options->seed);
    *scenario = (struct scenario){.wire = SIM_OPTIONS_DEFAULT};
    uint32_t kinds =
        random_kinds(&random) | narrow_kind(options->seed) | stranger_kind(options->seed);
    if (options->kinds != RUN_ANY) {
        /* This fault only, but with any faults of frames. */
        kinds = options->kinds == KINDS_OF_WIRE ? options->kinds
                                                : options->kinds | (kinds & KINDS_OF_WIRE);
    }
    bool sharing = shares_memory(options, kinds);
    kinds &= sharing ? ~KINDS_OF_NETWORKS : UINT32_MAX;
    scenario->kinds = kinds;
    plan_wire(scenario, &random);
    plan_work(scenario, &random);
    if (has(scenario, FAULT_CROWD)) {
        plan_crowd(scenario, &random);
    }
    plan_remote(scenario, options->seed);
    plan_cutting(scenario, options->seed);
    if (sharing) {
        plan_sharing(scenario, options->seed);
    }
    scenario->go_back_n = random_below(&random, 4) == 0;
    scenario->sealing = sealing(options->seed);
    scenario->unchecked = unchecked(options->seed);
    scenario->computing = computing(options->seed);
    scenario->bundle = random_below(&random, 4) != 0;
    scenario->limits = (struct message_limits)MESSAGE_LIMITS_DEFAULT;
    if (random_below(&random, 2) == 0) { /* more messages are announced, of all lengths */
        scenario->limits.eager_bytes = (uint32_t)random_below(&random, 32768);
    }
    scenario->limits.blocks_together =
        1 + (uint32_t)random_below(&random, 2 * PULL_BLOCKS_TOGETHER);
    plan_limits(scenario, options->seed);
    plan_telling(scenario, options->seed);
    scenario->peer_timeout_ns = scenario_has_silence(scenario) ? 5 * SECOND : 30 * SECOND;
    scenario->wire.seed = options->seed;
    override(&scenario->wire.nodes, options->nodes);
    override(&scenario->work.messages, options->messages);
    override(&scenario->wire.lost_ppm, options->lost_ppm);
    override(&scenario->wire.doubled_ppm, options->doubled_ppm);
    override(&scenario->wire.delayed_ppm, options->delayed_ppm);
    override(&scenario->wire.corrupted_ppm, options->corrupted_ppm);
    if (options->undetected_ppm != RUN_ANY) {
        scenario->wire.corrupted_ppm = options->undetected_ppm;
        scenario->wire.deliver_corrupted = true;
        scenario->unchecked = 0; /* the default */
    }
    override(&scenario->unchecked, options->unchecked);
}
