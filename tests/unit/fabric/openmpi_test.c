/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_stub.h"
#include "pair.h"

#define TAG UINT64_C(0xC00000007)         /* of communicator 3 */
#define SYNCHRONOUS UINT64_C(0xD00000007) /* as mtl/ofi sends it, and is to be answered */
#define ANSWER UINT64_C(0xE00000007)

/** Calls fi_trecvmsg() with FI_CLAIM and these flags. */
static void claim(const struct side *side, uint64_t flags, uint64_t tag, struct fi_context *context)
{
    const struct fi_msg_tagged message = {.addr = FI_ADDR_UNSPEC, .tag = tag, .context = context};

    assert_int_equal(fi_trecvmsg(side->ep, &message, flags | FI_CLAIM), 0);
}

/** A pair of the MPI that says so; side 0 sends an empty message with this tag, which side 1 takes
 *  aside. */
static struct pair *pair_with_claimed(const char *mpi, uint64_t tag, struct fi_context *context)
{
    mpi_stub_says(mpi);
    struct pair *pair = open_default_pair();
    const struct side *sender = &pair->sides[0];

    assert_int_equal(fi_tinjectdata(sender->ep, NULL, 0, 44, sender->other, tag), 0);
    let_arrive(pair, 0);
    claim(&pair->sides[1], FI_PEEK, tag, context);
    assert_int_equal(completed(pair, 1).tag, tag);
    return pair;
}

/** Has the answer come to side 0? Nothing else may have. */
static bool answer_has_come(struct pair *pair)
{
    struct fi_context context;
    const struct fi_msg_tagged message = {
        .addr = FI_ADDR_UNSPEC, .ignore = UINT64_MAX >> 2, .context = &context};
    struct fi_cq_tagged_entry entry;

    let_arrive(pair, 1);
    assert_int_equal(fi_trecvmsg(pair->sides[0].ep, &message, FI_PEEK), 0);
    if (fi_cq_read(pair->sides[0].cq, &entry, 1) != 1) {
        assert_int_equal(failed(pair, 0).err, FI_ENOMSG);
        return false;
    }
    assert_int_equal(entry.tag, ANSWER);
    assert_int_equal(entry.len, 0);
    return true;
}

TEST(fi_claim__open_mpi_4_has_synchronous_sends_answered)
{
    struct fi_context context;
    struct fi_cq_tagged_entry entry;

    static const char *const versions[] = {"Open MPI v4.1.4, package: Debian OpenMPI",
                                           "Open MPI v3.1.6"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct pair *pair = pair_with_claimed(versions[i], SYNCHRONOUS, &context);
        assert_false(answer_has_come(pair)); /* MPI_Mprobe does not end MPI_Ssend */
        claim(&pair->sides[1], 0, 0, &context);
        entry = completed(pair, 1);
        assert_ptr_equal(entry.op_context, &context);
        assert_int_equal(entry.tag, SYNCHRONOUS);
        assert_true(answer_has_come(pair));
        /* There is one answer, and no more. */
        assert_int_equal(
            fi_trecv(pair->sides[0].ep, NULL, 0, NULL, FI_ADDR_UNSPEC, ANSWER, 0, NULL), 0);
        assert_int_equal(completed(pair, 0).tag, ANSWER);
        assert_false(answer_has_come(pair));
        close_pair(pair);
    }
}

TEST(fi_claim__nothing_else_is_answered)
{
    static const struct {
        const char *mpi;
        uint64_t tag;
    } others[] = {
        {"Open MPI v4.1.4", TAG},
        {"Open MPI v4.1.4", ANSWER},
        {"Open MPI v5.0.11, package: Open MPI", SYNCHRONOUS},
        {"Open MPI v10.0.0", SYNCHRONOUS},
        {"MPICH Version:      4.0", SYNCHRONOUS},
        {"", SYNCHRONOUS},
    };
    struct fi_context context;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct pair *pair = pair_with_claimed(others[i].mpi, others[i].tag, &context);
        claim(&pair->sides[1], 0, 0, &context);
        assert_int_equal(completed(pair, 1).tag, others[i].tag);
        assert_false(answer_has_come(pair));
        close_pair(pair);
    }
}

/** What was received otherwise mtl/ofi answers itself. */
TEST(fi_trecv__is_not_answered)
{
    mpi_stub_says("Open MPI v4.1.4");
    struct pair *pair = open_default_pair();
    const struct side *sender = &pair->sides[0];

    assert_int_equal(fi_tinjectdata(sender->ep, NULL, 0, 44, sender->other, SYNCHRONOUS), 0);
    assert_int_equal(
        fi_trecv(pair->sides[1].ep, NULL, 0, NULL, FI_ADDR_UNSPEC, SYNCHRONOUS, 0, NULL), 0);
    assert_int_equal(completed(pair, 1).tag, SYNCHRONOUS);
    assert_false(answer_has_come(pair));
    close_pair(pair);
}
