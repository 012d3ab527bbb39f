/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps between numbers of the address vector and of the transport. */
#include "av.h"
#include "domain.h"
#include "endpoint.h"
#include "notice.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

/** Makes room in an array of numbers, the new ones all ones. @return false: no memory. */
static bool extend(void **array, size_t *count, size_t wanted, size_t bytes)
{
    size_t more = *count == 0 ? 64 : *count * 2;

    while (more < wanted) {
        more *= 2;
    }
    void *extended = realloc(*array, more * bytes);
    if (extended == NULL) {
        return false;
    }
    memset((uint8_t *)extended + *count * bytes, 0xFF, (more - *count) * bytes);
    *array = extended;
    *count = more;
    return true;
}

static_assert(BEOWIRE_ANY_PEER == UINT32_MAX && FI_ADDR_NOTAVAIL == UINT64_MAX, "all ones");

static void remember(struct endpoint *endpoint, fi_addr_t address, beowire_peer peer)
{
    uint32_t slot = BEOWIRE_PEER_SLOT(peer);

    if (slot < endpoint->sources_count ||
        extend((void **)&endpoint->sources, &endpoint->sources_count, (size_t)slot + 1,
               sizeof *endpoint->sources)) {
        endpoint->sources[slot] = (struct source){.address = address, .peer = peer};
    }
}

int endpoint_peer(struct endpoint *endpoint, fi_addr_t address, beowire_peer *peer)
{
    if (address < endpoint->peers_count && endpoint->peers[address] != BEOWIRE_ANY_PEER) {
        *peer = endpoint->peers[address];
        return 0;
    }
    const struct beowire_address *known = av_address(endpoint->av, address);
    if (known == NULL) {
        return -FI_EINVAL;
    }
    if (address >= endpoint->peers_count &&
        !extend((void **)&endpoint->peers, &endpoint->peers_count, address + 1,
                sizeof *endpoint->peers)) {
        return -FI_ENOMEM;
    }
    int status = beowire_peer_add(endpoint->transport, known, peer);
    if (status == -ENOSPC && !endpoint->said_full) {
        endpoint->said_full = true;
        notice(FI_LOG_EP_CTRL,
               "an endpoint has no room for another peer: for more than %u that were not "
               "announced, raise FI_BEOWIRE_PEERS",
               endpoint->domain->parameters.peers);
    }
    if (status != 0) {
        return status;
    }
    endpoint->peers[address] = *peer;
    remember(endpoint, address, *peer);
    return 0;
}

bool endpoint_peer_address(const struct endpoint *endpoint, beowire_peer peer,
                           struct beowire_address *address)
{
    return beowire_peer_address(endpoint->transport, peer, address) == 0;
}

fi_addr_t endpoint_source(struct endpoint *endpoint, beowire_peer peer)
{
    struct beowire_address address;

    uint32_t slot = BEOWIRE_PEER_SLOT(peer);
    if (slot < endpoint->sources_count && endpoint->sources[slot].peer == peer) {
        return endpoint->sources[slot].address;
    }
    if (!endpoint_peer_address(endpoint, peer, &address)) {
        return FI_ADDR_NOTAVAIL;
    }
    fi_addr_t found = av_find(endpoint->av, &address);
    if (found != FI_ADDR_NOTAVAIL) {
        remember(endpoint, found, peer);
    }
    return found;
}
