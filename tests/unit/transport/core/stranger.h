/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stranger.h - a core at node 0, and at node 1 a bare lane through which the test says what it
 * likes and hears each frame of the core.
 */
#ifndef BEOWIRE_TESTS_CORE_STRANGER_H
#define BEOWIRE_TESTS_CORE_STRANGER_H

#include "route/address.h"
#include "route/proof.h"
#include "simulation/cluster.h"
#include "unit/test.h"

#include <errno.h>
#include <stdlib.h>

#define STRANGER_KEY 0xABCD1234
#define STRANGER_NONCE "the nonce: 16 B"
#define STRANGER_CREDIT 16
#define PEER_TIMEOUT_NS UINT64_C(5000000000)

struct stranger {
    struct cluster cluster;
    struct core *core;
    struct lane *lane;              /**< the stranger's */
    struct beowire_address address; /**< the stranger's */
    uint64_t incarnation;           /**< likewise */
    bool guesses;                   /**< what it says it cannot prove */
    struct lane_address core_at;
    uint8_t asked[FRAME_NONCE_BYTES]; /**< the nonce of the CONNECT heard last */
    uint32_t core_key;                /**< what the core wants in frames, once it has said so */
    uint32_t sequence;                /**< of the stranger's next sequenced frame */
    uint8_t wire[2000];               /**< the frame heard last */
    uint32_t heard_bytes;             /**< with what follows the frame */
    struct frame heard;
};

/** An address like this one, of another endpoint: the same for the same number. */
static inline struct beowire_address address_of_another(const struct beowire_address *address,
                                                        uint32_t number)
{
    struct beowire_address another = *address;
    struct address_layout *layout = (struct address_layout *)(void *)another.bytes;

    memset(layout->secret, 0x5A, sizeof layout->secret);
    memcpy(layout->secret, &number, sizeof number);
    layout->incarnation = to_le64(proof_incarnation(layout->secret));
    return another;
}

static inline int stranger_setup(void **state)
{
    struct stranger *stranger = calloc(1, sizeof *stranger);
    struct sim_options wire = SIM_OPTIONS_DEFAULT;

    if (stranger == NULL) {
        return -1;
    }
    cluster_open(&stranger->cluster, &wire);
    stranger->cluster.options.peer_timeout_ns = PEER_TIMEOUT_NS;
    stranger->cluster.options.peers = 3;
    cluster_start(&stranger->cluster, 0);
    stranger->core = &stranger->cluster.nodes[0].core;
    stranger->core_at = sim_address(0, 0);
    if (sim_lane_open(stranger->cluster.wire, 1, 0, &stranger->lane) != 0) {
        return -1;
    }
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .rails = 1,
        .endpoint = to_le16(CLUSTER_ENDPOINT),
        .ethertype = to_le16(0x88B5),
    };
    stranger->lane->operations->publish(stranger->lane, &layout);
    memcpy(stranger->address.bytes, &layout, sizeof layout);
    stranger->address = address_of_another(&stranger->address, 99);
    stranger->incarnation = from_le64(address_layout(&stranger->address)->incarnation);
    *state = stranger;
    return 0;
}

static inline int stranger_teardown(void **state)
{
    struct stranger *stranger = *state;

    stranger->lane->operations->close(stranger->lane);
    cluster_close(&stranger->cluster);
    free(stranger);
    return 0;
}

#define STRANGER_TEST(name)                                                                        \
    TEST_WITH(struct stranger *stranger, name, stranger_setup, stranger_teardown)

/** Lets time pass. */
static inline void pass(struct stranger *stranger, uint64_t time_ns)
{
    cluster_run(&stranger->cluster, cluster_now(&stranger->cluster) + time_ns);
}

/** Time in which a frame arrives and its answer comes back, and no timer runs out. */
static inline void round_trip(struct stranger *stranger)
{
    pass(stranger, 50000);
}

/** Sends any bytes. */
static inline void say_raw(struct stranger *stranger, const void *data, uint32_t bytes)
{
    uint8_t room[LANE_HEADROOM + 2000];
    struct lane_outgoing outgoing = {.head = room + LANE_HEADROOM, .head_bytes = bytes};

    assert_true(bytes <= 2000);
    memcpy(room + LANE_HEADROOM, data, bytes);
    assert_int_equal(
        stranger->lane->operations->send(stranger->lane, &stranger->core_at, &outgoing, 1), 1);
}

/** What a frame of the stranger says; start from SAYS(type). */
struct says {
    struct frame_fields fields;
    uint16_t flags;
    uint32_t acknowledgement;
    uint16_t credit;
    const void *body;
    const void *payload;
    uint32_t padded_bytes; /**< zeros follow, until the frame is so long */
};

/** Sends a frame with the key of the core. */
static inline void say(struct stranger *stranger, const struct says *says)
{
    uint8_t wire[2000] = {0};
    size_t body_bytes = frame_operation_bytes(says->fields.type);
    struct frame_fields fields = says->fields;

    fields.destination = CLUSTER_ENDPOINT;
    fields.source = CLUSTER_ENDPOINT;
    fields.key = fields.type == FRAME_CONNECT || fields.type == FRAME_RESET
                     ? 0
                     : (fields.key != 0 ? fields.key : stranger->core_key);
    if (fields.type >= FRAME_SEQUENCED && fields.sequence == 0) {
        fields.sequence = stranger->sequence++;
    }
    frame_encode(wire, &fields);
    frame_stamp(wire, says->flags, says->acknowledgement, says->credit);
    if (says->body != NULL) {
        memcpy(wire + sizeof(struct frame_header), says->body, body_bytes);
    }
    if (fields.payload_bytes > 0) {
        memcpy(wire + sizeof(struct frame_header) + body_bytes, says->payload,
               fields.payload_bytes);
    }
    if (fields.type == FRAME_CONNECT && !stranger->guesses) {
        proof_write(wire, address_layout(&stranger->core->options.address)->secret, NULL);
    } else if (fields.type == FRAME_ACCEPT && !stranger->guesses) {
        proof_write(wire, address_layout(&stranger->address)->secret, stranger->asked);
    }
    uint32_t bytes = (uint32_t)(sizeof(struct frame_header) + body_bytes + fields.payload_bytes);
    say_raw(stranger, wire, bytes > says->padded_bytes ? bytes : says->padded_bytes);
}

/** Hears the next frame. @return false: there is none. */
static inline bool hear(struct stranger *stranger)
{
    struct lane_incoming incoming;

    if (stranger->lane->operations->receive(stranger->lane, &incoming, 1) == 0) {
        return false;
    }
    assert_true(incoming.bytes <= sizeof stranger->wire);
    memcpy(stranger->wire, incoming.data, incoming.bytes);
    stranger->heard_bytes = (uint32_t)incoming.bytes;
    assert_int_equal(frame_decode(stranger->wire, incoming.bytes, &stranger->heard), FRAME_OK);
    stranger->lane->operations->release(stranger->lane);
    if (stranger->heard.type == FRAME_CONNECT) {
        memcpy(stranger->asked, stranger->heard.connect->nonce, sizeof stranger->asked);
    }
    return true;
}

/** Hears the next frame, which has to be of this type. */
static inline const struct frame *hear_type(struct stranger *stranger, enum frame_type type)
{
    assert_true(hear(stranger));
    assert_int_equal(stranger->heard.type, type);
    return &stranger->heard;
}

static inline struct frame_connect connect_body(const struct stranger *stranger)
{
    struct frame_connect body = {
        .incarnation = to_le64(stranger->incarnation),
        .expected_incarnation = to_le64(stranger->core->incarnation),
        .key = to_le32(STRANGER_KEY),
        .features = to_le32(FRAME_FEATURE_SELECTIVE),
        .frame_bytes = to_le16(1500),
    };

    memcpy(body.nonce, STRANGER_NONCE, sizeof body.nonce);
    memcpy(body.place, stranger->address.bytes, sizeof body.place);
    return body;
}

/** Sends a CONNECT of this length. */
static inline void say_connect_of(struct stranger *stranger, const struct frame_connect *body,
                                  uint32_t bytes)
{
    say(stranger, &(struct says){.fields.type = FRAME_CONNECT,
                                 .credit = STRANGER_CREDIT,
                                 .body = body,
                                 .padded_bytes = bytes});
}

/** Sends a CONNECT that is as long as it has to be. */
static inline void say_connect(struct stranger *stranger, const struct frame_connect *body)
{
    say_connect_of(stranger, body, from_le16(body->frame_bytes));
}

/** From now on the stranger is another endpoint, at the same place. */
static inline void be_another(struct stranger *stranger, uint32_t number)
{
    stranger->address = address_of_another(&stranger->address, number);
    stranger->incarnation = from_le64(address_layout(&stranger->address)->incarnation);
    stranger->sequence = 0;
}

/** Connects from the stranger's side. @return the core's peer. */
static inline struct core_peer *be_accepted(struct stranger *stranger)
{
    struct frame_connect body = connect_body(stranger);

    say_connect(stranger, &body);
    round_trip(stranger);
    const struct frame *accept = hear_type(stranger, FRAME_ACCEPT);
    stranger->core_key = from_le32(accept->connect->key);
    say(stranger, &(struct says){.fields.type = FRAME_ACK, .credit = STRANGER_CREDIT});
    round_trip(stranger); /* the answer has arrived: now it may be sent to */
    return stranger->core->peers[stranger->core->peer_count - 1];
}

/** The same of one that the application has named: who may be silent for ever. */
static inline struct core_peer *be_accepted_as_named(struct stranger *stranger)
{
    struct core_peer *peer = NULL;

    assert_int_equal(core_peer_add(stranger->core, &stranger->address, &peer), 0);
    assert_ptr_equal(be_accepted(stranger), peer);
    return peer;
}

/** The stranger says a message, whole. */
static inline void say_eager(struct stranger *stranger, uint64_t tag, const char *text,
                             uint16_t bytes)
{
    const struct frame_eager eager = {.tag = to_le64(tag), .message_bytes = to_le32(bytes)};

    say(stranger, &(struct says){.fields = {.type = FRAME_EAGER, .payload_bytes = bytes},
                                 .body = &eager,
                                 .payload = text});
}

static inline uint64_t stranger_clock(void *cluster)
{
    return cluster_now(cluster);
}

/** The core looks once for what has come. @return how many frames it took */
static inline unsigned look(struct stranger *stranger)
{
    return core_receive(stranger->core, stranger_clock, &stranger->cluster);
}

/** An operation of the core has ended. */
static inline struct beowire_completion completed(struct stranger *stranger)
{
    struct beowire_completion done = {0};

    assert_true(message_complete(&stranger->core->messages, &done));
    return done;
}

/** The stranger has got nothing before `upto`, but the latest probe. */
static inline void say_nothing_came(struct stranger *stranger, uint32_t upto, uint32_t probe)
{
    const struct frame_sack sack = {.upto = to_le32(upto), .probe = to_le32(probe)};

    say(stranger, &(struct says){.fields.type = FRAME_SACK, .body = &sack, .credit = 16});
}

#endif /* BEOWIRE_TESTS_CORE_STRANGER_H */
