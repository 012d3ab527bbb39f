/* SPDX-License-Identifier: BSD-3-Clause */
/* route_send(), through which all frames leave, and the choice of a lane for sequenced frames. */
#include "frame/checksum.h"
#include "route/route.h"

#include <assert.h>

/** May this frame be sent to an address that is not proven? */
static bool is_of_opening(const uint8_t *head)
{
    unsigned type = frame_type_of(head);

    return type == FRAME_CONNECT || type == FRAME_ACCEPT || type == FRAME_CHALLENGE ||
           type == FRAME_RESPONSE;
}

void route_write_checksums(const struct lane *lane, const struct lane_outgoing *frames,
                           unsigned count)
{
    if (!lane->needs_checksum && count > 0 && frame_type_of(frames->head) == FRAME_DATA) {
        return; /* then all are, made for this lane (core/bulk.c) */
    }
    for (unsigned i = 0; i < count; i++) {
        const struct lane_outgoing *frame = &frames[i];
        if (frame_is_never_sealed(frame_type_of(frame->head))) {
            continue;
        }
        if (lane->needs_checksum) {
            checksum_write(frame->head, frame->head_bytes, frame->payload, frame->payload_bytes);
        } else {
            checksum_clear(frame->head);
        }
    }
}

unsigned route_send(struct routes *routes, struct route *route, unsigned lane_index,
                    const struct lane_outgoing *frames, unsigned count)
{
    struct lane *lane = routes->lanes->lanes[lane_index];

    if (__builtin_expect(!paths_has_proven(&route->paths, lane_index), 0) && count > 0 &&
        !is_of_opening(frames->head)) {
        return 0;
    }
    if (__builtin_expect(routes->trace != NULL, 0) && count > 0) {
        trace_note(routes->trace, TRACE_OUT, frame_type_of(frames->head));
    }
    if (route->checked && !lane->is_certain) { /* shared memory needs none */
        route_write_checksums(lane, frames, count);
    }
    unsigned taken =
        __builtin_expect(route->seal != NULL, 0)
            ? route_send_sealed(routes, route, lane_index, frames, count)
            : lane->operations->send(lane, &route->paths.to[lane_index], frames, count);

    trace_here(routes->trace, TRACE_LEFT, taken);
    if (taken == 1) { /* a single frame avoids the loop, which saves 6 ns */
        routes->sent[frame_type_of(frames->head)] +=
            lane_segments(frames->payload_bytes, frames->segment_bytes);
        return 1;
    }
    for (unsigned i = 0; i < taken; i++) {
        routes->sent[frame_type_of(frames[i].head)]++;
    }
    if (taken == 0) {
        routes->refusing |= 1u << lane_index;
    }
    return taken;
}

/* A narrowed lane takes only short frames. Longer ones use another lane, whose datagrams the kernel
 * fragments (UDP). Lanes are rarely narrowed, so this is a function of its own. */

static inline bool is_narrowed(const struct routes *routes, unsigned lane_index)
{
    return __builtin_expect(routes->lanes->lanes[lane_index]->narrowed_bytes != 0, 0);
}

static bool is_too_long(const struct routes *routes, const struct route *route, unsigned lane_index,
                        const struct lane_outgoing *frame)
{
    uint32_t most = routes->lanes->lanes[lane_index]->narrowed_bytes - route_seal_bytes(route);

    return frame->head_bytes + frame->payload_bytes > most;
}

/** How many frames, from the first on, use the same lane: either all are too long for the narrowed
 *  one, or none is. @param count at least 1 */
__attribute__((noinline, cold)) static unsigned
count_alike(const struct routes *routes, const struct route *route, unsigned lane_index,
            const struct lane_outgoing *frames, unsigned count)
{
    unsigned alike = 1;

    while (alike < count && is_too_long(routes, route, lane_index, &frames[alike]) ==
                                is_too_long(routes, route, lane_index, &frames[0])) {
        alike++;
    }
    return alike;
}

/** @return the lane for this frame instead of a narrowed one, which may be that lane itself. */
__attribute__((noinline, cold)) static unsigned find_wide(const struct routes *routes,
                                                          const struct route *route,
                                                          unsigned lane_index,
                                                          const struct lane_outgoing *frame)
{
    const struct path_lanes *lanes = routes->lanes;

    for (unsigned i = 0; i < lanes->count && is_too_long(routes, route, lane_index, frame); i++) {
        if (paths_is_for_all(lanes, i) && paths_is_usable(&route->paths, lanes, i) &&
            lanes->lanes[i]->narrowed_bytes == 0) {
            return i;
        }
    }
    return lane_index;
}

unsigned route_send_sequenced(struct routes *routes, struct route *route,
                              struct flow_frame *const *frames, unsigned count, uint32_t first,
                              uint32_t highest)
{
    struct lane_outgoing outgoing[FLOW_BATCH_FRAMES];

    assert(count > 0);
    for (unsigned i = 0; i < count; i++) {
        outgoing[i] = (struct lane_outgoing){
            .head = frames[i]->head,
            .head_bytes = frames[i]->head_bytes,
            .payload = frames[i]->payload,
            .payload_bytes = frames[i]->payload_bytes,
        };
    }
    struct convoy *convoy = &route->convoy;
    unsigned fast = route->paths.fast;
    unsigned lane_index = convoy_choose(convoy, frames, count, first, highest, fast);
    for (unsigned i = 0; convoy_has_trains(convoy) && i + 1 < count; i++) {
        outgoing[i].shorter_bytes = convoy_shorter_bytes(frames[i], frames[i + 1]);
    }
    if (is_narrowed(routes, lane_index)) {
        count = count_alike(routes, route, lane_index, outgoing, count);
        lane_index = find_wide(routes, route, lane_index, outgoing);
    }
    unsigned taken = route_send(routes, route, lane_index, outgoing, count);
    if (taken == 0 && lane_index != fast) { /* a lane that takes nothing must not stop the others */
        lane_index = fast;
        if (is_narrowed(routes, lane_index)) {
            count = count_alike(routes, route, lane_index, outgoing, count);
            lane_index = find_wide(routes, route, lane_index, outgoing);
        }
        taken = route_send(routes, route, lane_index, outgoing, count);
    }
    enum flow_way way = convoy_way_of(convoy, lane_index, fast);
    for (unsigned i = 0; i < taken; i++) {
        frames[i]->way = (uint8_t)way;
        frames[i]->first_way = frames[i]->transmissions == 0 ? (uint8_t)way : frames[i]->first_way;
    }
    if (lane_index != fast) {
        convoy_sent(convoy, highest, taken, lane_index);
    }
    route->gathers = convoy_gathers(convoy);
    return taken;
}
