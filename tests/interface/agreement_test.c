/* SPDX-License-Identifier: BSD-3-Clause */
/* What two endpoints that were opened with different options agree on. */
#include "endpoint/endpoint.h"

#include <stdlib.h>

#include "endpoints.h"
#include "unit/test.h"

static beowire_endpoint *open_endpoint(const char *interface, bool go_back_n)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;

    options.interface = interface;
    options.lanes = "packet,udp";
    options.progress = BEOWIRE_PROGRESS_CALLS;
    options.go_back_n = go_back_n;
    assert_int_equal(beowire_open(&options, &endpoint), 0);
    return endpoint;
}

/** Sends one message, whole. @return whom the receiver met. */
static beowire_peer move(beowire_endpoint *from, beowire_endpoint *to, uint64_t bytes)
{
    uint8_t *data = malloc(bytes);
    uint8_t *buffer = calloc(1, bytes);

    assert_non_null(data);
    assert_non_null(buffer);
    for (uint64_t at = 0; at < bytes; at++) {
        data[at] = (uint8_t)(at * 7 + (at >> 12));
    }
    assert_int_equal(beowire_receive(to, BEOWIRE_ANY_PEER, bytes, 0, buffer, bytes, NULL), 0);
    assert_int_equal(beowire_send(from, know(from, to), bytes, 0, data, bytes, NULL), 0);
    struct beowire_completion done = await_both(to, from);
    assert_int_equal(done.status, 0);
    assert_int_equal(done.bytes, bytes);
    assert_memory_equal(buffer, data, bytes);
    assert_int_equal(await_both(from, to).status, 0);
    free(data);
    free(buffer);
    return done.peer;
}

static bool goes_back(const beowire_endpoint *endpoint, beowire_peer peer)
{
    return core_peer_at(&endpoint->core, peer)->message.flow.go_back_n;
}

TEST(go_back_n__if_either_end_asks_for_it)
{
    static const uint64_t sizes[] = {1, 5000, 300000, 4u << 20};

    for (unsigned asked = 0; asked < 4; asked++) {
        beowire_endpoint *a = open_endpoint("end0", (asked & 1) != 0);
        beowire_endpoint *b = open_endpoint("end1", (asked & 2) != 0);
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            beowire_peer from_a = move(a, b, sizes[i]);
            beowire_peer from_b = move(b, a, sizes[i]);
            assert_int_equal(goes_back(a, from_b), asked != 0);
            assert_int_equal(goes_back(b, from_a), asked != 0);
        }
        if (asked != 0) { /* nothing that came early is kept */
            assert_int_equal(counter(a, "flow_kept_frames"), 0);
            assert_int_equal(counter(b, "flow_kept_frames"), 0);
        }
        (void)beowire_close(a, 0);
        (void)beowire_close(b, 0);
    }
}
