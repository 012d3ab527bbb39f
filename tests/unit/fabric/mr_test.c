/* SPDX-License-Identifier: BSD-3-Clause */
#include "namespace.h"
#include "pair.h"

static void fi_mr_reg__for_sending_and_receiving(void **state)
{
    struct pair *pair = open_default_pair();
    struct side *side = &pair->sides[0];
    struct fid_mr *region = NULL;
    char buffer[100] = "a";

    (void)state;
    assert_int_equal(
        fi_mr_reg(side->domain, buffer, sizeof buffer, FI_SEND | FI_RECV, 0, 42, 0, &region, NULL),
        0);
    assert_int_equal(fi_mr_key(region), 42);
    assert_int_equal(fi_trecv(pair->sides[1].ep, buffer + 50, 1, NULL, FI_ADDR_UNSPEC, 1, 0, NULL),
                     0);
    assert_int_equal(fi_tsend(side->ep, buffer, 1, fi_mr_desc(region), side->other, 1, NULL), 0);
    assert_int_equal(completed(pair, 1).len, 1);
    assert_int_equal(buffer[50], 'a');
    assert_int_equal(fi_close(&side->domain->fid), -FI_EBUSY);
    assert_int_equal(fi_close(&region->fid), 0);
    close_pair(pair);
}

static void fi_mr_regattr__what_cannot_be(void **state)
{
    struct pair *pair = open_default_pair();
    struct fid_domain *domain = pair->sides[0].domain;
    struct fid_mr *region = NULL;
    char buffer[10];
    const struct iovec parts[] = {{buffer, 5}, {buffer + 5, 5}};
    struct fi_mr_attr attributes = {.mr_iov = parts, .iov_count = 2, .access = FI_SEND};

    (void)state;
    assert_int_equal(fi_mr_regattr(domain, &attributes, 0, &region), -FI_EINVAL);
    attributes.iov_count = 0;
    assert_int_equal(fi_mr_regattr(domain, &attributes, 0, &region), -FI_EINVAL);
    attributes.iov_count = 1;
    assert_int_equal(fi_mr_regattr(domain, &attributes, FI_RMA_EVENT, &region), -FI_EBADFLAGS);
    attributes.iface = FI_HMEM_CUDA;
    assert_int_equal(fi_mr_regattr(domain, &attributes, 0, &region), -FI_EINVAL);
    attributes.iface = FI_HMEM_SYSTEM;
    attributes.access = FI_REMOTE_WRITE;
    assert_int_equal(fi_mr_regattr(domain, &attributes, 0, &region), -FI_EOPNOTSUPP);
    close_pair(pair);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fi_mr_reg__for_sending_and_receiving),
        cmocka_unit_test(fi_mr_regattr__what_cannot_be),
    };

    (void)argc;
    namespace_enter(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
