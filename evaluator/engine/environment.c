/* SPDX-License-Identifier: BSD-3-Clause */
#include "environment.h"

#include <errno.h>
#include <net/if.h>
#include <stddef.h>
#include <string.h>

#include "../drivers/interface_index.h"
#include "facts.h"

struct sysctl {
    const char *key;
    const char *path;
};

/* /proc/sys/net shows the values of the network namespace of the process that reads them. */
static const struct sysctl NETWORK[] = {
    {"net_core_rmem_max", "/proc/sys/net/core/rmem_max"},
    {"net_core_rmem_default", "/proc/sys/net/core/rmem_default"},
    {"net_core_wmem_max", "/proc/sys/net/core/wmem_max"},
    {"net_core_wmem_default", "/proc/sys/net/core/wmem_default"},
    {"net_core_busy_poll_us", "/proc/sys/net/core/busy_poll"},
    {"net_core_busy_read_us", "/proc/sys/net/core/busy_read"},
    {"net_core_netdev_budget", "/proc/sys/net/core/netdev_budget"},
    {"net_core_netdev_budget_us", "/proc/sys/net/core/netdev_budget_usecs"},
    {"net_core_netdev_max_backlog", "/proc/sys/net/core/netdev_max_backlog"},
    {"net_core_default_qdisc", "/proc/sys/net/core/default_qdisc"},
    {"net_core_somaxconn", "/proc/sys/net/core/somaxconn"},
    {"net_core_rps_sock_flow_entries", "/proc/sys/net/core/rps_sock_flow_entries"},
    {"net_ipv4_tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem"},
    {"net_ipv4_tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem"},
    {"net_ipv4_tcp_congestion_control", "/proc/sys/net/ipv4/tcp_congestion_control"},
    {"net_ipv4_tcp_timestamps", "/proc/sys/net/ipv4/tcp_timestamps"},
    {"net_ipv4_tcp_sack", "/proc/sys/net/ipv4/tcp_sack"},
    {"net_ipv4_tcp_window_scaling", "/proc/sys/net/ipv4/tcp_window_scaling"},
    {"net_ipv4_tcp_moderate_rcvbuf", "/proc/sys/net/ipv4/tcp_moderate_rcvbuf"},
    {"net_ipv4_tcp_autocorking", "/proc/sys/net/ipv4/tcp_autocorking"},
    {"net_ipv4_tcp_ecn", "/proc/sys/net/ipv4/tcp_ecn"},
    {"net_ipv4_tcp_slow_start_after_idle", "/proc/sys/net/ipv4/tcp_slow_start_after_idle"},
    {"net_ipv4_tcp_no_metrics_save", "/proc/sys/net/ipv4/tcp_no_metrics_save"},
    {"net_ipv4_tcp_mtu_probing", "/proc/sys/net/ipv4/tcp_mtu_probing"},
    {"net_ipv4_tcp_notsent_lowat", "/proc/sys/net/ipv4/tcp_notsent_lowat"},
    {"net_ipv4_udp_rmem_min", "/proc/sys/net/ipv4/udp_rmem_min"},
    {"net_ipv4_udp_mem", "/proc/sys/net/ipv4/udp_mem"},
};

void environment_kernel_network(struct json *json)
{
    for (size_t i = 0; i < sizeof NETWORK / sizeof NETWORK[0]; i++) {
        facts_value(json, NETWORK[i].key, NETWORK[i].path);
    }
}

void environment_answer(const struct command *command)
{
    const char *interface = command_text(command, "interface", "");
    int index = interface[0] == '\0' ? 0 : interface_index(interface);
    if (index < 0 && index != -ENODEV) {
        output_error(index, false, "cannot look for the interface: %s", strerror(-index));
        return;
    }
    if (index < 0) {
        output_error(ENODEV, false, "there is no interface '%.20s' on this node", interface);
        return;
    }
    struct json json;
    output_begin(&json, "environment");
    json_begin(&json, "fields", '{');
    environment_host(&json);
    environment_kernel_network(&json);
    if (interface[0] != '\0') {
        environment_interface(&json, interface);
    }
    json_end(&json, '}');
    output_send(&json);
}
