/* SPDX-License-Identifier: BSD-3-Clause */
/* core_send(), through which all frames leave. */
#include "core/core_internal.h"
#include "route/trace.h"

/** May this frame be sent to an address that is not proven? */
static bool is_of_opening(const uint8_t *head)
{
    unsigned type = frame_type_of(head);

    return type == FRAME_CONNECT || type == FRAME_ACCEPT || type == FRAME_CHALLENGE ||
           type == FRAME_RESPONSE;
}

unsigned core_send(struct core *core, struct core_peer *peer, unsigned by,
                   const struct lane_outgoing *frames, unsigned count)
{
    struct lane *lane = core->options.lanes.lanes[by];

    if (__builtin_expect(!paths_has_proven(&peer->paths, by), 0) && count > 0 &&
        !is_of_opening(frames->head)) {
        return 0;
    }
    if (__builtin_expect(core->trace != NULL, 0) && count > 0) {
        trace_note(core->trace, TRACE_OUT, frame_type_of(frames->head));
    }
    if (peer->checked && !lane->is_certain) { /* otherwise shared memory only */
        core_write_checksums(lane, frames, count);
    }
    unsigned taken = __builtin_expect(peer->seal != NULL, 0)
                         ? core_send_sealed(core, peer, by, frames, count)
                         : lane->operations->send(lane, &peer->paths.to[by], frames, count);

    trace_here(core->trace, TRACE_LEFT, taken);
    if (taken == 1) { /* a single frame avoids the loop, which saves 6 ns */
        core->counters.sent[frame_type_of(frames->head)] +=
            lane_segments(frames->payload_bytes, frames->segment_bytes);
        return 1;
    }
    for (unsigned i = 0; i < taken; i++) {
        core->counters.sent[frame_type_of(frames[i].head)]++;
    }
    if (taken == 0) {
        core->refusing_lanes |= 1u << by;
        core_note_deadline(core, 0);
    }
    return taken;
}
