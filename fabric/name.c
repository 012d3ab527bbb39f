/* SPDX-License-Identifier: BSD-3-Clause */
#include "name.h"

#include <assert.h>
#include <rdma/fabric.h>
#include <string.h>

static_assert(NAME_BYTES <= FI_NAME_MAX, "what MPI libraries have room for");
static_assert(NAME_BYTES <= BEOWIRE_ADDRESS_BYTES, "a name is the beginning of an address");

bool name_from_address(const struct beowire_address *address, uint8_t name[NAME_BYTES])
{
    for (size_t i = NAME_BYTES; i < sizeof address->bytes; i++) {
        if (address->bytes[i] != 0) {
            return false;
        }
    }
    memcpy(name, address->bytes, NAME_BYTES);
    return true;
}

bool name_to_address(const void *name, struct beowire_address *address)
{
    char text[BEOWIRE_ADDRESS_TEXT_BYTES];

    *address = (struct beowire_address){0};
    memcpy(address->bytes, name, NAME_BYTES);
    return beowire_address_format(address, text, sizeof text) == 0;
}
