/* SPDX-License-Identifier: BSD-3-Clause */
#include "address.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static bool all_zero(const uint8_t *bytes, size_t count)
{
    uint8_t any = 0;

    for (size_t i = 0; i < count; i++) {
        any |= bytes[i];
    }
    return any == 0;
}

bool address_is_valid(const struct beowire_address *address)
{
    const struct address_layout *layout = address_layout(address);

    return layout->version == ADDRESS_VERSION && layout->lane == ADDRESS_PACKET &&
           from_le16(layout->endpoint) != 0 && (layout->mac[0] & 1) == 0 &&
           from_le16(layout->ethertype) >= 0x0600 && from_le64(layout->incarnation) != 0 &&
           all_zero(layout->reserved, sizeof layout->reserved) &&
           all_zero(layout->more, sizeof layout->more);
}

int beowire_address_format(const struct beowire_address *address, char *text, size_t bytes)
{
    if (address == NULL || text == NULL || !address_is_valid(address)) {
        return -EINVAL;
    }
    if (bytes < BEOWIRE_ADDRESS_TEXT_BYTES) {
        return -ENOSPC;
    }
    const struct address_layout *layout = address_layout(address);
    const uint8_t *mac = layout->mac;
    (void)snprintf(text, bytes, "beowire:%u:%02x%02x%02x%02x%02x%02x:%04x:%04x:%016" PRIx64,
                   layout->lane, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5],
                   from_le16(layout->ethertype), from_le16(layout->endpoint),
                   from_le64(layout->incarnation));
    return 0;
}

/** Reads exactly `digits` lower-case hexadecimal digits and then `end`.
 *  @return behind `end`, or NULL. */
static const char *read_hex(const char *text, unsigned digits, char end, uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < digits; i++, text++) {
        unsigned digit;
        if (*text >= '0' && *text <= '9') {
            digit = (unsigned)(*text - '0');
        } else if (*text >= 'a' && *text <= 'f') {
            digit = (unsigned)(*text - 'a') + 10;
        } else {
            return NULL;
        }
        *value = *value << 4 | digit;
    }
    return *text == end ? text + 1 : NULL;
}

int beowire_address_parse(const char *text, struct beowire_address *address)
{
    static const char prefix[] = "beowire:";
    uint64_t lane = 0;
    uint64_t mac = 0;
    uint64_t ethertype = 0;
    uint64_t endpoint = 0;
    uint64_t incarnation = 0;

    if (text == NULL || address == NULL || strncmp(text, prefix, sizeof prefix - 1) != 0) {
        return -EINVAL;
    }
    text = read_hex(text + sizeof prefix - 1, 1, ':', &lane);
    text = text != NULL ? read_hex(text, 12, ':', &mac) : NULL;
    text = text != NULL ? read_hex(text, 4, ':', &ethertype) : NULL;
    text = text != NULL ? read_hex(text, 4, ':', &endpoint) : NULL;
    text = text != NULL ? read_hex(text, 16, '\0', &incarnation) : NULL;
    if (text == NULL) {
        return -EINVAL;
    }
    struct address_layout layout = {
        .version = ADDRESS_VERSION,
        .lane = (uint8_t)lane,
        .endpoint = to_le16((uint16_t)endpoint),
        .ethertype = to_le16((uint16_t)ethertype),
        .incarnation = to_le64(incarnation),
    };
    for (unsigned i = 0; i < sizeof layout.mac; i++) {
        layout.mac[i] = (uint8_t)(mac >> (8 * (sizeof layout.mac - 1 - i)));
    }
    struct beowire_address parsed;
    memcpy(parsed.bytes, &layout, sizeof layout);
    if (!address_is_valid(&parsed)) {
        return -EINVAL;
    }
    *address = parsed;
    return 0;
}
