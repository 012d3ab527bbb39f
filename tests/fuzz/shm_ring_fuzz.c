/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring in shared memory whose other end writes whatever the input says: first as its producer,
 * before one that reads it (odd first byte), or as its consumer, behind one that writes it.
 * Whatever it writes, and whenever: nothing is touched outside the ring, what is handed out lies
 * inside it, headers do not change once they were taken, and what was not given back is not written
 * again.
 */
#include "lane/shm/shm_ring.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define COPIES 64
#define STEPS_MAX 2000

struct fuzz {
    struct script script;
    struct shm_ring *ring; /* exactly as long, so that a sanitizer sees what is outside */
};

static uint8_t take(struct fuzz *fuzz)
{
    return script_take(&fuzz->script);
}

static uint32_t take_16(struct fuzz *fuzz)
{
    return script_take_16(&fuzz->script);
}

static uint32_t take_32(struct fuzz *fuzz)
{
    return script_take_32(&fuzz->script);
}

/* ---- a producer that writes anything ------------------------------------------------------- */

struct reader {
    struct shm_consumer consumer;
    struct shm_copy *copies;
    struct lane_incoming frames[COPIES];
    unsigned held;    /* of `frames`, taken at once and not given back */
    uint32_t written; /* the cell that is written next */
};

/** The length and the place of a frame: at the edges of what is allowed, or anywhere. */
static uint64_t some_control(struct fuzz *fuzz, uint32_t cell)
{
    uint8_t choice = take(fuzz);
    uint32_t length = take_16(fuzz);
    uint32_t offset = take_16(fuzz) * SHM_LINE_BYTES;
    uint32_t round = cell / SHM_CELLS + 1;

    length = (choice & 1) != 0 ? length : length % (SHM_FRAME_BYTES + 2);
    if ((choice & 2) != 0) {
        offset = SHM_DATA_BYTES - length + take(fuzz) % 3 - 1;
    } else if ((choice & 4) != 0) {
        offset = take_32(fuzz);
    }
    round += (choice & 0x70) == 0x70 ? take(fuzz) : 0;
    return (uint64_t)(uint16_t)round << 48 | (uint64_t)(length & UINT16_MAX) << 32 | offset;
}

/** Writes a frame that is well-formed but for what the script changes, and a cell that names it. */
static void write_frame(struct fuzz *fuzz, struct reader *reader)
{
    struct shm_cell *cell = &fuzz->ring->cells[reader->written % SHM_CELLS];
    enum frame_type type = (enum frame_type)(take(fuzz) % 32);
    uint32_t head = (uint32_t)frame_head_bytes(type);
    uint32_t payload = take_16(fuzz) % (SHM_FRAME_BYTES + 1 - head);
    uint32_t bytes = head + payload;
    uint32_t offset =
        bytes <= SHM_INLINE_BYTES ? 0 : take_16(fuzz) * SHM_LINE_BYTES % (SHM_DATA_BYTES - bytes);
    uint8_t *at = bytes <= SHM_INLINE_BYTES ? cell->bytes : fuzz->ring->data + offset;

    if (type == FRAME_DATA) {
        struct frame_data data = frame_encode_data(1, 2, 3);
        memcpy(at, &data, sizeof data);
    } else {
        frame_encode(at, &(struct frame_fields){.type = type,
                                                .destination = 1,
                                                .source = 2,
                                                .key = 3,
                                                .payload_bytes = (uint16_t)payload});
    }
    cell->control = (uint64_t)(uint16_t)(reader->written / SHM_CELLS + 1) << 48 |
                    (uint64_t)bytes << 32 | offset;
    reader->written++;
}

/** The last byte of each part is there to be read, and a payload apart from its head is in the
 *  ring. */
static void check_frame(const struct fuzz *fuzz, const struct reader *reader, unsigned i)
{
    const struct lane_incoming *frame = &reader->frames[i];
    struct frame decoded;
    volatile uint8_t last = 0;

    require(frame->bytes <= SHM_FRAME_BYTES && frame->data == reader->copies[i].bytes);
    require(frame->payload != NULL || frame->bytes <= SHM_COPIED_BYTES);
    if (frame_decode(frame->data, frame->bytes, &decoded) != FRAME_OK) {
        return;
    }
    const uint8_t *payload = frame->payload != NULL ? frame->payload : decoded.payload;
    if (decoded.payload_bytes > 0) {
        last = payload[decoded.payload_bytes - 1];
    }
    if (frame->payload != NULL) {
        require(payload >= fuzz->ring->data &&
                payload + decoded.payload_bytes <= fuzz->ring->data + SHM_DATA_BYTES);
    } else {
        require(decoded.payload + decoded.payload_bytes <= reader->copies[i].bytes + frame->bytes);
    }
    (void)last;
}

static void give_back(struct reader *reader)
{
    shm_consumer_release(&reader->consumer);
    require(reader->consumer.released == reader->consumer.taken);
    reader->held = 0;
}

static void take_frames(struct fuzz *fuzz, struct reader *reader)
{
    unsigned count = 1 + take(fuzz) % COPIES;
    bool broken = reader->consumer.broken;
    uint32_t before = reader->consumer.taken;

    /* Those that are held are more and more, up to all cells; only the last are looked at again. */
    unsigned taken = shm_consumer_take(&reader->consumer, reader->frames, reader->copies, count);
    require(taken <= count && reader->consumer.taken == before + taken);
    require(reader->consumer.taken - reader->consumer.released <= SHM_CELLS);
    require(taken == 0 || !broken);
    require(broken <= reader->consumer.broken);
    require(!reader->consumer.broken || shm_consumer_is_empty(&reader->consumer));
    reader->held = taken;
    if ((int32_t)(reader->written - reader->consumer.taken) < 0) {
        reader->written = reader->consumer.taken;
    }
    for (unsigned i = 0; i < taken; i++) {
        check_frame(fuzz, reader, i);
    }
}

/** Writes over everything: what was said by the headers that were taken is as it was. */
static void write_over(struct fuzz *fuzz, struct reader *reader)
{
    static struct shm_copy before[COPIES];
    uint8_t value = take(fuzz);

    memcpy(before, reader->copies, reader->held * sizeof before[0]);
    memset(fuzz->ring->cells, value, sizeof fuzz->ring->cells);
    memset(fuzz->ring->data, value, sizeof fuzz->ring->data);
    require(memcmp(before, reader->copies, reader->held * sizeof before[0]) == 0);
    for (unsigned i = 0; i < reader->held; i++) {
        check_frame(fuzz, reader, i);
    }
}

static void step_reader(struct fuzz *fuzz, struct reader *reader)
{
    uint32_t at;

    switch (take(fuzz) % 8) {
    case 0:
        fuzz->ring->cells[reader->written % SHM_CELLS].control =
            some_control(fuzz, reader->written);
        reader->written++;
        break;
    case 1:
        at = take_32(fuzz) % (sizeof *fuzz->ring);
        ((uint8_t *)fuzz->ring)[at] = take(fuzz);
        break;
    case 2:
        write_frame(fuzz, reader);
        break;
    case 3:
        write_over(fuzz, reader);
        break;
    case 4:
        give_back(reader);
        break;
    case 5:
        shm_consumer_sleep(&reader->consumer);
        require(fuzz->ring->attention % 2 == 1);
        (void)shm_consumer_is_empty(&reader->consumer);
        shm_consumer_wake(&reader->consumer);
        require(fuzz->ring->attention % 2 == 0);
        break;
    default:
        take_frames(fuzz, reader);
        break;
    }
}

static void read_ring(struct fuzz *fuzz)
{
    static struct reader reader;
    static struct shm_copy copies[COPIES];

    reader = (struct reader){.consumer.ring = fuzz->ring, .copies = copies};
    for (unsigned i = 0; i < STEPS_MAX && fuzz->script.left > 0; i++) {
        step_reader(fuzz, &reader);
    }
}

/* ---- a consumer that writes anything ------------------------------------------------------- */

/** A frame that was put into the ring. */
struct put {
    uint32_t bytes;
    uint8_t value; /* of each byte */
};

struct writer {
    struct shm_producer producer;
    struct put puts[SHM_CELLS];
};

static const uint8_t *where(const struct fuzz *fuzz, uint32_t cell)
{
    const struct shm_cell *in = &fuzz->ring->cells[cell % SHM_CELLS];

    return (uint16_t)(in->control >> 32) <= SHM_INLINE_BYTES
               ? in->bytes
               : fuzz->ring->data + (uint32_t)in->control;
}

/** What the other end has not given back is as it was written, at its ends. */
static void check_written(const struct fuzz *fuzz, const struct writer *writer)
{
    const struct shm_producer *producer = &writer->producer;

    require(producer->written - producer->consumed <= SHM_CELLS);
    for (uint32_t cell = producer->consumed; cell != producer->written; cell++) {
        const struct put *put = &writer->puts[cell % SHM_CELLS];
        const uint8_t *at = where(fuzz, cell);
        require((uint16_t)(fuzz->ring->cells[cell % SHM_CELLS].control >> 32) == put->bytes);
        require(at[0] == put->value && at[put->bytes - 1] == put->value);
    }
}

static void put_frame(struct fuzz *fuzz, struct writer *writer)
{
    static uint8_t bytes[SHM_FRAME_BYTES];
    struct shm_producer *producer = &writer->producer;
    uint8_t choice = take(fuzz);
    uint32_t head = 1 + take(fuzz) % 64u;
    uint32_t payload = (choice & 1) != 0 ? 0 : take_16(fuzz) % (SHM_PAYLOAD_BYTES + 1);
    struct put *put = &writer->puts[producer->written % SHM_CELLS];
    uint32_t before = producer->written;
    bool broken = producer->broken;

    memset(bytes, choice, sizeof bytes);
    if (shm_producer_put(producer, &(struct lane_outgoing){.head = bytes,
                                                           .head_bytes = head,
                                                           .payload = bytes + head,
                                                           .payload_bytes = payload})) {
        require(!broken && producer->written == before + 1);
        *put = (struct put){.bytes = head + payload, .value = choice};
    } else {
        require(producer->written == before && broken <= producer->broken);
    }
    check_written(fuzz, writer);
}

static void step_writer(struct fuzz *fuzz, struct writer *writer)
{
    const struct shm_producer *producer = &writer->producer;
    uint8_t choice = take(fuzz);
    unsigned times = 1;

    switch (choice % 8) {
    case 0:
        fuzz->ring->consumed = take_32(fuzz);
        break;
    case 1: /* as it should */
        fuzz->ring->consumed =
            producer->consumed + take(fuzz) % (producer->written - producer->consumed + 1);
        break;
    case 2:
        fuzz->ring->consumed += take(fuzz) - 128u;
        break;
    case 3:
        fuzz->ring->attention = take_32(fuzz);
        require(shm_producer_attention(producer) % 2 == fuzz->ring->attention % 2);
        break;
    default:
        times = choice / 8;
        for (unsigned i = 0; i <= times && fuzz->script.left > 0; i++) {
            put_frame(fuzz, writer);
        }
        break;
    }
}

static void write_ring(struct fuzz *fuzz)
{
    static struct writer writer;

    writer = (struct writer){.producer.ring = fuzz->ring};
    for (unsigned i = 0; i < STEPS_MAX && fuzz->script.left > 0; i++) {
        step_writer(fuzz, &writer);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct shm_ring *ring;
    struct fuzz fuzz = {.script = {data, size}};

    if (ring == NULL) {
        ring = aligned_alloc(_Alignof(struct shm_ring), sizeof *ring);
        require(ring != NULL);
    }
    memset(ring, 0, sizeof *ring);
    fuzz.ring = ring;
    if (take(&fuzz) % 2 == 1) {
        read_ring(&fuzz);
    } else {
        write_ring(&fuzz);
    }
    return 0;
}
