/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel runs the program on frames that the test makes; a real socket is in its map. */
#include "lane/xdp/xdp_program.h"

#include "frame/frame.h"
#include "lane/xdp/xdp_socket.h"
#include "namespace.h"
#include "unit/test.h"
#include "xdp_allowed.h"

#include <linux/bpf.h>
#include <net/if.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define NUMBER_AT (ETH_HLEN + offsetof(struct frame_header, destination))
#define MINIMUM 60

static const struct xdp_filter filter = {
    .mac = {0x02, 0xF0, 0x81, 0x92, 0xA3, 0xB4},
    .ethertype = 0x88B5,
    .endpoint = 0xC0D1,
    .bytes_max = 1790,
};

struct fixture {
    struct xdp_socket socket;
    struct xdp_program program;
    uint8_t frame[4000];
};

static int set_up(void **state)
{
    static struct fixture fixture;
    int interface = (int)if_nametoindex("end1");

    assert_int_equal(xdp_open_again(&fixture.socket, interface, 1500), 0);
    assert_int_equal(xdp_program_load(&fixture.program, &filter), 0);
    assert_int_equal(xdp_program_attach(&fixture.program, interface, fixture.socket.socket, false),
                     0);
    memset(fixture.frame, 0, sizeof fixture.frame);
    memcpy(fixture.frame, filter.mac, sizeof filter.mac);
    fixture.frame[12] = 0x88;
    fixture.frame[13] = 0xB5;
    fixture.frame[NUMBER_AT] = 0xD1; /* little-endian */
    fixture.frame[NUMBER_AT + 1] = 0xC0;
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    xdp_program_close(&fixture->program);
    xdp_socket_close(&fixture->socket);
    return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(struct fixture *fixture, name, set_up, tear_down)

/** What the program says of the first bytes of the frame. */
static uint32_t verdict(struct fixture *fixture, uint32_t bytes)
{
    union bpf_attr test = {.test = {.prog_fd = (uint32_t)fixture->program.code,
                                    .data_in = (uint64_t)(uintptr_t)fixture->frame,
                                    .data_size_in = bytes}};

    assert_int_equal(syscall(SYS_bpf, BPF_PROG_TEST_RUN, &test, sizeof test), 0);
    return test.test.retval;
}

FIXTURE_TEST(program__redirects_ours)
{
    assert_int_equal(verdict(fixture, MINIMUM), XDP_REDIRECT);
    assert_int_equal(verdict(fixture, filter.bytes_max), XDP_REDIRECT);
}

TEST_AROUND(program__passes_what_is_longer_than_its_room, set_up, tear_down)
{
    assert_int_equal(verdict(*state, filter.bytes_max + 1), XDP_PASS);
}

FIXTURE_TEST(program__passes_what_ends_before_the_number)
{
    assert_int_equal(verdict(fixture, NUMBER_AT + 2), XDP_REDIRECT);
    assert_int_equal(verdict(fixture, NUMBER_AT + 1), XDP_PASS);
    assert_int_equal(verdict(fixture, ETH_HLEN), XDP_PASS);
}

/** Each bit of what it looks at counts. */
FIXTURE_TEST(program__passes_what_differs)
{
    const unsigned looked_at[] = {0, 1, 2, 3, 4, 5, 12, 13, NUMBER_AT, NUMBER_AT + 1};

    for (unsigned i = 0; i < sizeof looked_at / sizeof *looked_at; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            fixture->frame[looked_at[i]] ^= (uint8_t)(1u << bit);
            assert_int_equal(verdict(fixture, MINIMUM), XDP_PASS);
            fixture->frame[looked_at[i]] ^= (uint8_t)(1u << bit);
        }
    }
    assert_int_equal(verdict(fixture, MINIMUM), XDP_REDIRECT);
}

FIXTURE_TEST(program__redirects_whatever_else_is_in_it)
{
    const unsigned others[] = {6, 11, ETH_HLEN, NUMBER_AT - 1, NUMBER_AT + 2, MINIMUM - 1};

    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        fixture->frame[others[i]] ^= 0xFF;
        assert_int_equal(verdict(fixture, MINIMUM), XDP_REDIRECT);
    }
}

FIXTURE_TEST(program__passes_all_once_the_socket_is_gone)
{
    xdp_socket_close(&fixture->socket);
    assert_int_equal(verdict(fixture, MINIMUM), XDP_PASS);
}

FIXTURE_TEST(xdp_program_attach__one_program_an_interface)
{
    struct xdp_program second;
    int interface = (int)if_nametoindex("end1");

    assert_int_equal(xdp_program_load(&second, &filter), 0);
    int status = xdp_program_attach(&second, interface, fixture->socket.socket, false);
    assert_true(status == -EBUSY || status == -EEXIST);
    xdp_program_close(&fixture->program);
    assert_int_equal(xdp_program_attach(&second, interface, fixture->socket.socket, false), 0);
    xdp_program_close(&second);
}

FIXTURE_TEST(xdp_program_attach__driver_without_a_hook)
{
    struct xdp_program second;

    assert_int_equal(xdp_program_load(&second, &filter), 0);
    assert_int_equal(
        xdp_program_attach(&second, (int)if_nametoindex("lo"), fixture->socket.socket, true),
        -EOPNOTSUPP);
    xdp_program_close(&second);
}

FIXTURE_TEST(xdp_program_holder__names_the_process)
{
    char name[XDP_NAME_BYTES] = "?";

    assert_int_equal(xdp_program_holder((int)if_nametoindex("end1"), name), getpid());
    assert_int_equal(xdp_program_holder((int)if_nametoindex("end0"), name), 0);
    assert_string_equal(name, "");
    assert_int_equal(xdp_program_holder(0x7FFFFFF0, name), 0); /* no such interface */
    assert_string_equal(name, "");
}

FIXTURE_TEST(xdp_program_close__twice)
{
    char name[XDP_NAME_BYTES] = "?";

    xdp_program_close(&fixture->program);
    xdp_program_close(&fixture->program);
    assert_int_equal(xdp_program_holder((int)if_nametoindex("end1"), name), 0);
    assert_string_equal(name, "");
}

int main(int argc, char **argv)
{
    namespace_enter(argv);
    xdp_require();
    return run_listed_tests(NULL, NULL);
}
