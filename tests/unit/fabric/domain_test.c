/* SPDX-License-Identifier: BSD-3-Clause */
#include "namespace.h"
#include "pair.h"

static void fi_close__what_is_in_use(void **state)
{
    struct pair *pair = open_default_pair();

    (void)state;
    assert_int_equal(fi_close(&pair->sides[0].domain->fid), -FI_EBUSY);
    assert_int_equal(fi_close(&pair->sides[0].fabric->fid), -FI_EBUSY);
    close_pair(pair);
}

static void fi_domain__needs_the_name_of_an_interface(void **state)
{
    struct fi_info *info = get_info("end0", &(struct pair_options){0});
    struct fid_fabric *fabric = NULL;
    struct fid_domain *domain = NULL;

    (void)state;
    assert_int_equal(fi_fabric(info->fabric_attr, &fabric, NULL), 0);
    free(info->domain_attr->name);
    info->domain_attr->name = NULL;
    assert_int_equal(fi_domain(fabric, info, &domain, NULL), -FI_EINVAL);
    info->domain_attr->name = strdup("a-name-that-is-longer-than-any");
    assert_int_equal(fi_domain(fabric, info, &domain, NULL), -FI_EINVAL);
    assert_int_equal(fi_close(&fabric->fid), 0);
    fi_freeinfo(info);
}

/** Programs call without looking whether there is such a function. */
static void calls__that_are_not_supported_say_so(void **state)
{
    struct pair *pair = open_default_pair();
    struct side *side = &pair->sides[0];
    struct fid_ep *ep = NULL;
    struct fid_stx *stx = NULL;
    struct fid_pep *pep = NULL;
    struct fid_wait *wait = NULL;
    struct fi_wait_attr wait_attributes = {0};
    void *ops = NULL;

    (void)state;
    assert_int_equal(fi_scalable_ep(side->domain, side->info, &ep, NULL), -FI_ENOSYS);
    assert_int_equal(fi_stx_context(side->domain, NULL, &stx, NULL), -FI_ENOSYS);
    assert_int_equal(fi_srx_context(side->domain, NULL, &ep, NULL), -FI_ENOSYS);
    assert_int_equal(fi_passive_ep(side->fabric, side->info, &pep, NULL), -FI_ENOSYS);
    assert_int_equal(fi_wait_open(side->fabric, &wait_attributes, &wait), -FI_ENOSYS);
    assert_int_equal(fi_connect(side->ep, "", NULL, 0), -FI_ENOSYS);
    assert_int_equal(fi_tx_context(side->ep, 0, NULL, &ep, NULL), -FI_ENOSYS);
    assert_int_equal(fi_domain_bind(side->domain, &side->cq->fid, 0), -FI_ENOSYS);
    assert_int_equal(fi_open_ops(&side->domain->fid, "", 0, &ops, NULL), -FI_ENOSYS);
    close_pair(pair);
}

static void fi_trywait__only_while_there_is_nothing(void **state)
{
    struct pair *pair = open_pair(&(struct pair_options){.wait = FI_WAIT_UNSPEC});
    struct side *receiver = &pair->sides[1];
    struct fid *fids[] = {&receiver->cq->fid};
    char got = 0;

    (void)state;
    assert_int_equal(fi_trywait(receiver->fabric, fids, 1), 0);
    assert_int_equal(fi_trecv(receiver->ep, &got, 1, NULL, FI_ADDR_UNSPEC, 1, 0, &got), 0);
    assert_int_equal(fi_cancel(&receiver->ep->fid, &got), 0);
    assert_int_equal(fi_trywait(receiver->fabric, fids, 1), -FI_EAGAIN);
    close_pair(pair);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fi_close__what_is_in_use),
        cmocka_unit_test(fi_domain__needs_the_name_of_an_interface),
        cmocka_unit_test(calls__that_are_not_supported_say_so),
        cmocka_unit_test(fi_trywait__only_while_there_is_nothing),
    };

    (void)argc;
    namespace_enter(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
