/* SPDX-License-Identifier: BSD-3-Clause */
#include "rails.h"

#include <string.h>

static_assert(ADDRESS_RAILS == 4, "two bits say which, and eight bits are for all");

#define NO_RAIL UINT8_MAX

/** Is the peer's rail in this network? */
static bool is_in(const struct rail_network *network, const struct address_rail *rail)
{
    static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};
    const uint8_t *ip = rail->ip + sizeof mapped;
    uint32_t address =
        (uint32_t)ip[0] << 24 | (uint32_t)ip[1] << 16 | (uint32_t)ip[2] << 8 | (uint32_t)ip[3];

    return network->mask != 0 && memcmp(rail->ip, mapped, sizeof mapped) == 0 &&
           ((address ^ network->address) & network->mask) == 0;
}

/** Pairs our unpaired rails with the unpaired ones of the peer, in order. Numbers without a rail
 *  come last, so each rail gets a different number. */
static void pair(const struct rail_network own[ADDRESS_RAILS], const struct address_layout *address,
                 bool by_network, uint8_t to[ADDRESS_RAILS], bool taken[ADDRESS_RAILS])
{
    for (unsigned i = 0; i < ADDRESS_RAILS; i++) {
        for (uint8_t j = 0; to[i] == NO_RAIL && j < ADDRESS_RAILS; j++) {
            if (!taken[j] && (!by_network || is_in(&own[i], &address->rail[j]))) {
                to[i] = j;
                taken[j] = true;
            }
        }
    }
}

uint8_t rails_match(const struct rail_network own[ADDRESS_RAILS],
                    const struct address_layout *address, struct address_layout *matched)
{
    uint8_t to[ADDRESS_RAILS] = {NO_RAIL, NO_RAIL, NO_RAIL, NO_RAIL};
    bool taken[ADDRESS_RAILS] = {false};
    unsigned crossing = 0;

    pair(own, address, true, to, taken);
    pair(own, address, false, to, taken);
    *matched = *address;
    for (unsigned i = 0; i < ADDRESS_RAILS; i++) {
        crossing |= (i ^ to[i]) << 2 * i;
    }
    if (crossing == 0) {
        return 0;
    }
    matched->rails = ADDRESS_RAILS;
    matched->tso_rails = 0;
    for (unsigned i = 0; i < ADDRESS_RAILS; i++) {
        matched->rail[i] = address->rail[to[i]];
        matched->tso_rails |= (uint8_t)((address->tso_rails >> to[i] & 1u) << i);
    }
    return (uint8_t)crossing;
}
