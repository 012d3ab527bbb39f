/* SPDX-License-Identifier: BSD-3-Clause */
/* A job of two: this process, and an endpoint that stands for the other. */
#include "job/hex.h"
#include "job/job.h"
#include "lane/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/test.h"
#include "unit/transport/endpoint/endpoints.h"

/** Where a process is, as it publishes it. */
struct whereabouts {
    uint64_t host;
    uint64_t mark;
};

struct other {
    bool elsewhere; /**< it says that it runs on another host */
    bool unseen;    /**< it runs on another one with the same numbers, and this one sees no mark */
    uint64_t mark;
    struct beowire_address address;
    char mine[JOB_VALUE_BYTES]; /**< what this process published last */
};

static int publish(void *context, const char *key, const char *value, struct reason reason)
{
    struct other *other = context;

    (void)snprintf(other->mine, sizeof other->mine, "%s", value);
    return 0;
}

static int look_up(void *context, uint32_t rank, const char *key, char value[JOB_VALUE_BYTES],
                   struct reason reason)
{
    const struct other *other = context;
    struct whereabouts where = {0};

    if (rank == 0) {
        (void)snprintf(value, JOB_VALUE_BYTES, "%s", other->mine);
    } else if (strncmp(key, "beowire-0-", strlen("beowire-0-")) == 0) {
        assert_int_equal(host_identity(&where.host), 0);
        where.host += other->elsewhere;
        where.mark = other->mark + other->unseen;
        hex_write(&where, sizeof where, value);
    } else {
        hex_write(&other->address, sizeof other->address, value);
    }
    return 0;
}

static void leave(void *context)
{
}

static const struct job_launcher launcher = {publish, look_up, leave};

/** Connects a job whose other process has these lanes. @return as beowire_job_connect(). */
static int connect_to(struct other *other, const char *lanes, beowire_endpoint **endpoint,
                      char reason[BEOWIRE_JOB_REASON_BYTES])
{
    struct beowire_job job = {&launcher, other, 0, 2, 0};
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *theirs = NULL;
    beowire_peer peers[2] = {7, 7};

    options.lanes = lanes;
    options.interface = "end1";
    assert_int_equal(beowire_open(&options, &theirs), 0);
    beowire_address(theirs, &other->address);
    int mark = host_mark(&other->mark);
    assert_true(mark >= 0);
    int status = beowire_job_connect(&job, NULL, endpoint, peers, reason, BEOWIRE_JOB_REASON_BYTES);
    if (status == 0) {
        assert_int_equal(peers[0], BEOWIRE_ANY_PEER);
        assert_int_equal(peers[1], 0);
    }
    assert_int_equal(close(mark), 0);
    assert_int_equal(beowire_close(theirs, 0), 0);
    return status;
}

static int clean_environment(void **state)
{
    assert_int_equal(unsetenv("BEOWIRE_INTERFACE"), 0);
    assert_int_equal(unsetenv("BEOWIRE_LANES"), 0);
    assert_int_equal(unsetenv("BEOWIRE_SETTINGS"), 0);
    return 0;
}

TEST_AROUND(beowire_job_connect__on_one_host_no_network_is_used, clean_environment, NULL)
{
    struct other other = {.elsewhere = false};
    char reason[BEOWIRE_JOB_REASON_BYTES] = "";
    beowire_endpoint *endpoint = NULL;

    assert_int_equal(connect_to(&other, "shm", &endpoint, reason), 0);
    assert_int_equal(counter(endpoint, "lanes_shm"), 1);
    assert_int_equal(counter(endpoint, "lanes_packet"), 0);
    assert_int_equal(counter(endpoint, "lanes_udp"), 0);
    assert_int_equal(beowire_close(endpoint, 0), 0);
}

TEST_AROUND(beowire_job_connect__across_hosts_by_an_interface_that_is_up, clean_environment, NULL)
{
    struct other other = {.elsewhere = true};
    char reason[BEOWIRE_JOB_REASON_BYTES] = "";
    beowire_endpoint *endpoint = NULL;

    assert_int_equal(connect_to(&other, NULL, &endpoint, reason), 0);
    assert_int_equal(counter(endpoint, "lanes_udp"), 1);
    assert_int_equal(beowire_close(endpoint, 0), 0);
}

/** As machines that were resumed from one snapshot are. */
TEST_AROUND(beowire_job_connect__hosts_with_the_same_numbers_are_two, clean_environment, NULL)
{
    struct other other = {.unseen = true};
    char reason[BEOWIRE_JOB_REASON_BYTES] = "";
    beowire_endpoint *endpoint = NULL;

    assert_int_equal(connect_to(&other, NULL, &endpoint, reason), 0);
    assert_int_equal(counter(endpoint, "lanes_udp"), 1);
    assert_int_equal(beowire_close(endpoint, 0), 0);
}

TEST_AROUND(beowire_job_connect__as_the_environment_says, clean_environment, NULL)
{
    struct other other = {.elsewhere = false};
    char reason[BEOWIRE_JOB_REASON_BYTES] = "";
    beowire_endpoint *endpoint = NULL;

    assert_int_equal(setenv("BEOWIRE_INTERFACE", "end0", 1), 0);
    assert_int_equal(setenv("BEOWIRE_LANES", "udp", 1), 0);
    assert_int_equal(connect_to(&other, "udp", &endpoint, reason), 0);
    assert_int_equal(counter(endpoint, "lanes_shm"), 0);
    assert_int_equal(counter(endpoint, "lanes_udp"), 1);
    assert_int_equal(beowire_close(endpoint, 0), 0);
}

TEST_AROUND(beowire_job_connect__interface_that_is_not_there, clean_environment, NULL)
{
    struct other other = {.elsewhere = false};
    char reason[BEOWIRE_JOB_REASON_BYTES] = "";
    beowire_endpoint *endpoint = NULL;

    assert_int_equal(setenv("BEOWIRE_INTERFACE", "none0", 1), 0);
    assert_int_equal(connect_to(&other, "udp", &endpoint, reason), -ENODEV);
    assert_string_equal(reason, "none0: there is no such network interface");
}

TEST_AROUND(beowire_job_connect__configuration_that_is_wrong, clean_environment, NULL)
{
    struct beowire_job alone = {.size = 1};
    char reason[BEOWIRE_JOB_REASON_BYTES] = "";
    beowire_endpoint *endpoint = NULL;
    beowire_peer peer = 0;

    assert_int_equal(setenv("BEOWIRE_SETTINGS", "go_back_n=maybe", 1), 0);
    assert_int_equal(
        beowire_job_connect(&alone, NULL, &endpoint, &peer, reason, BEOWIRE_JOB_REASON_BYTES),
        -EBADMSG);
    assert_string_equal(reason, "BEOWIRE_SETTINGS:1: go_back_n is true or false");
    assert_int_equal(beowire_job_connect(&alone, NULL, &endpoint, &peer, NULL, 0), -EBADMSG);
}

TEST_AROUND(beowire_job_connect__process_that_no_lane_reaches, clean_environment, NULL)
{
    struct other other = {.elsewhere = false};
    char reason[BEOWIRE_JOB_REASON_BYTES] = "";
    beowire_endpoint *endpoint = NULL;

    assert_int_equal(connect_to(&other, "udp", &endpoint, reason), -EHOSTUNREACH);
    assert_string_equal(reason, "process 1: no lane of this endpoint reaches that address");
}

TEST(beowire_job_connect__bad_arguments)
{
    struct other other = {.elsewhere = false};
    struct beowire_job job = {&launcher, &other, 0, 2, 0};
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;
    beowire_peer peers[2];

    options.size = 1;
    assert_int_equal(beowire_job_connect(&job, &options, &endpoint, peers, NULL, 0), -EINVAL);
    assert_int_equal(beowire_job_connect(NULL, NULL, &endpoint, peers, NULL, 0), -EINVAL);
    assert_int_equal(beowire_job_connect(&job, NULL, NULL, peers, NULL, 0), -EINVAL);
    assert_int_equal(beowire_job_connect(&job, NULL, &endpoint, NULL, NULL, 0), -EINVAL);
}
