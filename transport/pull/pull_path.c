/* SPDX-License-Identifier: BSD-3-Clause */
#include "pull/pull_path.h"

#include "message/internal.h"
#include "pull/pull.h"

#include <assert.h>

/* ---- time ---------------------------------------------------------------------------------- */

/** As in RFC 6298, doubled with each silence. In a crowd, a path has too few samples: at least as
 *  long as for all of them together, and longer, because how busy each sender is differs. */
static uint64_t timeout_of(const struct message_layer *layer, const struct pull_path *path)
{
    const struct rtt *all = &layer->pull_rtt;
    uint64_t timeout_ns =
        path->srtt_ns == 0 ? PULL_TIMEOUT_FIRST_NS : path->srtt_ns + 4 * (uint64_t)path->rttvar_ns;

    if (layer->pulls_crowd && all->smoothed_ns != 0) {
        uint64_t all_ns = all->smoothed_ns + PULL_CROWD_DEVIATIONS * all->deviation_ns;
        timeout_ns = path->srtt_ns == 0 || all_ns > timeout_ns ? all_ns : timeout_ns;
    }
    timeout_ns = timeout_ns > PULL_TIMEOUT_MIN_NS ? timeout_ns : PULL_TIMEOUT_MIN_NS;
    timeout_ns <<= path->silences < 10 ? path->silences : 10;
    return timeout_ns < PULL_TIMEOUT_MAX_NS ? timeout_ns : PULL_TIMEOUT_MAX_NS;
}

/** How long a quiet path is avoided if there is another one: longer each time. One that has worked
 *  is tried again soon, since perhaps only the peer had no core; one on which nothing has ever
 *  arrived may be blocked permanently. */
static uint64_t pause_of(const struct message_layer *layer, const struct pull_path *path)
{
    if (path->heard_ns != 0) {
        return PULL_AVOID_TIMEOUTS * timeout_of(layer, path);
    }
    return (uint64_t)PULL_AVOID_NS
           << (path->silences < PULL_AVOID_DOUBLINGS ? path->silences : PULL_AVOID_DOUBLINGS);
}

/** Timeout of the rest of a block that has begun to arrive: the rest follows in the same train,
 *  however long the block has waited behind others. */
static uint64_t rest_timeout_of(const struct message_layer *layer, const struct pull_path *path,
                                const struct pull_block *block)
{
    uint64_t timeout_ns = timeout_of(layer, path);
    uint32_t rate = path->rate.bytes_per_us;
    uint64_t rest_ns =
        rate == 0 ? timeout_ns : PULL_REST_BLOCKS * block->accounted_bytes * 1000 / rate;

    rest_ns = rest_ns > PULL_TIMEOUT_MIN_NS ? rest_ns : PULL_TIMEOUT_MIN_NS;
    return rest_ns < timeout_ns ? rest_ns : timeout_ns;
}

uint64_t pull_path_due(const struct message_layer *layer, const struct pull_path *path,
                       const struct pull_block *block)
{
    uint64_t since_ns = block->asked_ns;
    bool has_begun = (block->asked & ~block->missing) != 0;

    if (pull_path_is_quiet(path)) {
        /* One at a time: this one after the last request. */
        since_ns = path->silence_ns > since_ns ? path->silence_ns : since_ns;
    } else if (!sequence_before(block->serial, path->heard_serial) && path->heard_ns > since_ns) {
        /* It waits behind others as long as these arrive. But if later requests have arrived first,
         * it is lost. */
        since_ns = path->heard_ns;
        return since_ns +
               (has_begun ? rest_timeout_of(layer, path, block) : timeout_of(layer, path));
    }
    return since_ns + timeout_of(layer, path);
}

void pull_path_time(struct pull_path *path, uint64_t asked_ns, uint64_t now_ns)
{
    uint64_t sample_ns = now_ns - asked_ns;

    /* Longer than any timeout: this process was stopped, or its clock has jumped. */
    sample_ns = sample_ns < PULL_TIMEOUT_MAX_NS ? sample_ns : PULL_TIMEOUT_MAX_NS;
    if (path->srtt_ns == 0) {
        path->srtt_ns = sample_ns > 0 ? (uint32_t)sample_ns : 1;
        path->rttvar_ns = (uint32_t)sample_ns / 2;
        return;
    }
    uint64_t deviation =
        sample_ns > path->srtt_ns ? sample_ns - path->srtt_ns : path->srtt_ns - sample_ns;
    path->rttvar_ns = (uint32_t)((3 * (uint64_t)path->rttvar_ns + deviation) / 4);
    path->srtt_ns = (uint32_t)((7 * (uint64_t)path->srtt_ns + sample_ns) / 8);
    path->srtt_ns += path->srtt_ns == 0;
}

void pull_rate_measure(struct pull_rate *rate, uint64_t bytes, uint64_t now_ns)
{
    uint64_t elapsed_ns = now_ns - rate->since_ns;

    rate->bytes += (uint32_t)bytes;
    if (elapsed_ns < PULL_RATE_NS) {
        return;
    }
    uint64_t now = (uint64_t)rate->bytes * 1000 / elapsed_ns;
    if (rate->bytes_per_us != 0) {
        now = (3 * (uint64_t)rate->bytes_per_us + now) / 4;
    }
    rate->bytes_per_us = now == 0 ? 1 : (now < UINT32_MAX ? (uint32_t)now : UINT32_MAX);
    rate->since_ns = now_ns;
    rate->bytes = 0;
}

static void begin_rate(struct pull_rate *rate, uint64_t now_ns)
{
    rate->since_ns = now_ns; /* idle time does not count */
    rate->bytes = 0;
}

/* ---- crowds -------------------------------------------------------------------------------- */

/** Of the buffer of a switch, if all its ports are as busy. */
static uint32_t shared_of(const struct message_layer *layer)
{
    return PULL_CROWD_SHARED_BYTES / (layer->far_peers > 0 ? layer->far_peers : 1);
}

bool pull_path_is_limited(const struct message_layer *layer, const struct message_peer *peer)
{
    return layer->far_peers > PULL_FREE_PEERS && !peer->shares_memory;
}

bool pull_path_is_in_crowd(const struct message_layer *layer, const struct message_peer *peer)
{
    return layer->pulls_crowd && pull_path_is_limited(layer, peer);
}

/** The highest rate before was of another load, and perhaps of another way. */
static void begin_crowd(struct message_layer *layer)
{
    layer->pulls_crowd = true;
    for (unsigned i = 0; i < LANES_MAX; i++) {
        layer->lanes[i].best_rate = 0;
    }
}

void pull_path_begin_peer(struct message_layer *layer, struct message_peer *peer)
{
    peer->pulled_far = !peer->shares_memory;
    if (!peer->pulled_far) {
        return;
    }
    layer->pulled_peers++;
    if (!layer->pulls_crowd && layer->pulled_peers > PULL_CROWD_PEERS) {
        begin_crowd(layer);
    }
    if (layer->pulls_crowd) {
        layer->pull_window_bytes = PULL_CROWD_BYTES + shared_of(layer);
    } else if (layer->pulled_last != peer->handle || layer->pull_window_bytes == 0) {
        layer->pull_window_bytes = PULL_BEGIN_BYTES;
    }
    layer->pulled_last = peer->handle;
}

void pull_path_end_peer(struct message_layer *layer, struct message_peer *peer)
{
    if (!peer->pulled_far) {
        return;
    }
    assert(layer->pulled_peers > 0);
    layer->pulled_peers--;
    if (layer->pulls_crowd && layer->pulled_peers <= PULL_CROWD_PEERS) {
        layer->pulls_crowd = false;
        layer->pulls_changed = true; /* there may be room now */
    }
}

/** What is requested at the same time over a lane. */
static uint64_t window_of(const struct message_layer *layer, unsigned lane)
{
    if (!layer->pulls_crowd) {
        return layer->pull_window_bytes;
    }
    uint64_t shared = shared_of(layer);
    uint64_t way = PULL_CROWD_BYTES;
    uint64_t rate = layer->lanes[lane].rate.bytes_per_us;
    bool sends_late = rate * 100 < layer->lanes[lane].best_rate * PULL_CROWD_LATE_PERCENT;
    uint64_t under_way =
        rate * (sends_late ? layer->pull_rtt.smoothed_ns : layer->pull_rtt.minimum_ns) / 1000;

    while (under_way * 100 > (way + shared) * PULL_CROWD_FULL_PERCENT &&
           way < PULL_CROWD_BYTES_MAX) {
        way *= 2;
    }
    return way + shared;
}

bool pull_path_has_share(const struct message_layer *layer, const struct message_peer *peer)
{
    uint64_t out = 0;
    uint64_t window = 0;

    if (!pull_path_is_in_crowd(layer, peer)) {
        return false;
    }
    for (uint32_t lanes = peer->usable_lanes; lanes != 0; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctz(lanes);
        out += peer->pull_paths[lane].outstanding_bytes;
        window += (peer->bulk_lanes >> lane & 1) != 0 ? window_of(layer, lane) : 0;
    }
    return out > 0 && out + pull_path_bytes(layer, peer) > window / layer->pulled_peers;
}

/** Two such pieces fit into the window, so that one can come while the next is requested. */
static uint64_t piece_of(const struct pull_path *path)
{
    bool whole = path->window_bytes == 0 || path->window_bytes >= 2 * PULL_BLOCK_BYTES;

    return whole ? UINT64_MAX : path->window_bytes / 2;
}

/** The same for the window of any of the lanes. */
static uint64_t least_piece(const struct message_peer *peer, uint32_t lanes)
{
    uint64_t least = UINT64_MAX;

    for (; lanes != 0; lanes &= lanes - 1) {
        uint64_t piece = piece_of(&peer->pull_paths[__builtin_ctz(lanes)]);
        least = piece < least ? piece : least;
    }
    return least;
}

uint64_t pull_path_bytes(const struct message_layer *layer, const struct message_peer *peer)
{
    uint32_t lanes = peer->bulk_lanes != 0 ? peer->bulk_lanes : peer->usable_lanes;
    uint64_t window = lanes != 0 ? window_of(layer, (unsigned)__builtin_ctz(lanes)) : 0;

    if (!pull_path_is_in_crowd(layer, peer)) {
        uint64_t piece = least_piece(peer, lanes);
        return pull_path_is_limited(layer, peer) && window < piece ? window : piece;
    }
    return window > PULL_CROWD_PIECES * PULL_CROWD_PIECE_BYTES ? window / PULL_CROWD_PIECES
                                                               : PULL_CROWD_PIECE_BYTES;
}

/* ---- what is outstanding ------------------------------------------------------------------- */

void pull_path_ask(struct message_layer *layer, struct message_peer *peer, unsigned lane,
                   struct pull_block *block, uint64_t bytes, uint64_t now_ns)
{
    struct pull_path *path = &peer->pull_paths[lane];

    if (path->blocks == 0) {
        begin_rate(&path->rate, now_ns);
    }
    if (layer->lanes[lane].blocks == 0) {
        begin_rate(&layer->lanes[lane].rate, now_ns);
    }
    assert(block->accounted_bytes == 0); /* not outstanding elsewhere */
    block->lane = (uint8_t)lane;
    block->asked_ns = now_ns;
    block->again = block->refused = false;
    block->serial = ++path->serial;
    block->accounted_bytes = bytes;
    path->blocks++;
    path->outstanding_bytes += (uint32_t)bytes;
    if (path->most_bytes < path->outstanding_bytes) {
        path->most_bytes = path->outstanding_bytes;
    }
    layer->lanes[lane].blocks++;
    if (!pull_path_is_quiet(path)) {
        layer->lanes[lane].outstanding_bytes += bytes;
    }
}

void pull_path_settle(struct message_layer *layer, struct message_peer *peer,
                      struct pull_block *block)
{
    struct pull_path *path = &peer->pull_paths[block->lane];

    assert(path->blocks > 0 && path->outstanding_bytes >= block->accounted_bytes);
    path->blocks--;
    path->outstanding_bytes -= (uint32_t)block->accounted_bytes;
    layer->lanes[block->lane].blocks--;
    if (!pull_path_is_quiet(path)) {
        layer->lanes[block->lane].outstanding_bytes -= block->accounted_bytes;
    }
    block->accounted_bytes = 0;
}

bool pull_path_heard(struct message_layer *layer, struct message_peer *peer, unsigned lane,
                     uint64_t now_ns)
{
    struct pull_path *path = &peer->pull_paths[lane];
    bool was_quiet = pull_path_is_quiet(path);

    path->heard_ns = now_ns;
    path->silences = 0;
    path->avoid_ns = 0;
    peer->data_silent_since_ns = 0;
    if (was_quiet) {
        layer->lanes[lane].outstanding_bytes += path->outstanding_bytes;
    }
    return was_quiet;
}

void pull_path_silent(struct message_layer *layer, struct message_peer *peer, unsigned lane,
                      uint64_t now_ns)
{
    struct pull_path *path = &peer->pull_paths[lane];
    bool was_quiet = pull_path_is_quiet(path);

    path->silences = path->silences < UINT8_MAX ? (uint8_t)(path->silences + 1) : UINT8_MAX;
    path->silence_ns = now_ns;
    if (peer->data_silent_since_ns == 0) {
        peer->data_silent_since_ns = now_ns;
    }
    path->avoid_ns =
        now_ns + (pull_path_is_quiet(path) ? pause_of(layer, path) : timeout_of(layer, path));
    if (!was_quiet && pull_path_is_quiet(path)) {
        layer->lanes[lane].outstanding_bytes -= path->outstanding_bytes;
    }
}

void pull_path_yield(const struct message_layer *layer, struct message_peer *peer,
                     const struct pull_block *block, uint32_t segment_bytes)
{
    struct pull_path *path = &peer->pull_paths[block->lane];
    uint64_t least = 2 * (uint64_t)segment_bytes;

    if (block->unasked || pull_path_is_in_crowd(layer, peer) ||
        (path->window_bytes != 0 && !sequence_before(path->yielded_serial, block->serial))) {
        return;
    }
    least = least > PULL_YIELD_BYTES_MIN ? least : PULL_YIELD_BYTES_MIN;
    uint64_t window = path->window_bytes != 0 ? path->window_bytes : path->most_bytes;
    window = window * PULL_YIELD_PERCENT / 100;
    path->window_bytes = (uint32_t)(window > least ? window : least);
    path->yielded_serial = path->serial;
}

void pull_path_recover(const struct message_layer *layer, struct pull_path *path,
                       const struct pull_block *block, uint32_t segment_bytes)
{
    uint64_t window = path->window_bytes;

    if (path->outstanding_bytes < window / 2 || window == 0) {
        return;
    }
    window += block->accounted_bytes * segment_bytes * PULL_RECOVER_PERCENT / 100 / window;
    path->window_bytes = window < layer->lanes[block->lane].capacity_bytes && window < UINT32_MAX
                             ? (uint32_t)window
                             : 0;
}

/* ---- choice -------------------------------------------------------------------------------- */

/** Whatever the length of the next request, so that none waits for shorter ones. */
bool pull_path_is_full(const struct pull_path *path)
{
    uint64_t piece = piece_of(path);

    piece = piece < PULL_BLOCK_BYTES ? piece : PULL_BLOCK_BYTES;
    return path->blocks > 0 &&
           (pull_path_is_quiet(path) ||
            (path->window_bytes != 0 && path->outstanding_bytes + piece > path->window_bytes));
}

/** May more be requested? One block always may. */
static bool has_room(const struct message_layer *layer, const struct message_peer *peer,
                     unsigned lane, uint64_t bytes)
{
    const struct pull_path *path = &peer->pull_paths[lane];
    uint64_t out = layer->lanes[lane].outstanding_bytes;
    uint64_t most = layer->lanes[lane].capacity_bytes;

    if (pull_path_is_quiet(path)) {
        return path->blocks == 0;
    }
    if (!pull_path_is_in_crowd(layer, peer) && pull_path_is_full(path)) {
        return false;
    }
    if (pull_path_is_limited(layer, peer)) {
        uint64_t window = window_of(layer, lane);
        most = window < most ? window : most;
    }
    return out == 0 || out + bytes <= most;
}

/** Not silent, or silent for long enough that one block may test it. */
static bool is_promising(const struct pull_path *path, uint64_t now_ns)
{
    return path->silences == 0 || (path->blocks == 0 && now_ns >= path->avoid_ns);
}

static uint32_t promising_of(const struct message_peer *peer, uint32_t lanes, uint64_t now_ns)
{
    for (unsigned i = 0; i < LANES_MAX; i++) {
        if ((lanes >> i & 1) != 0 && !is_promising(&peer->pull_paths[i], now_ns)) {
            lanes &= ~(UINT32_C(1) << i);
        }
    }
    return lanes;
}

/** Until when the path is avoided, if others are as silent. The longer all are silent, the less
 *  their history counts. */
static uint64_t left_until(const struct message_peer *peer, const struct pull_path *path,
                           uint64_t now_ns)
{
    uint64_t since_ns = peer->data_silent_since_ns;
    uint64_t silent_ns = since_ns != 0 && now_ns > since_ns ? now_ns - since_ns : 0;

    if (silent_ns >= 2 * (uint64_t)PULL_AVOID_NS && now_ns - path->silence_ns >= silent_ns / 2) {
        return path->silence_ns < path->avoid_ns ? path->silence_ns : path->avoid_ns;
    }
    return path->avoid_ns;
}

/** The one of these lanes that has been silent longest. */
static uint32_t most_patient_of(const struct message_peer *peer, uint32_t lanes, uint64_t now_ns)
{
    uint32_t best = 0;
    uint64_t until_ns = UINT64_MAX;

    for (unsigned i = 0; i < LANES_MAX; i++) {
        uint64_t left_ns =
            (lanes >> i & 1) != 0 ? left_until(peer, &peer->pull_paths[i], now_ns) : UINT64_MAX;
        if (left_ns < until_ns) {
            until_ns = left_ns;
            best = UINT32_C(1) << i;
        }
    }
    return best;
}

/** The lanes to choose from. */
static uint32_t lanes_of(const struct message_peer *peer, uint64_t now_ns)
{
    uint32_t lanes = promising_of(peer, peer->bulk_lanes, now_ns);

    for (unsigned i = 0; i < LANES_MAX && lanes == 0; i++) {
        if ((peer->bulk_lanes >> i & 1) != 0 && !pull_path_is_quiet(&peer->pull_paths[i])) {
            return most_patient_of(peer, peer->bulk_lanes, now_ns); /* not given up yet */
        }
    }
    if (lanes == 0) {
        lanes = promising_of(peer, peer->usable_lanes, now_ns);
    }
    return lanes != 0 ? lanes : most_patient_of(peer, peer->usable_lanes, now_ns);
}

unsigned pull_path_choose(const struct message_layer *layer, const struct message_peer *peer,
                          uint64_t bytes, uint64_t now_ns, bool for_more, uint32_t closed)
{
    uint32_t lanes = lanes_of(peer, now_ns) & ~closed;
    unsigned best = LANES_MAX;
    uint64_t best_ns = UINT64_MAX;
    uint64_t rate_max = 1;

    for (uint32_t left = peer->usable_lanes; left != 0; left &= left - 1) {
        const struct pull_path *path = &peer->pull_paths[__builtin_ctz(left)];
        rate_max = path->rate.bytes_per_us > rate_max ? path->rate.bytes_per_us : rate_max;
    }
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        const struct pull_path *path = &peer->pull_paths[i];
        if (!for_more || has_room(layer, peer, i, bytes)) {
            uint64_t rate = path->rate.bytes_per_us != 0 ? path->rate.bytes_per_us : rate_max;
            uint64_t time_ns = (path->outstanding_bytes + bytes) * 1000 / rate;
            if (time_ns < best_ns) {
                best_ns = time_ns;
                best = i;
            }
        }
    }
    return best;
}

/** Does our lane lead to this rail of the peer? */
static bool leads_to(const struct message_lane *lane, const struct message_peer *peer, uint8_t rail)
{
    uint8_t own = lane->rail;

    return lane->of_host ? rail == 0 : (own ^ (peer->crossing >> 2 * own & 3)) == rail;
}

uint8_t pull_lane_of(const struct message_layer *layer, const struct message_peer *peer,
                     uint8_t kind, uint8_t rail)
{
    uint8_t lane = 0;

    while (lane < LANES_MAX && (kind == 0 || layer->lanes[lane].kind != kind ||
                                !leads_to(&layer->lanes[lane], peer, rail))) {
        lane++;
    }
    return lane;
}
