/* SPDX-License-Identifier: BSD-3-Clause */
/* Any 64 bytes as the headers of what cards cut, and a length (little-endian, up to four bytes) as
 * that of what came with them: what tso_head_read() lets in is whole, and can be written again. */
#include "lane/tso/tso_head.h"
#include "lane/tso/tso_run.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void require_bounds(const struct tso_segments *segments, uint32_t bytes)
{
    require(segments->bytes > 0 && segments->bytes <= TSO_PAYLOAD_BYTES_MAX);
    require(segments->bytes == bytes || (segments->bytes < bytes && bytes <= 6));
    require(segments->segment_bytes > 0 && segments->segment_bytes <= UINT16_MAX);
    require(segments->offset % segments->segment_bytes == 0);
    require(segments->offset / segments->segment_bytes <= UINT32_MAX);
    require(segments->offset >> (segments->kind == TSO_DATA ? TSO_OFFSET_BITS : 32) == 0);
    require(segments->kind == TSO_MESSAGE || segments->name == 0);
}

static void require_same(const struct tso_segments *a, const struct tso_segments *b)
{
    require(memcmp(a->to, b->to, sizeof a->to) == 0);
    require(memcmp(a->from, b->from, sizeof a->from) == 0);
    require(a->ethertype == b->ethertype && a->destination == b->destination);
    require(a->key == b->key && a->message == b->message);
    require(a->kind == b->kind && a->name == b->name);
    require(a->offset == b->offset && a->segment_bytes == b->segment_bytes);
    require(a->bytes == b->bytes);
}

/** But for what cards and kernels alter. */
static void require_same_headers(const struct tso_head *a, const struct tso_head *b)
{
    require(memcmp(a->ethernet, b->ethernet, sizeof a->ethernet) == 0);
    require(a->ip[0] == b->ip[0] && a->ip[9] == b->ip[9]);
    require(memcmp(a->ip + 2, b->ip + 2, 2) == 0);
    require(memcmp(a->ip + 12, b->ip + 12, 8) == 0);
    require(memcmp(a->tcp, b->tcp, 13) == 0);
    require(memcmp(a->tcp + 14, b->tcp + 14, 2) == 0);
    require(memcmp(a->tcp + 18, b->tcp + 18, 2) == 0);
}

/** What came can be taken apart without touching what lies around it. */
static void take_apart(const struct tso_segments *segments)
{
    static struct tso_run_head heads[TSO_RUN_FRAMES_MAX];
    static struct lane_incoming frames[TSO_RUN_FRAMES_MAX];
    const struct lane_address from = {{0}};
    uint8_t *payload = malloc(segments->bytes);

    require(payload != NULL);
    memset(payload, 0x5A, segments->bytes);
    unsigned count = tso_run_split(segments, payload, &from, heads, frames, TSO_RUN_FRAMES_MAX);
    require(count >= 1 && count <= TSO_RUN_FRAMES_MAX);
    uint32_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        struct frame frame;
        const uint8_t *at = frames[i].payload != NULL ? frames[i].payload : frames[i].data;
        uint32_t length = frames[i].bytes;
        if (frames[i].tacit) {
            length -= (uint32_t)sizeof heads[0];
            require(frame_decode(frames[i].data, frames[i].bytes, &frame) == FRAME_OK);
            require(frame.type == FRAME_FRAGMENT && frame.payload_bytes == length);
        }
        require(at == payload + bytes && at[0] == 0x5A && at[length - 1] == 0x5A);
        bytes += length;
    }
    require(bytes <= segments->bytes);
    free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tso_head head;
    struct tso_head again;
    struct tso_segments segments;
    struct tso_segments found;
    uint32_t bytes = 0;

    if (size < sizeof head) {
        return 0;
    }
    memcpy(&head, data, sizeof head);
    for (size_t i = 0; i < 4 && sizeof head + i < size; i++) {
        bytes |= (uint32_t)data[sizeof head + i] << (8 * i);
    }
    if (!tso_head_read(&head, bytes, &segments)) {
        return 0;
    }
    require_bounds(&segments, bytes);
    tso_head_write(&again, &segments);
    require_same_headers(&again, &head);
    require(tso_head_read(&again, segments.bytes, &found));
    require_same(&found, &segments);
    /* Any shorter, or longer than padding makes it, and it is refused. */
    require(!tso_head_read(&head, segments.bytes - 1, &found));
    require(!tso_head_read(&head, segments.bytes < 7 ? 7 : segments.bytes + 1, &found));
    if (segments.kind != TSO_DATA) {
        take_apart(&segments);
    }
    return 0;
}
