/* SPDX-License-Identifier: BSD-3-Clause */
#include "../../../fabric/deprecated.h"
#include "pair.h"

#include <rdma/fi_rma.h>

PAIR_TEST(fi_mr_reg__for_sending_and_receiving)
{
    struct side *side = &pair->sides[0];
    struct fid_mr *region = NULL;
    char buffer[100] = "a";

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
}

PAIR_TEST(fi_mr_regattr__what_cannot_be)
{
    struct fid_domain *domain = pair->sides[0].domain;
    struct fid_mr *region = NULL;
    char buffer[10];
    const struct iovec parts[] = {{buffer, 5}, {buffer + 5, 5}};
    struct fi_mr_attr attributes = {.mr_iov = parts, .iov_count = 2, .access = FI_SEND};

    assert_int_equal(fi_mr_regattr(domain, &attributes, 0, &region), -FI_EINVAL);
    attributes.iov_count = 0;
    assert_int_equal(fi_mr_regattr(domain, &attributes, 0, &region), -FI_EINVAL);
    attributes.iov_count = 1;
    assert_int_equal(fi_mr_regattr(domain, &attributes, FI_RMA_EVENT, &region), -FI_EBADFLAGS);
    attributes.iface = FI_HMEM_CUDA;
    assert_int_equal(fi_mr_regattr(domain, &attributes, 0, &region), -FI_EINVAL);
}

PAIR_TEST(fi_mr_reg__keys_of_the_users_are_used_once)
{
    struct fid_domain *domain = pair->sides[0].domain;
    struct fid_mr *regions[2];
    char buffer[10];

    assert_int_equal(fi_mr_reg(domain, buffer, 10, FI_REMOTE_WRITE, 0, 7, 0, &regions[0], NULL), 0);
    assert_int_equal(fi_mr_key(regions[0]), 7);
    assert_int_equal(fi_mr_reg(domain, buffer, 10, FI_REMOTE_READ, 0, 7, 0, &regions[1], NULL),
                     -FI_ENOKEY);
    /* Peers do not know it, so it does not matter. */
    assert_int_equal(fi_mr_reg(domain, buffer, 10, FI_SEND, 0, 7, 0, &regions[1], NULL), 0);
    assert_int_equal(fi_close(&regions[1]->fid), 0);
    assert_int_equal(fi_close(&regions[0]->fid), 0);
    assert_int_equal(fi_mr_reg(domain, buffer, 10, FI_REMOTE_READ, 0, 7, 0, &regions[1], NULL), 0);
    assert_int_equal(fi_close(&regions[1]->fid), 0);
}

/** FI_MR_PROV_KEY: the keys are the provider's, another each time; with FI_MR_VIRT_ADDR addresses
 * are the process's. */
TEST(fi_mr_reg__keys_of_ours)
{
    for (unsigned virtual = 0; virtual < 2; virtual ++) {
        const struct pair_options options = {.caps = FI_MSG | FI_TAGGED | FI_RMA,
                                             .mr_mode = FI_MR_PROV_KEY |
                                                        (virtual != 0 ? FI_MR_VIRT_ADDR : 0)};
        struct pair *pair = open_pair(&options);
        struct fid_mr *region = NULL;
        char memory[64] = "";
        char data[4] = "abc";
        uint64_t at = 8 + (virtual != 0 ? (uint64_t)(uintptr_t)memory : 0);
        uint64_t keys[2];
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(fi_mr_reg(pair->sides[1].domain, memory, sizeof memory,
                                       FI_REMOTE_WRITE, 0, 7, 0, &region, NULL),
                             0);
            keys[i] = fi_mr_key(region);
            assert_int_equal(
                fi_write(pair->sides[0].ep, data, 4, NULL, pair->sides[0].other, at, keys[i], data),
                0);
            assert_ptr_equal(completed(pair, 0).op_context, data);
            assert_string_equal(memory + 8, "abc");
            memset(memory, 0, sizeof memory);
            assert_int_equal(
                fi_write(pair->sides[0].ep, data, 4, NULL, pair->sides[0].other, at, 7, data), 0);
            assert_int_equal(failed(pair, 0).err, FI_EACCES); /* that is not its key */
            assert_int_equal(fi_close(&region->fid), 0);
        }
        assert_true(keys[0] != keys[1]);
        assert_true(keys[0] >> 32 != 0 || keys[1] >> 32 != 0); /* no small numbers */
        close_pair(pair);
    }
}

/** FI_MR_BASIC: the keys are the provider's, and addresses the process's. Registered before any
 *  endpoint is there, as programs do. */
TEST(fi_mr_reg__basic_mode_and_endpoints_that_come_later)
{
    const struct pair_options options = {.caps = FI_MSG | FI_TAGGED | FI_RMA,
                                         .mr_mode = OLD_MR_BASIC};
    struct pair *pair = calloc(1, sizeof *pair);
    struct fid_mr *regions[2];
    char memory[64] = "";
    char data[4] = "abc";

    open_domain(&pair->sides[1], "end1", &options);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(fi_mr_reg(pair->sides[1].domain, memory, sizeof memory, FI_REMOTE_WRITE, 0,
                                   7, 0, &regions[i], NULL),
                         0);
    }
    assert_true(fi_mr_key(regions[0]) != fi_mr_key(regions[1]));
    open_endpoint(&pair->sides[1], &options);
    open_side(&pair->sides[0], "end0", &options);
    introduce(&pair->sides[0], &pair->sides[1]);
    introduce(&pair->sides[1], &pair->sides[0]);
    assert_int_equal(fi_write(pair->sides[0].ep, data, 4, NULL, pair->sides[0].other,
                              (uint64_t)(uintptr_t)(memory + 8), fi_mr_key(regions[1]), data),
                     0);
    assert_ptr_equal(completed(pair, 0).op_context, data);
    assert_string_equal(memory + 8, "abc");
    assert_int_equal(fi_close(&regions[1]->fid), 0);
    assert_int_equal(fi_write(pair->sides[0].ep, data, 4, NULL, pair->sides[0].other,
                              (uint64_t)(uintptr_t)memory, fi_mr_key(regions[0]), data),
                     0);
    assert_ptr_equal(completed(pair, 0).op_context, data);
    assert_int_equal(fi_close(&regions[0]->fid), 0);
    close_pair(pair);
}
