/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_ends.h"

#include "tuning.h"

#define SETS (LANE_VERBS_HOSTS / VERBS_HOST_WAYS)

/** While a host does not answer nobody waits for it: neither whoever sends, nor other hosts' frames
 *  for longer than that. */
FAKE_TEST(verbs_hosts_find__nobody_waits_for_an_answer)
{
    struct lane *lane = open_on(HOST_A);
    struct verbs_hosts *hosts = &verbs_of(lane)->hosts;
    struct ibv_ah *handle = NULL;

    fake.waits = true;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(verbs_hosts_find(hosts, HOST_B, true, &handle), -EAGAIN);
    }
    assert_int_equal(sem_post(&fake.answer), 0);
    await_hosts(lane);
    assert_int_equal(verbs_hosts_find(hosts, HOST_B, false, &handle), 0);
    assert_int_equal(((struct fake_handle *)(void *)handle)->ipv4, HOST_B);
    assert_int_equal(fake.asked, 1);
    close_lane(lane);
}

/** What is for it is lost, as on a wire, and it is not asked for all the time. */
FAKE_TEST(verbs_send__to_a_host_that_does_not_answer)
{
    struct verbs_ends ends = open_ends();
    struct lane_address there = ends.at_b;
    struct verbs_place *place = (struct verbs_place *)(void *)&there;

    fake.absent = place->ipv4 = IPV4(10, 77, 0, 9);
    assert_int_equal(send_some(ends.a, &there, 0, 3, 1, 1), 0);
    await_hosts(ends.a);
    unsigned asked = fake.asked;
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(send_some(ends.a, &there, 0, 3, 1, 1), 3);
    }
    assert_int_equal(fake.asked, asked);
    fake.absent = 0;
    for (unsigned i = 0; i < LANE_VERBS_HOSTS; i++) {
        struct verbs_host *host = &verbs_of(ends.a)->hosts.hosts[i];
        host->asked_ns -= host->ipv4 == place->ipv4 ? LANE_VERBS_SILENT_NS : 0;
    }
    assert_int_equal(send_some(ends.a, &there, 0, 3, 1, 1), 3);
    await_hosts(ends.a);
    struct ibv_ah *handle = NULL;
    assert_int_equal(verbs_hosts_find(&verbs_of(ends.a)->hosts, place->ipv4, true, &handle), 0);
    close_ends(&ends);
}

/** A peer that says so of itself: what is for it is lost, and does not wait for ever. */
FAKE_TEST(verbs_hosts_find__no_address)
{
    struct lane *lane = open_on(HOST_A);
    struct ibv_ah *handle = NULL;

    assert_int_equal(verbs_hosts_find(&verbs_of(lane)->hosts, 0, true, &handle), -EHOSTUNREACH);
    await_hosts(lane);
    assert_int_equal(verbs_hosts_find(&verbs_of(lane)->hosts, 0, true, &handle), -EHOSTUNREACH);
    close_lane(lane);
}

/** Hosts without end, such as strangers make up, take no more room; and no handle goes while a
 * frame may be under way by it. */
FAKE_TEST(verbs_hosts_find__more_hosts_than_there_is_room_for)
{
    struct lane *lane = open_on(HOST_A);
    struct verbs_hosts *hosts = &verbs_of(lane)->hosts;
    struct ibv_ah *handle = NULL;
    unsigned before = fake.things;

    for (unsigned c = 0; c < VERBS_HOST_WAYS + 3; c++) {
        for (unsigned d = 0; d < SETS; d++) {
            (void)verbs_hosts_find(hosts, IPV4(10, 77, c, d), true, &handle);
        }
        await_hosts(lane);
    }
    assert_int_equal(fake.things - before, LANE_VERBS_HOSTS);
    unsigned asked = fake.asked;
    assert_int_equal(verbs_hosts_find(hosts, IPV4(10, 77, 99, 1), false, &handle), -EAGAIN);
    await_hosts(lane);
    assert_int_equal(fake.asked, asked);
    assert_int_equal(verbs_hosts_find(hosts, IPV4(10, 77, 99, 1), true, &handle), -EAGAIN);
    await_hosts(lane);
    assert_int_equal(verbs_hosts_find(hosts, IPV4(10, 77, 99, 1), true, &handle), 0);
    assert_int_equal(fake.things - before, LANE_VERBS_HOSTS);
    close_lane(lane);
}
