/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include "message/outgoing.h"

#define BYTES (EAGER_ROOM + FRAGMENT_ROOM + 5) /* three frames */

static int inject(struct fixture *fixture, const uint8_t *data, uint64_t bytes)
{
    return message_inject(&fixture->layer, &fixture->peers[0], 8, 9, data, bytes);
}

static uint32_t free_sends(const struct fixture *fixture)
{
    uint32_t count = 0;

    for (const struct list *link = fixture->layer.free_sends.next;
         link != &fixture->layer.free_sends; link = link->next) {
        count++;
    }
    return count;
}

/** From the frame `at` on, the frames are those of the message. @return how many. */
static uint32_t check_frames(const struct fixture *fixture, uint32_t at, const uint8_t *data,
                             uint64_t bytes)
{
    struct frame frame = pushed_frame(fixture, 0, at);
    uint64_t offset = frame.payload_bytes;
    uint32_t frames = 1;

    assert_int_equal(frame.type, FRAME_EAGER);
    assert_int_equal(from_le64(frame.eager->tag), 8);
    assert_int_equal(from_le32(frame.eager->immediate), 9);
    assert_int_equal(from_le32(frame.eager->message_bytes), bytes);
    assert_memory_equal(frame.payload, data, frame.payload_bytes);
    for (; offset < bytes; frames++) {
        frame = pushed_frame(fixture, 0, at + frames);
        assert_int_equal(frame.type, FRAME_FRAGMENT);
        assert_int_equal(from_le64(frame.fragment->offset), offset);
        assert_memory_equal(frame.payload, data + offset, frame.payload_bytes);
        offset += frame.payload_bytes;
    }
    assert_int_equal(offset, bytes);
    return frames;
}

FIXTURE_TEST(message_inject__before_the_connection_is_open)
{
    assert_int_equal(message_inject(&fixture->layer, &fixture->peers[2], 1, 0, "x", 1), -EAGAIN);
    assert_false(message_has_work(&fixture->peers[2]));
}

FIXTURE_TEST(message_inject__does_not_overtake_a_queued_send)
{
    uint8_t *data = pattern(3 * FRAGMENT_ROOM);

    while (pushed(fixture, 0) < FLOW_WINDOW_FRAMES - 1) {
        assert_int_equal(message_inject(&fixture->layer, &fixture->peers[0], 1, 0, "x", 1), 0);
    }
    assert_int_equal(
        message_send(&fixture->layer, &fixture->peers[0], 2, 0, data, 3 * FRAGMENT_ROOM, NULL), 0);
    acknowledge(fixture, 0, 100);
    assert_int_equal(message_inject(&fixture->layer, &fixture->peers[0], 3, 0, "x", 1), -EAGAIN);
    message_pump(&fixture->layer, &fixture->peers[0]);
    assert_int_equal(message_inject(&fixture->layer, &fixture->peers[0], 3, 0, "x", 1), 0);
    free(data);
}

FIXTURE_TEST(message_inject__longest)
{
    uint8_t *data = pattern(MESSAGE_INJECT_BYTES_MAX + 1);

    assert_int_equal(inject(fixture, data, EAGER_BYTES + 1), -EMSGSIZE);
    fixture->layer.limits.eager_bytes = UINT32_MAX;
    assert_int_equal(inject(fixture, data, MESSAGE_INJECT_BYTES_MAX + 1), -EMSGSIZE);
    assert_int_equal(pushed(fixture, 0), 0);
    assert_int_equal(inject(fixture, data, MESSAGE_INJECT_BYTES_MAX), 0);
    assert_int_equal(check_frames(fixture, 0, data, MESSAGE_INJECT_BYTES_MAX), pushed(fixture, 0));
    free(data);
}

/** All of a message leaves, or nothing, whatever there is too little of, and however it is divided;
 *  and it does leave where one frame more than it takes would find room. */
TEST(message_inject__all_or_nothing)
{
    enum { CREDIT, WINDOW, COPIES, SCARCITIES };
    enum { ALIKE, GATHERED, EVEN, DIVISIONS };
    const uint64_t lengths[] = {EAGER_ROOM + 1, FRAGMENT_ROOM,          2 * FRAGMENT_ROOM,
                                BYTES,          7 * FRAGMENT_ROOM - 46, 9 * FRAGMENT_ROOM};
    uint8_t *data = pattern(10 * FRAGMENT_ROOM);

    for (unsigned round = 0; round < SCARCITIES * DIVISIONS; round++) {
        for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            uint64_t bytes = lengths[i];
            uint32_t left = 0;
            bool gone = false;
            while (!gone) {
                assert_int_equal(fixture_setup(state), 0);
                struct fixture *fixture = *state;
                struct message_peer *peer = &fixture->peers[0];
                peer->gathers = round % DIVISIONS == GATHERED;
                peer->trains = round % DIVISIONS == EVEN;
                left++;
                uint32_t before = 0;
                if (round / DIVISIONS == CREDIT) {
                    peer->flow.limit = peer->flow.next + left;
                } else if (round / DIVISIONS == WINDOW) {
                    while (pushed(fixture, 0) < FLOW_WINDOW_FRAMES - left) {
                        assert_int_equal(message_inject(&fixture->layer, peer, 1, 0, "x", 1), 0);
                    }
                    before = pushed(fixture, 0);
                } else {
                    struct flow_frame *kept = NULL;
                    for (uint32_t j = 0; j < left; j++) {
                        struct flow_frame *frame =
                            frame_pool_take(&fixture->layer.frames, FRAME_BYTES);
                        frame->next = kept;
                        kept = frame;
                    }
                    use_up_copies(fixture);
                    while (kept != NULL) {
                        struct flow_frame *next = kept->next;
                        frame_pool_give(&fixture->layer.frames, kept);
                        kept = next;
                    }
                }
                int status = inject(fixture, data, bytes);
                gone = status == 0;
                if (!gone) {
                    assert_int_equal(status, -EMSGSIZE);
                    assert_int_equal(pushed(fixture, 0), before);
                    assert_int_equal(free_sends(fixture), OPERATIONS);
                } else {
                    assert_in_range(check_frames(fixture, before, data, bytes), left - 1, left);
                    message_take_back(&fixture->layer, peer);
                    assert_int_equal(free_sends(fixture), OPERATIONS);
                }
                assert_int_equal(fixture_teardown(state), 0);
            }
        }
    }
    free(data);
}

FIXTURE_TEST(message_inject__without_a_free_operation)
{
    uint8_t *data = pattern(BYTES);

    while (message_send(&fixture->layer, &fixture->peers[1], 1, 0, data, LONG_BYTES, NULL) == 0) {
        /* all of them */
    }
    assert_int_equal(inject(fixture, data, BYTES), -EAGAIN);
    assert_int_equal(inject(fixture, data, EAGER_ROOM), 0); /* which needs none */
    assert_int_equal(pushed(fixture, 0), 1);
    free(data);
}
