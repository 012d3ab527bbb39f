/* SPDX-License-Identifier: BSD-3-Clause */
/* What lanes do without where the kernel lacks or refuses it. In a network namespace of the test's
 * own. */
#include "endpoint/missing.h"

#include "beowire.h"
#include "unit/transport/lane/refused.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/syscall.h>

static const struct refused gro = {SYS_setsockopt, ENOPROTOOPT, 3, UDP_GRO};
static const struct refused segment = {SYS_getsockopt, ENOPROTOOPT, 3, UDP_SEGMENT};
static const struct refused fanout = {SYS_setsockopt, ENOPROTOOPT, 3, PACKET_FANOUT};
static const struct refused many = {SYS_sendmmsg, ENOSYS, 0, 0};
static const struct refused memory = {SYS_memfd_create, EACCES, 0, 0};

/** Opens an endpoint with these lanes (NULL: all), and looks for what is missing.
 *  @return its status; 0: nothing of that name is. */
static int status_of(const char *lanes, const char *wanted, unsigned *count)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    beowire_endpoint *endpoint = NULL;
    const char *name = NULL;
    int status = 0;
    int found = 0;

    options.interface = "end0";
    options.lanes = lanes;
    if (beowire_open(&options, &endpoint) != 0) {
        return -EBADF;
    }
    for (*count = 0; beowire_missing_lane(endpoint, *count, &name, &status) == 0; (*count)++) {
        found = strcmp(name, wanted) == 0 ? status : found;
    }
    (void)beowire_close(endpoint, 0);
    return found;
}

static bool gro_is_named(void)
{
    unsigned count = 0;

    return status_of("udp", "UDP_GRO of udp/end0", &count) == LANES_LACK && count == 1;
}

static bool segment_is_named(void)
{
    unsigned count = 0;

    return status_of("udp", "UDP_SEGMENT of udp/end0", &count) == LANES_LACK && count == 1;
}

static bool lanes_of_frames_are_left_out(void)
{
    unsigned count = 0;

    return status_of(NULL, "packet/end0", &count) == -ENOSYS &&
           status_of(NULL, "tso/end0", &count) == -ENOLINK && count == 2;
}

static bool many_are_named_of_each(void)
{
    unsigned count = 0;

    return status_of("packet,tso,udp", "sendmmsg of packet/end0", &count) == LANES_LACK &&
           count == 2;
}

static bool memory_is_left_out(void)
{
    unsigned count = 0;

    return status_of(NULL, "shm", &count) == -EACCES && count == 1;
}

TEST(missing_add_lacks__what_the_kernel_refuses_is_done_without)
{
    assert_true_without(&gro, 1, gro_is_named);
    assert_true_without(&segment, 1, segment_is_named);
    assert_true_without(&many, 1, many_are_named_of_each);
}

TEST(missing_add__a_lane_that_the_kernel_refuses_is_left_out)
{
    assert_true_without(&fanout, 1, lanes_of_frames_are_left_out);
    assert_true_without(&memory, 1, memory_is_left_out);
}
