/* SPDX-License-Identifier: BSD-3-Clause */
#include "route/rails.h"
#include "unit/test.h"

#include <stddef.h>
#include <string.h>

/** Networks 10.77.N.0/24. */
#define NETWORK(n)                                                                                 \
    {                                                                                              \
        .address = 0x0A4D0001u | (uint32_t)(n) << 8, .mask = 0xFFFFFF00u                           \
    }

/** An address with these hosts 10.77.N.9, each rail with its number as its port and in its MAC. */
static struct address_layout address_in(unsigned count, const uint8_t *networks)
{
    struct address_layout address = {.version = ADDRESS_VERSION, .rails = (uint8_t)count};

    for (unsigned i = 0; i < count; i++) {
        const uint8_t ip[16] = {[10] = 0xFF, [11] = 0xFF, [12] = 10, 77, networks[i], 9};
        memcpy(address.rail[i].ip, ip, sizeof ip);
        address.rail[i].port = to_le16((uint16_t)(i + 1));
        address.rail[i].mac[5] = (uint8_t)(i + 1);
    }
    return address;
}

/** Which rail of the peer is rail `i` of what was matched? From 1 on; 0: none. */
static unsigned rail_at(const struct address_layout *matched, unsigned i)
{
    assert_int_equal(from_le16(matched->rail[i].port), matched->rail[i].mac[5]);
    return i < matched->rails ? matched->rail[i].mac[5] : 0;
}

static unsigned other(uint8_t crossing, unsigned rail)
{
    return rail ^ (crossing >> 2 * rail & 3u);
}

TEST(rails_match__one_each_whatever_its_network)
{
    const struct rail_network own[ADDRESS_RAILS] = {NETWORK(1)};
    const struct address_layout address = address_in(1, (const uint8_t[]){2});
    struct address_layout matched;

    assert_int_equal(rails_match(own, &address, &matched), 0);
    assert_memory_equal(&matched, &address, sizeof matched);
}

TEST(rails_match__the_other_way_round)
{
    const struct rail_network own[ADDRESS_RAILS] = {NETWORK(1), NETWORK(2)};
    struct address_layout address = address_in(2, (const uint8_t[]){2, 1});
    struct address_layout matched;

    address.tso_rails = 2;
    uint8_t crossing = rails_match(own, &address, &matched);
    assert_int_equal(rail_at(&matched, 0), 2);
    assert_int_equal(rail_at(&matched, 1), 1);
    assert_int_equal(matched.tso_rails, 1);
    assert_int_equal(other(crossing, 0), 1);
    assert_int_equal(other(crossing, 1), 0);
}

/** Whatever the networks are, one end's pairs are the other's. */
TEST(rails_match__both_ends_find_the_same)
{
    for (unsigned seed = 0; seed < 4096; seed++) {
        uint8_t networks[2][ADDRESS_RAILS];
        unsigned counts[2] = {1 + seed % 4, 1 + seed / 4 % 4};
        struct rail_network own[2][ADDRESS_RAILS] = {{{0, 0}}};
        struct address_layout addresses[2];
        struct address_layout matched[2];

        for (unsigned end = 0; end < 2; end++) {
            for (unsigned i = 0; i < counts[end]; i++) {
                networks[end][i] = (uint8_t)((seed >> 4) * 2654435761u >> (8 * end + 2 * i) & 3);
                own[end][i] = (struct rail_network)NETWORK(networks[end][i]);
            }
            addresses[end] = address_in(counts[end], networks[end]);
        }
        (void)rails_match(own[0], &addresses[1], &matched[1]);
        uint8_t back = rails_match(own[1], &addresses[0], &matched[0]);
        unsigned led_to = 0;
        for (unsigned i = 0; i < ADDRESS_RAILS; i++) { /* nobody's number is another's as well */
            led_to |= 1u << other(back, i);
        }
        assert_int_equal(led_to, (1u << ADDRESS_RAILS) - 1);
        for (unsigned i = 0; i < counts[0]; i++) {
            unsigned to = rail_at(&matched[1], i);
            if (to != 0) {
                assert_int_equal(rail_at(&matched[0], to - 1), i + 1);
                assert_int_equal(other(back, to - 1), i);
            }
        }
    }
}
