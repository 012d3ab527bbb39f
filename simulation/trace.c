/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace.h"

#include "frame/frame.h"

#include <inttypes.h>
#include <stdio.h>

static const char *event_name(enum sim_event_kind kind)
{
    static const char *const names[SIM_EVENTS] = {
        [SIM_SENT] = "sent",
        [SIM_FORGED] = "forged",
        [SIM_DELIVERED] = "delivered",
        [SIM_LOST] = "lost",
        [SIM_DOUBLED] = "doubled",
        [SIM_DELAYED] = "delayed",
        [SIM_CORRUPTED] = "corrupted",
        [SIM_MANGLED] = "mangled",
        [SIM_CUT] = "cut",
        [SIM_UNREACHABLE] = "nowhere",
        [SIM_OVERFLOWED] = "overflowed",
        [SIM_REFUSED] = "refused",
        [SIM_TOO_LONG] = "too_long",
    };

    return names[kind];
}

static const char *type_name(uint8_t type)
{
    switch ((enum frame_type)type) {
    case FRAME_CONNECT:
        return "CONNECT";
    case FRAME_ACCEPT:
        return "ACCEPT";
    case FRAME_RESET:
        return "RESET";
    case FRAME_CLOSE:
        return "CLOSE";
    case FRAME_ACK:
        return "ACK";
    case FRAME_PROBE:
        return "PROBE";
    case FRAME_SACK:
        return "SACK";
    case FRAME_CHALLENGE:
        return "CHALLENGE";
    case FRAME_RESPONSE:
        return "RESPONSE";
    case FRAME_PULL:
        return "PULL";
    case FRAME_DATA:
        return "DATA";
    case FRAME_EAGER:
        return "EAGER";
    case FRAME_FRAGMENT:
        return "FRAGMENT";
    case FRAME_ANNOUNCE:
        return "ANNOUNCE";
    case FRAME_BUNDLE:
        return "BUNDLE";
    case FRAME_DONE:
        return "DONE";
    case FRAME_PUT:
        return "PUT";
    case FRAME_OFFER:
        return "OFFER";
    case FRAME_GET:
        return "GET";
    case FRAME_ATOMIC:
        return "ATOMIC";
    case FRAME_RESULT:
        return "RESULT";
    case FRAME_REPLY:
        return "REPLY";
    case FRAME_GRANT:
        return "GRANT";
    }
    return "UNKNOWN"; /* of another version, or damaged */
}

void trace_frame(void *context, const struct sim_event *event)
{
    const struct frame_header *header = (const struct frame_header *)(const void *)event->head;
    const struct frame_data *data = (const struct frame_data *)(const void *)event->head;
    FILE *file = context;

    (void)fprintf(file, "%" PRIu64 " %s %" PRIu32 ">%" PRId32 " rail %" PRIu32 " %s ",
                  event->now_ns, event_name(event->kind), event->from, (int32_t)event->to,
                  event->rail, type_name(header->type));
    if (header->type == FRAME_DATA) {
        (void)fprintf(file, "message %" PRIx32 " segment %" PRIu32, from_le32(data->message),
                      frame_data_segment(data));
    } else {
        (void)fprintf(file, "sequence %" PRIu32 " acknowledgement %" PRIu32 " credit %u flags %x",
                      from_le32(header->sequence), from_le32(header->acknowledgement),
                      from_le16(header->credit), from_le16(header->flags));
    }
    (void)fprintf(file, " bytes %" PRIu32 "\n", event->bytes);
}
