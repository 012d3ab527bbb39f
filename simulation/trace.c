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
    static const char *const names[FRAME_TYPES] = {
#define NAME(number, capitals, name, operation_bytes, payload) [number] = #capitals,
        FRAME_TYPE_LIST(NAME)
#undef NAME
    };

    /* Without a name: of another version, or damaged. */
    return type < FRAME_TYPES && names[type] != NULL ? names[type] : "UNKNOWN";
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
