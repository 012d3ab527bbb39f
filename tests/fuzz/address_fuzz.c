/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an address, and as its text: what is valid survives being written and read. */
#include "route/address.h"

#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>

static void require_round_trip(const struct beowire_address *address)
{
    char text[BEOWIRE_ADDRESS_TEXT_BYTES];
    struct beowire_address again;

    require(beowire_address_format(address, text, sizeof text) == 0);
    require(beowire_address_parse(text, &again) == 0);
    require(memcmp(address, &again, sizeof again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct beowire_address address;
    char text[BEOWIRE_ADDRESS_TEXT_BYTES];
    char *copy = malloc(size + 1);

    require(copy != NULL);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    copy[size] = '\0';
    if (beowire_address_parse(copy, &address) == 0) {
        require_round_trip(&address);
        require(beowire_address_format(&address, text, sizeof text) == 0);
        require(strcmp(text, copy) == 0); /* one address has one text */
    }
    free(copy);
    if (size == sizeof address) {
        memcpy(&address, data, size);
        if (address_is_valid(&address)) {
            require_round_trip(&address);
        } else {
            require(beowire_address_format(&address, text, sizeof text) == -EINVAL);
        }
    }
    return 0;
}
