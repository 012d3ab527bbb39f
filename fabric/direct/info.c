/* SPDX-License-Identifier: BSD-3-Clause */
#include "direct.h"

#include <stdlib.h>
#include <string.h>

/** Behind each structure, for what newer versions have added or will add. */
#define ROOM_BYTES 256

/** Bytes of a structure up to the member that is its last one in version 1.3. */
#define UP_TO(structure, member) (offsetof(structure, member) + sizeof((structure *)NULL)->member)

/** A copy of `bytes` at `from`, with room behind them. @return false: there is no memory. */
static bool copied(void *to, const void *from, size_t bytes)
{
    void *copy = NULL;

    if (from != NULL) {
        copy = calloc(1, bytes + ROOM_BYTES);
        if (copy != NULL) {
            memcpy(copy, from, bytes);
        }
    }
    *(void **)to = copy;
    return copy != NULL || from == NULL;
}

static bool copied_text(char **to, const char *from)
{
    return copied((void *)to, from, from == NULL ? 0 : strlen(from) + 1);
}

static bool copy_endpoint(struct fi_info *copy, const struct fi_ep_attr *from)
{
    if (!copied((void *)&copy->ep_attr, from, UP_TO(struct fi_ep_attr, auth_key)) || from == NULL) {
        return from == NULL;
    }
    return copied((void *)&copy->ep_attr->auth_key, from->auth_key, from->auth_key_size);
}

static bool copy_domain(struct fi_info *copy, const struct fi_domain_attr *from)
{
    if (!copied((void *)&copy->domain_attr, from, UP_TO(struct fi_domain_attr, tclass)) ||
        from == NULL) {
        return from == NULL;
    }
    struct fi_domain_attr *to = copy->domain_attr;
    to->auth_key = NULL;
    return copied_text(&to->name, from->name) &&
           copied((void *)&to->auth_key, from->auth_key, from->auth_key_size);
}

static bool copy_fabric(struct fi_info *copy, const struct fi_fabric_attr *from)
{
    if (!copied((void *)&copy->fabric_attr, from, UP_TO(struct fi_fabric_attr, api_version)) ||
        from == NULL) {
        return from == NULL;
    }
    struct fi_fabric_attr *to = copy->fabric_attr;
    to->prov_name = NULL;
    return copied_text(&to->name, from->name) && copied_text(&to->prov_name, from->prov_name);
}

struct fi_info *direct_dupinfo(const struct fi_info *info)
{
    const struct fi_info empty = {
        .tx_attr = &(struct fi_tx_attr){0},
        .rx_attr = &(struct fi_rx_attr){0},
        .ep_attr = &(struct fi_ep_attr){0},
        .domain_attr = &(struct fi_domain_attr){0},
        .fabric_attr = &(struct fi_fabric_attr){0},
    };
    struct fi_info *copy;

    if (info == NULL) {
        info = &empty;
    }
    if (!copied((void *)&copy, info, offsetof(struct fi_info, src_addr))) {
        return NULL;
    }
    copy->next = NULL;
    copy->handle = info->handle;
    if (!copied((void *)&copy->src_addr, info->src_addr, info->src_addrlen) ||
        !copied((void *)&copy->dest_addr, info->dest_addr, info->dest_addrlen) ||
        !copied((void *)&copy->tx_attr, info->tx_attr, UP_TO(struct fi_tx_attr, tclass)) ||
        !copied((void *)&copy->rx_attr, info->rx_attr, UP_TO(struct fi_rx_attr, iov_limit)) ||
        !copy_endpoint(copy, info->ep_attr) || !copy_domain(copy, info->domain_attr) ||
        !copy_fabric(copy, info->fabric_attr)) {
        direct_freeinfo(copy);
        return NULL;
    }
    return copy; /* without `nic`: the provider has none */
}
DIRECT_SYMBOLS(direct_dupinfo, "fi_dupinfo");

void direct_freeinfo(struct fi_info *info)
{
    while (info != NULL) {
        struct fi_info *next = info->next;
        free(info->src_addr);
        free(info->dest_addr);
        free(info->tx_attr);
        free(info->rx_attr);
        if (info->ep_attr != NULL) {
            free(info->ep_attr->auth_key);
            free(info->ep_attr);
        }
        if (info->domain_attr != NULL) {
            free(info->domain_attr->auth_key);
            free(info->domain_attr->name);
            free(info->domain_attr);
        }
        if (info->fabric_attr != NULL) {
            free(info->fabric_attr->name);
            free(info->fabric_attr->prov_name);
            free(info->fabric_attr);
        }
        free(info);
        info = next;
    }
}
DIRECT_SYMBOLS(direct_freeinfo, "fi_freeinfo");
