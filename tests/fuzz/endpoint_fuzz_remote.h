/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint_fuzz_remote.h - remote memory for endpoint_fuzz.c: what the peer asks for and answers,
 * what the endpoint asks for, and memory that says who has touched it without leave.
 */
#ifndef BEOWIRE_TESTS_ENDPOINT_FUZZ_REMOTE_H
#define BEOWIRE_TESTS_ENDPOINT_FUZZ_REMOTE_H

#include "endpoint_fuzz_say.h"
#include "remote/remote.h"

#define MEMORY_KEY 5
#define CONSTANT_KEY 6

static void register_memory(struct fuzz *fuzz, uint64_t key, uint8_t *base, unsigned flags)
{
    const struct region region = {.key = key, .base = base, .bytes = MEMORY_BYTES, .flags = flags};

    require(region_add(&fuzz->core->messages.regions, &region) == 0);
}

static void open_memory(struct fuzz *fuzz)
{
    register_memory(fuzz, MEMORY_KEY, fuzz->memory + GUARD_BYTES,
                    BEOWIRE_MEMORY_READ | BEOWIRE_MEMORY_WRITE);
    register_memory(fuzz, CONSTANT_KEY, fuzz->constant, BEOWIRE_MEMORY_READ);
    fuzz->offered = true;
}

/** What may not be written is as it was. */
static void check_memory(const struct fuzz *fuzz)
{
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        require(fuzz->memory[i] == 0 && fuzz->memory[GUARD_BYTES + MEMORY_BYTES + i] == 0);
    }
    for (size_t i = 0; i < MEMORY_BYTES; i++) {
        require(fuzz->constant[i] == 0);
        require(fuzz->offered || fuzz->memory[GUARD_BYTES + i] == 0);
    }
}

/** Takes the memory back, or offers it again; while it is not offered it is cleared. */
static void change_memory(struct fuzz *fuzz)
{
    if (fuzz->offered) {
        require(cluster_unregister(&fuzz->cluster, 0, MEMORY_KEY) == 0);
        memset(fuzz->memory, 0, sizeof fuzz->memory);
        fuzz->offered = false;
    } else {
        check_memory(fuzz);
        register_memory(fuzz, MEMORY_KEY, fuzz->memory + GUARD_BYTES,
                        BEOWIRE_MEMORY_READ | BEOWIRE_MEMORY_WRITE);
        fuzz->offered = true;
    }
    settle(fuzz);
}

static uint64_t some_key(uint8_t choice)
{
    return choice % 8 == 0 ? choice : (choice % 8 == 1 ? CONSTANT_KEY : MEMORY_KEY);
}

static uint64_t some_address(struct fuzz *fuzz, uint8_t choice)
{
    return (choice & 0x20) != 0 ? UINT64_MAX - take(fuzz) : take_16(fuzz) % (MEMORY_BYTES + 8);
}

/** Goes on with the put that was said last, or begins one, or breaks the order. */
static void say_put(struct fuzz *fuzz)
{
    uint8_t choice = take(fuzz);
    bool goes_on = (choice & 0x10) != 0 && fuzz->put_offset > 0;
    uint32_t bytes = goes_on ? from_le32(fuzz->put.bytes) : (uint32_t)take_bytes(fuzz);
    uint32_t offset = goes_on ? fuzz->put_offset
                              : ((choice & 0x10) != 0 && bytes > 0 ? take_16(fuzz) % bytes : 0);
    uint32_t part = bytes - offset;
    struct frame_put body = {
        .key = to_le64(some_key(choice)),
        .address = to_le64(some_address(fuzz, choice)),
        .request = to_le32(choice),
        .bytes = to_le32(bytes),
        .offset = to_le32(offset),
        .flags = to_le16(choice >> 6),
    };
    if (goes_on) {
        body = fuzz->put;
        body.offset = to_le32(offset);
    }
    struct says says = usual(fuzz, FRAME_PUT, &body);

    uint32_t room = room_beside_seal(fuzz->core, FRAME_BYTES - 64);
    says.payload_bytes = part < room ? part : room;
    fuzz->put = body;
    fuzz->put_offset = says.payload_bytes < part ? offset + says.payload_bytes : 0;
    (void)say(fuzz, &says);
}

/** A long put: its data is said as that of an announced message. */
static void say_offer(struct fuzz *fuzz)
{
    uint32_t message = fuzz->begun_count;
    uint8_t choice = take(fuzz);
    uint64_t bytes = take_bytes(fuzz);
    uint32_t segment_bytes = SEGMENT_BYTES_MIN + choice % 61u;
    const struct frame_offer body = {
        .key = to_le64(some_key(choice)),
        .remote_address = to_le64(some_address(fuzz, choice)),
        .bytes = to_le64(bytes),
        .message = to_le32(ANNOUNCED + message),
        .unasked_bytes = to_le32((choice & 0x40) != 0 ? take_16(fuzz) : 0),
        .segment_bytes = to_le16((uint16_t)segment_bytes),
        .lane_kind = LANE_SIM,
        .flags = to_le16(choice >> 7),
    };
    struct says says = usual(fuzz, FRAME_OFFER, &body);

    fuzz->begun[message] = (struct begun){.bytes = bytes, .segment_bytes = segment_bytes};
    fuzz->last_announced = message;
    fuzz->begun_count++;
    (void)say(fuzz, &says);
}

static void say_get(struct fuzz *fuzz)
{
    uint8_t choice = take(fuzz);
    const struct frame_get body = {
        .key = to_le64(some_key(choice)),
        .address = to_le64(some_address(fuzz, choice)),
        .bytes = to_le64((choice & 0x10) != 0 ? UINT64_MAX - take(fuzz) : take_bytes(fuzz)),
        .request = to_le32(choice),
    };
    struct says says = usual(fuzz, FRAME_GET, &body);

    (void)say(fuzz, &says);
}

static void say_atomic(struct fuzz *fuzz)
{
    uint8_t choice = take(fuzz);
    uint8_t operation = take(fuzz) % 20;
    uint8_t type = take(fuzz) % 11;
    uint16_t count = take(fuzz) % 32;
    static const uint8_t sizes[11] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 0};
    uint32_t arrays = operation == 10 ? 0 : (operation >= 12 ? 2 : 1);
    const struct frame_atomic body = {
        .key = to_le64(some_key(choice)),
        .address = to_le64(some_address(fuzz, choice)),
        .request = to_le32(choice),
        .count = to_le16(count),
        .operation = operation,
        .type = type,
        .flags = to_le16(choice >> 6),
    };
    struct says says = usual(fuzz, FRAME_ATOMIC, &body);

    says.payload_bytes = arrays * count * sizes[type];
    uint32_t room = room_beside_seal(fuzz->core, FRAME_BYTES - 56);
    says.payload_bytes = says.payload_bytes < room ? says.payload_bytes : room;
    says.payload_bytes += (choice & 0x10) != 0;
    (void)say(fuzz, &says);
}

/** RESULT, REPLY or GRANT; to what was asked last, or to anything. */
static void say_answer(struct fuzz *fuzz)
{
    uint8_t choice = take(fuzz);
    le32 request = to_le32((choice & 0x40) != 0 ? take_16(fuzz) : fuzz->request);
    const struct frame_reply reply = {.request = request,
                                      .offset = to_le32((choice & 0x20) != 0 ? take_16(fuzz) : 0)};
    const struct frame_grant grant = {
        .request = request,
        .message = to_le32(ANNOUNCED + fuzz->last_announced),
        .segment_bytes = to_le16(SEGMENT_BYTES_MIN),
        .unasked_bytes = to_le32((choice & 0x20) != 0 ? take_16(fuzz) : 0),
        .lane_kind = LANE_SIM,
    };
    const struct frame_result results[2] = {
        {.request = request, .status = to_le32((choice & 0x20) != 0 ? choice % 5u : 0)},
        {.request = request}};
    struct says says;

    if (choice % 3 == 0) {
        says = usual(fuzz, FRAME_RESULT, NULL);
        says.payload = (const uint8_t *)results;
        says.payload_bytes = (choice & 0x10) != 0 ? 16 : 8;
    } else if (choice % 3 == 1) {
        says = usual(fuzz, FRAME_REPLY, &reply);
        says.payload_bytes = 1 + take_16(fuzz) % room_beside_seal(fuzz->core, FRAME_BYTES - 36);
    } else {
        says = usual(fuzz, FRAME_GRANT, &grant);
    }
    (void)say(fuzz, &says);
}

/** The endpoint asks for something. */
static void ask_peer(struct fuzz *fuzz)
{
    static const uint64_t operand = 3;
    uint8_t choice = take(fuzz);
    size_t slot = 0;

    while (slot < OPERATIONS && fuzz->asked[slot]) {
        slot++;
    }
    if (slot == OPERATIONS) {
        return;
    }
    bool *asked = &fuzz->asked[slot];
    const struct beowire_remote remote = {.key = choice, .address = choice};
    const struct beowire_atomic atomic = {
        .operation = BEOWIRE_ATOMIC_SUM,
        .type = BEOWIRE_UINT64,
        .count = 1,
        .operand = &operand,
        .result = (choice & 0x80) != 0 ? fuzz->got : NULL,
    };
    *asked = true;
    int status = 0;
    switch (choice % 4) {
    case 0:
        status = cluster_atomic(&fuzz->cluster, 0, peer_of(fuzz), &remote, &atomic, asked);
        break;
    case 1:
        status = cluster_get(&fuzz->cluster, 0, peer_of(fuzz), &remote, fuzz->got, take_bytes(fuzz),
                             asked);
        break;
    default:
        status = cluster_put(&fuzz->cluster, 0, peer_of(fuzz), &remote, fuzz->send_buffer,
                             take_bytes(fuzz),
                             choice % 4 == 2 ? BEOWIRE_PUT_INJECT : BEOWIRE_PUT_NOTIFY, 7, asked);
        break;
    }
    *asked = *asked && status == 0;
    settle(fuzz);
}

#endif /* BEOWIRE_TESTS_ENDPOINT_FUZZ_REMOTE_H */
