/* SPDX-License-Identifier: BSD-3-Clause */
/* Polls lanes for frames: which lanes, in which order, and what follows when frames were handled.
 */
#include "core/core_internal.h"
#include "peers/peers.h"
#include "pull/pull.h"

/** While no frame is expected on quiet lanes, the clock is read once in so many polls. */
#define RECEIVES_PER_CLOCK 16

/** Frames sent to a peer before the lanes are polled again, and how often this is repeated before
 * the application continues. Each time, acknowledgements may permit more frames. */
#define TURN_FRAMES FLOW_BATCH_FRAMES
#define TURNS_MAX (4 * FLOW_WINDOW_FRAMES / TURN_FRAMES)

static unsigned receive_lane(struct core *core, unsigned lane_index, uint64_t (*clock_ns)(void *),
                             void *clock, uint64_t *now_ns);
static unsigned receive_everything(struct core *core, uint64_t (*clock_ns)(void *), void *clock,
                                   uint64_t *now_ns);

/** Before frames of a train are handled, takes earlier frames that have come over a quicker lane
 * since that was polled, so that there is no gap. */
static unsigned receive_what_came_before(struct core *core, unsigned train,
                                         uint64_t (*clock_ns)(void *), void *clock,
                                         uint64_t *now_ns)
{
    unsigned count = 0;

    for (unsigned i = 0; i < train; i++) {
        const struct lane *lane = core->options.lanes.lanes[i];
        unsigned taken = ENDPOINT_RECEIVE_FRAMES;
        while (!lane->takes_trains && core->lane_users[i] > 0 && taken == ENDPOINT_RECEIVE_FRAMES) {
            taken = receive_lane(core, i, clock_ns, clock, now_ns);
            count += taken;
        }
    }
    return count;
}

/** Is it DATA of a message that was not announced here, other than the message before?
 * @param last key and name of the message before; updated. */
static bool lacks_announcement(const struct core *core, const struct lane_incoming *incoming,
                               uint64_t *last)
{
    const struct frame_data *data = frame_peek_data(incoming->data, incoming->bytes);

    if (data == NULL) {
        return false;
    }
    uint32_t message = from_le32(data->message);
    uint64_t name = (uint64_t)from_le32(data->key) << 32 | message;
    if (name == *last) {
        return false;
    }
    *last = name;
    uint32_t index = map_find(&core->by_key, from_le32(data->key));
    return index != MAP_NONE &&
           !pull_awaits(&core->messages, &core->peers[index]->message, message);
}

/** Is some of the data that has come over a lane not announced yet? */
__attribute__((noinline)) static bool any_lacks_announcement(const struct core *core,
                                                             const struct lane_incoming *incoming,
                                                             unsigned count)
{
    uint64_t last = 0;

    for (unsigned i = 0; i < count; i++) {
        if (lacks_announcement(core, &incoming[i], &last)) {
            return true;
        }
    }
    return false;
}

static unsigned receive_lane(struct core *core, unsigned lane_index, uint64_t (*clock_ns)(void *),
                             void *clock, uint64_t *now_ns)
{
    struct lane_incoming incoming[ENDPOINT_RECEIVE_FRAMES];
    struct lane *lane = core->options.lanes.lanes[lane_index];
    unsigned others = 0;

    if ((core->receiving & 1u << lane_index) != 0) {
        return 0;
    }
    core_expect(core, lane_index);
    unsigned count = lane->operations->receive(lane, incoming, ENDPOINT_RECEIVE_FRAMES);
    if (count == 0) {
        return 0;
    }
    if (*now_ns == 0) {
        *now_ns = clock_ns(clock);
        core->messages.now_ns = *now_ns;
    }
    core->receiving |= 1u << lane_index;
    if (lane->takes_trains || lane->cuts) {
        others = receive_what_came_before(core, lane_index, clock_ns, clock, now_ns);
        /* The ANNOUNCE may wait on another lane, if that was not polled for long. Without it the
         * data would be dropped. No recursion: a lane polled from here does not poll others. */
        if (core->receiving == 1u << lane_index && any_lacks_announcement(core, incoming, count)) {
            others += receive_everything(core, clock_ns, clock, now_ns);
        }
    }
    for (unsigned done = 0; done < count;) {
        struct core_peer *peer = core_receive_frame(core, lane_index, &incoming[done++], *now_ns);
        if (peer != NULL && done < count) {
            done +=
                core_receive_rest(core, peer, lane_index, &incoming[done], count - done, *now_ns);
        }
    }
    lane->operations->release(lane);
    core->receiving &= ~(1u << lane_index);
    return others + count;
}

/** Takes what has arrived on all lanes that are not being read, up to a limit, because frames may
 * arrive as quickly as they are taken. */
static unsigned receive_everything(struct core *core, uint64_t (*clock_ns)(void *), void *clock,
                                   uint64_t *now_ns)
{
    unsigned count = 0;

    for (unsigned i = 0; i < core->options.lanes.count; i++) {
        unsigned before = count;
        unsigned taken = 0;
        do {
            taken = receive_lane(core, i, clock_ns, clock, now_ns);
            count += taken;
        } while (taken > 0 && count - before < PROBED_FRAMES_MAX);
    }
    return count;
}

/** Is it time to poll the quiet lanes? */
static bool quiet_lanes_are_due(struct core *core, uint64_t (*clock_ns)(void *), void *clock)
{
    if (core->receives++ % RECEIVES_PER_CLOCK != 0) {
        return false;
    }
    uint64_t now_ns = clock_ns(clock);
    uint64_t last_ns = core->messages.now_ns; /* when the last frame came */
    uint64_t since_ns = now_ns - core->looked_ns;
    last_ns = last_ns > core->looked_ns ? last_ns : core->looked_ns;
    bool vain = now_ns - last_ns >= core->vain_ns;
    if (!vain && since_ns < QUIET_LANE_LONGEST_NS &&
        (since_ns < QUIET_LANE_NS || core->frames_since < QUIET_LANE_FRAMES)) {
        return false;
    }
    core->looked_ns = now_ns;
    core->frames_since = 0;
    core->vain = core->vain || vain;
    return true;
}

/** Frames have come.
 * @param apart_ns time since the frames before
 * @param quiet on a quiet lane */
static void note_pace(struct core *core, unsigned count, uint64_t apart_ns, bool quiet)
{
    core->frames_since += count;
    if (quiet) {
        core->vain_ns = QUIET_LANE_VAIN_NS;
    } else if (core->vain && apart_ns < QUIET_LANE_VAIN_MAX_NS) {
        uint64_t wanted_ns = apart_ns + apart_ns / 2;
        wanted_ns = wanted_ns < QUIET_LANE_VAIN_MAX_NS ? wanted_ns : QUIET_LANE_VAIN_MAX_NS;
        core->vain_ns = wanted_ns > core->vain_ns ? (uint32_t)wanted_ns : core->vain_ns;
    } else {
        core->vain_ns -= (core->vain_ns - QUIET_LANE_VAIN_NS) / QUIET_LANE_VAIN_SHARE;
    }
    core->vain = false;
}

/** Is a frame expected on this lane? If not, and if polling it costs a system call, it is quiet,
 * and polled rarely, because polling delays frames on other lanes. */
static bool is_awaited(const struct core *core, unsigned lane_index)
{
    const struct lane *lane = core->options.lanes.lanes[lane_index];

    return core->lane_users[lane_index] > 0 || core->messages.lanes[lane_index].blocks > 0 ||
           (core->warm_lanes & 1u << lane_index) != 0 ||
           (!lane->polling_is_costly && !lane->shares_memory);
}

/** Counts frames that have come over these lanes. */
static void note_warmth(struct core *core, unsigned came, unsigned count)
{
    for (unsigned i = 0; i < core->options.lanes.count; i++) {
        uint8_t warmth = core->lane_warmth[i];
        if ((came & 1u << i) != 0) {
            core->lane_warmth[i] = LANE_WARMTH_FRAMES;
        } else {
            core->lane_warmth[i] = warmth > count ? (uint8_t)(warmth - count) : 0;
        }
        core->warm_lanes &= ~(1u << i);
        core->warm_lanes |= core->lane_warmth[i] > 0 ? 1u << i : 0;
    }
}

/** Is a message of a touched peer incomplete, while neither these peers nor any that has requested
 *  data waits for us? */
static bool awaits_rest(const struct core *core)
{
    bool awaits = false;

    for (uint32_t i = 0; i < core->touched_count; i++) {
        const struct message_peer *peer = &core->peers[core->touched[i]]->message;
        if (flow_grant_is_due(&peer->flow)) {
            return false; /* the peer may have no credit for the rest */
        }
        awaits = awaits || message_is_half_here(peer);
    }
    return awaits && !core_has_bulk(core);
}

/** Takes what has come over a lane: by several calls if this is data, and data is to be sent next.
 * Sending a run may take as long as the run takes on the wire, and as much may arrive meanwhile. If
 * less were taken than is sent in a turn, the rest would accumulate until nothing is requested any
 * more. If frames come joined, one call suffices: it takes many, and sending is quick. */
static unsigned receive_in_turn(struct core *core, unsigned lane_index,
                                uint64_t (*clock_ns)(void *), void *clock, uint64_t *now_ns)
{
    const struct lane *lane = core->options.lanes.lanes[lane_index];
    uint64_t before = lane->received_bytes;
    unsigned count = receive_lane(core, lane_index, clock_ns, clock, now_ns);
    unsigned taken = count;

    while (taken > 0 && core->messages.lanes[lane_index].blocks > 0 && core_has_bulk(core)) {
        uint64_t bytes = lane->received_bytes - before;
        if (bytes >= BULK_TAKEN_BYTES ||
            bytes > (uint64_t)count * BULK_JOINED_FRAMES * lane->frame_bytes) {
            break;
        }
        taken = receive_lane(core, lane_index, clock_ns, clock, now_ns);
        count += taken;
    }
    return count;
}

/** The result of polling the lanes once. */
struct taken {
    unsigned frames;
    uint64_t now_ns; /**< time of the frames; 0: there were none */
    bool again;      /**< this poll waited for the rest of a message: only one does */
};

/** Polls all lanes on which frames are expected once, and handles the frames. */
static struct taken take(struct core *core, uint64_t (*clock_ns)(void *), void *clock)
{
    struct taken taken = {.again = core->awaits_rest};
    unsigned came = 0;
    uint64_t before_ns = core->messages.now_ns;
    bool quiet = false;
    core->awaits_rest = false;
    /* At most once for each message, because a stream never pauses. */
    core->patient = core->touched_count == 0 || taken.again;
    bool all = quiet_lanes_are_due(core, clock_ns, clock);

    if (all) {
        core_notice_lost(core, false, core->looked_ns);
    }
    for (unsigned i = 0; i < core->options.lanes.count; i++) {
        bool awaited = is_awaited(core, i);
        if (!all && !awaited) {
            continue;
        }
        unsigned frames = receive_in_turn(core, i, clock_ns, clock, &taken.now_ns);
        came |= frames > 0 ? 1u << i : 0;
        quiet = quiet || (frames > 0 && !awaited);
        taken.frames += frames;
    }
    if (taken.frames > 0) {
        note_pace(core, taken.frames, taken.now_ns - before_ns, quiet);
    }
    if (came != core->warm_lanes && taken.frames > 0) {
        note_warmth(core, came, taken.frames);
    }
    if (message_reads(&core->messages)) {
        taken.frames += core_end_reads(core, clock_ns, clock, &taken.now_ns);
    }
    if (core->probed) {
        /* Frames that have not come by now count as lost. */
        core->probed = false;
        taken.frames += receive_everything(core, clock_ns, clock, &taken.now_ns);
    }
    return taken;
}

/** May peers wait until the application has its message, because its answer can carry the
 *  acknowledgements, or until the rest of a message is taken, which has probably arrived? */
static bool may_wait(struct core *core, const struct taken *taken)
{
    if (!core->patient) {
        return false;
    }
    core->awaits_rest = !message_has_ended(&core->messages) && !taken->again && awaits_rest(core);
    return core->awaits_rest || message_has_ended(&core->messages);
}

/** Services the peers of which frames have come, unless they may wait. */
static void serve(struct core *core, const struct taken *taken, uint64_t (*clock_ns)(void *),
                  void *clock)
{
    if (taken->frames == 0) {
        if (core->touched_count > 0) {
            core_service_touched(core, clock_ns(clock));
        }
    } else if (may_wait(core, taken)) {
        core->patient = false;
    } else {
        core_service_touched(core, taken->now_ns);
        core_bulk(core, taken->now_ns);
        core_timers(core,
                    taken->now_ns); /* timers of other peers must run under constant traffic */
    }
}

unsigned core_receive(struct core *core, uint64_t (*clock_ns)(void *), void *clock)
{
    unsigned count = 0;
    unsigned turns = 0;

    /* Sending may take as long as the frames take on the wire. Frames that come meanwhile are taken
     * in between, because the peer cannot continue without acknowledgements. */
    core->posted_bytes = 0;
    core->turn_frames = TURN_FRAMES;
    do {
        core->goes_on = false;
        const struct taken taken = take(core, clock_ns, clock);
        serve(core, &taken, clock_ns, clock);
        count += taken.frames;
    } while (core->goes_on && ++turns < TURNS_MAX);
    core->goes_on = false; /* core_timers() sends what is left then */
    core->turn_frames = UINT32_MAX;
    return count;
}
