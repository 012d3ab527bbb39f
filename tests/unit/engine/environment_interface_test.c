/* SPDX-License-Identifier: BSD-3-Clause */
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capture.h"
#include "environment.h"
#include "testing.h"

static char *facts(const char *interface)
{
    struct json json = {0};
    json_begin(&json, NULL, '{');
    environment_interface(&json, interface);
    json_end(&json, '}');
    json.text = realloc(json.text, json.length + 1);
    assert_non_null(json.text);
    json.text[json.length] = '\0';
    return json.text;
}

TEST(interface__loopback)
{
    char expected[64];
    struct ifreq request = {0};
    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "lo");
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(ioctl(fd, SIOCGIFMTU, &request), 0);
    close(fd);
    char *text = facts("lo");
    (void)snprintf(expected, sizeof expected, "\"interface_mtu\":%d", request.ifr_mtu);
    expect_part(text, expected);
    expect_part(text, "\"interface_mac\":\"00:00:00:00:00:00\"");
    /* From the kernel's table of feature names and its bits: loopback always gathers. */
    expect_part(text, "\"interface_offload_tx_scatter_gather\":true");
    expect_part(text, "\"interface_ring_receive\":null");
    free(text);
}

TEST(interface__that_went_away)
{
    char *text = facts("nonexistent0");
    expect_part(text, "\"interface\":\"nonexistent0\"");
    expect_part(text, "\"interface_mtu\":null");
    expect_part(text, "\"interface_driver\":null");
    expect_part(text, "\"interface_offload_rx_gro\":null");
    free(text);
}
