/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.h - fi_getinfo(): one fi_info for each usable network interface.
 */
#ifndef BEOWIRE_FABRIC_INFO_H
#define BEOWIRE_FABRIC_INFO_H

#include "deprecated.h"

#include <rdma/fabric.h>

/** Capabilities of the provider; endpoints get those that the user requests. */
#define INFO_MESSAGE_CAPS (FI_MSG | FI_TAGGED)
#define INFO_REMOTE_CAPS (FI_RMA | FI_ATOMIC)
#define INFO_TX_CAPS (INFO_MESSAGE_CAPS | INFO_REMOTE_CAPS | FI_SEND | FI_READ | FI_WRITE)
#define INFO_RX_CAPS                                                                               \
    (INFO_MESSAGE_CAPS | INFO_REMOTE_CAPS | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE |           \
     FI_DIRECTED_RECV | FI_MULTI_RECV | FI_SOURCE | FI_RMA_EVENT)
/** Operations on a peer's memory, and of a peer on ours. */
#define INFO_REMOTE_SIDES (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define INFO_DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define INFO_CAPS (INFO_TX_CAPS | INFO_RX_CAPS | INFO_DOMAIN_CAPS)

/** Atomic operations are performed in the order of posting; puts and gets need not be. */
#define INFO_ORDER                                                                                 \
    (FI_ORDER_SAS | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR |              \
     FI_ORDER_ATOMIC_WAW)

/** Operation flags that may be an endpoint's default. */
#define INFO_TX_FLAGS                                                                              \
    (FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |                       \
     FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)
#define INFO_RX_FLAGS (FI_COMPLETION | FI_MULTI_RECV)

/** Our address format and protocol, in libfabric's ranges for providers. */
#define INFO_ADDRESS_FORMAT (OLD_PROV_SPECIFIC | 0xBE0U)
#define INFO_PROTOCOL (OLD_PROV_SPECIFIC | 0xBE0U)

/** The user's bits of a tag; the two above distinguish kinds of messages. */
#define INFO_TAG_BITS 62
#define INFO_TAG_MASK ((UINT64_C(1) << INFO_TAG_BITS) - 1)

/** The most parts of a message. */
#define INFO_IOV_LIMIT 8

/** The most places in a peer's memory for one operation. */
#define INFO_RMA_IOV_LIMIT 1

/** Bytes of immediate data with a message. */
#define INFO_CQ_DATA_BYTES 4

/** The most outstanding operations that are announced to programs. */
#define INFO_SIZE_MAX 4096

/** Default capacity of a completion queue. */
#define INFO_CQ_ENTRIES 4096

/** Capabilities with their directions: none means all. */
static inline uint64_t info_sides(uint64_t caps)
{
    if ((caps & INFO_MESSAGE_CAPS) != 0 && (caps & (FI_SEND | FI_RECV)) == 0) {
        caps |= FI_SEND | FI_RECV;
    }
    if ((caps & INFO_REMOTE_CAPS) != 0 && (caps & INFO_REMOTE_SIDES) == 0) {
        caps |= INFO_REMOTE_SIDES;
    }
    return caps;
}

/** The provider's fi_getinfo(3). @return 0; -FI_ENODATA: nothing matches; -FI_ENOMEM. */
int info_get(uint32_t version, const char *node, const char *service, uint64_t flags,
             const struct fi_info *hints, struct fi_info **info);

#endif /* BEOWIRE_FABRIC_INFO_H */
