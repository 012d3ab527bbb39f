/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

static struct inbound *take(struct fixture *fixture)
{
    struct inbound *inbound = inbound_take(&fixture->layer);

    inbound->peer = &fixture->peers[0];
    /* As if each frame kept had been accepted with credit. */
    fixture->peers[0].chunks += 10;
    fixture->layer.chunks_shared -= 10;
    return inbound;
}

FIXTURE_TEST(inbound_take__is_empty_and_in_no_list)
{
    struct inbound *inbound = take(fixture);

    inbound->bytes = 9;
    inbound->announced = true;
    inbound_free(&fixture->layer, inbound);
    assert_ptr_equal(inbound_take(&fixture->layer), inbound);
    assert_int_equal(inbound->bytes, 0);
    assert_false(inbound->announced);
    assert_null(inbound->chunks);
    assert_true(list_is_empty(&inbound->arrival));
    assert_true(list_is_empty(&inbound->of_peer));
    assert_true(list_is_empty(&inbound->done));
    assert_true(list_is_empty(&inbound->waiting));
    assert_null(inbound->pull);
}

FIXTURE_TEST(inbound_keep__chunks_stay_in_order)
{
    struct inbound *inbound = take(fixture);
    uint8_t *data = pattern(3 * FRAGMENT_ROOM);
    uint64_t offset = 0;

    for (unsigned i = 0; i < 3; i++) {
        inbound_keep(&fixture->layer, inbound, data + (size_t)i * FRAGMENT_ROOM, FRAGMENT_ROOM);
        assert_true(fixture->layer.frame_kept);
    }
    assert_int_equal(free_chunks(fixture), fixture->layer.chunk_count - 3);
    for (const struct chunk *chunk = inbound->chunks; chunk != NULL; chunk = chunk->next) {
        assert_memory_equal(chunk->data, data + offset, chunk->bytes);
        offset += chunk->bytes;
    }
    assert_int_equal(offset, 3 * FRAGMENT_ROOM);
    free(data);
}

FIXTURE_TEST(inbound_keep__nothing_takes_a_chunk_too)
{
    struct inbound *inbound = take(fixture);

    inbound_keep(&fixture->layer, inbound, NULL, 0);
    assert_int_equal(inbound->chunks->bytes, 0);
    assert_int_equal(free_chunks(fixture), fixture->layer.chunk_count - 1);
}

FIXTURE_TEST(inbound_free__gives_everything_back)
{
    struct inbound *inbound = take(fixture);
    uint32_t used = fixture->peers[0].chunks;

    inbound_keep(&fixture->layer, inbound, (const uint8_t *)"ab", 2);
    inbound_keep(&fixture->layer, inbound, (const uint8_t *)"cd", 2);
    list_append(&fixture->layer.unexpected, &inbound->arrival);
    list_append(&fixture->peers[0].inbound, &inbound->of_peer);
    list_append(&fixture->peers[0].dones, &inbound->done);
    list_append(&fixture->layer.waiting_pulls, &inbound->waiting);
    inbound_free(&fixture->layer, inbound);
    assert_int_equal(free_chunks(fixture), fixture->layer.chunk_count);
    assert_int_equal(fixture->peers[0].chunks, used - 2);
    assert_true(list_is_empty(&fixture->layer.unexpected));
    assert_true(list_is_empty(&fixture->peers[0].inbound));
    assert_true(list_is_empty(&fixture->peers[0].dones));
    assert_true(list_is_empty(&fixture->layer.waiting_pulls));
}

TEST_AROUND(inbound_attach__hands_over_what_is_there, fixture_setup, fixture_teardown)
{
    struct fixture *fixture = *state;
    struct inbound *inbound = take(fixture);
    uint8_t buffer[] = "........";
    struct operation operation = {.capacity = 3, .target = buffer, .kind = BEOWIRE_RECEIVE};

    list_init(&operation.link);
    inbound->tag = 4;
    inbound->immediate = 5;
    inbound->bytes = 6;
    inbound->expected_bytes = 6;
    inbound->received = 4;
    inbound_keep(&fixture->layer, inbound, (const uint8_t *)"ab", 2);
    inbound_keep(&fixture->layer, inbound, (const uint8_t *)"cd", 2);
    inbound_attach(&fixture->layer, inbound, &operation, 0, 0);
    assert_memory_equal(buffer, "abc.....", 8);
    assert_int_equal(operation.state, OPERATION_RECEIVING);
    assert_ptr_equal(operation.peer, &fixture->peers[0]);
    assert_int_equal(operation.tag, 4);
    assert_int_equal(operation.immediate, 5);
    assert_int_equal(operation.bytes, 6);
    assert_ptr_equal(inbound->operation, &operation);
    assert_null(inbound->chunks);
}

FIXTURE_TEST(inbound_attach__pulls_what_was_announced)
{
    struct inbound *inbound = take(fixture);
    uint8_t buffer[3 * SEGMENT];
    struct operation operation = {.capacity = sizeof buffer, .target = buffer};

    list_init(&operation.link);
    inbound->announced = true;
    inbound->bytes = 5 * SEGMENT;
    inbound->segment_bytes = SEGMENT;
    inbound->name = 9;
    inbound_attach(&fixture->layer, inbound, &operation, 0, 0);
    assert_int_equal(inbound->expected_bytes, sizeof buffer);
    assert_non_null(inbound->pull);
    struct pull_ask ask = asked(fixture, 0);
    assert_int_equal(ask.message, 9);
    assert_int_equal(ask.wanted, 7);
    inbound_free(&fixture->layer, inbound);
    assert_true(nothing_asked(fixture, UINT64_MAX - 1));
}

FIXTURE_TEST(inbound_pulled__ends_the_receive_and_owes_done)
{
    struct inbound *inbound = take(fixture);
    uint8_t buffer[SEGMENT];
    struct operation *operation = operation_take_receive(&fixture->layer);

    *operation = (struct operation){
        .kind = BEOWIRE_RECEIVE, .capacity = sizeof buffer, .target = buffer, .context = buffer};
    list_init(&operation->link);
    inbound->announced = true;
    inbound->bytes = 5 * SEGMENT;
    inbound->segment_bytes = SEGMENT;
    inbound->name = 9;
    list_append(&fixture->peers[0].inbound, &inbound->of_peer);
    inbound_attach(&fixture->layer, inbound, operation, 0, 0);
    assert_true(nothing_completed(fixture));
    inbound_pulled(&fixture->layer, inbound);
    struct beowire_completion done = completed(fixture);
    assert_ptr_equal(done.context, buffer);
    assert_int_equal(done.status, -EMSGSIZE);
    assert_int_equal(done.bytes, 5 * SEGMENT);
    assert_true(list_is_empty(&fixture->peers[0].inbound));
    assert_false(message_has_work(&fixture->peers[0])); /* its end is on the way */
    struct frame frame = pushed_frame(fixture, 0, 0);
    assert_int_equal(frame.type, FRAME_DONE);
    assert_int_equal(from_le32(frame.done->message), 9);
    assert_false(message_has_work(&fixture->peers[0]));
}
