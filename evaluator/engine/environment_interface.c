/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * environment_interface.c - the facts about a network interface.
 *
 * Most come from ioctl, which uses the network namespace of this process. /sys/class/net shows the
 * namespace in which sysfs was mounted, which may be another. So it is used for the rest only if it
 * shows the same interface index.
 */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "environment.h"
#include "facts.h"

#define FEATURE_BITS_MAX 256

struct interface {
    int fd;
    const char *name;
    struct json *json;
};

static bool ask(const struct interface *interface, unsigned long request, struct ifreq *answer)
{
    memset(answer->ifr_name, 0, sizeof answer->ifr_name);
    memcpy(answer->ifr_name, interface->name, strnlen(interface->name, IF_NAMESIZE - 1));
    return ioctl(interface->fd, request, answer) == 0;
}

static bool ethtool(const struct interface *interface, void *request)
{
    struct ifreq carrier = {0};
    carrier.ifr_data = request;
    return ask(interface, SIOCETHTOOL, &carrier);
}

static void number_or_null(struct json *json, const char *key, bool known, uint64_t value)
{
    if (known) {
        json_unsigned(json, key, value);
    } else {
        json_null(json, key);
    }
}

static void write_basics(const struct interface *interface)
{
    struct json *json = interface->json;
    struct ifreq answer = {0};
    json_text(json, "interface", interface->name);
    if (ask(interface, SIOCGIFHWADDR, &answer)) {
        const unsigned char *mac = (const unsigned char *)answer.ifr_hwaddr.sa_data;
        char text[18];
        (void)snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
                       mac[3], mac[4], mac[5]);
        json_text(json, "interface_mac", text);
    }
    bool known = ask(interface, SIOCGIFMTU, &answer);
    number_or_null(json, "interface_mtu", known, (uint64_t)answer.ifr_mtu);
    known = ask(interface, SIOCGIFTXQLEN, &answer);
    number_or_null(json, "interface_transmit_queue_length", known, (uint64_t)answer.ifr_qlen);
    if (ask(interface, SIOCGIFFLAGS, &answer)) {
        unsigned flags = (unsigned)(unsigned short)answer.ifr_flags;
        json_bool(json, "interface_up", (flags & IFF_UP) != 0);
        json_bool(json, "interface_carrier", (flags & IFF_RUNNING) != 0);
        json_bool(json, "interface_promiscuous", (flags & IFF_PROMISC) != 0);
    }
}

static void write_driver(const struct interface *interface)
{
    struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
    if (ethtool(interface, &driver)) {
        json_text(interface->json, "interface_driver", driver.driver);
        json_text(interface->json, "interface_driver_version", driver.version);
        json_text(interface->json, "interface_firmware", driver.fw_version);
        json_text(interface->json, "interface_bus", driver.bus_info);
    } else {
        json_null(interface->json, "interface_driver");
    }
}

static void write_link(const struct interface *interface)
{
    struct ethtool_cmd link = {.cmd = ETHTOOL_GSET};
    bool known = ethtool(interface, &link);
    uint32_t speed = ethtool_cmd_speed(&link);
    number_or_null(interface->json, "interface_speed_mbit_per_s",
                   known && speed != (uint32_t)SPEED_UNKNOWN && speed != 0, speed);
    if (known && link.duplex != DUPLEX_UNKNOWN) {
        json_text(interface->json, "interface_duplex",
                  link.duplex == DUPLEX_FULL ? "full" : "half");
    } else {
        json_null(interface->json, "interface_duplex");
    }
    struct ethtool_pauseparam pause = {.cmd = ETHTOOL_GPAUSEPARAM};
    if (ethtool(interface, &pause)) {
        json_bool(interface->json, "interface_pause_receive", pause.rx_pause != 0);
        json_bool(interface->json, "interface_pause_transmit", pause.tx_pause != 0);
    } else {
        json_null(interface->json, "interface_pause_receive");
        json_null(interface->json, "interface_pause_transmit");
    }
}

static void write_queues(const struct interface *interface)
{
    struct json *json = interface->json;
    struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
    bool known = ethtool(interface, &channels);
    number_or_null(json, "interface_queues_combined", known, channels.combined_count);
    number_or_null(json, "interface_queues_receive", known, channels.rx_count);
    number_or_null(json, "interface_queues_transmit", known, channels.tx_count);
    struct ethtool_ringparam rings = {.cmd = ETHTOOL_GRINGPARAM};
    known = ethtool(interface, &rings);
    number_or_null(json, "interface_ring_receive", known, rings.rx_pending);
    number_or_null(json, "interface_ring_transmit", known, rings.tx_pending);
    struct ethtool_coalesce coalesce = {.cmd = ETHTOOL_GCOALESCE};
    known = ethtool(interface, &coalesce);
    number_or_null(json, "interface_coalesce_receive_us", known, coalesce.rx_coalesce_usecs);
    number_or_null(json, "interface_coalesce_receive_frames", known,
                   coalesce.rx_max_coalesced_frames);
    number_or_null(json, "interface_coalesce_transmit_us", known, coalesce.tx_coalesce_usecs);
    if (known) {
        json_bool(json, "interface_coalesce_adaptive_receive",
                  coalesce.use_adaptive_rx_coalesce != 0);
    } else {
        json_null(json, "interface_coalesce_adaptive_receive");
    }
}

/* The kernel's names of features, as `ethtool -k` shows them. */
static const char *const FEATURES[] = {
    "tx-checksum-ip-generic",
    "tx-checksum-ipv4",
    "rx-checksum",
    "tx-scatter-gather",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-generic-segmentation",
    "tx-udp-segmentation",
    "rx-gro",
    "rx-lro",
    "rx-udp-gro-forwarding",
    "rx-gro-list",
    "tx-nocache-copy",
    "rx-hashing",
    "rx-ntuple-filter",
    "hw-tc-offload",
};

/* Requests that end in an array: the header, and room for the most elements. */
union count_request {
    struct ethtool_sset_info info;
    uint8_t room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
};

union state_request {
    struct ethtool_gfeatures features;
    uint8_t room[sizeof(struct ethtool_gfeatures) +
                 FEATURE_BITS_MAX / 32 * sizeof(struct ethtool_get_features_block)];
};

static uint32_t count_features(const struct interface *interface)
{
    union count_request request = {
        .info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES}};
    return ethtool(interface, &request) && request.info.sset_mask != 0 ? request.info.data[0] : 0;
}

static void write_features(const struct interface *interface)
{
    const uint32_t count = count_features(interface);
    union state_request state = {.features = {.cmd = ETHTOOL_GFEATURES, .size = (count + 31) / 32}};
    struct ethtool_gstrings *names =
        calloc(1, sizeof *names + (size_t)FEATURE_BITS_MAX * ETH_GSTRING_LEN);
    bool known = names != NULL && count > 0 && count <= FEATURE_BITS_MAX;
    if (known) {
        names->cmd = ETHTOOL_GSTRINGS;
        names->string_set = ETH_SS_FEATURES;
        names->len = count;
        known = ethtool(interface, names) && ethtool(interface, &state);
    }
    for (size_t i = 0; i < sizeof FEATURES / sizeof FEATURES[0]; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "interface_offload_%s", FEATURES[i]);
        for (char *dash = strchr(key, '-'); dash != NULL; dash = strchr(dash, '-')) {
            *dash = '_';
        }
        uint32_t bit = 0;
        while (known && bit < count &&
               strncmp((const char *)names->data + (size_t)bit * ETH_GSTRING_LEN, FEATURES[i],
                       ETH_GSTRING_LEN) != 0) {
            bit++;
        }
        if (known && bit < count) {
            json_bool(interface->json, key,
                      (state.features.features[bit / 32].active >> (bit % 32) & 1) != 0);
        } else {
            json_null(interface->json, key);
        }
    }
    free(names);
}

static void write_sysfs(const struct interface *interface)
{
    static const struct {
        const char *key;
        const char *file;
    } FILES[] = {
        {"interface_operational_state", "operstate"},
        {"interface_napi_defer_hard_irqs", "napi_defer_hard_irqs"},
        {"interface_gro_flush_timeout_ns", "gro_flush_timeout"},
        {"interface_threaded_napi", "threaded"},
        {"interface_numa_node", "device/numa_node"},
        {"interface_rps_cpus", "queues/rx-0/rps_cpus"},
        {"interface_xps_cpus", "queues/tx-0/xps_cpus"},
    };
    char path[128];
    char index[32];
    (void)snprintf(path, sizeof path, "/sys/class/net/%.15s/ifindex", interface->name);
    bool same = facts_read(path, index, sizeof index) &&
                strtoul(index, NULL, 10) == if_nametoindex(interface->name);
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        if (!same) {
            json_null(interface->json, FILES[i].key);
            continue;
        }
        (void)snprintf(path, sizeof path, "/sys/class/net/%.15s/%s", interface->name,
                       FILES[i].file);
        facts_value(interface->json, FILES[i].key, path);
    }
}

void environment_interface(struct json *json, const char *interface_name)
{
    struct interface interface = {.name = interface_name, .json = json};
    interface.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (interface.fd < 0) {
        return;
    }
    write_basics(&interface);
    write_driver(&interface);
    write_link(&interface);
    write_queues(&interface);
    write_features(&interface);
    write_sysfs(&interface);
    close(interface.fd);
}
