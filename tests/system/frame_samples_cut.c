/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame_samples.h"

#include "lane/tso/tso_head.h"
#include "lane/tso/tso_run.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SEGMENT_BYTES 41
#define SEGMENTS_BYTES 512 /* at most in a packet */
#define RUN_FRAMES 3

/** Segments of a message, from its `first` on. */
static struct tso_segments segments_of(uint32_t message, uint64_t first, uint32_t bytes)
{
    return (struct tso_segments){
        .to = {2, 0, 0, 0, 0, 2},
        .from = {2, 0, 0, 0, 0, 1},
        .ethertype = 0x88B5,
        .destination = 4711,
        .key = KEY,
        .message = message,
        .offset = first * SEGMENT_BYTES,
        .segment_bytes = SEGMENT_BYTES,
        .bytes = bytes,
    };
}

/** @return is it what the lane takes? */
static bool write_segments(const struct tso_segments *segments, const uint8_t *payload)
{
    uint8_t packet[ETHERNET_BYTES + TSO_OVERHEAD_BYTES + SEGMENTS_BYTES] = {0};
    const uint32_t headers = ETHERNET_BYTES + TSO_OVERHEAD_BYTES;
    uint32_t bytes = headers + segments->bytes;
    struct tso_head head;
    struct tso_segments back;

    tso_head_write(&head, segments);
    memcpy(packet, (const uint8_t *)&head + offsetof(struct tso_head, ethernet), headers);
    memcpy(packet + headers, payload, segments->bytes);
    if (bytes < ETHERNET_BYTES + FRAME_PADDED_BYTES) {
        bytes = ETHERNET_BYTES + FRAME_PADDED_BYTES;
    }
    write_packet(packet, bytes);
    return tso_head_read(&head, bytes - headers, &back);
}

static bool write_tso(const struct tso_segments *segments)
{
    uint8_t payload[SEGMENTS_BYTES];

    memset(payload, 'd', sizeof payload);
    return write_segments(segments, payload);
}

int write_tso_good(void)
{
    struct tso_segments samples[] = {
        segments_of(0x00050006, 0, SEGMENT_BYTES),
        segments_of(0x00050006, 1, SEGMENT_BYTES),
        segments_of(0x00050006, 300000000, SEGMENT_BYTES),
        segments_of(0x00050006, 1, SEGMENT_BYTES),
        segments_of(0x00050007, 0, SEGMENT_BYTES),
        segments_of(0x00050007, 1, 3 * SEGMENT_BYTES - 4),
        segments_of(0x00050008, 4, 1),
        segments_of(0x00050009, 0, SEGMENT_BYTES),
        segments_of(0x00050009, 1, SEGMENT_BYTES),
    };
    const unsigned count = sizeof samples / sizeof *samples;

    samples[count - 2].destination = 80;
    samples[count - 1].destination = 80;
    for (unsigned i = 0; i < count; i++) {
        if (!write_tso(&samples[i])) {
            (void)fprintf(stderr, "frame_samples: segments %u are refused\n", i);
            return 1;
        }
    }
    return 0;
}

/** Writes frames of one run together, and then each by itself, as the card cuts them. */
static bool write_run(struct sample *samples, unsigned count)
{
    struct lane_outgoing frames[RUN_FRAMES];
    struct tso_run run;
    uint8_t payload[SEGMENTS_BYTES];
    uint32_t at = 0;

    for (unsigned i = 0; i < count; i++) {
        uint32_t head = (uint32_t)(sizeof(struct frame_header) +
                                   frame_operation_bytes((enum frame_type)samples[i].bytes[1]));
        frames[i] = (struct lane_outgoing){.head = samples[i].bytes,
                                           .head_bytes = head,
                                           .payload = samples[i].bytes + head,
                                           .payload_bytes = samples[i].length - head};
    }
    tso_run_load(&run, frames, count, count);
    for (unsigned i = 1; i < run.part_count; i++) {
        memcpy(payload + at, run.parts[i].iov_base, run.parts[i].iov_len);
        at += (uint32_t)run.parts[i].iov_len;
    }
    struct tso_segments all = segments_of(run.sequence, 0, run.bytes);
    all.kind = run.kind;
    all.name = run.name;
    all.offset = run.offset;
    all.segment_bytes = run.segment_bytes;
    bool taken = run.frames == count && write_segments(&all, payload);
    for (at = 0; taken && at < run.bytes; at += run.segment_bytes) {
        struct tso_segments one = all;
        uint32_t left = run.bytes - at;
        one.offset += at;
        one.bytes = left < one.segment_bytes ? left : one.segment_bytes;
        taken = write_segments(&one, payload + at);
    }
    return taken;
}

int write_tso_frames(void)
{
    const char *more = "what follows is as long as EAGER was with its head.";
    struct sample plain[RUN_FRAMES];
    struct sample message[RUN_FRAMES];

    make(&plain[0], FRAME_PUT);
    make(&plain[1], FRAME_PUT);
    make(&plain[2], FRAME_DONE);
    make(&message[0], FRAME_EAGER);
    begin(&message[1], FRAME_FRAGMENT, more);
    begin(&message[2], FRAME_FRAGMENT, ".");
    for (unsigned i = 0; i < RUN_FRAMES; i++) {
        header_of(&plain[i])->sequence = to_le32(SEQUENCE + i);
        header_of(&message[i])->sequence = to_le32(SEQUENCE + i);
    }
    for (unsigned i = 1; i < RUN_FRAMES; i++) {
        *(struct frame_fragment *)body_of(&message[i]) = (struct frame_fragment){
            .message = to_le16(9), .offset = to_le64(i == 1 ? 5 : 5 + strlen(more))};
    }
    if (!write_run(plain, 3) || !write_run(message, 3) || !write_run(message + 1, 2)) {
        (void)fputs("frame_samples: frames do not go together\n", stderr);
        return 1;
    }
    return 0;
}

int write_tso_bad(void)
{
    struct tso_segments samples[] = {
        segments_of(0x00050006, 1, SEGMENT_BYTES),
        segments_of(0x00050006, 1, SEGMENT_BYTES),
        segments_of(0x00050006, 1, 0),
        segments_of(0x00050006, UINT64_C(1) << 32, SEGMENT_BYTES),
        segments_of(SEQUENCE, UINT64_C(1) << 32, SEGMENT_BYTES),
        segments_of(SEQUENCE, 1, SEGMENT_BYTES),
    };

    samples[0].offset++;
    samples[1].segment_bytes = 0;
    samples[4].kind = TSO_FRAMES;
    samples[5].kind = TSO_MESSAGE;
    for (unsigned i = 0; i < sizeof samples / sizeof *samples; i++) {
        if (write_tso(&samples[i])) {
            (void)fprintf(stderr, "frame_samples: bad segments %u are let in\n", i);
            return 1;
        }
    }
    return 0;
}
