/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tipc_internal.h - shared by the files of the lane over TIPC. For lane/tipc*.c only.
 */
#ifndef BEOWIRE_LANE_TIPC_INTERNAL_H
#define BEOWIRE_LANE_TIPC_INTERNAL_H

#include "frame/wire_types.h"
#include "lane/lane.h"

#include <assert.h>
#include <linux/tipc.h>
#include <stddef.h>

/** Refusals, and answers of hosts, kept until they are taken; further ones are dropped. */
#define TIPC_LOST_MAX 16
#define TIPC_ANSWERS_MAX 16

/** Number of a socket that never exists: the kernel draws them from 32 bits, at random. */
#define TIPC_NO_SOCKET 1u

/** Bytes of the secret of its questions. */
#define TIPC_SECRET_BYTES 16

/** Asks whether a host answers: it returns this message. No frame begins with its first byte. */
struct tipc_question {
    uint8_t none[4];
    le32 mark;
    uint64_t secret; /**< of the mark and the node */
};
static_assert(sizeof(struct tipc_question) == 16, "docs/PROTOCOL.md");

struct tipc_lane {
    struct lane lane; /* first: the layers above know only this */
    int socket;
    uint32_t node;                     /* of this host */
    uint32_t number;                   /* of the socket there */
    uint32_t kernel_drops;             /* as last read */
    uint8_t secret[TIPC_SECRET_BYTES]; /* random, never sent */
    uint8_t *room;                     /* TIPC_ROOM_BYTES */
    size_t room_used;
    struct lane_expectation expectation;
    bool streaming; /* the previous receive() found something */
    struct lane_loss lost[TIPC_LOST_MAX];
    unsigned lost_count;
    uint32_t answers[TIPC_ANSWERS_MAX]; /* marks */
    unsigned answer_count;
};

/** The contents of a lane_address of this lane. */
struct tipc_place {
    uint32_t node;
    uint32_t number;
    uint8_t none[16]; /* 0 */
};
static_assert(sizeof(struct tipc_place) == sizeof(struct lane_address), "lane.h");

static inline struct tipc_lane *tipc_of(struct lane *lane)
{
    return (struct tipc_lane *)(void *)lane;
}

/** The question for this node. */
struct tipc_question tipc_ask(const struct tipc_lane *tipc, uint32_t node, uint32_t mark);

/** Allocates the memory of tipc_receive(). @return 0, or -ENOMEM. */
int tipc_receive_open(struct tipc_lane *tipc);

/** As in struct lane_operations. */
unsigned tipc_receive(struct lane *lane, struct lane_incoming *frames, unsigned count);
void tipc_release(struct lane *lane);
void tipc_expect(struct lane *lane, const struct lane_expectation *expectation);
bool tipc_lost(struct lane *lane, struct lane_loss *loss);
enum lane_host tipc_host_answer(struct lane *lane, uint32_t *mark);

#endif /* BEOWIRE_LANE_TIPC_INTERNAL_H */
