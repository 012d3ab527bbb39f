/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_device.h - which RDMA device an end of a session uses: the one over its network interface,
 * and there the address (GID) that is the interface's IP address in RoCE v2, which is UDP over IP.
 *
 * A GID is 16 bytes: an IPv6 address, or an IPv4 address mapped to one. A device's table has each
 * of them once for RoCE v1 and once for v2, in an order that nothing promises. The number of an
 * interface is not enough to find them: a device may be over one of another network namespace.
 */
#ifndef BEOWIRE_DRIVERS_VERBS_DEVICE_H
#define BEOWIRE_DRIVERS_VERBS_DEVICE_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"

struct verbs_device {
    struct ibv_context *context; /**< open; NULL: none is */
    uint8_t port;
    uint8_t gid_index;
    union ibv_gid gid;
    enum ibv_mtu mtu;           /**< of the port */
    uint64_t message_bytes_max; /**< of one operation */
    uint8_t reads_max;          /**< RDMA reads under way at once, either way */
};

/** Opens the device of the options' interface; where they name none, any, in which both ends then
 *  are, and which lets nothing out. 0; or a negative errno, with one line in `error`
 * that says what to type, and nothing open. */
int verbs_device_open(struct verbs_device *device, const struct driver_options *options,
                      char *error, size_t error_bytes);

void verbs_device_close(struct verbs_device *device);

/** The entry of a GID table for RoCE v2 over the interface (0: over any) that is `wanted`; if that
 *  is NULL, one that is an IPv4 address, else any. NULL: none. */
const struct ibv_gid_entry *verbs_device_choose(const struct ibv_gid_entry *entries, size_t count,
                                                uint32_t interface_index,
                                                const union ibv_gid *wanted);

#endif
