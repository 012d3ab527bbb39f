/* SPDX-License-Identifier: BSD-3-Clause */
/* What an address vector and the transport call a peer, while peers come and go. */
#include "pair.h"

#define CLIENTS 40
#define ROOM "4"

/** A message from the client, received from anyone. @return who it is said to come from */
static fi_addr_t hear(struct side *server, struct side *client)
{
    struct fi_cq_tagged_entry entry;
    fi_addr_t source = FI_ADDR_NOTAVAIL;
    time_t start = time(NULL);
    ssize_t count;
    char got = 0;

    assert_int_equal(fi_trecv(server->ep, &got, 1, NULL, FI_ADDR_UNSPEC, 1, 0, NULL), 0);
    assert_int_equal(fi_tinject(client->ep, "a", 1, client->other, 1), 0);
    while ((count = fi_cq_readfrom(server->cq, &entry, 1, &source)) == -FI_EAGAIN) {
        assert_false(is_late(start));
        drive(client);
    }
    assert_int_equal(count, 1);
    assert_int_equal(got, 'a');
    return source;
}

static void name_of(const struct side *side, uint8_t name[FI_NAME_MAX])
{
    size_t bytes = FI_NAME_MAX;

    assert_int_equal(fi_getname(&side->ep->fid, name, &bytes), 0);
}

/** A server that has room for few, and is told of each client, lives for ever. */
TEST(fi_av_remove__clients_that_are_named_and_removed)
{
    const struct pair_options options = {.caps = FI_TAGGED | FI_MSG | FI_SOURCE};
    uint8_t name[FI_NAME_MAX];
    fi_addr_t address = FI_ADDR_NOTAVAIL;

    assert_int_equal(setenv("FI_BEOWIRE_PEERS", ROOM, 1), 0);
    struct pair *pair = open_pair(&options);
    assert_int_equal(unsetenv("FI_BEOWIRE_PEERS"), 0);
    struct side *server = &pair->sides[0];
    assert_int_equal(hear(server, &pair->sides[1]), server->other);
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct side client = {0};
        open_side(&client, "end1", &options);
        introduce(&client, server);
        name_of(&client, name);
        assert_int_equal(fi_av_insert(server->av, name, 1, &address, 0, NULL), 1);
        assert_int_equal(fi_tinject(server->ep, "b", 1, address, 7), 0); /* so it is known */
        assert_int_equal(hear(server, &client), address);
        assert_int_equal(fi_av_remove(server->av, &address, 1, 0), 0);
        assert_int_equal(fi_tinject(server->ep, "b", 1, address, 7), -FI_EINVAL);
        close_side(&client);
    }
    close_pair(pair);
}

/** One that has gone from the vector is nobody there, and by the same name somebody again. */
TEST(endpoint_source__of_one_that_was_removed)
{
    const struct pair_options options = {.caps = FI_TAGGED | FI_MSG | FI_SOURCE};
    struct pair *pair = open_pair(&options);
    fi_addr_t address = pair->sides[0].other;
    fi_addr_t again = FI_ADDR_NOTAVAIL;
    uint8_t name[FI_NAME_MAX];

    struct side *server = &pair->sides[0];
    struct side *client = &pair->sides[1];
    assert_int_equal(hear(server, client), address);
    assert_int_equal(fi_av_remove(server->av, &address, 1, 0), 0);
    assert_int_equal(hear(server, client), FI_ADDR_NOTAVAIL);
    name_of(client, name);
    assert_int_equal(fi_av_insert(server->av, name, 1, &again, 0, NULL), 1);
    assert_int_equal(hear(server, client), again);
    close_pair(pair);
}
