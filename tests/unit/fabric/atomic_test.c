/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <rdma/fi_atomic.h>

#define KEY 42

/** A pair whose second side offers eight numbers. */
struct remote {
    struct pair *pair;
    struct fid_mr *region;
    uint64_t memory[8];
    fi_addr_t to;
    struct fid_ep *ep; /**< whose operations they are */
};

static struct remote *open_remote(void)
{
    const struct pair_options options = {.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC};
    struct remote *remote = calloc(1, sizeof *remote);

    remote->pair = open_pair(&options);
    assert_int_equal(fi_mr_reg(remote->pair->sides[1].domain, remote->memory, sizeof remote->memory,
                               FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &remote->region, NULL),
                     0);
    remote->ep = remote->pair->sides[0].ep;
    remote->to = remote->pair->sides[0].other;
    return remote;
}

static void close_remote(struct remote *remote)
{
    assert_int_equal(fi_close(&remote->region->fid), 0);
    close_pair(remote->pair);
    free(remote);
}

TEST(fi_atomic__changes_an_array)
{
    struct remote *remote = open_remote();
    uint64_t operands[2] = {5, 6};

    remote->memory[1] = 10;
    remote->memory[2] = 20;
    assert_int_equal(
        fi_atomic(remote->ep, operands, 2, NULL, remote->to, 8, KEY, FI_UINT64, FI_SUM, operands),
        0);
    struct fi_cq_tagged_entry entry = completed(remote->pair, 0);
    assert_ptr_equal(entry.op_context, operands);
    assert_int_equal(entry.flags, FI_ATOMIC | FI_WRITE);
    assert_int_equal(remote->memory[1], 15);
    assert_int_equal(remote->memory[2], 26);
    close_remote(remote);
}

TEST(fi_atomicmsg__and_inject)
{
    struct remote *remote = open_remote();
    uint64_t operands[2] = {3, 4};
    const struct fi_ioc parts[] = {{&operands[0], 1}, {&operands[1], 1}};
    const struct fi_rma_ioc place = {.addr = 0, .count = 2, .key = KEY};
    struct fi_msg_atomic message = {.msg_iov = parts,
                                    .iov_count = 2,
                                    .addr = remote->to,
                                    .rma_iov = &place,
                                    .rma_iov_count = 1,
                                    .datatype = FI_UINT64,
                                    .op = FI_ATOMIC_WRITE,
                                    .context = operands};
    uint64_t got[2] = {0, 0};

    assert_int_equal(fi_atomicmsg(remote->ep, &message, FI_COMPLETION | FI_INJECT), 0);
    operands[0] = operands[1] = 1;
    assert_ptr_equal(completed(remote->pair, 0).op_context, operands);
    assert_int_equal(remote->memory[0], 3);
    assert_int_equal(remote->memory[1], 4);
    assert_int_equal(
        fi_inject_atomic(remote->ep, operands, 2, remote->to, 0, KEY, FI_UINT64, FI_SUM), 0);
    operands[0] = operands[1] = 99;
    assert_int_equal(fi_fetch_atomic(remote->ep, NULL, 2, NULL, got, NULL, remote->to, 0, KEY,
                                     FI_UINT64, FI_ATOMIC_READ, got),
                     0);
    assert_ptr_equal(completed(remote->pair, 0).op_context, got); /* in order, and the only one */
    assert_int_equal(got[0], 4);
    assert_int_equal(got[1], 5);
    message.rma_iov_count = 0;
    assert_int_equal(fi_atomicmsg(remote->ep, &message, 0), -FI_EINVAL);
    close_remote(remote);
}

TEST(fi_fetch_atomic__into_parts)
{
    struct remote *remote = open_remote();
    uint64_t operands[2] = {5, 6};
    uint64_t results[2][2] = {{0}};
    const struct fi_ioc part = {operands, 2};
    struct fi_ioc result_parts[] = {{&results[0][0], 1}, {&results[1][1], 1}};

    remote->memory[0] = 1;
    remote->memory[1] = 100;
    assert_int_equal(fi_fetch_atomicv(remote->ep, &part, NULL, 1, result_parts, NULL, 2, remote->to,
                                      0, KEY, FI_UINT64, FI_MAX, results),
                     0);
    struct fi_cq_tagged_entry entry = completed(remote->pair, 0);
    assert_ptr_equal(entry.op_context, results);
    assert_int_equal(entry.flags, FI_ATOMIC | FI_READ);
    assert_int_equal(remote->memory[0], 5);
    assert_int_equal(remote->memory[1], 100);
    assert_int_equal(results[0][0], 1);
    assert_int_equal(results[1][1], 100);
    assert_int_equal(results[0][1] | results[1][0], 0);
    result_parts[1].count = 2;
    assert_int_equal(fi_fetch_atomicv(remote->ep, &part, NULL, 1, result_parts, NULL, 2, remote->to,
                                      0, KEY, FI_UINT64, FI_MAX, results),
                     -FI_EINVAL);
    close_remote(remote);
}

TEST(fi_compare_atomic__swaps_if_equal)
{
    struct remote *remote = open_remote();
    uint64_t operand = 9;
    uint64_t compare = 7;
    uint64_t result = 0;

    remote->memory[0] = 7;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(fi_compare_atomic(remote->ep, &operand, 1, NULL, &compare, NULL, &result,
                                           NULL, remote->to, 0, KEY, FI_UINT64, FI_CSWAP, &result),
                         0);
        assert_ptr_equal(completed(remote->pair, 0).op_context, &result);
        assert_int_equal(result, i == 0 ? 7 : 9);
        assert_int_equal(remote->memory[0], 9);
    }
    close_remote(remote);
}

TEST(fi_atomicvalid__of_each_call)
{
    struct remote *remote = open_remote();
    struct fid_domain *domain = remote->pair->sides[0].domain;
    struct fi_atomic_attr attributes;
    size_t count = 0;

    assert_int_equal(fi_atomicvalid(remote->ep, FI_DOUBLE, FI_SUM, &count), 0);
    assert_true(count >= 16);
    assert_int_equal(fi_atomicvalid(remote->ep, FI_DOUBLE, FI_BOR, &count), -FI_EOPNOTSUPP);
    assert_int_equal(fi_atomicvalid(remote->ep, FI_UINT8, FI_ATOMIC_READ, &count), -FI_EOPNOTSUPP);
    assert_int_equal(fi_atomicvalid(remote->ep, FI_UINT8, FI_CSWAP, &count), -FI_EOPNOTSUPP);
    assert_int_equal(fi_atomicvalid(remote->ep, FI_LONG_DOUBLE, FI_SUM, &count), -FI_EOPNOTSUPP);
    assert_int_equal(fi_fetch_atomicvalid(remote->ep, FI_UINT8, FI_ATOMIC_READ, &count), 0);
    assert_int_equal(fi_fetch_atomicvalid(remote->ep, FI_UINT8, FI_MSWAP, &count), -FI_EOPNOTSUPP);
    assert_int_equal(fi_compare_atomicvalid(remote->ep, FI_UINT8, FI_MSWAP, &count), 0);
    assert_int_equal(fi_compare_atomicvalid(remote->ep, FI_UINT8, FI_SUM, &count), -FI_EOPNOTSUPP);
    assert_int_equal(fi_query_atomic(domain, FI_INT32, FI_SUM, &attributes, 0), 0);
    assert_int_equal(attributes.size, 4);
    assert_true(attributes.count >= 8);
    assert_int_equal(fi_atomicvalid(remote->ep, FI_INT32, FI_SUM, &count), 0);
    assert_int_equal(attributes.count, count);
    assert_int_equal(fi_query_atomic(domain, FI_INT32, FI_CSWAP, &attributes, FI_COMPARE_ATOMIC),
                     0);
    assert_int_equal(fi_query_atomic(domain, FI_INT32, FI_CSWAP, &attributes, 0), -FI_EOPNOTSUPP);
    assert_int_equal(fi_query_atomic(domain, FI_FLOAT, FI_BXOR, &attributes, FI_FETCH_ATOMIC),
                     -FI_EOPNOTSUPP);
    assert_int_equal(fi_query_atomic(domain, FI_INT32, FI_SUM, &attributes, FI_TAGGED),
                     -FI_EBADFLAGS);
    close_remote(remote);
}

TEST(fi_atomic__refused)
{
    struct remote *remote = open_remote();
    uint64_t operands[9] = {0};

    assert_int_equal(
        fi_atomic(remote->ep, operands, 9, NULL, remote->to, 0, KEY, FI_UINT64, FI_SUM, operands),
        0);
    assert_int_equal(failed(remote->pair, 0).err, FI_EACCES);
    assert_int_equal(
        fi_atomic(remote->ep, operands, 1, NULL, remote->to, 0, KEY, FI_DOUBLE, FI_BOR, operands),
        -FI_EOPNOTSUPP);
    assert_int_equal(
        fi_atomic(remote->ep, operands, 0, NULL, remote->to, 0, KEY, FI_UINT64, FI_SUM, operands),
        -FI_EINVAL);
    close_remote(remote);
}
