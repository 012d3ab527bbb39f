/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire. */
#include "sim_internal.h"

#include "frame/frame.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- frames on the way: a binary heap ------------------------------------------------------ */

static bool earlier(const struct sim_frame *a, const struct sim_frame *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->serial < b->serial;
}

static void heap_push(struct sim_wire *wire, struct sim_frame *frame)
{
    uint32_t at = wire->heap_count++;

    while (at > 0 && earlier(frame, wire->heap[(at - 1) / 2])) {
        wire->heap[at] = wire->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    wire->heap[at] = frame;
}

static struct sim_frame *heap_pop(struct sim_wire *wire)
{
    struct sim_frame *first = wire->heap[0];
    struct sim_frame *last = wire->heap[--wire->heap_count];
    uint32_t at = 0;

    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= wire->heap_count) {
            break;
        }
        if (child + 1 < wire->heap_count && earlier(wire->heap[child + 1], wire->heap[child])) {
            child++;
        }
        if (!earlier(wire->heap[child], last)) {
            break;
        }
        wire->heap[at] = wire->heap[child];
        at = child;
    }
    wire->heap[at] = last;
    return first;
}

void sim_give_back(struct sim_wire *wire, struct sim_frame *frame)
{
    frame->next = wire->free;
    wire->free = frame;
}

void sim_give_back_list(struct sim_wire *wire, struct sim_frame *frame)
{
    while (frame != NULL) {
        struct sim_frame *next = frame->next;
        sim_give_back(wire, frame);
        frame = next;
    }
}

/* ---- the wire ------------------------------------------------------------------------------ */

int sim_wire_open(const struct sim_options *options, struct sim_wire **wire)
{
    if (options->nodes < 1 || options->nodes > 65536 || options->rails < 1 ||
        options->rails > ADDRESS_RAILS || options->cutting >> options->rails != 0 ||
        options->sharing >> options->rails != 0 || (options->cutting & options->sharing) != 0 ||
        options->frame_bytes < 64 || options->frame_bytes > UINT16_MAX || options->frames < 1) {
        return -EINVAL;
    }
    struct sim_wire *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        return -ENOMEM;
    }
    opened->options = *options;
    opened->now_ns = options->start_ns;
    opened->trace_hash = UINT64_C(0xCBF29CE484222325);
    random_seed(&opened->random, options->seed);
    opened->nodes = calloc(options->nodes, sizeof *opened->nodes);
    opened->frames = calloc(options->frames, sizeof *opened->frames);
    opened->heap = calloc(options->frames, sizeof(struct sim_frame *));
    opened->memory = malloc((size_t)options->frames * options->frame_bytes);
    if (opened->nodes == NULL || opened->frames == NULL || opened->heap == NULL ||
        opened->memory == NULL) {
        sim_wire_close(opened);
        return -ENOMEM;
    }
    for (uint32_t i = options->frames; i-- > 0;) {
        opened->frames[i].data = opened->memory + (size_t)i * options->frame_bytes;
        sim_give_back(opened, &opened->frames[i]);
    }
    *wire = opened;
    return 0;
}

void sim_wire_close(struct sim_wire *wire)
{
    free(wire->nodes);
    free(wire->frames);
    free(wire->heap);
    free(wire->memory);
    free(wire->told);
    free(wire->cut);
    free(wire->longest);
    free(wire);
}

void sim_wire_set(struct sim_wire *wire, const struct sim_options *options)
{
    struct sim_options changed = *options;

    changed.seed = wire->options.seed;
    changed.nodes = wire->options.nodes;
    changed.rails = wire->options.rails;
    changed.cutting = wire->options.cutting;
    changed.sharing = wire->options.sharing;
    changed.frame_bytes = wire->options.frame_bytes;
    changed.frames = wire->options.frames;
    changed.start_ns = wire->options.start_ns;
    wire->options = changed;
}

uint64_t sim_wire_now(const struct sim_wire *wire)
{
    return wire->now_ns;
}

uint64_t sim_wire_next(const struct sim_wire *wire)
{
    return wire->heap_count > 0 ? wire->heap[0]->due_ns : UINT64_MAX;
}

uint64_t sim_wire_trace_hash(const struct sim_wire *wire)
{
    return wire->trace_hash;
}

const struct sim_counters *sim_wire_counters(const struct sim_wire *wire)
{
    return &wire->counters;
}

/** The notes about a pair of nodes. */
static uint8_t *note_of(const struct sim_wire *wire, uint8_t **notes, uint32_t from, uint32_t to)
{
    size_t nodes = wire->options.nodes;

    assert(from < nodes && to < nodes);
    if (*notes == NULL) {
        *notes = calloc(nodes, nodes);
        if (*notes == NULL) {
            abort(); /* a simulation that cannot do as told must not continue */
        }
    }
    return &(*notes)[from * nodes + to];
}

bool sim_wire_was_told(const struct sim_wire *wire, uint32_t node, uint32_t ended)
{
    return wire->told != NULL && wire->told[(size_t)node * wire->options.nodes + ended] != 0;
}

void sim_wire_cut(struct sim_wire *wire, uint32_t from, uint32_t to, bool cut)
{
    *note_of(wire, &wire->cut, from, to) = cut;
}

static size_t link_of(const struct sim_wire *wire, uint32_t from, uint32_t to, uint32_t rail)
{
    return ((size_t)from * wire->options.nodes + to) * ADDRESS_RAILS + rail;
}

void sim_wire_narrow(struct sim_wire *wire, uint32_t from, uint32_t to, uint32_t rail,
                     uint16_t bytes)
{
    size_t nodes = wire->options.nodes;

    assert(from < nodes && to < nodes && rail < wire->options.rails);
    if (wire->longest == NULL) {
        wire->longest = malloc(nodes * nodes * ADDRESS_RAILS * sizeof *wire->longest);
        if (wire->longest == NULL) {
            abort(); /* as above */
        }
        memset(wire->longest, UINT8_MAX, nodes * nodes * ADDRESS_RAILS * sizeof *wire->longest);
    }
    wire->longest[link_of(wire, from, to, rail)] = bytes;
}

bool sim_is_too_long(const struct sim_wire *wire, const struct sim_event *frame)
{
    return wire->longest != NULL &&
           frame->bytes > wire->longest[link_of(wire, frame->from, frame->to, frame->rail)];
}

void sim_wire_vanish(struct sim_wire *wire, uint32_t node)
{
    assert(node < wire->options.nodes);
    wire->nodes[node].vanished = true;
}

void sim_wire_unplug(struct sim_wire *wire, uint32_t node, uint32_t rail, bool unplugged)
{
    assert(node < wire->options.nodes && rail < wire->options.rails);
    wire->nodes[node].unplugged[rail] = unplugged;
}

void sim_wire_mangle(struct sim_wire *wire, uint32_t node, uint32_t ppm)
{
    assert(node < wire->options.nodes);
    wire->nodes[node].mangled_ppm = ppm;
}

void sim_wire_observe(struct sim_wire *wire, sim_observer *observer, void *context)
{
    wire->observer = observer;
    wire->observer_context = context;
}

void sim_note(struct sim_wire *wire, enum sim_event_kind kind, const struct sim_event *frame)
{
    uint64_t *const counters[SIM_EVENTS] = {
        [SIM_SENT] = &wire->counters.sent,
        [SIM_FORGED] = &wire->counters.forged,
        [SIM_DELIVERED] = &wire->counters.delivered,
        [SIM_LOST] = &wire->counters.lost,
        [SIM_DOUBLED] = &wire->counters.doubled,
        [SIM_DELAYED] = &wire->counters.delayed,
        [SIM_CORRUPTED] = &wire->counters.corrupted,
        [SIM_MANGLED] = &wire->counters.mangled,
        [SIM_CUT] = &wire->counters.cut,
        [SIM_TOO_LONG] = &wire->counters.too_long,
        [SIM_UNREACHABLE] = &wire->counters.unreachable,
        [SIM_OVERFLOWED] = &wire->counters.overflowed,
        [SIM_REFUSED] = &wire->counters.refused,
    };

    ++*counters[kind];
    if (wire->observer != NULL) {
        struct sim_event event = *frame;
        event.kind = kind;
        event.now_ns = wire->now_ns;
        wire->observer(wire->observer_context, &event);
    }
}

bool sim_is_cut(const struct sim_wire *wire, uint32_t from, uint32_t to, uint32_t rail)
{
    return wire->nodes[from].unplugged[rail] || wire->nodes[to].unplugged[rail] ||
           wire->nodes[from].vanished || wire->nodes[to].vanished ||
           (wire->cut != NULL && wire->cut[(size_t)from * wire->options.nodes + to] != 0);
}

/** Like FNV-1a (Fowler, Noll, Vo), but eight bytes at a time; the shift moves high bits down. */
static void hash_word(struct sim_wire *wire, uint64_t word)
{
    wire->trace_hash = (wire->trace_hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    wire->trace_hash ^= wire->trace_hash >> 32;
}

static void hash_bytes(struct sim_wire *wire, const uint8_t *data, size_t bytes)
{
    uint64_t word;

    for (; bytes >= sizeof word; bytes -= sizeof word, data += sizeof word) {
        memcpy(&word, data, sizeof word);
        hash_word(wire, word);
    }
    word = bytes;
    memcpy((uint8_t *)&word + 1, data, bytes);
    hash_word(wire, word);
}

/** The place in the operation header where the frame has an address of memory, which differs
 *  between runs. @return SIZE_MAX: none. */
static size_t memory_said_at(const struct sim_frame *frame)
{
    switch (frame_type_of(frame->data)) {
    case FRAME_ANNOUNCE:
        return offsetof(struct frame_announce, address);
    case FRAME_OFFER:
        return offsetof(struct frame_offer, address);
    case FRAME_GRANT:
        return offsetof(struct frame_grant, address);
    default:
        return SIZE_MAX;
    }
}

/** All but the address of memory, and the seal. */
static void hash_frame(struct sim_wire *wire, const struct sim_frame *frame)
{
    size_t at = wire->options.sharing != 0 ? memory_said_at(frame) : SIZE_MAX;
    size_t header_bytes = 4 * (size_t)(*frame->data % 16); /* with the seal, if there is one */

    if (at == SIZE_MAX || header_bytes + at + sizeof(le64) > frame->bytes) {
        hash_bytes(wire, frame->data, frame->bytes);
        return;
    }
    hash_bytes(wire, frame->data, sizeof(struct frame_header));
    hash_bytes(wire, frame->data + header_bytes, at);
    at += header_bytes + sizeof(le64);
    hash_bytes(wire, frame->data + at, frame->bytes - at);
}

static struct sim_event event_of(const struct sim_frame *frame)
{
    return (struct sim_event){.from = frame->from,
                              .to = frame->to,
                              .rail = frame->rail,
                              .bytes = frame->bytes,
                              .head = frame->data};
}

/** The process does not exist: the host may report that, if the report gets through. */
static void tell_sender(struct sim_wire *wire, const struct sim_frame *frame)
{
    const struct sim_node *node = &wire->nodes[frame->from];
    struct sim_lane *sender = node->lanes[frame->rail];

    if (!random_chance(&wire->random, wire->options.told_ppm) || sender == NULL ||
        node->processes[frame->rail] != frame->process ||
        sim_is_cut(wire, frame->to, frame->from, frame->rail)) {
        return;
    }
    for (unsigned i = 0; i < sender->lost_count; i++) {
        if (sender->lost[i].node == frame->to) {
            return;
        }
    }
    if (sender->lost_count < SIM_LOST_MAX) {
        uint32_t bytes = frame->bytes < LANE_QUOTE_BYTES ? frame->bytes : LANE_QUOTE_BYTES;
        sender->lost[sender->lost_count].node = frame->to;
        sender->lost[sender->lost_count].quote_bytes = (uint8_t)bytes;
        memcpy(sender->lost[sender->lost_count++].quote, frame->data, bytes);
        *note_of(wire, &wire->told, frame->from, frame->to) = 1;
        wire->counters.told++;
    }
}

static void deliver(struct sim_wire *wire, struct sim_frame *frame)
{
    struct sim_lane *lane = wire->nodes[frame->to].lanes[frame->rail];

    const struct sim_event event = event_of(frame);
    enum sim_event_kind kind = SIM_DELIVERED;

    if (wire->nodes[frame->to].vanished) {
        kind = SIM_CUT;
    } else if (lane == NULL) {
        kind = SIM_UNREACHABLE;
        tell_sender(wire, frame);
    } else if (wire->options.ring_frames != 0 && lane->waiting >= wire->options.ring_frames) {
        kind = SIM_OVERFLOWED;
    }
    sim_note(wire, kind, &event);
    if (kind != SIM_DELIVERED) {
        sim_give_back(wire, frame);
        return;
    }
    wire->counters.overtaken += frame->serial < lane->newest_serial;
    lane->newest_serial = frame->serial > lane->newest_serial ? frame->serial : lane->newest_serial;
    lane->waiting++;
    hash_word(wire, frame->due_ns);
    hash_word(wire, (uint64_t)frame->from << 32 | frame->to);
    hash_word(wire, frame->rail);
    hash_frame(wire, frame);
    frame->next = NULL;
    *lane->arrived_end = frame;
    lane->arrived_end = &frame->next;
}

void sim_wire_advance(struct sim_wire *wire, uint64_t until_ns)
{
    while (wire->heap_count > 0 && wire->heap[0]->due_ns <= until_ns) {
        deliver(wire, heap_pop(wire));
    }
    if (until_ns > wire->now_ns) {
        wire->now_ns = until_ns;
    }
}

/** Queues the frame at the port that leads to its destination. @return the time that it needs to
 *  pass; UINT64_MAX: the queue is full. */
static uint64_t pass_port(struct sim_wire *wire, struct sim_node *to, uint32_t rail, uint32_t bytes)
{
    const struct sim_options *options = &wire->options;
    uint64_t begin_ns = to->idle_ns[rail] > wire->now_ns ? to->idle_ns[rail] : wire->now_ns;

    if (options->bytes_per_s == 0) {
        return 0;
    }
    uint64_t wait_ns = begin_ns - wire->now_ns;
    if (options->queue_bytes != 0 &&
        wait_ns > options->queue_bytes * UINT64_C(1000000000) / options->bytes_per_s) {
        return UINT64_MAX;
    }
    to->idle_ns[rail] = begin_ns + bytes * UINT64_C(1000000000) / options->bytes_per_s;
    return to->idle_ns[rail] - wire->now_ns;
}

/** Changes one byte. */
static void corrupt(struct sim_wire *wire, struct sim_frame *frame)
{
    uint64_t at = random_below(&wire->random, frame->bytes);

    frame->data[at] ^= (uint8_t)(1 + random_below(&wire->random, 255));
    frame->damaged = true;
}

void sim_launch(struct sim_wire *wire, const struct sim_event *event,
                const struct lane_outgoing *outgoing)
{
    const struct sim_options *options = &wire->options;
    struct sim_node *nodes = wire->nodes;
    struct sim_frame *frame = wire->free;
    bool corrupted = random_chance(&wire->random, options->corrupted_ppm);

    if (corrupted) {
        sim_note(wire, SIM_CORRUPTED, event);
        if (!options->deliver_corrupted) {
            return;
        }
    }
    uint64_t passes_ns =
        frame != NULL ? pass_port(wire, &nodes[event->to], event->rail, event->bytes) : UINT64_MAX;
    if (passes_ns == UINT64_MAX) {
        sim_note(wire, SIM_OVERFLOWED, event);
        return;
    }
    wire->free = frame->next;
    frame->from = event->from;
    frame->to = event->to;
    frame->rail = event->rail;
    frame->bytes = event->bytes;
    frame->segment_bytes = outgoing->segment_bytes;
    frame->tacit = event->tacit;
    frame->damaged = false;
    frame->process = wire->nodes[event->from].processes[event->rail];
    frame->serial = wire->next_serial++;
    frame->due_ns = wire->now_ns + passes_ns + options->delay_ns;
    memcpy(frame->data, outgoing->head, outgoing->head_bytes);
    if (outgoing->payload_bytes > 0) {
        memcpy(frame->data + outgoing->head_bytes, outgoing->payload, outgoing->payload_bytes);
    }
    uint32_t bytes = outgoing->head_bytes + outgoing->payload_bytes;
    memset(frame->data + bytes, 0, event->bytes - bytes);
    if (corrupted) {
        corrupt(wire, frame);
    }
    if (random_chance(&wire->random, nodes[event->from].mangled_ppm) ||
        random_chance(&wire->random, nodes[event->to].mangled_ppm)) {
        corrupt(wire, frame);
        sim_note(wire, SIM_MANGLED, event);
    }
    if (random_chance(&wire->random, options->delayed_ppm)) {
        sim_note(wire, SIM_DELAYED, event);
        frame->due_ns += random_below(&wire->random, options->jitter_ns + 1);
    }
    heap_push(wire, frame);
}

void sim_wire_forge(struct sim_wire *wire, const struct sim_event *frame)
{
    const struct sim_node *to = &wire->nodes[frame->to];
    uint8_t no_head[1];

    assert(frame->from < wire->options.nodes && frame->to < wire->options.nodes &&
           frame->rail < wire->options.rails && frame->bytes <= wire->options.frame_bytes);
    sim_note(wire, SIM_FORGED, frame);
    if (to->unplugged[frame->rail] || to->vanished) {
        sim_note(wire, SIM_CUT, frame);
    } else if (sim_is_too_long(wire, frame)) {
        sim_note(wire, SIM_TOO_LONG, frame);
    } else if (random_chance(&wire->random, wire->options.lost_ppm)) {
        sim_note(wire, SIM_LOST, frame);
    } else {
        sim_launch(wire, frame,
                   &(struct lane_outgoing){
                       .head = no_head, .payload = frame->head, .payload_bytes = frame->bytes});
    }
}
