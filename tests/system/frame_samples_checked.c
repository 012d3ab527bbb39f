/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames with checksums (frame/checksum.h), and the same damaged. */
#include "frame_samples.h"

#include "frame/checksum.h"

#include <stdio.h>
#include <string.h>

#define FIRST_TYPE FRAME_RESET

/** Adds a checksum; DATA becomes longer by that. */
static void add_checksum(struct sample *sample)
{
    size_t header_bytes = sizeof(struct frame_data);

    if (frame_type_of(sample->bytes) == FRAME_DATA) {
        memmove(sample->bytes + header_bytes + sizeof(le32), sample->bytes + header_bytes,
                sample->length - header_bytes);
        sample->length += (uint32_t)sizeof(le32);
        frame_data_has_checksum((struct frame_data *)(void *)sample->bytes);
    }
    checksum_write(sample->bytes, sample->length, NULL, 0);
}

static bool is_right(const struct sample *sample)
{
    struct frame frame;

    return frame_decode(sample->bytes, sample->length, &frame) == FRAME_OK &&
           frame.checksum != NULL && checksum_is_right(sample->bytes, &frame);
}

int write_checked(void)
{
    struct sample sample;

    for (unsigned damaged = 0; damaged < 2; damaged++) {
        for (unsigned type = FIRST_TYPE; type < FRAME_TYPES; type++) {
            if (frame_type_name(type) == NULL) {
                continue;
            }
            make(&sample, (enum frame_type)type);
            add_checksum(&sample);
            sample.bytes[8] ^= damaged ? 0x40 : 0; /* its key */
            if (is_right(&sample) == (damaged != 0)) {
                (void)fprintf(stderr,
                              "frame_samples: the checksum of %s is not what it should be\n",
                              frame_type_name(type));
                return 1;
            }
            write_ethernet(&sample);
        }
    }
    return 0;
}
