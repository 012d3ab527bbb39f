/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include "beowire.h"

/** The name of one of a pair. */
static size_t name_of(const struct side *side, uint8_t name[FI_NAME_MAX])
{
    size_t bytes = FI_NAME_MAX;

    assert_int_equal(fi_getname(&side->ep->fid, name, &bytes), 0);
    return bytes;
}

TEST(fi_av_insert__table_counts_up)
{
    struct pair *pair = open_pair(&(struct pair_options){.av_type = FI_AV_TABLE});
    struct fid_av *av = pair->sides[0].av;
    uint8_t names[3][FI_NAME_MAX];
    fi_addr_t addresses[3];
    size_t bytes = name_of(&pair->sides[0], names[0]);

    assert_int_equal(bytes, FI_NAME_MAX);
    (void)name_of(&pair->sides[1], names[1]);
    (void)name_of(&pair->sides[0], names[2]);
    assert_int_equal(pair->sides[0].other, 0);
    assert_int_equal(fi_av_insert(av, names, 3, addresses, 0, NULL), 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(addresses[i], i + 1);
    }
    /* With a table the caller can count for itself. */
    assert_int_equal(fi_av_insert(av, names, 1, NULL, 0, NULL), 1);
    uint8_t found[FI_NAME_MAX];
    bytes = sizeof found;
    assert_int_equal(fi_av_lookup(av, 4, found, &bytes), 0);
    assert_memory_equal(found, names[0], sizeof found);
    close_pair(pair);
}

PAIR_TEST(fi_av_insert__what_is_no_address)
{
    uint8_t names[2][FI_NAME_MAX] = {{0}};
    fi_addr_t addresses[2];
    int errors[2] = {-1, -1};

    (void)name_of(&pair->sides[1], names[1]);
    assert_int_equal(fi_av_insert(pair->sides[0].av, names, 2, addresses, FI_SYNC_ERR, errors), 1);
    assert_int_equal(addresses[0], FI_ADDR_NOTAVAIL);
    assert_int_not_equal(addresses[1], FI_ADDR_NOTAVAIL);
    assert_int_equal(errors[0], FI_EINVAL);
    assert_int_equal(errors[1], 0);
    assert_int_equal(fi_av_insert(pair->sides[0].av, names, 2, addresses, FI_EVENT, NULL),
                     -FI_EBADFLAGS);
}

PAIR_TEST(fi_av_insert__thousands)
{
    struct fid_av *av = pair->sides[0].av;
    uint8_t name[FI_NAME_MAX];
    uint8_t found[FI_NAME_MAX];
    fi_addr_t address = 0;
    char got = 0;

    (void)name_of(&pair->sides[1], name);
    for (unsigned i = 1; i <= 5000; i++) {
        assert_int_equal(fi_av_insert(av, name, 1, &address, 0, NULL), 1);
        assert_int_equal(address, i);
    }
    size_t bytes = sizeof found;
    assert_int_equal(fi_av_lookup(av, 5000, found, &bytes), 0);
    assert_memory_equal(found, name, sizeof found);
    /* Each of them is the same peer. */
    assert_int_equal(fi_trecv(pair->sides[1].ep, &got, 1, NULL, FI_ADDR_UNSPEC, 1, 0, NULL), 0);
    assert_int_equal(fi_tinject(pair->sides[0].ep, "a", 1, 4321, 1), 0);
    assert_int_equal(completed(pair, 1).len, 1);
}

PAIR_TEST(fi_av_remove__is_gone_and_its_place_is_used_again)
{
    struct side *side = &pair->sides[0];
    uint8_t name[FI_NAME_MAX];
    size_t bytes = name_of(&pair->sides[1], name);
    fi_addr_t address = side->other;
    char got = 0;

    assert_int_equal(fi_tinject(side->ep, "a", 1, side->other, 1), 0);
    assert_int_equal(fi_av_remove(side->av, &address, 1, 0), 0);
    assert_int_equal(fi_av_remove(side->av, &address, 1, 0), -FI_EINVAL);
    assert_int_equal(fi_av_lookup(side->av, address, name, &bytes), -FI_EINVAL);
    assert_int_equal(fi_tinject(side->ep, "a", 1, address, 1), -FI_EINVAL);
    assert_int_equal(fi_av_insert(side->av, name, 1, &address, 0, NULL), 1);
    assert_int_equal(address, side->other);
    assert_int_equal(fi_tinject(side->ep, "b", 1, address, 1), 0);
    for (const char *expected = "ab"; *expected != '\0'; expected++) {
        assert_int_equal(fi_trecv(pair->sides[1].ep, &got, 1, NULL, FI_ADDR_UNSPEC, 1, 0, NULL), 0);
        (void)completed(pair, 1);
        assert_int_equal(got, *expected);
    }
}

PAIR_TEST(fi_av_lookup__into_too_little_room)
{
    uint8_t name[FI_NAME_MAX];
    uint8_t found[FI_NAME_MAX] = {0};
    size_t bytes = 8;

    (void)name_of(&pair->sides[1], name);
    assert_int_equal(fi_av_lookup(pair->sides[0].av, 0, found, &bytes), 0);
    assert_int_equal(bytes, FI_NAME_MAX);
    assert_memory_equal(found, name, 8);
    assert_int_equal(found[8], 0);
}

PAIR_TEST(fi_av_straddr__can_be_inserted_again)
{
    struct fid_av *av = pair->sides[0].av;
    uint8_t name[FI_NAME_MAX];
    uint8_t found[FI_NAME_MAX];
    char text[512] = "";
    size_t length = sizeof text;
    size_t bytes = sizeof found;
    fi_addr_t address = 0;

    (void)name_of(&pair->sides[1], name);
    assert_ptr_equal(fi_av_straddr(av, name, text, &length), text);
    assert_int_equal(length, strlen(text) + 1);
    assert_memory_equal(text, "beowire:", 8);
    assert_int_equal(fi_av_insertsvc(av, text, NULL, &address, 0, NULL), -FI_EINVAL); /* for logs */
    struct beowire_address whole;
    assert_int_equal(beowire_address_lengthen(name, &whole), 0);
    assert_int_equal(beowire_address_format(&whole, text, sizeof text), 0);
    assert_int_equal(fi_av_insertsvc(av, text, NULL, &address, 0, NULL), 1);
    assert_int_equal(fi_av_lookup(av, address, found, &bytes), 0);
    assert_memory_equal(found, name, sizeof found);
    assert_int_equal(fi_av_insertsvc(av, "10.77.0.2", "7", &address, 0, NULL), -FI_EINVAL);
    length = 4;
    (void)fi_av_straddr(av, name, text, &length);
    assert_string_equal(text, "beo");
}

PAIR_TEST(fi_av_open__what_is_not_offered)
{
    struct fid_av *av = NULL;
    struct fi_av_attr attributes = {.type = FI_AV_TABLE, .name = "shared", .flags = FI_READ};

    assert_int_equal(fi_av_open(pair->sides[0].domain, &attributes, &av, NULL), -FI_ENOSYS);
    attributes = (struct fi_av_attr){.flags = FI_EVENT};
    assert_int_equal(fi_av_open(pair->sides[0].domain, &attributes, &av, NULL), -FI_ENOSYS);
    attributes = (struct fi_av_attr){.type = (enum fi_av_type)9};
    assert_int_equal(fi_av_open(pair->sides[0].domain, &attributes, &av, NULL), -FI_EINVAL);
    assert_int_equal(fi_close(&pair->sides[0].av->fid), -FI_EBUSY);
}
