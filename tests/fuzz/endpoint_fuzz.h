/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint_fuzz.h - what endpoint_fuzz.c works with: the script, lanes whose frames come from it,
 * the endpoint behind them, and the judge of what the endpoint delivers. One program includes it,
 * and endpoint_fuzz_say.h, which has frames said.
 */
#ifndef BEOWIRE_TESTS_ENDPOINT_FUZZ_H
#define BEOWIRE_TESTS_ENDPOINT_FUZZ_H

#include "endpoint_fuzz_cut.h"
#include "endpoint_fuzz_seal.h"
#include "lane/tso/tso_head.h"
#include "route/address.h"
#include "simulation/cluster.h"

#include <errno.h>

#define FRAME_BYTES UINT32_C(400)
#define OPERATIONS 8
#define MESSAGES 256 /* of the peer, told apart by their immediate data */
#define NAMES 4      /* that the peer gives its messages */
#define BUFFER_BYTES 40000
#define STEPS_MAX 400
#define SEGMENT_BYTES_MIN 300
#define MEMORY_BYTES 20000
#define GUARD_BYTES 64
#define ANNOUNCED 1000 /* names of announced messages begin here */
#define STRANGER 9     /* node that is no peer */

/** A message that the peer has begun. */
struct begun {
    uint64_t bytes;
    uint64_t sent; /* of which the endpoint has accepted so many, */
    uint64_t said; /* and has so many if what it keeps is counted */
    bool delivered;
    uint32_t segment_bytes;                          /* announced: of its DATA frames */
    bool segments[BUFFER_BYTES / SEGMENT_BYTES_MIN]; /* announced: those that were said */
    uint32_t cut_bytes; /* cut: of its segments, the first of which has the head of EAGER */
};

/** What a frame does to the messages once its turn has come: it may be kept until then. */
struct effect {
    uint32_t sequence;
    bool said;        /* else no frame with this sequence may be believed */
    bool some;        /* else it does nothing */
    bool names;       /* the message has this name from now on */
    bool continues;   /* whatever has this name: it should be the message */
    uint8_t name;     /* given by the peer */
    uint32_t message; /* whose bytes it carries, */
    uint64_t sent;    /* of which so many are then there; */
    uint32_t bundled; /* or so many messages from that one on, all of them whole */
};

/** What is wrong with a frame that is right but for this: nothing may come of it. */
enum forgery {
    FORGED_NOT,
    FORGED_KEY,
    FORGED_SOURCE,
    FORGED_SEAL, /* its key, if it has no seal */
};

/** Who wants frames to be sealed. */
enum sealing {
    SEALING_NOBODY, /* and the peer does not know how */
    SEALING_ENDPOINT,
    SEALING_PEER,
};

struct fuzz {
    struct lane lane; /* first: the endpoint knows only this */
    struct cut_lane cut;
    bool cuts; /* the peer is reached over that one as well */
    enum sealing sealing;
    bool checks; /* both ends offer checksums */
    struct peer_seals seals;
    struct cluster cluster;
    struct node node;
    struct core *core;
    struct script script;
    uint8_t *frame; /* on its way to the endpoint: of exactly its length */
    uint32_t frame_bytes;
    uint32_t asked_bytes; /* of the longest CONNECT since the last ACCEPT */
    struct lane_address peer_at;
    struct lane_address peer_at_cut;
    struct beowire_address peer_address;
    uint32_t ahead;        /* sequenced frames that wait in the lane that cuts */
    uint32_t own_key;      /* the endpoint wants it in frames; 0: not known yet */
    uint64_t challenge;    /* the peer has not answered it yet; 0: there is none */
    uint32_t highest_sent; /* one past the last sequence of the endpoint */
    uint32_t announced;    /* the endpoint's last ANNOUNCE */
    uint64_t announced_bytes;
    uint32_t announced_segment;
    uint32_t last_announced; /* message of the peer */
    uint32_t last_eager;     /* message of the peer that was not announced */
    struct begun begun[MESSAGES];
    uint32_t begun_count;
    uint32_t named[NAMES]; /* which of them has the name */
    struct effect effects[FLOW_WINDOW_FRAMES];
    uint32_t applied;     /* the effects of frames before this sequence */
    enum forgery forgery; /* of all that is said */
    uint8_t send_buffer[BUFFER_BYTES];
    uint8_t buffers[OPERATIONS][BUFFER_BYTES];
    uint64_t capacities[OPERATIONS];
    bool posted[OPERATIONS];
    uint8_t memory[MEMORY_BYTES + 2 * GUARD_BYTES];
    uint8_t constant[MEMORY_BYTES];
    bool offered;              /* `memory`, without its guards, may be read and written */
    uint8_t got[BUFFER_BYTES]; /* of all gets: nobody looks at it */
    bool asked[OPERATIONS];
    uint32_t request; /* the endpoint's last request for memory */
    struct frame_put put;
    uint32_t put_offset; /* where the put goes on that was said last; 0: it was whole */
    bool mangled;        /* a frame was changed: its bytes may be anything from here on */
};

/* ---- the script ---------------------------------------------------------------------------- */

static uint8_t take(struct fuzz *fuzz)
{
    return script_take(&fuzz->script);
}

static uint32_t take_16(struct fuzz *fuzz)
{
    return script_take_16(&fuzz->script);
}

static uint64_t take_bytes(struct fuzz *fuzz)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     FRAME_BYTES - 46,
                                     FRAME_BYTES - 45,
                                     FRAME_BYTES - 40,
                                     MESSAGE_EAGER_BUSY_BYTES_MAX,
                                     MESSAGE_EAGER_BUSY_BYTES_MAX + 1,
                                     BUFFER_BYTES};
    uint8_t choice = take(fuzz);

    return (choice & 0x80) != 0 ? take_16(fuzz) % BUFFER_BYTES : edges[choice % 8];
}

/* ---- the lane ------------------------------------------------------------------------------ */

static struct fuzz *fuzz_of(struct lane *lane)
{
    return (struct fuzz *)(void *)lane;
}

static void learn(struct fuzz *fuzz, const struct frame *frame)
{
    if (frame->type == FRAME_CONNECT || frame->type == FRAME_ACCEPT) {
        fuzz->own_key = from_le32(frame->connect->key);
    } else if (frame->type == FRAME_CHALLENGE) {
        fuzz->challenge = from_le64(frame->challenge->number);
    } else if (frame->type >= FRAME_SEQUENCED &&
               !sequence_before(frame->sequence, fuzz->highest_sent)) {
        fuzz->highest_sent = frame->sequence + 1;
    }
    if (frame->type == FRAME_ANNOUNCE) {
        fuzz->announced = from_le32(frame->announce->message);
        fuzz->announced_segment = from_le16(frame->announce->segment_bytes);
        fuzz->announced_bytes = from_le64(frame->announce->message_bytes);
    }
}

/** What it asks for and grants. */
static void learn_remote(struct fuzz *fuzz, const struct frame *frame)
{
    if (frame->type == FRAME_PUT) {
        fuzz->request = from_le32(frame->put->request);
    } else if (frame->type == FRAME_GET) {
        fuzz->request = from_le32(frame->get->request);
    } else if (frame->type == FRAME_ATOMIC) {
        fuzz->request = from_le32(frame->atomic->request);
    } else if (frame->type == FRAME_OFFER) {
        fuzz->announced = from_le32(frame->offer->message);
        fuzz->announced_segment = from_le16(frame->offer->segment_bytes);
    } else if (frame->type == FRAME_GRANT) {
        fuzz->announced = from_le32(frame->grant->message);
        fuzz->announced_segment = from_le16(frame->grant->segment_bytes);
    }
}

/** What goes over a lane that cuts: a part of a message, or what can follow one another. */
static void check_cut(const struct lane_outgoing *outgoing, const struct frame *frame)
{
    if (outgoing->segment_bytes > 0) {
        require(frame->type == FRAME_DATA && outgoing->segment_bytes <= FRAME_BYTES &&
                outgoing->payload_bytes <= TSO_PAYLOAD_BYTES_MAX);
    } else {
        require(frame->type >= FRAME_SEQUENCED || frame->type == FRAME_PROBE ||
                frame->type == FRAME_CHALLENGE);
    }
}

/** What the endpoint says has to be right whatever it was told. */
static void hear(struct fuzz *fuzz, const struct lane_outgoing *outgoing, bool cut)
{
    static uint8_t wire[sizeof(struct frame_data) + UINT16_MAX];
    uint32_t bytes = outgoing->head_bytes + outgoing->payload_bytes;
    struct frame frame;

    require(bytes <= (outgoing->segment_bytes > 0 ? sizeof wire : FRAME_BYTES));
    require(cut || outgoing->segment_bytes == 0);
    memset(outgoing->head - LANE_HEADROOM, 0xA5, LANE_HEADROOM);
    memcpy(wire, outgoing->head, outgoing->head_bytes);
    if (outgoing->payload_bytes > 0) {
        memcpy(wire + outgoing->head_bytes, outgoing->payload, outgoing->payload_bytes);
    }
    require(frame_decode(wire, bytes, &frame) == FRAME_OK);
    if (cut) {
        check_cut(outgoing, &frame);
        require(sealed_peer(fuzz->core) == NULL);
    }
    check_heard_seal(&fuzz->seals, fuzz->core, &frame);
    check_heard_checksum(fuzz->core, wire, &frame, cut);
    if (frame.type == FRAME_ACCEPT) {
        require(bytes <= fuzz->asked_bytes);
        fuzz->asked_bytes = 0;
    }
    learn(fuzz, &frame);
    learn_remote(fuzz, &frame);
}

static unsigned fuzz_send(struct lane *lane, const struct lane_address *to,
                          const struct lane_outgoing *frames, unsigned count)
{
    struct fuzz *fuzz = fuzz_of(lane);

    (void)to;
    for (unsigned i = 0; i < count; i++) {
        hear(fuzz, &frames[i], false);
    }
    return count;
}

static unsigned cut_send(struct lane *lane, const struct lane_address *to,
                         const struct lane_outgoing *frames, unsigned count)
{
    struct fuzz *fuzz = (struct fuzz *)(void *)((uint8_t *)lane - offsetof(struct fuzz, cut));

    (void)to;
    for (unsigned i = 0; i < count; i++) {
        hear(fuzz, &frames[i], true);
    }
    return count;
}

/** Where a frame comes from: the peer, or a stranger. */
static struct lane_address source_of(const struct fuzz *fuzz, const struct lane_address *peer_at)
{
    struct lane_address from = *peer_at;

    if (fuzz->forgery == FORGED_SOURCE) {
        from.bytes[5] = STRANGER;
    }
    return from;
}

static unsigned fuzz_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct fuzz *fuzz = fuzz_of(lane);

    (void)count;
    if (fuzz->frame == NULL) {
        return 0;
    }
    if (fuzz->frame_bytes > sizeof(struct frame_connect) &&
        frame_type_of(fuzz->frame) == FRAME_CONNECT && fuzz->frame_bytes > fuzz->asked_bytes &&
        fuzz->forgery == FORGED_NOT) {
        fuzz->asked_bytes = fuzz->frame_bytes;
    }
    frames[0] = (struct lane_incoming){
        .data = fuzz->frame, .bytes = fuzz->frame_bytes, .from = source_of(fuzz, &fuzz->peer_at)};
    return 1;
}

static void fuzz_release(struct lane *lane)
{
    struct fuzz *fuzz = fuzz_of(lane);

    free(fuzz->frame);
    fuzz->frame = NULL;
}

static int fuzz_reach(struct lane *lane, const struct address_layout *address,
                      struct lane_address *to)
{
    if (lane->rail >= address->rails) {
        return -EHOSTUNREACH;
    }
    *to = (struct lane_address){0};
    memcpy(to->bytes, address->rail[lane->rail].mac, sizeof address->rail[0].mac);
    return 0;
}

static int fuzz_status(struct lane *lane)
{
    (void)lane;
    return 0;
}

static const struct lane_operations fuzz_operations = {
    .reach = fuzz_reach,
    .send = fuzz_send,
    .receive = fuzz_receive,
    .release = fuzz_release,
    .status = fuzz_status,
};

static const struct lane_operations cut_operations = {
    .reach = fuzz_reach,
    .send = cut_send,
    .receive = cut_receive,
    .release = cut_release,
    .expect = cut_expect,
    .status = fuzz_status,
};

/* ---- the endpoint -------------------------------------------------------------------------- */

static uint64_t some_random(void *context)
{
    return random_next(context);
}

static uint64_t now_of(void *cluster)
{
    return cluster_now(cluster);
}

static void address_of(const struct fuzz *fuzz, uint8_t node, struct beowire_address *address)
{
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .rails = 1,
        .endpoint = to_le16(CLUSTER_ENDPOINT),
        .rail[0].mac = {2, 0, 0, 0, 0, node},
        .ethertype = to_le16(0x88B5),
        .secret = {1, node},
    };

    layout.incarnation = to_le64(proof_incarnation(layout.secret));
    if (fuzz->cuts) {
        memcpy(layout.rail[1].mac, (const uint8_t[]){2, 0, 0, 0, 1, node}, 6);
        layout.rails = 2;
    }
    memcpy(address->bytes, &layout, sizeof layout);
}

static void open_lane(struct lane *lane, const struct lane_operations *operations, uint8_t rail)
{
    lane->operations = operations;
    lane->kind = LANE_SIM;
    lane->rail = rail;
    lane->cuts = rail > 0;
    lane->needs_checksum = !lane->cuts;
    lane->bulk = lane->cuts ? LANE_BULK_CUT : LANE_BULK_LAST;
    lane->batch_frames = 8;
    lane->capacity_bytes = UINT64_MAX;
    lane->frame_bytes = FRAME_BYTES;
}

static void open_fuzz(struct fuzz *fuzz)
{
    struct sim_options wire = SIM_OPTIONS_DEFAULT;
    struct core_options options = {
        .lanes = {.lanes = {&fuzz->lane, &fuzz->cut.lane}, .count = fuzz->cuts ? 2 : 1},
        .operations = OPERATIONS,
        .authenticate = fuzz->sealing == SEALING_ENDPOINT,
        .checksums = fuzz->checks,
        .peers = 2,
        .peer_timeout_ns = UINT64_C(5000000000),
        .random = some_random,
        .random_context = &fuzz->cluster.random,
    };

    wire.frames = 1; /* only its clock is used */
    require(sim_wire_open(&wire, &fuzz->cluster.wire) == 0);
    random_seed(&fuzz->cluster.random, 1);
    fuzz->cluster.nodes = &fuzz->node;
    fuzz->cluster.node_count = 1;
    fuzz->node.lanes = options.lanes;
    fuzz->core = &fuzz->node.core;
    open_lane(&fuzz->lane, &fuzz_operations, 0);
    open_lane(&fuzz->cut.lane, &cut_operations, 1);
    fuzz->peer_at = (struct lane_address){{2, 0, 0, 0, 0, 1}};
    fuzz->peer_at_cut = (struct lane_address){{2, 0, 0, 0, 1, 1}};
    address_of(fuzz, 1, &fuzz->peer_address);
    address_of(fuzz, 0, &options.address);
    require(core_open(fuzz->core, &options) == 0);
}

static void close_fuzz(struct fuzz *fuzz)
{
    require(fuzz->cut.count == 0);
    core_close(fuzz->core);
    sim_wire_close(fuzz->cluster.wire);
}

static struct core_peer *peer_of(struct fuzz *fuzz)
{
    struct core_peer *peer = NULL;

    require(core_peer_add(fuzz->core, &fuzz->peer_address, &peer) == 0);
    return peer;
}

static uint8_t content(uint32_t message, uint64_t offset)
{
    return (uint8_t)((uint64_t)message * 31 + offset * 7 + (offset >> 8));
}

/** How much of a buffer is looked at behind what was given to the endpoint. */
static size_t bytes_behind(const struct fuzz *fuzz, size_t slot)
{
    uint64_t behind = BUFFER_BYTES - fuzz->capacities[slot];

    return behind < GUARD_BYTES ? behind : GUARD_BYTES;
}

static void check_behind(const struct fuzz *fuzz, size_t slot)
{
    for (size_t i = 0; i < bytes_behind(fuzz, slot); i++) {
        require(fuzz->buffers[slot][fuzz->capacities[slot] + i] == 0);
    }
}

static void judge(struct fuzz *fuzz, const struct beowire_completion *done)
{
    if (done->operation > BEOWIRE_RECEIVE && done->operation != BEOWIRE_PUT_ARRIVED) {
        bool *asked = done->context;
        require(*asked); /* once */
        *asked = false;
    }
    if (done->operation != BEOWIRE_RECEIVE) {
        return;
    }
    size_t slot = (size_t)((uint8_t(*)[BUFFER_BYTES])done->context - fuzz->buffers);
    require(slot < OPERATIONS && fuzz->posted[slot]);
    fuzz->posted[slot] = false;
    check_behind(fuzz, slot);
    if (fuzz->mangled || (done->status != 0 && done->status != -EMSGSIZE)) {
        return;
    }
    uint64_t capacity = fuzz->capacities[slot];
    require(done->immediate < fuzz->begun_count);
    struct begun *message = &fuzz->begun[done->immediate];
    require(!message->delivered && done->bytes == message->bytes);
    message->delivered = true;
    uint64_t wanted = message->bytes < capacity ? message->bytes : capacity;
    require(message->sent >= wanted);
    require((done->status == -EMSGSIZE) == (message->bytes > capacity));
    for (uint64_t i = 0; i < wanted; i++) {
        require(fuzz->buffers[slot][i] == content(done->immediate, i));
    }
}

/** Frames were handed up: what they did to the messages. */
static void apply_effects(struct fuzz *fuzz)
{
    uint32_t expected = peer_of(fuzz)->message.flow.expected;

    for (; fuzz->applied != expected; fuzz->applied++) {
        const struct effect *effect = &fuzz->effects[fuzz->applied % FLOW_WINDOW_FRAMES];
        bool said = effect->said && effect->sequence == fuzz->applied;
        require(said || fuzz->mangled);
        if (!said || !effect->some) {
            continue;
        }
        if (effect->continues && fuzz->named[effect->name] != effect->message) {
            fuzz->mangled = true; /* while it was kept, the name was given to another message */
        }
        if (effect->names) {
            fuzz->named[effect->name] = effect->message;
        }
        fuzz->begun[effect->message].sent = effect->sent;
        for (uint32_t i = 0; i < effect->bundled; i++) {
            struct begun *begun = &fuzz->begun[effect->message + i];
            begun->sent = begun->bytes;
        }
    }
}

static void settle(struct fuzz *fuzz)
{
    struct beowire_completion done;

    while (core_receive(fuzz->core, now_of, &fuzz->cluster) > 0) {
        /* at most one frame, and what waits in the lane that cuts */
    }
    fuzz->ahead = 0;
    apply_effects(fuzz);
    core_timers(fuzz->core, cluster_now(&fuzz->cluster));
    while (message_complete(&fuzz->core->messages, &done)) {
        judge(fuzz, &done);
    }
    cluster_check(&fuzz->cluster);
}

#endif /* BEOWIRE_TESTS_ENDPOINT_FUZZ_H */
