/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern_integrity.c - up to RUN_WINDOW messages one way, then as many the other way. Each byte is
 * checked, to find corrupted, truncated, reordered, duplicated and repeated messages.
 *
 * The first eight bytes of a message are a base number, which differs for each run and direction,
 * plus the message's number; the rest is a function of that. Before a message is received, its
 * buffer is filled with the complement of the expected contents, so a byte that is not written is
 * wrong. A message of fewer than eight bytes carries the low bytes of its number, so a message that
 * is repeated after 256^size others is not detected.
 *
 * The time includes making and checking contents: the rate is that of checked messages.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "pattern.h"
#include "run.h"

#define WORD_BYTES sizeof(uint64_t)

/* 2^64 / golden ratio, and the multipliers of splitmix64 (Steele, Lea, Flood 2014). */
#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)
#define MIX_1 UINT64_C(0xBF58476D1CE4E5B9)
#define MIX_2 UINT64_C(0x94D049BB133111EB)

/* Messages at most this far ahead of the expected one are reported as reordered. */
#define AHEAD_MAX (UINT64_C(1) << 32)

/* One direction of a run. */
struct direction {
    uint64_t base;   /* first word of message 0 */
    uint64_t number; /* of the next message */
};

static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * MIX_1;
    value = (value ^ (value >> 27)) * MIX_2;
    return value ^ (value >> 31);
}

static struct direction direction_of(const struct run *run, enum driver_role sender)
{
    const uint64_t way = sender == DRIVER_INITIATOR ? 0 : 1;
    return (struct direction){.base = mix(GOLDEN * (2 * run->request->serial + way + 1))};
}

/* Word `index` of the message whose first word is `first`. */
static inline uint64_t word_of(uint64_t first, uint64_t index)
{
    uint64_t value = first + index * GOLDEN;
    value = index == 0 ? value : (value ^ (value >> 29)) * MIX_1;
    return index == 0 ? value : value ^ (value >> 32);
}

/* Bytes of a message that belong to its first word. */
static inline size_t first_bytes(uint64_t size)
{
    return size < WORD_BYTES ? (size_t)size : WORD_BYTES;
}

static uint8_t byte_of(uint64_t first, uint64_t at)
{
    const uint64_t word = word_of(first, at / WORD_BYTES);
    return ((const uint8_t *)&word)[at % WORD_BYTES];
}

/* Writes the message whose first word is `first`, with all bits inverted if `flip` is all ones. */
static void write_message(uint8_t *data, uint64_t size, uint64_t first, uint64_t flip)
{
    const uint64_t words = size / WORD_BYTES;
    for (uint64_t i = 0; i < words; i++) {
        const uint64_t word = word_of(first, i) ^ flip;
        memcpy(data + i * WORD_BYTES, &word, WORD_BYTES);
    }
    const uint64_t word = word_of(first, words) ^ flip;
    memcpy(data + words * WORD_BYTES, &word, size % WORD_BYTES);
}

/* The index of the first wrong byte, or `size`. */
static uint64_t first_wrong(const uint8_t *data, uint64_t size, uint64_t first)
{
    const uint64_t words = size / WORD_BYTES;
    uint64_t at = 0;
    for (; at < words; at++) {
        uint64_t word;
        memcpy(&word, data + at * WORD_BYTES, WORD_BYTES);
        if (word != word_of(first, at)) {
            break;
        }
    }
    at *= WORD_BYTES;
    while (at < size && data[at] == byte_of(first, at)) {
        at++;
    }
    return at;
}

/* Whether no byte from `at` on was written. */
static bool is_untouched(const uint8_t *data, uint64_t size, uint64_t first, uint64_t at)
{
    for (; at < size; at++) {
        const uint8_t nobody = byte_of(first, at) ^ 0xFF;
        if (data[at] != nobody) {
            return false;
        }
    }
    return true;
}

/* Describes in one line how the received message differs from the expected one. */
static void explain(struct run *run, const struct direction *from, uint64_t wrong)
{
    const uint64_t size = run->request->size;
    const uint64_t due = from->base + from->number;
    char *text = run->result->fault;
    const size_t bytes = sizeof run->result->fault;
    const unsigned long long number = from->number;
    uint64_t came = 0;
    memcpy(&came, run->incoming, first_bytes(size));
    const uint64_t which = came - from->base;
    if (is_untouched(run->incoming, size, due, wrong)) {
        (void)snprintf(text, bytes, "message %llu ends after %llu of %llu bytes", number,
                       (unsigned long long)wrong, (unsigned long long)size);
    } else if (size >= WORD_BYTES && which < from->number) {
        (void)snprintf(text, bytes, "message %llu came again in place of message %llu",
                       (unsigned long long)which, number);
    } else if (size >= WORD_BYTES && which != from->number && which - from->number < AHEAD_MAX) {
        (void)snprintf(text, bytes, "message %llu came in place of message %llu",
                       (unsigned long long)which, number);
    } else {
        (void)snprintf(text, bytes, "byte %llu of message %llu (%llu bytes) is 0x%02x, not 0x%02x",
                       (unsigned long long)wrong, number, (unsigned long long)size,
                       run->incoming[wrong], byte_of(due, wrong));
    }
}

static int send_group(struct run *run, struct direction *to, uint64_t messages)
{
    int error = 0;
    for (uint64_t i = 0; error == 0 && i < messages; i++) {
        write_message(run->outgoing, run->request->size, to->base + to->number, 0);
        error = run_send(run);
        to->number += error == 0 ? 1 : 0;
    }
    return error;
}

static int receive_group(struct run *run, struct direction *from, uint64_t messages)
{
    const uint64_t size = run->request->size;
    int error = 0;
    for (uint64_t i = 0; error == 0 && i < messages; i++) {
        const uint64_t due = from->base + from->number;
        write_message(run->incoming, size, due, UINT64_MAX);
        error = run_receive(run);
        const uint64_t wrong = error == 0 ? first_wrong(run->incoming, size, due) : size;
        if (wrong < size) {
            explain(run, from, wrong);
            error = -EBADMSG;
        }
        from->number += error == 0 ? 1 : 0;
    }
    return error;
}

struct turn {
    struct direction out;
    struct direction in;
    struct pace pace;
};

/* `count` messages each way in turn; the initiator sends first. */
static int take_turns(struct run *run, struct turn *turn, uint64_t count)
{
    const bool first = run->request->role == DRIVER_INITIATOR;
    int error = 0;
    for (uint64_t left = count; error == 0 && left > 0 && !run->stop;) {
        const uint64_t messages = left < RUN_WINDOW ? left : RUN_WINDOW;
        error =
            first ? send_group(run, &turn->out, messages) : receive_group(run, &turn->in, messages);
        if (error == 0) {
            error = first ? receive_group(run, &turn->in, messages)
                          : send_group(run, &turn->out, messages);
        }
        left -= messages;
        pace_message(&turn->pace, run);
    }
    return error;
}

static int either_end(struct run *run)
{
    const struct measure_request *request = run->request;
    const enum driver_role other =
        request->role == DRIVER_INITIATOR ? DRIVER_RESPONDER : DRIVER_INITIATOR;
    struct turn turn = {
        .out = direction_of(run, request->role),
        .in = direction_of(run, other),
        .pace = pace_start(),
    };
    int error = take_turns(run, &turn, request->skip);
    run_begin_measured(run);
    if (error == 0) {
        error = take_turns(run, &turn, request->count);
    }
    run_end_measured(run, clock_now_ns());
    const uint64_t wanted = request->skip + request->count;
    run->result->sent = turn.out.number > request->skip ? turn.out.number - request->skip : 0;
    run->result->received = turn.in.number > request->skip ? turn.in.number - request->skip : 0;
    run->result->stopped = turn.out.number < wanted || turn.in.number < wanted;
    run->result->in_step = error == 0 && !run->result->stopped;
    return error;
}

const struct pattern PATTERN_INTEGRITY = {
    .name = "integrity",
    .summary = "messages both ways by turns, every byte of which is checked",
    .reports = PATTERN_RATES,
    .needs = PATTERN_NEEDS_PEER | PATTERN_NEEDS_RELIABLE,
    .initiate = either_end,
    .respond = either_end,
};
