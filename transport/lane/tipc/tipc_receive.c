/* SPDX-License-Identifier: BSD-3-Clause */
/* Received frames, and returned messages. Frames are in `room`, which is used from the front, so
 * that a few short frames at a time stay in the same few cache lines; or at the target of the
 * expectation. */
#include "lane/tipc/tipc_internal.h"
#include "lane/train.h"
#include "tuning.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/** The number of messages of any kind that fit into `room`. */
#define ROOM_MESSAGES 2
#define ROOM_BYTES (ROOM_MESSAGES * TRAIN_ROOM_BYTES)

/** An expected message has a head, a payload and a rest; others only a rest. */
#define PARTS_MAX 3

/** Returned messages need a call each, and do not show whether more are there: handles at most this
 *  many at a time. */
#define RETURNS_AT_ONCE 8

#define CACHE_LINE_BYTES 64

/** TIPC_ERRINFO, and the beginning of TIPC_RETDATA, which the kernel cuts to the room. */
#define ERROR_BYTES CMSG_SPACE(sizeof(struct tipc_return))
#define CONTROL_BYTES (ERROR_BYTES + CMSG_SPACE(LANE_QUOTE_BYTES))

/** TIPC_ERRINFO. */
struct tipc_return {
    uint32_t error;
    uint32_t bytes; /* of the sent message */
};

int tipc_receive_open(struct tipc_lane *tipc)
{
    tipc->room = aligned_alloc(4096, (ROOM_BYTES + 4095) / 4096 * 4096);
    return tipc->room == NULL ? -ENOMEM : 0;
}

static struct lane_address place_of(const struct sockaddr_tipc *address)
{
    struct lane_address at = {0};
    struct tipc_place *place = (struct tipc_place *)(void *)&at;

    if (address->addrtype == TIPC_SOCKET_ADDR) {
        place->node = address->addr.id.node;
        place->number = address->addr.id.ref;
    }
    return at;
}

static void note_answer(struct tipc_lane *tipc, uint32_t node, const struct lane_loss *loss)
{
    struct tipc_question question;

    if (loss->quote_bytes < sizeof question) {
        return;
    }
    memcpy(&question, loss->quote, sizeof question);
    const uint32_t mark = from_le32(question.mark);
    const struct tipc_question asked = tipc_ask(tipc, node, mark);
    if (memcmp(&question, &asked, sizeof asked) == 0 && tipc->answer_count < TIPC_ANSWERS_MAX) {
        tipc->answers[tipc->answer_count++] = mark;
    }
}

static bool is_same(const struct lane_loss *a, const struct lane_loss *b)
{
    return memcmp(&a->address, &b->address, sizeof a->address) == 0 &&
           a->quote_bytes == b->quote_bytes && memcmp(a->quote, b->quote, sizeof a->quote) == 0;
}

static void note_lost(struct tipc_lane *tipc, const struct lane_loss *loss)
{
    for (unsigned i = 0; i < tipc->lost_count; i++) {
        if (is_same(&tipc->lost[i], loss)) {
            return;
        }
    }
    if (tipc->lost_count < TIPC_LOST_MAX) {
        tipc->lost[tipc->lost_count++] = *loss;
    }
}

/** Handles a returned message. If there was no room or no route for it, the layers above detect its
 *  loss. */
static void take_back(struct tipc_lane *tipc, uint32_t error, struct lane_loss *loss)
{
    const struct tipc_place *from = (const struct tipc_place *)(const void *)&loss->address;

    if (error != TIPC_ERR_NO_PORT) {
        return;
    }
    if (from->number == TIPC_NO_SOCKET) {
        note_answer(tipc, from->node, loss);
    } else {
        note_lost(tipc, loss);
    }
}

/** Is it a returned message? @param loss gets its beginning */
static bool is_returned(struct msghdr *message, uint32_t *error, struct lane_loss *loss)
{
    struct tipc_return returned = {0};
    bool found = false;

    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
         header = CMSG_NXTHDR(message, header)) {
        size_t bytes = header->cmsg_len - CMSG_LEN(0);
        if (header->cmsg_level != SOL_TIPC) {
            continue;
        }
        if (header->cmsg_type == TIPC_ERRINFO && bytes >= sizeof returned) {
            memcpy(&returned, CMSG_DATA(header), sizeof returned);
            found = true;
        } else if (header->cmsg_type == TIPC_RETDATA) {
            loss->quote_bytes = (uint8_t)(bytes < LANE_QUOTE_BYTES ? bytes : LANE_QUOTE_BYTES);
            memcpy(loss->quote, CMSG_DATA(header), loss->quote_bytes);
        }
    }
    *error = returned.error;
    return found;
}

/** Receives a message. @return 1: a frame; 0: no frame; -EAGAIN: none. */
static int receive_message(struct tipc_lane *tipc, struct lane_incoming *frame)
{
    struct iovec parts[PARTS_MAX];
    _Alignas(struct cmsghdr) uint8_t control[CONTROL_BYTES];
    struct sockaddr_tipc address = {0};
    struct train train;
    struct train_contents contents;
    struct lane_loss loss = {0};
    uint32_t error = 0;

    unsigned part_count =
        train_lay_out(&train, &tipc->expectation, 1, tipc->room + tipc->room_used, parts);
    struct msghdr message = {
        .msg_name = &address,
        .msg_namelen = sizeof address,
        .msg_iov = parts,
        .msg_iovlen = part_count,
        .msg_control = control,
        .msg_controllen = sizeof control,
    };
    ssize_t received = recvmsg(tipc->socket, &message, MSG_DONTWAIT);
    if (received < 0) {
        return -EAGAIN;
    }
    struct lane_address from = place_of(&address);
    if (__builtin_expect(message.msg_controllen > 0, 0) && is_returned(&message, &error, &loss)) {
        loss.address = from;
        take_back(tipc, error, &loss);
        return 0;
    }
    if (received == 0 || (message.msg_flags & MSG_TRUNC) != 0) {
        tipc->lane.foreign_frames++;
        return 0;
    }
    uint32_t bytes = (uint32_t)received;
    train_sort(&train, bytes, bytes, &from, &tipc->expectation, frame, &contents);
    if (contents.placed == 0) {
        struct train_run *run = contents.runs[0].bytes > 0 ? &contents.runs[0] : &contents.runs[1];
        (void)train_take(run, &from, frame, 1);
    }
    tipc->room_used +=
        (contents.room_bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    tipc->lane.received_bytes += bytes;
    tipc->lane.placed_frames += contents.placed;
    return 1;
}

static bool has_room(const struct tipc_lane *tipc)
{
    return tipc->room_used + TRAIN_ROOM_BYTES <= ROOM_BYTES;
}

/** Is another system call worth while? Not if messages come one at a time, because then the answer
 *  is more urgent; nor if all expected messages have arrived, because the next expectation is set
 *  before the next receive(). */
static bool is_worth_another(const struct tipc_lane *tipc, bool expected)
{
    return tipc->streaming && (!expected || tipc->expectation.frames > 0);
}

unsigned tipc_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct tipc_lane *tipc = tipc_of(lane);
    bool expected = tipc->expectation.frames > 0;
    unsigned taken = 0;
    unsigned returned = 0;

    while (taken < count && has_room(tipc) && (taken == 0 || is_worth_another(tipc, expected))) {
        int got = receive_message(tipc, &frames[taken]);
        if (got > 0) {
            taken++;
        } else if (got < 0 || ++returned == RETURNS_AT_ONCE) {
            break; /* the rest is for the next call */
        }
    }
    tipc->streaming = taken > 0;
    lane->received_frames += taken;
    return taken;
}

void tipc_release(struct lane *lane)
{
    tipc_of(lane)->room_used = 0;
}

void tipc_expect(struct lane *lane, const struct lane_expectation *expectation)
{
    struct lane_expectation *own = &tipc_of(lane)->expectation;

    *own = *expectation;
    uint64_t bytes_max = (uint64_t)own->frames * own->payload_bytes;
    own->bytes = own->bytes < bytes_max ? own->bytes : bytes_max;
    if (!train_can_expect(own)) {
        own->frames = 0;
    }
}

bool tipc_lost(struct lane *lane, struct lane_loss *loss)
{
    struct tipc_lane *tipc = tipc_of(lane);

    if (tipc->lost_count == 0) {
        return false;
    }
    *loss = tipc->lost[--tipc->lost_count];
    return true;
}

enum lane_host tipc_host_answer(struct lane *lane, uint32_t *mark)
{
    struct tipc_lane *tipc = tipc_of(lane);

    if (tipc->answer_count == 0) {
        return LANE_HOST_ASKED;
    }
    *mark = tipc->answers[--tipc->answer_count];
    return LANE_HOST_VOUCHES;
}
