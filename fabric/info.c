/* SPDX-License-Identifier: BSD-3-Clause */
#include "info.h"

#include "beowire.h"
#include "endpoint/nic.h"
#include "error_text.h"
#include "hints.h"
#include "interfaces.h"
#include "libfabric.h"
#include "name.h"
#include "notice.h"
#include "parameters.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** libfabric's pattern for tags without fields of their own. */
#define TAG_GENERIC UINT64_C(0xAAAAAAAAAAAAAAAA)

/** Longest message that is injected, in bytes; the same over all networks, for what the transport
 *  does not take at once is copied. MPICH and Intel MPI have the peer confirm whatever is longer.
 */
#define INJECT_BYTES_MAX 32768

/** Limited only by memory. */
#define OBJECTS_MAX 65536

#define KEY_BYTES 8

/** Longest list of interfaces in a notice. */
#define NAMES_BYTES 256

static void describe_domain(struct fi_domain_attr *domain)
{
    domain->threading = FI_THREAD_SAFE;
    /* The default; programs that request automatic progress get it. */
    domain->control_progress = FI_PROGRESS_MANUAL;
    domain->data_progress = FI_PROGRESS_MANUAL;
    domain->resource_mgmt = FI_RM_ENABLED;
    domain->av_type = FI_AV_UNSPEC;
    domain->mr_mode = 0;
    domain->mr_key_size = KEY_BYTES;
    domain->cq_data_size = INFO_CQ_DATA_BYTES;
    domain->cq_cnt = OBJECTS_MAX;
    domain->ep_cnt = OBJECTS_MAX;
    domain->tx_ctx_cnt = OBJECTS_MAX;
    domain->rx_ctx_cnt = OBJECTS_MAX;
    domain->max_ep_tx_ctx = 1;
    domain->max_ep_rx_ctx = 1;
    domain->cntr_cnt = OBJECTS_MAX;
    domain->mr_iov_limit = 1;
    domain->mr_cnt = OBJECTS_MAX;
    domain->caps = INFO_DOMAIN_CAPS;
    domain->max_err_data = ERROR_TEXT_BYTES;
}

/** Outstanding operations announced to programs, some of which allocate room for as many. */
static size_t size_of(const struct parameters *parameters)
{
    return parameters->operations < INFO_SIZE_MAX ? parameters->operations : INFO_SIZE_MAX;
}

static void describe_endpoint(struct fi_info *info, const struct parameters *parameters)
{
    struct fi_ep_attr *endpoint = info->ep_attr;
    struct fi_tx_attr *tx = info->tx_attr;
    struct fi_rx_attr *rx = info->rx_attr;

    endpoint->type = FI_EP_RDM;
    endpoint->protocol = INFO_PROTOCOL;
    endpoint->protocol_version = 1;
    endpoint->max_msg_size = BEOWIRE_MESSAGE_BYTES_MAX;
    endpoint->mem_tag_format = TAG_GENERIC >> (64 - INFO_TAG_BITS);
    endpoint->tx_ctx_cnt = 1;
    endpoint->rx_ctx_cnt = 1;

    tx->caps = INFO_TX_CAPS;
    tx->op_flags = INFO_TX_FLAGS;
    tx->msg_order = INFO_ORDER;
    tx->inject_size = INJECT_BYTES_MAX;
    tx->size = size_of(parameters);
    tx->iov_limit = INFO_IOV_LIMIT;
    tx->rma_iov_limit = INFO_RMA_IOV_LIMIT;

    rx->caps = INFO_RX_CAPS;
    rx->op_flags = INFO_RX_FLAGS;
    rx->msg_order = INFO_ORDER;
    rx->size = size_of(parameters);
    rx->iov_limit = INFO_IOV_LIMIT;
}

/** The full offer of one interface; NULL: no memory. */
static struct fi_info *describe(const struct nic *nic, const struct parameters *parameters)
{
    struct fi_info *info = libfabric_info();

    if (info == NULL) {
        return NULL;
    }
    info->caps = INFO_CAPS;
    info->addr_format = INFO_ADDRESS_FORMAT;
    info->domain_attr->name = strdup(nic->name);
    /* prov_name is filled in by libfabric itself. */
    /* Programs that distribute ranks over a fabric's interfaces expect these to be connected. */
    info->fabric_attr->name = strdup(nic->network[0] != '\0' ? nic->network : nic->name);
    info->fabric_attr->prov_version = fabric_provider.version;
    if (info->domain_attr->name == NULL || info->fabric_attr->name == NULL) {
        libfabric.freeinfo(info);
        return NULL;
    }
    describe_domain(info->domain_attr);
    describe_endpoint(info, parameters);
    return info;
}

/** Sets the destination to a peer's name. */
static int set_destination(struct fi_info *info, const void *name)
{
    info->dest_addr = malloc(NAME_BYTES);
    if (info->dest_addr == NULL) {
        return -FI_ENOMEM;
    }
    memcpy(info->dest_addr, name, NAME_BYTES);
    info->dest_addrlen = NAME_BYTES;
    return 0;
}

/** An endpoint has no address before it is open, but an interface has a name: the source is that,
 *  which no peer can be reached by. */
static int set_source(struct fi_info *info, const struct nic *nic)
{
    char *name = calloc(1, NAME_BYTES);

    if (name == NULL) {
        return -FI_ENOMEM;
    }
    static_assert(NAME_BYTES > sizeof nic->name, "an interface's name fits");
    memcpy(name, nic->name, strlen(nic->name));
    info->src_addr = name;
    info->src_addrlen = NAME_BYTES;
    return 0;
}

/** The source that a program passes back chooses the interface, as named by fi_getinfo(). */
static bool is_source(const struct fi_info *hints, const struct nic *nic)
{
    return hints == NULL || hints->src_addr == NULL ||
           (hints->src_addrlen == NAME_BYTES &&
            strncmp(hints->src_addr, nic->name, NAME_BYTES) == 0);
}

/** The node that the user names is ours with FI_SOURCE: then it says which interface. Otherwise it
 * is a peer's, and has to be an address as fi_av_straddr() writes it. */
static int apply_node(struct fi_info *info, const struct nic *nic, const char *node, uint64_t flags,
                      const struct fi_info *hints)
{
    struct beowire_address address;
    uint8_t name[NAME_BYTES];

    if ((flags & FI_SOURCE) == 0 && !is_source(hints, nic)) {
        return -FI_ENODATA;
    }
    if (node != NULL && (flags & FI_SOURCE) != 0) {
        return nic_is_meant(nic, node, (flags & FI_NUMERICHOST) != 0) ? 0 : -FI_ENODATA;
    }
    if (node != NULL) {
        bool is_name =
            beowire_address_parse(node, &address) == 0 && name_from_address(&address, name);
        return is_name ? set_destination(info, name) : -FI_ENODATA;
    }
    if (hints != NULL && hints->dest_addr != NULL) {
        return hints->dest_addrlen == NAME_BYTES ? set_destination(info, hints->dest_addr)
                                                 : -FI_ENODATA;
    }
    return 0;
}

/** Does the program name the interface that it wants? */
static bool names_interface(const char *node, uint64_t flags, const struct fi_info *hints)
{
    return (node != NULL && (flags & FI_SOURCE) != 0) ||
           (hints != NULL &&
            (hints->src_addr != NULL ||
             (hints->domain_attr != NULL &&
              (hints->domain_attr->name != NULL || hints->domain_attr->domain != NULL)) ||
             (hints->fabric_attr != NULL && hints->fabric_attr->name != NULL)));
}

/** The names of all interfaces, with a space before each. */
static void write_names(const struct nic *nics, size_t count, char names[NAMES_BYTES])
{
    size_t used = 0;

    names[0] = '\0';
    for (size_t i = 0; i < count && used + 1 + IF_NAMESIZE < NAMES_BYTES; i++) {
        used += (size_t)snprintf(names + used, NAMES_BYTES - used, " %s", nics[i].name);
    }
}

static bool is_there(const struct nic *nics, size_t count, const char *name, size_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(nics[i].name) == bytes && memcmp(nics[i].name, name, bytes) == 0) {
            return true;
        }
    }
    return false;
}

/** Says which of the interfaces that the user names are not there. @param any: some are */
static void say_missing(const struct parameters *parameters, const struct nic *nics, size_t count,
                        bool any)
{
    char names[NAMES_BYTES];
    const char *name = parameters->interfaces;

    write_names(nics, count, names);
    if (!any) {
        notice(FI_LOG_CORE,
               "FI_BEOWIRE_INTERFACE=%s: no such network interface is up; there are:%s", name,
               names);
        return;
    }
    while (*name != '\0') {
        size_t bytes = strcspn(name, ",");
        if (bytes > 0 && !is_there(nics, count, name, bytes)) {
            notice(FI_LOG_CORE,
                   "FI_BEOWIRE_INTERFACE=%s: no network interface %.*s is up, so it is ignored; "
                   "there are:%s",
                   parameters->interfaces, (int)bytes, name, names);
        }
        name += bytes;
        name += *name == ',';
    }
}

int info_get(uint32_t version, const char *node, const char *service, uint64_t flags,
             const struct fi_info *hints, struct fi_info **info)
{
    struct nic nics[NIC_MAX];
    struct parameters parameters;
    struct fi_info **tail = info;

    (void)service; /* an endpoint's number is chosen when it is opened */
    *info = NULL;
    if (!parameters_read(&parameters)) {
        return -FI_ENODATA;
    }
    size_t count = nic_list(nics);
    if (count == 0 && errno != 0) {
        int error = errno;
        notice(FI_LOG_CORE, "the network interfaces cannot be listed: %s", strerror(error));
        return -error; /* libfabric's numbers for these are those of errno */
    }
    bool any = false;
    bool named = names_interface(node, flags, hints);
    for (size_t i = 0; i < count; i++) {
        if (!interfaces_offer(&parameters, nics, count, i, named)) {
            continue;
        }
        any = true;
        /* MPIs that distribute the ranks of a host over all interfaces that look alike must not
         * take it for one of them: nobody else can be reached by it. */
        if (nics[i].loopback && *info != NULL && parameters.interfaces == NULL) {
            continue;
        }
        struct fi_info *offer = describe(&nics[i], &parameters);
        if (offer == NULL) {
            libfabric.freeinfo(*info);
            *info = NULL;
            return -FI_ENOMEM;
        }
        const char *reason = hints_refuse(offer, hints, version);
        int status = reason != NULL ? -FI_ENODATA : apply_node(offer, &nics[i], node, flags, hints);
        if (status != 0) {
            FABRIC_INFO(FI_LOG_CORE, "%s does not fit: %s\n", nics[i].name,
                        reason != NULL ? reason : "node");
            libfabric.freeinfo(offer);
            continue;
        }
        hints_apply(offer, hints, version);
        if (set_source(offer, &nics[i]) != 0) {
            libfabric.freeinfo(offer);
            libfabric.freeinfo(*info);
            *info = NULL;
            return -FI_ENOMEM;
        }
        *tail = offer;
        tail = &offer->next;
    }
    if (parameters.interfaces != NULL) {
        say_missing(&parameters, nics, count, any);
    }
    return *info != NULL ? 0 : -FI_ENODATA;
}
