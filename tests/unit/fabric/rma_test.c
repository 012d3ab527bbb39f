/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <rdma/fi_rma.h>

#define MEMORY_BYTES 100000
#define KEY 42

/** A pair whose second side offers memory. */
struct remote {
    struct pair *pair;
    struct fid_mr *region;
    uint8_t *memory;
    fi_addr_t to;
    struct fid_ep *ep; /**< who reads and writes */
};

static struct remote open_remote(const struct pair_options *options)
{
    struct remote remote = {.pair = open_pair(options)};

    remote.memory = calloc(1, MEMORY_BYTES);
    assert_int_equal(fi_mr_reg(remote.pair->sides[1].domain, remote.memory, MEMORY_BYTES,
                               FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &remote.region, NULL),
                     0);
    remote.ep = remote.pair->sides[0].ep;
    remote.to = remote.pair->sides[0].other;
    return remote;
}

static void close_remote(struct remote *remote)
{
    assert_int_equal(fi_close(&remote->region->fid), 0);
    close_pair(remote->pair);
    free(remote->memory);
}

static const struct pair_options usual = {.caps = FI_MSG | FI_TAGGED | FI_RMA};

TEST(fi_write__and_read_of_all_sizes)
{
    static const size_t sizes[] = {0, 1, 8, 1436, 1437, 16384, 16385, 90000};
    struct remote remote = open_remote(&usual);

    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *data = pattern(sizes[i], i);
        uint8_t *got = calloc(1, sizes[i] + 1);
        assert_int_equal(fi_write(remote.ep, data, sizes[i], NULL, remote.to, 5, KEY, data), 0);
        struct fi_cq_tagged_entry entry = completed(remote.pair, 0);
        assert_ptr_equal(entry.op_context, data);
        assert_int_equal(entry.flags, FI_RMA | FI_WRITE);
        assert_memory_equal(remote.memory + 5, data, sizes[i]);
        assert_int_equal(fi_read(remote.ep, got, sizes[i], NULL, remote.to, 5, KEY, got), 0);
        entry = completed(remote.pair, 0);
        assert_ptr_equal(entry.op_context, got);
        assert_int_equal(entry.flags, FI_RMA | FI_READ);
        assert_memory_equal(got, data, sizes[i]);
        free(data);
        free(got);
    }
    close_remote(&remote);
}

TEST(fi_writev__gathers_and_readv_scatters)
{
    struct remote remote = open_remote(&usual);
    char parts[3][5] = {"abc", "", "defg"};
    char got[2][4] = {"", ""};
    const struct iovec out[] = {{parts[0], 3}, {parts[1], 0}, {parts[2], 4}};
    const struct iovec in[] = {{got[0], 4}, {got[1], 3}};

    assert_int_equal(fi_writev(remote.ep, out, NULL, 3, remote.to, 0, KEY, parts), 0);
    assert_ptr_equal(completed(remote.pair, 0).op_context, parts);
    assert_memory_equal(remote.memory, "abcdefg", 8);
    assert_int_equal(fi_readv(remote.ep, in, NULL, 2, remote.to, 0, KEY, got), 0);
    assert_ptr_equal(completed(remote.pair, 0).op_context, got);
    assert_memory_equal(got[0], "abcd", 4);
    assert_memory_equal(got[1], "efg", 3);
    close_remote(&remote);
}

TEST(fi_writemsg__in_one_place)
{
    struct remote remote = open_remote(&usual);
    char data[4] = {'a', 'b', 'c', 'd'};
    const struct iovec part = {data, 4};
    struct fi_rma_iov places[2] = {{.addr = 3, .len = 4, .key = KEY}, {.addr = 9, .key = KEY}};
    struct fi_msg_rma message = {.msg_iov = &part,
                                 .iov_count = 1,
                                 .addr = remote.to,
                                 .rma_iov = places,
                                 .rma_iov_count = 1,
                                 .context = data};

    assert_int_equal(fi_writemsg(remote.ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE), 0);
    assert_ptr_equal(completed(remote.pair, 0).op_context, data);
    assert_memory_equal(remote.memory + 3, "abcd", 5);
    memcpy(remote.memory + 3, "wxyz", 4);
    assert_int_equal(fi_readmsg(remote.ep, &message, FI_COMPLETION), 0);
    assert_ptr_equal(completed(remote.pair, 0).op_context, data);
    assert_memory_equal(data, "wxyz", 4);
    assert_int_equal(fi_writemsg(remote.ep, &message, FI_PEEK), -FI_EBADFLAGS);
    assert_int_equal(fi_writemsg(remote.ep, &message, FI_FENCE), -FI_EBADFLAGS);
    message.rma_iov_count = 2;
    assert_int_equal(fi_writemsg(remote.ep, &message, 0), -FI_EINVAL);
    message.rma_iov_count = 1;
    places[0].len = 5;
    assert_int_equal(fi_writemsg(remote.ep, &message, 0), -FI_EINVAL);
    assert_int_equal(fi_readmsg(remote.ep, &message, 0), -FI_EINVAL);
    close_remote(&remote);
}

TEST(fi_inject_write__is_not_reported)
{
    struct remote remote = open_remote(&usual);
    size_t most = remote.pair->sides[0].info->tx_attr->inject_size;
    uint8_t *data = pattern(most + 1, 1);
    uint8_t *copy = pattern(most + 1, 1);
    char got = 0;

    assert_int_equal(fi_inject_write(remote.ep, data, most + 1, remote.to, 0, KEY), -FI_EMSGSIZE);
    assert_int_equal(fi_inject_write(remote.ep, data, most, remote.to, 0, KEY), 0);
    memset(data, 0, most);
    assert_int_not_equal(copy[most - 1], 0);
    time_t start = time(NULL);
    while (got == 0) { /* long ones may be overtaken */
        assert_false(is_late(start));
        assert_int_equal(fi_read(remote.ep, &got, 1, NULL, remote.to, most - 1, KEY, &got), 0);
        assert_ptr_equal(completed(remote.pair, 0).op_context, &got); /* the only one */
    }
    assert_int_equal(got, (char)copy[most - 1]);
    while (memcmp(remote.memory, copy, most) != 0) {
        assert_false(is_late(start));
        assert_int_equal(fi_read(remote.ep, &got, 1, NULL, remote.to, 0, KEY, &got), 0);
        assert_ptr_equal(completed(remote.pair, 0).op_context, &got);
    }
    free(data);
    free(copy);
    close_remote(&remote);
}

TEST(fi_writedata__tells_the_target)
{
    struct remote remote = open_remote(&usual);
    uint8_t *data = pattern(50000, 1);

    for (size_t bytes = 10; bytes <= 50000; bytes += 49990) {
        assert_int_equal(fi_writedata(remote.ep, data, bytes, NULL, 4711, remote.to, 0, KEY, data),
                         0);
        assert_ptr_equal(completed(remote.pair, 0).op_context, data);
        struct fi_cq_tagged_entry entry = completed(remote.pair, 1);
        assert_int_equal(entry.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
        assert_int_equal(entry.data, 4711);
        assert_int_equal(entry.len, bytes);
        assert_memory_equal(remote.memory, data, bytes);
    }
    assert_int_equal(fi_inject_writedata(remote.ep, "x", 1, 4712, remote.to, 0, KEY), 0);
    assert_int_equal(completed(remote.pair, 1).data, 4712);
    assert_int_equal(
        fi_writedata(remote.ep, data, 1, NULL, UINT64_C(1) << 32, remote.to, 0, KEY, NULL),
        -FI_EINVAL);
    free(data);
    close_remote(&remote);
}

TEST(fi_write__refused_names_the_peer_and_harms_nothing)
{
    struct remote remote = open_remote(&usual);
    char data[8] = "abcdefg";

    assert_int_equal(fi_write(remote.ep, data, 8, NULL, remote.to, 0, KEY + 1, data), 0);
    struct fi_cq_err_entry error = failed(remote.pair, 0);
    assert_int_equal(error.err, FI_EACCES);
    assert_ptr_equal(error.op_context, data);
    assert_non_null(strstr(error.err_data, " (beowire:"));
    assert_int_equal(fi_read(remote.ep, data, 8, NULL, remote.to, MEMORY_BYTES - 7, KEY, data), 0);
    assert_int_equal(failed(remote.pair, 0).err, FI_EACCES);
    assert_int_equal(fi_write(remote.ep, data, 8, NULL, remote.to, 0, KEY, data), 0);
    assert_ptr_equal(completed(remote.pair, 0).op_context, data);
    assert_memory_equal(remote.memory, data, 8);
    close_remote(&remote);
}

TEST(fi_write__selective_completion_and_counters)
{
    struct pair_options options = usual;
    options.cq_flags = FI_SELECTIVE_COMPLETION;
    options.counters = true;
    struct remote remote = open_remote(&options);
    struct side *side = &remote.pair->sides[0];
    char data[8] = "abcdefg";
    time_t start = time(NULL);

    assert_int_equal(fi_write(remote.ep, data, 8, NULL, remote.to, 0, KEY, NULL), 0);
    assert_int_equal(fi_read(remote.ep, data, 8, NULL, remote.to, 8, KEY, NULL), 0);
    assert_int_equal(fi_read(remote.ep, data, 8, NULL, remote.to, 8, KEY + 1, data), 0);
    while (fi_cntr_read(side->remote) < 2 || fi_cntr_readerr(side->remote) < 1) {
        assert_false(is_late(start));
        drive(&remote.pair->sides[1]);
    }
    assert_ptr_equal(failed(remote.pair, 0).op_context, data); /* nothing else is reported */
    assert_int_equal(fi_cntr_read(side->sent), 0);
    close_remote(&remote);
}
