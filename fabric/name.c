/* SPDX-License-Identifier: BSD-3-Clause */
#include "name.h"

#include <assert.h>
#include <rdma/fabric.h>

static_assert(NAME_BYTES <= FI_NAME_MAX, "what MPI libraries have room for");

bool name_from_address(const struct beowire_address *address, uint8_t name[NAME_BYTES])
{
    return beowire_address_shorten(address, name) == 0;
}

bool name_to_address(const void *name, struct beowire_address *address)
{
    return beowire_address_lengthen(name, address) == 0;
}
