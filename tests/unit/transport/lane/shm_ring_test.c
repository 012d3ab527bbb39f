/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ends in one process, as the memory itself does not care. */
#include "lane/shm/shm_ring.h"

#include "lane/random.h"
#include "unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COPIES 64

struct pipe_of_frames {
    struct shm_ring *ring; /* exactly as long, so that a sanitizer sees what is outside */
    struct shm_producer producer;
    struct shm_consumer consumer;
    struct shm_copy *copies;
    struct lane_incoming frames[COPIES];
};

static struct pipe_of_frames *open_pipe(void)
{
    struct pipe_of_frames *pipe = calloc(1, sizeof *pipe);

    assert_non_null(pipe);
    pipe->ring = aligned_alloc(_Alignof(struct shm_ring), sizeof *pipe->ring);
    pipe->copies = aligned_alloc(_Alignof(struct shm_copy), COPIES * sizeof *pipe->copies);
    assert_non_null(pipe->ring);
    assert_non_null(pipe->copies);
    memset(pipe->ring, 0, sizeof *pipe->ring);
    pipe->producer.ring = pipe->consumer.ring = pipe->ring;
    return pipe;
}

static void close_pipe(struct pipe_of_frames *pipe)
{
    free(pipe->ring);
    free(pipe->copies);
    free(pipe);
}

static int prepare(void **state)
{
    *state = open_pipe();
    return 0;
}

static int tidy_up(void **state)
{
    close_pipe(*state);
    return 0;
}

#define PIPE_TEST(name) TEST_WITH(struct pipe_of_frames *pipe, name, prepare, tidy_up)

/** A frame of `bytes` bytes, `apart` of them as payload elsewhere. */
static bool put(struct pipe_of_frames *pipe, enum frame_type type, uint32_t bytes, uint32_t apart,
                uint32_t seed)
{
    static uint8_t whole[SHM_FRAME_BYTES];

    for (uint32_t i = 0; i < bytes; i++) {
        whole[i] = (uint8_t)(seed + i * 7);
    }
    if (bytes > 1) {
        whole[1] = (uint8_t)type;
    }
    return shm_producer_put(&pipe->producer,
                            &(struct lane_outgoing){.head = whole,
                                                    .head_bytes = bytes - apart,
                                                    .payload = whole + bytes - apart,
                                                    .payload_bytes = apart});
}

static unsigned take(struct pipe_of_frames *pipe, unsigned count)
{
    return shm_consumer_take(&pipe->consumer, pipe->frames, pipe->copies, count);
}

static uint8_t byte_at(const struct lane_incoming *frame, enum frame_type type, uint32_t at)
{
    uint32_t head = (uint32_t)frame_head_bytes(type);

    return frame->payload != NULL && at >= head ? frame->payload[at - head] : frame->data[at];
}

static void check(const struct lane_incoming *frame, enum frame_type type, uint32_t bytes,
                  uint32_t seed)
{
    assert_int_equal(frame->bytes, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        uint8_t expected = (uint8_t)(i == 1 ? (uint32_t)type : seed + i * 7);
        if (byte_at(frame, type, i) != expected) {
            fail_msg("byte %u of %u", i, bytes);
        }
    }
}

PIPE_TEST(shm_ring__frames_of_each_length_arrive_whole)
{
    for (uint32_t bytes = 1; bytes <= SHM_FRAME_BYTES; bytes += bytes < 600 ? 1 : 97) {
        enum frame_type type = bytes % 3 == 0   ? FRAME_DATA
                               : bytes % 2 == 0 ? FRAME_EAGER
                                                : FRAME_CONNECT;
        for (uint32_t apart = 0; apart < bytes; apart += bytes / 3 + 1) {
            assert_true(put(pipe, type, bytes, apart, bytes + apart));
            assert_int_equal(take(pipe, COPIES), 1);
            check(&pipe->frames[0], type, bytes, bytes + apart);
            shm_consumer_release(&pipe->consumer);
        }
    }
    assert_true(put(pipe, FRAME_EAGER, SHM_FRAME_BYTES, SHM_PAYLOAD_BYTES, 1));
    assert_int_equal(take(pipe, 1), 1);
    check(&pipe->frames[0], FRAME_EAGER, SHM_FRAME_BYTES, 1);
}

PIPE_TEST(shm_ring__payload_begins_on_a_line)
{
    assert_true(put(pipe, FRAME_EAGER, 46 + 1000, 1000, 1));
    assert_int_equal(take(pipe, 1), 1);
    assert_int_equal((uintptr_t)pipe->frames[0].payload % SHM_LINE_BYTES, 0);
}

PIPE_TEST(shm_ring__takes_no_more_than_asked_for_and_in_order)
{
    for (uint32_t i = 0; i < 10; i++) {
        assert_true(put(pipe, FRAME_EAGER, 50 + i * 40, 0, i));
    }
    assert_int_equal(take(pipe, 4), 4);
    check(&pipe->frames[3], FRAME_EAGER, 170, 3);
    assert_int_equal(take(pipe, 4), 4);
    check(&pipe->frames[0], FRAME_EAGER, 210, 4);
    assert_int_equal(take(pipe, 4), 2);
    assert_int_equal(take(pipe, 4), 0);
}

PIPE_TEST(shm_ring__full_of_cells_takes_nothing_until_released)
{
    for (uint32_t i = 0; i < SHM_CELLS; i++) {
        assert_true(put(pipe, FRAME_EAGER, 50, 0, i));
    }
    assert_false(put(pipe, FRAME_EAGER, 50, 0, 0));
    for (uint32_t i = 0; i < SHM_CELLS; i++) {
        assert_int_equal(take(pipe, 1), 1);
        check(&pipe->frames[0], FRAME_EAGER, 50, i);
    }
    assert_false(put(pipe, FRAME_EAGER, 50, 0, 0));
    assert_int_equal(take(pipe, 1), 0);
    shm_consumer_release(&pipe->consumer);
    assert_true(put(pipe, FRAME_EAGER, 50, 0, 99));
    assert_int_equal(take(pipe, COPIES), 1);
    check(&pipe->frames[0], FRAME_EAGER, 50, 99);
}

PIPE_TEST(shm_ring__full_of_data_takes_nothing_until_released)
{
    uint32_t held = 0;

    while (put(pipe, FRAME_EAGER, SHM_FRAME_BYTES, SHM_PAYLOAD_BYTES, held)) {
        held++;
    }
    assert_in_range(held, SHM_DATA_BYTES / (SHM_FRAME_BYTES + 64) - 1, SHM_CELLS - 1);
    assert_int_equal(take(pipe, 1), 1);
    assert_false(put(pipe, FRAME_EAGER, SHM_FRAME_BYTES, SHM_PAYLOAD_BYTES, 0));
    check(&pipe->frames[0], FRAME_EAGER, SHM_FRAME_BYTES, 0);
    shm_consumer_release(&pipe->consumer);
    assert_true(put(pipe, FRAME_EAGER, SHM_FRAME_BYTES, SHM_PAYLOAD_BYTES, held));
    for (uint32_t i = 1; i <= held; i++) {
        assert_int_equal(take(pipe, 1), 1);
        check(&pipe->frames[0], FRAME_EAGER, SHM_FRAME_BYTES, i);
    }
}

/** Frames of random lengths, some waiting: over every end of cells and data. */
static void go_round(struct pipe_of_frames *pipe, unsigned frames)
{
    struct random random = {0};
    uint32_t lengths[SHM_CELLS] = {0};
    uint32_t sent = 0;
    uint32_t received = 0;

    random_seed(&random, 5);
    while (received < frames) {
        uint32_t bytes = 28 + (uint32_t)(random_next(&random) %
                                         (random_next(&random) % 8 == 0 ? SHM_PAYLOAD_BYTES : 100));
        if (sent - received < SHM_CELLS && put(pipe, FRAME_EAGER, bytes, bytes / 2, sent)) {
            lengths[sent++ % SHM_CELLS] = bytes;
            if (random_next(&random) % 4 != 0) {
                continue;
            }
        }
        unsigned count = take(pipe, 1 + (unsigned)(random_next(&random) % COPIES));
        for (unsigned i = 0; i < count; i++, received++) {
            check(&pipe->frames[i], FRAME_EAGER, lengths[received % SHM_CELLS], received);
        }
        shm_consumer_release(&pipe->consumer);
    }
}

PIPE_TEST(shm_ring__goes_round_and_round)
{
    go_round(pipe, 100 * SHM_CELLS);
}

PIPE_TEST(shm_ring__its_counts_wrap_around)
{
    uint32_t start = 0u - 40 * SHM_CELLS;

    /* As if it had been used so often: each cell has its last round. */
    pipe->producer.written = pipe->producer.consumed = start;
    pipe->consumer.taken = pipe->consumer.released = start;
    pipe->ring->consumed = start;
    pipe->producer.data_head = pipe->producer.data_tail = 0u - 20 * SHM_DATA_BYTES;
    for (uint32_t i = 0; i < SHM_CELLS; i++) {
        pipe->ring->cells[i].control = (uint64_t)(uint16_t)(start / SHM_CELLS) << 48;
    }
    assert_int_equal(take(pipe, COPIES), 0);
    go_round(pipe, 100 * SHM_CELLS);
    assert_true(pipe->producer.written < start);
}

PIPE_TEST(shm_ring__rounds_beyond_16_bits)
{
    struct lane_outgoing frame = {.head = (uint8_t[28]){0}, .head_bytes = 28};

    for (uint32_t i = 0; i < 65540u * SHM_CELLS; i += SHM_CELLS / 4) {
        for (uint32_t j = 0; j < SHM_CELLS / 4; j++) {
            assert_true(shm_producer_put(&pipe->producer, &frame));
        }
        if (take(pipe, COPIES) != SHM_CELLS / 4 || take(pipe, COPIES) != 0) {
            fail_msg("after %u frames", i);
        }
        shm_consumer_release(&pipe->consumer);
    }
}

static void fill(struct pipe_of_frames *pipe)
{
    while (put(pipe, FRAME_EAGER, 50, 0, 0)) {
    }
    assert_false(pipe->producer.broken);
}

PIPE_TEST(shm_producer__consumer_that_gives_back_what_it_never_had)
{
    fill(pipe);
    pipe->ring->consumed = SHM_CELLS + 1;
    assert_false(put(pipe, FRAME_EAGER, 50, 0, 0));
    assert_true(pipe->producer.broken);
    pipe->ring->consumed = 1;
    assert_false(put(pipe, FRAME_EAGER, 50, 0, 0));
}

PIPE_TEST(shm_producer__consumer_that_takes_back)
{
    fill(pipe);
    pipe->ring->consumed = 64;
    fill(pipe);
    assert_int_equal(pipe->producer.written, SHM_CELLS + 64);
    pipe->ring->consumed = 63;
    assert_false(put(pipe, FRAME_EAGER, 50, 0, 0));
    assert_true(pipe->producer.broken);
}

PIPE_TEST(shm_consumer__broken_stays_broken)
{
    assert_true(put(pipe, FRAME_EAGER, 50, 0, 1));
    pipe->ring->cells[0].control = UINT64_C(1) << 48 | UINT64_C(65535) << 32;
    assert_int_equal(take(pipe, COPIES), 0);
    assert_true(pipe->consumer.broken);
    assert_true(shm_consumer_is_empty(&pipe->consumer));
    pipe->ring->cells[0].control = UINT64_C(1) << 48 | UINT64_C(50) << 32;
    assert_int_equal(take(pipe, COPIES), 0);
}

PIPE_TEST(shm_consumer__headers_cannot_change_after_they_were_taken)
{
    assert_true(put(pipe, FRAME_EAGER, 54, 0, 1));
    assert_true(put(pipe, FRAME_CONNECT, 188, 0, 2));
    assert_true(put(pipe, FRAME_EAGER, 5000, 4000, 3));
    assert_int_equal(take(pipe, COPIES), 3);
    memset(pipe->ring->cells, 0xFF, sizeof pipe->ring->cells);
    for (uint32_t i = 0; i < SHM_DATA_BYTES; i++) {
        pipe->ring->data[i] ^= 0xFF;
    }
    check(&pipe->frames[0], FRAME_EAGER, 54, 1);
    check(&pipe->frames[1], FRAME_CONNECT, 188, 2);
    for (uint32_t i = 2; i < 46; i++) {
        assert_int_equal(pipe->frames[2].data[i], (uint8_t)(3 + i * 7));
    }
}

PIPE_TEST(shm_ring__attention_has_a_new_number_for_each_sleep)
{
    assert_int_equal(shm_producer_attention(&pipe->producer), 0);
    shm_consumer_sleep(&pipe->consumer);
    uint32_t first = shm_producer_attention(&pipe->producer);
    assert_int_equal(first % 2, 1);
    assert_int_equal(shm_producer_attention(&pipe->producer), first);
    shm_consumer_wake(&pipe->consumer);
    assert_int_equal(shm_producer_attention(&pipe->producer), 0);
    shm_consumer_sleep(&pipe->consumer);
    assert_int_not_equal(shm_producer_attention(&pipe->producer), first);
    assert_int_equal(shm_producer_attention(&pipe->producer) % 2, 1);
}

/* ---- two threads --------------------------------------------------------------------------- */

#define THREAD_FRAMES 200000u

struct both {
    struct pipe_of_frames *pipe;
    sem_t bell;
    unsigned rings;
};

static void *produce(void *context)
{
    struct both *both = context;
    struct random random = {0};
    uint32_t rung = 0;

    random_seed(&random, 3);
    for (uint32_t i = 0; i < THREAD_FRAMES;) {
        uint8_t head[46] = {0, FRAME_EAGER};
        uint8_t payload[300];
        memcpy(head + 28, &i, sizeof i);
        memset(payload, (int)i, sizeof payload);
        struct lane_outgoing frame = {.head = head,
                                      .head_bytes = sizeof head,
                                      .payload = payload,
                                      .payload_bytes = i % 5 == 0 ? sizeof payload : 0};
        i += shm_producer_put(&both->pipe->producer, &frame);
        uint32_t attention = shm_producer_attention(&both->pipe->producer);
        if (attention != 0 && attention != rung) {
            rung = attention;
            both->rings++;
            sem_post(&both->bell);
        }
        for (uint64_t pause = random_next(&random) % 64 == 0 ? 2000 : 0; pause > 0; pause--) {
            __asm__ volatile("" ::: "memory");
        }
    }
    return NULL;
}

static void sleep_until_rung(struct both *both)
{
    struct timespec end;

    shm_consumer_sleep(&both->pipe->consumer);
    if (shm_consumer_is_empty(&both->pipe->consumer)) {
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += 20;
        while (sem_timedwait(&both->bell, &end) != 0) {
            assert_int_equal(errno, EINTR); /* a lost wake-up is a time-out */
        }
    }
    shm_consumer_wake(&both->pipe->consumer);
}

TEST(shm_ring__between_threads_nothing_is_lost_and_nobody_sleeps_for_ever)
{
    struct both both = {.pipe = open_pipe()};
    pthread_t producer;
    uint32_t received = 0;

    assert_int_equal(sem_init(&both.bell, 0, 0), 0);
    assert_int_equal(pthread_create(&producer, NULL, produce, &both), 0);
    while (received < THREAD_FRAMES) {
        unsigned count = take(both.pipe, COPIES);
        for (unsigned i = 0; i < count; i++, received++) {
            const struct lane_incoming *frame = &both.pipe->frames[i];
            uint32_t number = 0;
            memcpy(&number, frame->data + 28, sizeof number);
            assert_int_equal(number, received);
            assert_int_equal(frame->bytes, received % 5 == 0 ? 346 : 46);
            if (frame->bytes > 46) {
                assert_int_equal(byte_at(frame, FRAME_EAGER, 46), (uint8_t)received);
                assert_int_equal(byte_at(frame, FRAME_EAGER, 345), (uint8_t)received);
            }
        }
        shm_consumer_release(&both.pipe->consumer);
        if (count == 0) {
            sleep_until_rung(&both);
        }
    }
    assert_int_equal(pthread_join(producer, NULL), 0);
    assert_true(both.rings > 0);
    sem_destroy(&both.bell);
    close_pipe(both.pipe);
}
