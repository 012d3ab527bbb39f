/* SPDX-License-Identifier: BSD-3-Clause */
#include "../../../fabric/deprecated.h"
#include "pair.h"

#include <stdio.h>

/** Asks for something; @return the first that fits (the others are freed), or NULL. */
static struct fi_info *ask(uint32_t version, const struct fi_info *hints)
{
    struct fi_info *info = NULL;
    int status = fi_getinfo(version, NULL, NULL, 0, hints, &info);

    assert_true(status == 0 || status == -FI_ENODATA);
    if (status != 0) {
        return NULL;
    }
    fi_freeinfo(info->next);
    info->next = NULL;
    return info;
}

static bool fits(const struct fi_info *hints)
{
    struct fi_info *info = ask(FI_VERSION(1, 17), hints);
    bool any = info != NULL;

    fi_freeinfo(info);
    return any;
}

static int setup(void **state)
{
    *state = fi_allocinfo();
    return *state == NULL;
}

static int teardown(void **state)
{
    fi_freeinfo(*state);
    return 0;
}

#define HINTS_TEST(name) TEST_WITH(struct fi_info *hints, name, setup, teardown)

HINTS_TEST(caps__those_asked_for_and_no_other_primary_ones)
{
    hints->caps = FI_TAGGED;
    struct fi_info *info = ask(FI_VERSION(1, 17), hints);
    assert_non_null(info);
    assert_true((info->caps & FI_TAGGED) != 0);
    assert_true((info->caps & FI_MSG) == 0);
    assert_true((info->caps & (FI_SEND | FI_RECV)) == (FI_SEND | FI_RECV));
    assert_true((info->caps & FI_DIRECTED_RECV) == 0);
    assert_true((info->caps & (FI_RMA | FI_ATOMIC | FI_READ | FI_REMOTE_WRITE)) == 0);
    assert_true((info->tx_attr->caps & FI_RECV) == 0);
    assert_true((info->rx_attr->caps & FI_SEND) == 0);
    fi_freeinfo(info);
    hints->caps = FI_TAGGED | FI_SEND;
    info = ask(FI_VERSION(1, 17), hints);
    assert_true((info->caps & FI_RECV) == 0);
    fi_freeinfo(info);
    hints->caps = FI_RMA;
    info = ask(FI_VERSION(1, 17), hints);
    assert_non_null(info);
    const uint64_t sides = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    assert_true((info->caps & (FI_ATOMIC | FI_MSG)) == 0);
    assert_true((info->caps & sides) == sides);
    fi_freeinfo(info);
    hints->caps = FI_RMA | FI_RMA_EVENT;
    info = ask(FI_VERSION(1, 17), hints);
    assert_non_null(info);
    assert_true((info->caps & FI_RMA_EVENT) != 0);
    fi_freeinfo(info);
    hints->caps = FI_ATOMIC | FI_WRITE;
    info = ask(FI_VERSION(1, 17), hints);
    assert_non_null(info);
    assert_true((info->caps & (sides | FI_RMA)) == FI_WRITE);
    fi_freeinfo(info);
    hints->caps = FI_TAGGED | FI_COLLECTIVE;
    assert_false(fits(hints));
}

HINTS_TEST(threading__each_model_is_echoed)
{
    const enum fi_threading models[] = {FI_THREAD_SAFE, FI_THREAD_FID, FI_THREAD_ENDPOINT,
                                        FI_THREAD_COMPLETION, FI_THREAD_DOMAIN};

    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        hints->domain_attr->threading = models[i];
        struct fi_info *info = ask(FI_VERSION(1, 17), hints);
        assert_non_null(info);
        assert_int_equal(info->domain_attr->threading, models[i]);
        fi_freeinfo(info);
    }
    hints->domain_attr->threading = (enum fi_threading)99;
    assert_false(fits(hints));
}

HINTS_TEST(av_type__is_echoed)
{
    hints->domain_attr->av_type = FI_AV_MAP;
    struct fi_info *info = ask(FI_VERSION(1, 17), hints);
    assert_int_equal(info->domain_attr->av_type, FI_AV_MAP);
    fi_freeinfo(info);
}

HINTS_TEST(mr_mode__each_is_accepted_and_our_keys_are_preferred)
{
    const int modes[] = {0,
                         OLD_MR_BASIC,
                         OLD_MR_SCALABLE,
                         FI_MR_LOCAL,
                         FI_MR_VIRT_ADDR | FI_MR_ALLOCATED,
                         FI_MR_PROV_KEY,
                         FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT};
    const int given[] = {
        0, OLD_MR_BASIC, OLD_MR_SCALABLE, 0, 0, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR | FI_MR_PROV_KEY};

    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        hints->domain_attr->mr_mode = modes[i];
        struct fi_info *info = ask(FI_VERSION(1, 17), hints);
        assert_non_null(info);
        assert_int_equal(info->domain_attr->mr_mode, given[i]);
        fi_freeinfo(info);
    }
    hints->domain_attr->mr_mode = OLD_MR_BASIC | FI_MR_LOCAL;
    assert_false(fits(hints));
    /* Before 1.5 it was a value, and unspecified means one of the two. */
    hints->domain_attr->mr_mode = OLD_MR_UNSPEC;
    struct fi_info *info = ask(FI_VERSION(1, 4), hints);
    assert_non_null(info);
    assert_int_equal(info->domain_attr->mr_mode, OLD_MR_SCALABLE);
    fi_freeinfo(info);
}

HINTS_TEST(limits__no_more_than_there_is)
{
    hints->domain_attr->name = strdup("end0"); /* each interface has its own */
    struct fi_info *whole = ask(FI_VERSION(1, 17), hints);
    size_t *const limits[] = {
        &hints->tx_attr->inject_size,         &hints->tx_attr->size,
        &hints->tx_attr->iov_limit,           &hints->rx_attr->size,
        &hints->rx_attr->iov_limit,           &hints->ep_attr->max_msg_size,
        &hints->domain_attr->cq_data_size,    &hints->ep_attr->tx_ctx_cnt,
        &hints->ep_attr->rx_ctx_cnt,          &hints->domain_attr->mr_iov_limit,
        &hints->rx_attr->total_buffered_recv,
    };
    const size_t offered[] = {
        whole->tx_attr->inject_size,         whole->tx_attr->size,
        whole->tx_attr->iov_limit,           whole->rx_attr->size,
        whole->rx_attr->iov_limit,           whole->ep_attr->max_msg_size,
        whole->domain_attr->cq_data_size,    whole->ep_attr->tx_ctx_cnt,
        whole->ep_attr->rx_ctx_cnt,          whole->domain_attr->mr_iov_limit,
        whole->rx_attr->total_buffered_recv,
    };

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        *limits[i] = offered[i];
        assert_true(fits(hints));
        *limits[i] = offered[i] + 1;
        assert_false(fits(hints));
        *limits[i] = 0;
    }
    fi_freeinfo(whole);
}

HINTS_TEST(limits__a_smaller_wish_is_granted)
{
    hints->tx_attr->inject_size = 16;
    hints->tx_attr->op_flags = FI_COMPLETION;
    hints->rx_attr->size = 3;
    struct fi_info *info = ask(FI_VERSION(1, 17), hints);
    assert_int_equal(info->tx_attr->inject_size, 16);
    assert_int_equal(info->tx_attr->op_flags, FI_COMPLETION);
    assert_int_equal(info->rx_attr->size, 3);
    fi_freeinfo(info);
}

HINTS_TEST(orders_and_flags__only_those_that_hold)
{
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    assert_true(fits(hints));
    hints->tx_attr->msg_order = FI_ORDER_RAW;
    assert_false(fits(hints));
    hints->tx_attr->msg_order = 0;
    hints->rx_attr->comp_order = FI_ORDER_RAR;
    assert_false(fits(hints));
    hints->rx_attr->comp_order = 0;
    hints->tx_attr->op_flags = FI_COMMIT_COMPLETE;
    assert_false(fits(hints));
    hints->tx_attr->op_flags = 0;
    hints->rx_attr->op_flags = FI_INJECT;
    assert_false(fits(hints));
}

HINTS_TEST(tags__a_format_needs_62_bits_at_most)
{
    hints->caps = FI_TAGGED;
    hints->ep_attr->mem_tag_format = UINT64_MAX >> 2;
    assert_true(fits(hints));
    hints->ep_attr->mem_tag_format = UINT64_MAX >> 1;
    assert_false(fits(hints));
}

HINTS_TEST(names_and_protocol__only_ours)
{
    hints->domain_attr->name = strdup("end1");
    struct fi_info *info = ask(FI_VERSION(1, 17), hints);
    assert_string_equal(info->domain_attr->name, "end1");
    hints->ep_attr->protocol = info->ep_attr->protocol;
    hints->ep_attr->protocol_version = info->ep_attr->protocol_version;
    hints->addr_format = info->addr_format;
    hints->fabric_attr->name = strdup(info->fabric_attr->name);
    fi_freeinfo(info);
    assert_true(fits(hints));
    hints->ep_attr->protocol_version++;
    assert_false(fits(hints));
    hints->ep_attr->protocol_version = 0;
    hints->ep_attr->protocol = FI_PROTO_UDP;
    assert_false(fits(hints));
    hints->ep_attr->protocol = FI_PROTO_UNSPEC;
    hints->addr_format = FI_SOCKADDR_IN;
    assert_false(fits(hints));
    hints->addr_format = FI_FORMAT_UNSPEC;
    hints->domain_attr->name[0] = 'x';
    assert_false(fits(hints));
    hints->domain_attr->name[0] = 'e';
    hints->fabric_attr->name[0] = 'x';
    assert_false(fits(hints));
}

/** @return the name of the only interface that fits; NULL: none or several do. */
static const char *only_one(const struct fi_info *hints)
{
    static char name[64];
    struct fi_info *info = NULL;

    if (fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info) != 0) {
        return NULL;
    }
    bool one = info->next == NULL;
    (void)snprintf(name, sizeof name, "%s", info->domain_attr->name);
    fi_freeinfo(info);
    return one ? name : NULL;
}

HINTS_TEST(open_objects__only_where_they_are)
{
    static const char *const interfaces[] = {"end0", "end1"};
    struct fid not_ours = {.fclass = FI_CLASS_DOMAIN};

    assert_null(only_one(hints)); /* both */
    for (unsigned i = 0; i < 2; i++) {
        struct side side = {0};
        open_domain(&side, interfaces[i], &(struct pair_options){0});
        hints->domain_attr->domain = side.domain;
        const char *name = only_one(hints);
        assert_non_null(name);
        assert_string_equal(name, interfaces[i]);
        hints->domain_attr->domain = NULL;

        /* The ends of a cable are in one network. */
        hints->fabric_attr->fabric = side.fabric;
        assert_true(fits(hints));
        struct fi_fabric_attr other = *side.info->fabric_attr;
        other.name = (char[]){"elsewhere"};
        struct fid_fabric *elsewhere = NULL;
        assert_int_equal(fi_fabric(&other, &elsewhere, NULL), 0);
        hints->fabric_attr->fabric = elsewhere;
        assert_false(fits(hints));
        hints->fabric_attr->fabric = NULL;

        assert_int_equal(fi_close(&elsewhere->fid), 0);
        assert_int_equal(fi_close(&side.domain->fid), 0);
        assert_int_equal(fi_close(&side.fabric->fid), 0);
        fi_freeinfo(side.info);
    }
    /* Another provider's, of which we only know that it is none of ours. */
    struct fid_domain domain = {.fid = not_ours};
    hints->domain_attr->domain = &domain;
    assert_false(fits(hints));
    hints->domain_attr->domain = NULL;
    struct fid_fabric fabric = {.fid = {.fclass = FI_CLASS_FABRIC}};
    hints->fabric_attr->fabric = &fabric;
    assert_false(fits(hints));
    hints->fabric_attr->fabric = NULL;
}

/** FI_PROGRESS_CONTROL_UNIFIED of later headers: of control progress alone. */
#define CONTROL_UNIFIED ((enum fi_progress)3)

HINTS_TEST(progress__whichever_is_wanted)
{
    static const struct {
        enum fi_progress control, data;                 /* asked for */
        enum fi_progress offered_control, offered_data; /* UNSPEC: refused */
    } cases[] = {
        {FI_PROGRESS_UNSPEC, FI_PROGRESS_UNSPEC, FI_PROGRESS_MANUAL, FI_PROGRESS_MANUAL},
        {FI_PROGRESS_MANUAL, FI_PROGRESS_MANUAL, FI_PROGRESS_MANUAL, FI_PROGRESS_MANUAL},
        {FI_PROGRESS_AUTO, FI_PROGRESS_AUTO, FI_PROGRESS_AUTO, FI_PROGRESS_AUTO},
        {FI_PROGRESS_UNSPEC, FI_PROGRESS_AUTO, FI_PROGRESS_MANUAL, FI_PROGRESS_AUTO},
        {FI_PROGRESS_AUTO, FI_PROGRESS_MANUAL, FI_PROGRESS_AUTO, FI_PROGRESS_MANUAL},
        {CONTROL_UNIFIED, FI_PROGRESS_MANUAL, CONTROL_UNIFIED, FI_PROGRESS_MANUAL},
        {FI_PROGRESS_MANUAL, CONTROL_UNIFIED, FI_PROGRESS_UNSPEC, FI_PROGRESS_UNSPEC},
        {(enum fi_progress)99, FI_PROGRESS_UNSPEC, FI_PROGRESS_UNSPEC, FI_PROGRESS_UNSPEC},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        hints->domain_attr->control_progress = cases[i].control;
        hints->domain_attr->data_progress = cases[i].data;
        struct fi_info *info = ask(FI_VERSION(1, 17), hints);
        assert_int_equal(info != NULL, cases[i].offered_data != FI_PROGRESS_UNSPEC);
        if (info != NULL) {
            assert_int_equal(info->domain_attr->control_progress, cases[i].offered_control);
            assert_int_equal(info->domain_attr->data_progress, cases[i].offered_data);
        }
        fi_freeinfo(info);
    }
}
