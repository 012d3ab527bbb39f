/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include "route/address.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** A node polls at least this often, if it has something to do. */
#define STEP_NS 100u

#define OPERATIONS 256
#define ENDPOINT 7

static struct host_lane *host_lane_of(struct lane *lane)
{
    return (struct host_lane *)(void *)lane;
}

/* ---- the lane ------------------------------------------------------------------------------ */

/** Locally administered, with the node's number. */
static struct lane_address address_of(uint32_t node)
{
    return (struct lane_address){
        {2, 0, (uint8_t)(node >> 24), (uint8_t)(node >> 16), (uint8_t)(node >> 8), (uint8_t)node}};
}

static uint32_t node_at(const struct lane_address *address)
{
    const uint8_t *bytes = address->bytes;

    return (uint32_t)bytes[2] << 24 | (uint32_t)bytes[3] << 16 | (uint32_t)bytes[4] << 8 | bytes[5];
}

static void lane_publish(const struct lane *lane, struct address_layout *address)
{
    const struct lane_address own =
        address_of(((const struct host_lane *)(const void *)lane)->host->node);

    memcpy(address->rail[0].mac, own.bytes, sizeof address->rail[0].mac);
}

static int lane_reach(struct lane *lane, const struct address_layout *address,
                      struct lane_address *to)
{
    (void)lane;
    *to = (struct lane_address){0};
    memcpy(to->bytes, address->rail[0].mac, sizeof address->rail[0].mac);
    return 0;
}

static unsigned lane_send(struct lane *lane, const struct lane_address *to,
                          const struct lane_outgoing *frames, unsigned count)
{
    bool direct = host_lane_of(lane)->direct;
    struct host *host = host_lane_of(lane)->host;
    struct network *network = host->hosts->network;
    unsigned taken = 0;

    lane->sent_calls++;
    for (; taken < count && network_has_room(network, host->node, direct); taken++) {
        const struct lane_outgoing *outgoing = &frames[taken];
        struct network_frame *frame = network_take(network);
        frame->from = host->node;
        frame->to = node_at(to);
        frame->bytes = outgoing->head_bytes + outgoing->payload_bytes;
        frame->of_tcp = false;
        frame->direct = direct;
        assert(frame->bytes <= lane->frame_bytes);
        memcpy(frame->data, outgoing->head, outgoing->head_bytes);
        if (outgoing->payload_bytes > 0) {
            memcpy(frame->data + outgoing->head_bytes, outgoing->payload, outgoing->payload_bytes);
        }
        lane->sent_frames++;
        lane->sent_bytes += frame->bytes;
        host->clock_ns += host->hosts->options.frame_ns;
        network_send(network, frame, host->clock_ns);
    }
    host->refused = host->refused || taken < count;
    lane->refused_frames += count - taken;
    return taken;
}

static unsigned lane_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct host_lane *at = host_lane_of(lane);
    struct host *host = at->host;
    unsigned taken = 0;

    for (; taken < count && at->arrived != NULL; taken++) {
        struct network_frame *frame = at->arrived;
        at->arrived = frame->next;
        at->arrived_bytes -= frame->bytes;
        frame->next = at->held;
        at->held = frame;
        host->clock_ns += host->hosts->options.frame_ns;
        frames[taken] = (struct lane_incoming){
            .data = frame->data, .bytes = frame->bytes, .from = address_of(frame->from)};
        lane->received_frames++;
        lane->received_bytes += frame->bytes;
    }
    return taken;
}

static void give_back_all(struct network *network, struct network_frame **frames)
{
    while (*frames != NULL) {
        struct network_frame *frame = *frames;
        *frames = frame->next;
        network_give_back(network, frame);
    }
}

static void lane_release(struct lane *lane)
{
    struct host_lane *at = host_lane_of(lane);

    give_back_all(at->host->hosts->network, &at->held);
}

static int lane_status(struct lane *lane)
{
    (void)lane;
    return 0;
}

static int lane_descriptor(const struct lane *lane)
{
    (void)lane;
    return -1;
}

static void lane_close(struct lane *lane)
{
    (void)lane;
}

static const struct lane_operations operations = {
    .publish = lane_publish,
    .reach = lane_reach,
    .send = lane_send,
    .receive = lane_receive,
    .release = lane_release,
    .status = lane_status,
    .descriptor = lane_descriptor,
    .close = lane_close,
};

/* ---- the node ------------------------------------------------------------------------------ */

static uint64_t host_random(void *context)
{
    struct hosts *hosts = context;

    return random_next(&hosts->random);
}

static uint64_t host_clock(void *context)
{
    const struct host *host = context;

    return host->clock_ns;
}

static void make_secret(struct hosts *hosts, uint8_t secret[ADDRESS_SECRET_BYTES])
{
    do {
        for (unsigned at = 0; at < ADDRESS_SECRET_BYTES; at += sizeof(uint64_t)) {
            uint64_t number = random_next(&hosts->random);
            memcpy(secret + at, &number, sizeof number);
        }
    } while (proof_incarnation(secret) == 0 || !proof_secret_is_known(secret));
}

static void open_lane(struct host *host, unsigned index)
{
    const struct host_options *options = &host->hosts->options;
    bool direct = index == 0;

    host->lanes[index] = (struct host_lane){
        .host = host,
        .direct = direct,
        .lane =
            {
                .operations = &operations,
                .kind = direct ? LANE_PACKET : LANE_UDP,
                .bulk = direct ? LANE_BULK_FRAMES : LANE_BULK_TRAINS,
                .takes_trains = !direct,
                .frame_bytes = options->frame_bytes,
                .mtu = options->frame_bytes,
                .batch_frames = FLOW_BATCH_FRAMES,
                .capacity_bytes = options->receive_bytes,
            },
    };
}

static void open_host(struct hosts *hosts, uint32_t node, uint32_t peers)
{
    struct host *host = &hosts->host[node];
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .endpoint = to_le16(ENDPOINT),
        .ethertype = to_le16(0x88B5),
    };
    struct core_options options = {
        .lanes = {.count = HOST_LANES},
        .operations = OPERATIONS,
        .hold = true,
        .peers = peers,
        .peer_timeout_ns = UINT64_C(30000000000),
        .random = host_random,
        .random_context = hosts,
    };

    host->hosts = hosts;
    host->node = node;
    for (unsigned i = 0; i < HOST_LANES; i++) {
        open_lane(host, i);
        options.lanes.lanes[i] = &host->lanes[i].lane;
    }
    make_secret(hosts, layout.secret);
    layout.incarnation = to_le64(proof_incarnation(layout.secret));
    paths_publish(&options.lanes, &layout);
    memcpy(options.address.bytes, &layout, sizeof layout);
    if (core_open(&host->core, &options) != 0) {
        abort();
    }
}

void hosts_open(struct hosts *hosts, const struct host_options *options, uint32_t count,
                const uint32_t *peers, struct network *network, uint64_t seed)
{
    *hosts = (struct hosts){
        .options = *options,
        .network = network,
        .schedule = network->schedule,
        .host = calloc(count, sizeof *hosts->host),
        .count = count,
    };
    if (hosts->host == NULL) {
        abort();
    }
    random_seed(&hosts->random, seed);
    for (uint32_t node = 0; node < count; node++) {
        open_host(hosts, node, peers[node]);
    }
}

void hosts_close(struct hosts *hosts)
{
    for (uint32_t node = 0; node < hosts->count; node++) {
        struct host *host = &hosts->host[node];
        core_close(&host->core);
        for (unsigned i = 0; i < HOST_LANES; i++) {
            give_back_all(hosts->network, &host->lanes[i].held);
            give_back_all(hosts->network, &host->lanes[i].arrived);
        }
    }
    free(hosts->host);
}

void host_deliver(struct host *host, struct network_frame *frame, uint64_t now_ns)
{
    struct host_lane *at = &host->lanes[frame->direct ? 0 : 1];

    if (at->arrived_bytes + frame->bytes > host->hosts->options.receive_bytes) {
        host->dropped++;
        network_give_back(host->hosts->network, frame);
        return;
    }
    frame->next = NULL;
    if (at->arrived == NULL) {
        at->arrived = frame;
    } else {
        at->arrived_last->next = frame;
    }
    at->arrived_last = frame;
    at->arrived_bytes += frame->bytes;
    schedule_by(host->hosts->schedule, host->node,
                host->clock_ns > now_ns ? host->clock_ns : now_ns);
}

void host_has_room(struct host *host, uint64_t now_ns)
{
    if (host->refused) {
        schedule_by(host->hosts->schedule, host->node,
                    host->clock_ns > now_ns ? host->clock_ns : now_ns);
    }
}

bool host_begin(struct host *host, uint64_t now_ns)
{
    if (host->clock_ns > now_ns) {
        schedule_by(host->hosts->schedule, host->node, host->clock_ns);
        return false;
    }
    host->clock_ns = now_ns;
    host->refused = false;
    return true;
}

void host_progress(struct host *host)
{
    bool found = false;

    while (core_receive(&host->core, host_clock, host) > 0) {
        found = true;
    }
    core_timers(&host->core, host->clock_ns);
    if (core_asks_looks(&host->core)) {
        core_look_held(&host->core, !found, host->clock_ns);
    }
}

void host_end(struct host *host)
{
    uint64_t next_ns = host->core.deadline_ns;
    uint64_t soon_ns = host->clock_ns + STEP_NS;

    if (host->refused && next_ns <= soon_ns) {
        next_ns = UINT64_MAX; /* the card will say when it has room */
    }
    if (core_has_held(&host->core)) {
        next_ns = soon_ns; /* the application polls */
    }
    next_ns = next_ns > soon_ns ? next_ns : soon_ns;
    if (host->lanes[0].arrived != NULL || host->lanes[1].arrived != NULL) {
        next_ns = host->clock_ns;
    }
    schedule_set(host->hosts->schedule, host->node, next_ns);
}

int host_post(struct host *host, uint32_t to, uint64_t tag, const void *data, uint64_t bytes,
              void *context)
{
    struct core_peer *peer = NULL;
    int status = core_peer_add(&host->core, &host->hosts->host[to].core.options.address, &peer);

    if (status != 0) {
        return status;
    }
    const struct core_post post = {
        .how = CORE_SEND, .tag = tag, .data = data, .bytes = bytes, .context = context};
    return core_post(&host->core, peer, &post, host_clock, host);
}
