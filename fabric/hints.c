/* SPDX-License-Identifier: BSD-3-Clause */
#include "hints.h"

#include "beowire.h"
#include "deprecated.h"
#include "domain.h"
#include "info.h"

#include <stdbool.h>
#include <string.h>

/** Capabilities that must be requested; the others are given without request. */
#define PRIMARY_CAPS                                                                               \
    (FI_MSG | FI_TAGGED | FI_SEND | FI_RECV | FI_DIRECTED_RECV | INFO_REMOTE_CAPS |                \
     INFO_REMOTE_SIDES)

/** An endpoint's one side may be asked for the other side's capabilities: they are ignored. */
#define OF_EITHER_SIDE (INFO_CAPS)

/** Modes that exclude others. */
#define OLD_MR_MODES (OLD_MR_BASIC | OLD_MR_SCALABLE)

#define SINCE_1_5(version) FI_VERSION_GE(version, FI_VERSION(1, 5))

/** Rank of a choice among models that are ordered; one may be had where a later is offered.
 *  `order` ends with 0, which stands for "any". @return -1: not a model that we know. */
static int rank(const int *order, int model)
{
    for (int i = 0;; i++) {
        if (order[i] == model) {
            return i;
        }
        if (order[i] == 0) {
            return -1;
        }
    }
}

/** FI_PROGRESS_CONTROL_UNIFIED, which later headers have: a promise to make control and data calls
 *  in the same threads. We need no such promise. */
#define PROGRESS_CONTROL_UNIFIED 3

static bool progress_fits(int asked)
{
    static const int order[] = {FI_PROGRESS_AUTO, FI_PROGRESS_MANUAL, FI_PROGRESS_UNSPEC};

    return rank(order, asked) >= 0; /* the domain is opened with the requested one */
}

static bool threading_fits(int asked)
{
    static const int order[] = {FI_THREAD_SAFE,       FI_THREAD_FID,    FI_THREAD_ENDPOINT,
                                FI_THREAD_COMPLETION, FI_THREAD_DOMAIN, FI_THREAD_UNSPEC};

    return rank(order, asked) >= 0; /* ours is the first, which satisfies all */
}

static const char *refuse_mr_mode(int asked, uint32_t version)
{
    /* No mode is needed, and each may be used; who can do with our keys gets them. The old ones
     * stand alone. */
    if (!SINCE_1_5(version)) {
        return asked == OLD_MR_UNSPEC || asked == OLD_MR_BASIC || asked == OLD_MR_SCALABLE
                   ? NULL
                   : "memory registration mode";
    }
    bool alone = (asked & OLD_MR_MODES) == 0 || asked == OLD_MR_BASIC || asked == OLD_MR_SCALABLE;
    return alone ? NULL : "memory registration mode";
}

static const char *refuse_domain(const struct fi_domain_attr *offer,
                                 const struct fi_domain_attr *asked, uint32_t version)
{
    if (asked->name != NULL && strcmp(asked->name, offer->name) != 0) {
        return "domain name";
    }
    if (asked->domain != NULL && !domain_is_of(asked->domain, offer->name)) {
        return "domain that is open";
    }
    if (!threading_fits((int)asked->threading)) {
        return "threading";
    }
    if ((!progress_fits((int)asked->control_progress) &&
         (int)asked->control_progress != PROGRESS_CONTROL_UNIFIED) ||
        !progress_fits((int)asked->data_progress)) {
        return "progress";
    }
    if (asked->resource_mgmt > FI_RM_ENABLED || asked->av_type > FI_AV_TABLE) {
        return "resource management or type of address vector";
    }
    if (asked->cq_data_size > offer->cq_data_size) {
        return "size of completion data";
    }
    const char *reason = refuse_mr_mode(asked->mr_mode, version);
    if (reason != NULL || !SINCE_1_5(version)) {
        return reason;
    }
    if (asked->cntr_cnt > offer->cntr_cnt || asked->mr_iov_limit > offer->mr_iov_limit ||
        asked->mr_cnt > offer->mr_cnt || asked->max_err_data > offer->max_err_data) {
        return "a limit of the domain";
    }
    return (asked->caps & ~offer->caps) != 0 ? "capabilities of the domain" : NULL;
}

/** The largest tag of a format. */
static uint64_t tag_max(uint64_t format)
{
    return format == 0 ? 0 : UINT64_MAX >> __builtin_clzll(format);
}

static const char *refuse_endpoint(const struct fi_ep_attr *offer, const struct fi_ep_attr *asked,
                                   uint64_t caps)
{
    if (asked->protocol != FI_PROTO_UNSPEC && asked->protocol != offer->protocol) {
        return "protocol";
    }
    if (asked->protocol_version > offer->protocol_version) {
        return "version of the protocol";
    }
    if (asked->max_msg_size > offer->max_msg_size) {
        return "longest message";
    }
    if (asked->tx_ctx_cnt > offer->tx_ctx_cnt || asked->rx_ctx_cnt > offer->rx_ctx_cnt) {
        return "shared or several contexts";
    }
    if (asked->auth_key_size != 0) {
        return "authorization key";
    }
    if ((caps & FI_TAGGED) != 0 &&
        tag_max(asked->mem_tag_format) > tag_max(offer->mem_tag_format)) {
        return "format of tags";
    }
    return NULL;
}

static const char *refuse_tx(const struct fi_tx_attr *offer, const struct fi_tx_attr *asked)
{
    /* NOLINTNEXTLINE(misc-redundant-expression): bits, by name */
    if ((asked->caps & ~(offer->caps | OF_EITHER_SIDE)) != 0) {
        return "capabilities of transmitting";
    }
    if ((asked->op_flags & ~offer->op_flags) != 0) {
        return "operation flags of transmitting";
    }
    if ((asked->msg_order & ~offer->msg_order) != 0 ||
        (asked->comp_order & ~offer->comp_order) != 0) {
        return "order of transmitting";
    }
    if (asked->inject_size > offer->inject_size || asked->size > offer->size ||
        asked->iov_limit > offer->iov_limit || asked->rma_iov_limit > offer->rma_iov_limit) {
        return "a limit of transmitting";
    }
    return NULL;
}

static const char *refuse_rx(const struct fi_rx_attr *offer, const struct fi_rx_attr *asked)
{
    /* NOLINTNEXTLINE(misc-redundant-expression): bits, by name */
    if ((asked->caps & ~(offer->caps | OF_EITHER_SIDE)) != 0) {
        return "capabilities of receiving";
    }
    if ((asked->op_flags & ~offer->op_flags) != 0) {
        return "operation flags of receiving";
    }
    if ((asked->msg_order & ~offer->msg_order) != 0 ||
        (asked->comp_order & ~offer->comp_order) != 0) {
        return "order of receiving";
    }
    if (asked->total_buffered_recv > offer->total_buffered_recv || asked->size > offer->size ||
        asked->iov_limit > offer->iov_limit) {
        return "a limit of receiving";
    }
    return NULL;
}

static const char *refuse_fabric(const struct fi_fabric_attr *offer,
                                 const struct fi_fabric_attr *asked)
{
    if (asked->name != NULL && strcmp(asked->name, offer->name) != 0) {
        return "name of the fabric";
    }
    if (asked->fabric != NULL && !fabric_is_named(asked->fabric, offer->name)) {
        return "fabric that is open";
    }
    return asked->prov_version > offer->prov_version ? "version of the provider" : NULL;
}

const char *hints_refuse(const struct fi_info *offer, const struct fi_info *hints, uint32_t version)
{
    const char *reason = NULL;

    if (hints == NULL) {
        return NULL;
    }
    /* Anything else would get another provider layered over us, and listed before us. */
    if (hints->ep_attr != NULL && hints->ep_attr->type != FI_EP_UNSPEC &&
        hints->ep_attr->type != FI_EP_RDM) {
        return "type of endpoint";
    }
    if ((hints->caps & ~offer->caps) != 0) {
        return "capabilities";
    }
    if (hints->addr_format != FI_FORMAT_UNSPEC && hints->addr_format != offer->addr_format) {
        return "format of addresses";
    }
    if (hints->fabric_attr != NULL) {
        reason = refuse_fabric(offer->fabric_attr, hints->fabric_attr);
    }
    if (reason == NULL && hints->domain_attr != NULL) {
        reason = refuse_domain(offer->domain_attr, hints->domain_attr, version);
    }
    if (reason == NULL && hints->ep_attr != NULL) {
        reason = refuse_endpoint(offer->ep_attr, hints->ep_attr, hints->caps);
    }
    if (reason == NULL && hints->tx_attr != NULL) {
        reason = refuse_tx(offer->tx_attr, hints->tx_attr);
    }
    if (reason == NULL && hints->rx_attr != NULL) {
        reason = refuse_rx(offer->rx_attr, hints->rx_attr);
    }
    return reason;
}

/** The part of `offer` given for `asked`; 0 means all. */
static uint64_t narrow_caps(uint64_t offer, uint64_t asked, uint64_t whole)
{
    uint64_t primary = (asked != 0 ? asked : whole) & PRIMARY_CAPS & offer;
    uint64_t caps = primary | (offer & ~(uint64_t)PRIMARY_CAPS);

    return caps | (info_sides(caps) & offer);
}

/** The modes that are taken from those that a program can do with. Keys that programs choose are
 *  small numbers, the same in each run; ours nobody guesses. Intel MPI, which can do with our keys,
 *  crashes if addresses are then to count from 0. */
static unsigned modes_of(int asked)
{
    bool ours = ((unsigned)asked & FI_MR_PROV_KEY) != 0;

    return (unsigned)OLD_MR_MODES | (ours ? FI_MR_PROV_KEY | FI_MR_VIRT_ADDR : 0u);
}

static void apply_domain(struct fi_domain_attr *offer, const struct fi_domain_attr *asked,
                         uint32_t version)
{
    if (!SINCE_1_5(version)) {
        offer->mr_mode =
            asked != NULL && asked->mr_mode != OLD_MR_UNSPEC ? asked->mr_mode : OLD_MR_SCALABLE;
    }
    if (asked == NULL) {
        return;
    }
    if (SINCE_1_5(version)) {
        offer->mr_mode = asked->mr_mode & (int)modes_of(asked->mr_mode);
    }
    if (asked->threading != FI_THREAD_UNSPEC) {
        offer->threading = asked->threading;
    }
    if (asked->control_progress != FI_PROGRESS_UNSPEC) {
        offer->control_progress = asked->control_progress;
    }
    if (asked->data_progress != FI_PROGRESS_UNSPEC) {
        offer->data_progress = asked->data_progress;
    }
    if (asked->av_type != FI_AV_UNSPEC) {
        offer->av_type = asked->av_type;
    }
    if (asked->resource_mgmt != FI_RM_UNSPEC) {
        offer->resource_mgmt = asked->resource_mgmt;
    }
}

static void apply_size(size_t *offer, size_t asked)
{
    if (asked != 0) {
        *offer = asked;
    }
}

void hints_apply(struct fi_info *offer, const struct fi_info *hints, uint32_t version)
{
    const struct fi_tx_attr *tx = hints != NULL ? hints->tx_attr : NULL;
    const struct fi_rx_attr *rx = hints != NULL ? hints->rx_attr : NULL;

    apply_domain(offer->domain_attr, hints != NULL ? hints->domain_attr : NULL, version);
    /* Flags are the user's to choose; the first offer shows which there are. */
    offer->tx_attr->op_flags = tx != NULL ? tx->op_flags : 0;
    offer->rx_attr->op_flags = rx != NULL ? rx->op_flags : 0;
    if (hints == NULL) {
        return;
    }
    offer->handle = hints->handle;
    offer->caps = narrow_caps(offer->caps, hints->caps, offer->caps);
    offer->tx_attr->caps =
        narrow_caps(offer->tx_attr->caps, tx != NULL ? tx->caps : 0, offer->caps);
    offer->rx_attr->caps =
        narrow_caps(offer->rx_attr->caps, rx != NULL ? rx->caps : 0, offer->caps);
    if (tx != NULL) {
        apply_size(&offer->tx_attr->inject_size, tx->inject_size);
        apply_size(&offer->tx_attr->size, tx->size);
        apply_size(&offer->tx_attr->iov_limit, tx->iov_limit);
    }
    if (rx != NULL) {
        apply_size(&offer->rx_attr->size, rx->size);
        apply_size(&offer->rx_attr->iov_limit, rx->iov_limit);
    }
}
