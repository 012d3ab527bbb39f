/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint_fuzz_run.h - what the peer of endpoint_fuzz.c says over a lane that cuts: the segments
 * of a message (tso_run.h), and joined DATA. All of it is what headers on the wire can say
 * (tso_head.h), right or forged; what is forged so that nobody may believe it has no effect, so
 * that a message that has it is found out.
 */
#ifndef BEOWIRE_TESTS_ENDPOINT_FUZZ_RUN_H
#define BEOWIRE_TESTS_ENDPOINT_FUZZ_RUN_H

#include "endpoint_fuzz_say.h"
#include "lane/tso/tso_run.h"

enum {
    RUN_GOES_ON = 0x04, /* with the last message that has begun; else with a new one */
    RUN_WAITS = 0x08,   /* what is said next is handed out with it */
    RUN_FORGED = 0x10,
    RUN_BEYOND = 0x20, /* what the endpoint has given credit for */
    RUN_BEHIND = 0x40, /* the payload is behind the head */
};

/** Segments on the wire, and what they carry. */
struct run {
    struct tso_segments segments;
    struct lane_address from;
    uint32_t message; /* of the peer */
    bool unbelievable;
    bool counts; /* what is said next follows it */
    uint8_t *payload;
};

static void forge_segments(struct fuzz *fuzz, struct run *run)
{
    struct tso_segments *segments = &run->segments;
    uint8_t what = take(fuzz);
    uint32_t ahead;

    run->counts = (what & 8) != 0;
    switch (what % 8) {
    case 0:
        segments->key ^= 1 + take_16(fuzz);
        run->unbelievable = true;
        break;
    case 1:
        run->from.bytes[5] = STRANGER;
        run->unbelievable = true;
        break;
    case 2:
        segments->message += take(fuzz) - 128u;
        break;
    case 3:
        segments->name = (segments->name + 1u) % NAMES;
        break;
    case 4:
        segments->segment_bytes = 1 + take_16(fuzz);
        segments->offset -= segments->offset % segments->segment_bytes;
        break;
    case 5:
        segments->kind = segments->kind == TSO_MESSAGE ? TSO_FRAMES : segments->kind;
        segments->name = 0;
        break;
    case 6: /* elsewhere in the message, and perhaps all the same the next in order */
        ahead = take(fuzz);
        segments->offset += (uint64_t)ahead * segments->segment_bytes;
        segments->message -= segments->kind == TSO_MESSAGE && (what & 0x10) != 0 ? ahead : 0;
        break;
    default:
        segments->offset = (UINT32_MAX - take_16(fuzz)) * (uint64_t)segments->segment_bytes;
        break;
    }
}

/** Is this what a lane hands out? Then it is as the lane reads it. */
static bool crosses_wire(struct tso_segments *segments)
{
    struct tso_head head;

    tso_head_write(&head, segments);
    return tso_head_read(&head, segments->bytes, segments);
}

/* ---- the segments of a message ------------------------------------------------------------- */

static void begin_message(struct fuzz *fuzz, struct run *run, uint8_t choice)
{
    uint64_t bytes = take_bytes(fuzz);

    run->message = fuzz->begun_count++;
    run->segments.name = choice % NAMES;
    /* The longest of them make FRAGMENTs that do not fit. */
    run->segments.segment_bytes = TSO_MESSAGE_HEAD_BYTES + 1 + take_16(fuzz) % (FRAME_BYTES - 80);
    fuzz->begun[run->message] =
        (struct begun){.bytes = bytes, .cut_bytes = run->segments.segment_bytes};
    fuzz->last_eager = run->message;
}

/** From where the last message has come to. @return false: no segment begins there. */
static bool go_on(struct fuzz *fuzz, struct run *run, uint8_t choice)
{
    const struct begun *begun = &fuzz->begun[fuzz->last_eager];
    uint64_t at = TSO_MESSAGE_HEAD_BYTES + begun->said;

    if (begun->cut_bytes == 0 || at % begun->cut_bytes != 0) {
        return false;
    }
    run->message = fuzz->last_eager;
    run->segments.name = choice % NAMES;
    run->segments.segment_bytes = begun->cut_bytes;
    run->segments.offset = at;
    return true;
}

/** How many segments go together: as many as are left, and as there is credit for. */
static uint32_t frames_of_run(struct fuzz *fuzz, const struct run *run, uint8_t choice)
{
    const struct flow *flow = &peer_of(fuzz)->message.flow;
    uint64_t whole = TSO_MESSAGE_HEAD_BYTES + fuzz->begun[run->message].bytes;
    uint64_t left = whole > run->segments.offset ? whole - run->segments.offset : 1;
    uint32_t credit = flow->granted - flow->expected - fuzz->ahead;
    uint32_t frames = lane_segments((uint32_t)left, run->segments.segment_bytes);
    uint32_t most = 1 + take(fuzz) % TSO_RUN_FRAMES_MAX;

    frames = frames < most ? frames : most;
    if ((choice & RUN_BEYOND) == 0 && credit > 0 && credit < frames) {
        frames = credit;
    }
    return frames;
}

/** The bytes from the offset on: the head of an EAGER is before those of its message. */
static void fill_run(const struct fuzz *fuzz, struct run *run, uint64_t of_message)
{
    const struct tso_segments *segments = &run->segments;
    uint8_t head[TSO_MESSAGE_HEAD_BYTES];
    uint64_t room = segments->segment_bytes - (uint64_t)TSO_MESSAGE_HEAD_BYTES;
    const struct frame_eager eager = {.tag = to_le64(0),
                                      .immediate = to_le32(run->message),
                                      .message_bytes = to_le32((uint32_t)of_message),
                                      .message = to_le16(segments->name)};

    frame_encode(head, &(struct frame_fields){
                           .type = FRAME_EAGER,
                           .destination = CLUSTER_ENDPOINT,
                           .source = CLUSTER_ENDPOINT,
                           .key = segments->key,
                           .sequence = segments->message,
                           .payload_bytes = (uint16_t)(of_message < room ? of_message : room)});
    frame_stamp(head, 0, fuzz->highest_sent, (uint16_t)(fuzz->highest_sent + 64));
    memcpy(head + sizeof(struct frame_header), &eager, sizeof eager);
    for (uint32_t i = 0; i < segments->bytes; i++) {
        uint64_t at = segments->offset + i;
        run->payload[i] = at < sizeof head ? head[at] : content(run->message, at - sizeof head);
    }
}

/** What a frame of the run does. */
static void note_frame(struct fuzz *fuzz, const struct run *run, const struct frame *frame)
{
    struct effect effect = {.some = true, .message = run->message};

    if (frame->type == FRAME_EAGER) {
        effect.name = (uint8_t)(from_le16(frame->eager->message) % NAMES);
        effect.names = frame->payload_bytes < from_le32(frame->eager->message_bytes);
        effect.sent = frame->payload_bytes;
    } else {
        effect.name = (uint8_t)(from_le16(frame->fragment->message) % NAMES);
        effect.continues = true;
        effect.sent = from_le64(frame->fragment->offset) + frame->payload_bytes;
    }
    note_effect(fuzz, frame->sequence, &effect);
}

/** Lets the frames of the run wait in the lane. */
static void add_run(struct fuzz *fuzz, const struct run *run, uint8_t choice)
{
    static struct tso_run_head heads[TSO_RUN_FRAMES_MAX];
    static struct lane_incoming frames[TSO_RUN_FRAMES_MAX];
    static uint8_t whole[sizeof heads[0] + TSO_PAYLOAD_BYTES_MAX];
    unsigned count =
        tso_run_split(&run->segments, run->payload, &run->from, heads, frames, TSO_RUN_FRAMES_MAX);

    for (unsigned i = 0; i < count; i++) {
        struct frame frame;
        bool believable = !run->unbelievable && frames[i].bytes <= FRAME_BYTES;
        if (frames[i].payload != NULL && (choice & RUN_BEHIND) != 0) {
            memcpy(whole, frames[i].data, sizeof heads[0]);
            memcpy(whole + sizeof heads[0], frames[i].payload, frames[i].bytes - sizeof heads[0]);
            frames[i].data = whole;
            frames[i].payload = NULL;
        }
        if (believable && frame_decode(frames[i].data, frames[i].bytes, &frame) == FRAME_OK &&
            (frame.type == FRAME_EAGER || frame.type == FRAME_FRAGMENT)) {
            note_frame(fuzz, run, &frame);
            fuzz->ahead += frame.sequence == peer_of(fuzz)->message.flow.expected + fuzz->ahead;
        }
        cut_add(&fuzz->cut, &frames[i], sizeof heads[0], believable);
    }
}

/** Segments of a message, or of what is taken for one. */
static void say_run(struct fuzz *fuzz)
{
    uint8_t choice = take(fuzz);
    struct run run = {.segments = {.destination = CLUSTER_ENDPOINT,
                                   .ethertype = 0x88B5,
                                   .kind = TSO_MESSAGE,
                                   .key = fuzz->own_key},
                      .from = fuzz->peer_at_cut,
                      .unbelievable = sealed_peer(fuzz->core) != NULL, /* there is no seal in it */
                      .counts = true};
    struct tso_segments *segments = &run.segments;

    if (!fuzz->cuts) {
        return;
    }
    if ((choice & RUN_GOES_ON) == 0) {
        begin_message(fuzz, &run, choice);
    } else if (!go_on(fuzz, &run, choice)) {
        return;
    }
    struct begun *begun = &fuzz->begun[run.message];
    uint64_t whole = TSO_MESSAGE_HEAD_BYTES + begun->bytes;
    segments->bytes = frames_of_run(fuzz, &run, choice) * segments->segment_bytes;
    if (segments->offset + segments->bytes > whole && segments->offset < whole) {
        segments->bytes = (uint32_t)(whole - segments->offset);
    }
    /* The first of them is the next in order. */
    segments->message = peer_of(fuzz)->message.flow.expected + fuzz->ahead -
                        (uint32_t)(segments->offset / segments->segment_bytes);
    uint64_t upto = segments->offset + segments->bytes;
    if ((choice & RUN_FORGED) != 0) {
        forge_segments(fuzz, &run);
    }
    if (!crosses_wire(segments)) {
        return;
    }
    run.payload = malloc(segments->bytes);
    require(run.payload != NULL);
    fill_run(fuzz, &run, begun->bytes);
    add_run(fuzz, &run, choice);
    free(run.payload);
    if (run.counts) {
        begun->said = upto - TSO_MESSAGE_HEAD_BYTES;
    }
    if ((choice & RUN_WAITS) == 0) {
        settle(fuzz);
    }
}

/* ---- joined DATA --------------------------------------------------------------------------- */

enum {
    JOINED_UNEVEN = 0x20, /* it need not end with a segment */
    JOINED_ANYWHERE = 0x40,
    JOINED_ANY_MESSAGE = 0x80,
};

static void note_joined(struct begun *begun, uint64_t segment, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes && begun->segment_bytes != 0; segment++) {
        uint64_t at = segment * begun->segment_bytes;
        uint64_t left = begun->bytes > at ? begun->bytes - at : 0;
        uint64_t one = left < begun->segment_bytes ? left : begun->segment_bytes;
        if (one == 0 || bytes - done < one) {
            break;
        }
        note_segment(begun, segment);
        done += one;
    }
}

/** Which segments, as the script has it. */
static void choose_joined(struct fuzz *fuzz, struct tso_segments *segments, uint32_t message,
                          uint8_t choice)
{
    const struct begun *begun = &fuzz->begun[message];
    uint64_t count = (begun->bytes + begun->segment_bytes - 1) / begun->segment_bytes;
    bool next = (choice & JOINED_ANYWHERE) == 0 && count > 0;
    uint64_t segment = next ? begun->said % count : take(fuzz);

    segments->message = ANNOUNCED + message;
    segments->segment_bytes = begun->segment_bytes;
    segments->offset = segment * begun->segment_bytes;
    if ((choice & JOINED_UNEVEN) != 0) {
        segments->bytes = 1 + take_16(fuzz) % TSO_PAYLOAD_BYTES_MAX;
        return;
    }
    uint64_t left = begun->bytes > segments->offset ? begun->bytes - segments->offset : 1;
    uint64_t bytes = (1 + take(fuzz) % 128u) * (uint64_t)begun->segment_bytes;
    segments->bytes = (uint32_t)(bytes < left ? bytes : left);
}

/** Lets it wait in the lane. It says which segment comes first, and the announcement where that
 *  lies. */
static void add_joined(struct fuzz *fuzz, struct run *run)
{
    const struct tso_segments *segments = &run->segments;
    uint64_t segment = segments->offset / segments->segment_bytes;
    struct begun *begun = &fuzz->begun[run->message];
    struct frame_data head =
        frame_encode_data(segments->destination, segments->key, segments->message);

    frame_data_set_segment(&head, (uint32_t)segment);
    for (uint32_t i = 0; i < segments->bytes; i++) {
        run->payload[i] = content(run->message, segment * begun->segment_bytes + i);
    }
    if (!run->unbelievable) {
        note_joined(begun, segment, segments->bytes);
    }
    cut_add(&fuzz->cut,
            &(struct lane_incoming){.data = (const uint8_t *)&head,
                                    .bytes = (uint32_t)sizeof head + segments->bytes,
                                    .payload = run->payload,
                                    .segment_bytes = segments->segment_bytes,
                                    .from = run->from},
            sizeof head, !run->unbelievable);
}

/** Several segments of an announced message, asked for or not. */
static void say_joined(struct fuzz *fuzz)
{
    uint8_t choice = take(fuzz);
    uint32_t message =
        (choice & JOINED_ANY_MESSAGE) != 0 ? take(fuzz) % MESSAGES : fuzz->last_announced;
    struct run run = {.segments = {.destination = CLUSTER_ENDPOINT,
                                   .ethertype = 0x88B5,
                                   .kind = TSO_DATA,
                                   .key = fuzz->own_key},
                      .from = fuzz->peer_at_cut,
                      .unbelievable = sealed_peer(fuzz->core) != NULL};

    if (!fuzz->cuts || fuzz->begun[message].segment_bytes == 0) {
        return;
    }
    choose_joined(fuzz, &run.segments, message, choice);
    if ((choice & RUN_FORGED) != 0) {
        forge_segments(fuzz, &run);
    }
    run.message = run.segments.message - ANNOUNCED;
    if (run.message >= MESSAGES || fuzz->begun[run.message].segment_bytes == 0 ||
        !crosses_wire(&run.segments)) {
        return;
    }
    run.payload = malloc(run.segments.bytes);
    require(run.payload != NULL);
    add_joined(fuzz, &run);
    free(run.payload);
    if ((choice & RUN_WAITS) == 0) {
        settle(fuzz);
    }
}

#endif /* BEOWIRE_TESTS_ENDPOINT_FUZZ_RUN_H */
