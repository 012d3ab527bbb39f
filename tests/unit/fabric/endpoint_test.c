/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"
#include "said.h"

#include <errno.h>
#include <linux/capability.h>
#include <rdma/fi_rma.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(fi_enable__needs_an_address_vector_and_queues)
{
    struct side side = {.info = get_info("end0", &(struct pair_options){0})};
    struct fi_cq_attr cq = {0};
    struct fi_av_attr av = {0};

    assert_int_equal(fi_fabric(side.info->fabric_attr, &side.fabric, NULL), 0);
    assert_int_equal(fi_domain(side.fabric, side.info, &side.domain, NULL), 0);
    assert_int_equal(fi_endpoint(side.domain, side.info, &side.ep, NULL), 0);
    assert_int_equal(fi_enable(side.ep), -FI_ENOAV);
    assert_int_equal(fi_av_open(side.domain, &av, &side.av, NULL), 0);
    assert_int_equal(fi_ep_bind(side.ep, &side.av->fid, 0), 0);
    assert_int_equal(fi_ep_bind(side.ep, &side.av->fid, 0), -FI_EINVAL);
    assert_int_equal(fi_enable(side.ep), -FI_ENOCQ);
    assert_int_equal(fi_cq_open(side.domain, &cq, &side.cq, NULL), 0);
    assert_int_equal(fi_ep_bind(side.ep, &side.cq->fid, FI_READ), -FI_EBADFLAGS);
    assert_int_equal(fi_ep_bind(side.ep, &side.cq->fid, FI_TRANSMIT), 0);
    assert_int_equal(fi_enable(side.ep), -FI_ENOCQ);
    assert_int_equal(fi_ep_bind(side.ep, &side.cq->fid, FI_RECV), 0);
    assert_int_equal(fi_ep_bind(side.ep, &side.cq->fid, FI_RECV), -FI_EINVAL);
    assert_int_equal(fi_tinject(side.ep, "a", 1, 0, 1), -FI_EOPBADSTATE);
    assert_int_equal(fi_trecv(side.ep, NULL, 0, NULL, 0, 1, 0, NULL), -FI_EOPBADSTATE);
    assert_int_equal(fi_enable(side.ep), 0);
    assert_int_equal(fi_enable(side.ep), -FI_EOPBADSTATE);
    assert_int_equal(fi_ep_bind(side.ep, &side.cq->fid, FI_RECV), -FI_EOPBADSTATE);
    close_side(&side);
}

/** MPICH binds one for remote memory access whether or not it uses that. */
TEST(fi_ep_bind__counters_of_every_kind_are_let_go_of)
{
    struct side side = {.info = get_info("end0", &(struct pair_options){0})};
    struct fi_cntr_attr attributes = {0};

    assert_int_equal(fi_fabric(side.info->fabric_attr, &side.fabric, NULL), 0);
    assert_int_equal(fi_domain(side.fabric, side.info, &side.domain, NULL), 0);
    assert_int_equal(fi_endpoint(side.domain, side.info, &side.ep, NULL), 0);
    assert_int_equal(fi_cntr_open(side.domain, &attributes, &side.sent, NULL), 0);
    assert_int_equal(fi_ep_bind(side.ep, &side.sent->fid, FI_READ | FI_WRITE), 0);
    assert_int_equal(fi_ep_bind(side.ep, &side.sent->fid, FI_READ), -FI_EINVAL);
    assert_int_equal(fi_ep_bind(side.ep, &side.sent->fid, FI_MSG), -FI_EBADFLAGS);
    assert_int_equal(fi_close(&side.sent->fid), -FI_EBUSY);
    assert_int_equal(fi_close(&side.ep->fid), 0);
    assert_int_equal(fi_close(&side.sent->fid), 0);
    assert_int_equal(fi_close(&side.domain->fid), 0);
    assert_int_equal(fi_close(&side.fabric->fid), 0);
    fi_freeinfo(side.info);
}

/** Their locks are not ours, and another may be closed while we use it. */
TEST(fi_ep_bind__what_is_of_another_domain)
{
    struct pair *pair = open_pair(&(struct pair_options){.counters = true});
    const struct side *other = &pair->sides[1];
    struct fid_ep *endpoint = NULL;

    assert_int_equal(fi_endpoint(pair->sides[0].domain, pair->sides[0].info, &endpoint, NULL), 0);
    assert_int_equal(fi_ep_bind(endpoint, &other->av->fid, 0), -FI_EINVAL);
    assert_int_equal(fi_ep_bind(endpoint, &other->cq->fid, FI_TRANSMIT | FI_RECV), -FI_EINVAL);
    assert_int_equal(fi_ep_bind(endpoint, &other->sent->fid, FI_SEND), -FI_EINVAL);
    assert_int_equal(fi_ep_bind(endpoint, &pair->sides[0].av->fid, 0), 0);
    assert_int_equal(fi_close(&endpoint->fid), 0);
    close_pair(pair);
}

/** An endpoint of these capabilities with nothing but an address vector. */
static void open_bare(struct side *side, uint64_t caps)
{
    struct fi_av_attr av = {0};

    open_domain(side, "end0", &(struct pair_options){.caps = caps});
    side->info->caps = caps;
    assert_int_equal(fi_av_open(side->domain, &av, &side->av, NULL), 0);
    assert_int_equal(fi_endpoint(side->domain, side->info, &side->ep, NULL), 0);
    assert_int_equal(fi_ep_bind(side->ep, &side->av->fid, 0), 0);
}

/** What it starts is reported somewhere, and somebody drives it. */
TEST(fi_enable__needs_a_queue_or_a_counter_for_each_kind_of_operation)
{
    static const struct {
        uint64_t caps;
        uint64_t counters[2]; /* with the first it is not enough, with the second it is */
    } cases[] = {
        {FI_TAGGED, {FI_SEND, FI_RECV}},
        {FI_RMA, {FI_READ, FI_WRITE}},
        {FI_RMA | FI_WRITE, {FI_READ | FI_REMOTE_READ, FI_WRITE}},
        {FI_ATOMIC | FI_READ, {FI_SEND | FI_WRITE, FI_READ}},
        {FI_RMA | FI_READ | FI_MSG | FI_RECV, {FI_RECV, FI_READ}},
        {FI_RMA | FI_REMOTE_WRITE, {0, FI_REMOTE_WRITE}},
    };
    struct fi_cntr_attr attributes = {0};
    struct fi_cq_attr queue = {0};

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct side side = {0};
        struct fid_cntr *counters[2] = {NULL, NULL};
        open_bare(&side, cases[i].caps);
        assert_int_equal(fi_cq_open(side.domain, &queue, &side.cq, NULL), 0);
        for (unsigned j = 0; j < 2; j++) {
            assert_int_equal(fi_enable(side.ep), -FI_ENOCQ);
            assert_int_equal(fi_cntr_open(side.domain, &attributes, &counters[j], NULL), 0);
            if (cases[i].counters[j] != 0) {
                assert_int_equal(fi_ep_bind(side.ep, &counters[j]->fid, cases[i].counters[j]), 0);
            }
        }
        assert_int_equal(fi_enable(side.ep), 0);
        assert_int_equal(fi_close(&side.ep->fid), 0);
        assert_int_equal(fi_close(&counters[0]->fid), 0);
        assert_int_equal(fi_close(&counters[1]->fid), 0);
        /* A queue does for all that is started. */
        assert_int_equal(fi_endpoint(side.domain, side.info, &side.ep, NULL), 0);
        assert_int_equal(fi_ep_bind(side.ep, &side.av->fid, 0), 0);
        assert_int_equal(fi_ep_bind(side.ep, &side.cq->fid, FI_TRANSMIT | FI_RECV), 0);
        assert_int_equal(fi_enable(side.ep), 0);
        close_side(&side);
    }
}

/** Opens what an endpoint needs, and one that is ready to be enabled. */
static void open_disabled(struct side *side)
{
    struct fi_cq_attr cq = {0};
    struct fi_av_attr av = {0};

    assert_int_equal(fi_fabric(side->info->fabric_attr, &side->fabric, NULL), 0);
    assert_int_equal(fi_domain(side->fabric, side->info, &side->domain, NULL), 0);
    assert_int_equal(fi_av_open(side->domain, &av, &side->av, NULL), 0);
    assert_int_equal(fi_cq_open(side->domain, &cq, &side->cq, NULL), 0);
    assert_int_equal(fi_endpoint(side->domain, side->info, &side->ep, NULL), 0);
    assert_int_equal(fi_ep_bind(side->ep, &side->av->fid, 0), 0);
    assert_int_equal(fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV), 0);
}

TEST(fi_enable__an_interface_that_is_not_there)
{
    struct fi_info *info = get_info("end0", &(struct pair_options){0});
    struct side side = {.info = info};

    memcpy(info->domain_attr->name, "end7", 4);
    open_disabled(&side);
    assert_int_equal(fi_enable(side.ep), -FI_ENODEV);
    uint8_t name[FI_NAME_MAX];
    size_t bytes = sizeof name;
    assert_int_equal(fi_getname(&side.ep->fid, name, &bytes), -FI_EOPBADSTATE);
    close_side(&side);
}

TEST(fi_enable__lanes_that_there_are_not)
{
    const char *const wrong[] = {"foo", "tso", "packet,packet", "packet udp", "udp,"};

    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct side side = {.info = get_info("end0", &(struct pair_options){0})};
        char said[SAID_BYTES];
        assert_int_equal(setenv("FI_BEOWIRE_LANES", wrong[i], 1), 0);
        open_disabled(&side);
        said_begin();
        assert_int_equal(fi_enable(side.ep), -FI_EINVAL);
        said_end(said);
        assert_int_equal(unsetenv("FI_BEOWIRE_LANES"), 0);
        const char *name = strstr(said, "FI_BEOWIRE_LANES=");
        assert_non_null(name);
        assert_memory_equal(strchr(name, '=') + 1, wrong[i], strlen(wrong[i]));
        assert_non_null(strstr(name, "a list of shm,xdp,packet,tso,udp,verbs,tipc"));
        close_side(&side);
    }
}

/** An MPI program gets a number; its user needs to know which line is wrong. */
TEST(fi_enable__a_configuration_that_is_wrong)
{
    struct fi_info *info = get_info("end0", &(struct pair_options){0});
    struct side side = {.info = info};
    char said[SAID_BYTES];

    open_disabled(&side);
    assert_int_equal(setenv("BEOWIRE_SETTINGS", "egar_bytes=1", 1), 0);
    said_begin();
    int status = fi_enable(side.ep);
    said_end(said);
    assert_int_equal(unsetenv("BEOWIRE_SETTINGS"), 0);
    assert_true(status < 0);
    assert_non_null(strstr(said, "egar_bytes"));
    assert_non_null(strstr(said, "BEOWIRE_SETTINGS"));
    assert_int_equal(fi_enable(side.ep), 0); /* nothing of the attempt is left */
    close_side(&side);
}

PAIR_TEST(fi_getname__tells_how_long_a_name_is)
{
    uint8_t name[FI_NAME_MAX];
    size_t bytes = 0;

    assert_int_equal(fi_getname(&pair->sides[0].ep->fid, NULL, &bytes), -FI_ETOOSMALL);
    assert_true(bytes <= FI_NAME_MAX);
    assert_int_equal(fi_getname(&pair->sides[0].ep->fid, name, &bytes), 0);
}

PAIR_TEST(fi_cancel__the_oldest_receive_of_a_context)
{
    const struct side *receiver = &pair->sides[1];
    char got[2];

    assert_int_equal(fi_trecv(receiver->ep, &got[0], 1, NULL, FI_ADDR_UNSPEC, 1, 0, got), 0);
    assert_int_equal(fi_trecv(receiver->ep, &got[1], 1, NULL, FI_ADDR_UNSPEC, 2, 0, got), 0);
    assert_int_equal(fi_cancel(&receiver->ep->fid, got), 0);
    struct fi_cq_err_entry error = failed(pair, 1);
    assert_int_equal(error.err, FI_ECANCELED);
    assert_ptr_equal(error.op_context, got);
    assert_ptr_equal(error.buf, &got[0]);
    assert_int_equal(fi_tinject(pair->sides[0].ep, "b", 1, pair->sides[0].other, 2), 0);
    assert_ptr_equal(completed(pair, 1).buf, &got[1]);
    assert_int_equal(fi_cancel(&receiver->ep->fid, got), -FI_ENOENT);
}

PAIR_TEST(fi_setopt__what_there_is)
{
    struct fid *fid = &pair->sides[0].ep->fid;
    size_t value = 4000;
    size_t bytes = sizeof value;

    assert_int_equal(fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, sizeof value),
                     0);
    value = 0;
    assert_int_equal(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &bytes), 0);
    assert_int_equal(value, 4000);
    assert_int_equal(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value, &bytes), 0);
    assert_int_equal(value, 0);
    bytes = 1;
    assert_int_equal(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &bytes),
                     -FI_ETOOSMALL);
    assert_int_equal(fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, 1), -FI_EINVAL);
    assert_int_equal(fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_BUFFERED_MIN, &value, sizeof value),
                     -FI_ENOPROTOOPT);
}

TEST(fi_control__flags_of_operations)
{
    struct pair *pair = open_pair(&(struct pair_options){.tx_flags = FI_COMPLETION});
    struct fid *fid = &pair->sides[0].ep->fid;
    uint64_t flags = FI_TRANSMIT;

    assert_int_equal(fi_control(fid, FI_GETOPSFLAG, &flags), 0);
    assert_int_equal(flags, FI_COMPLETION);
    flags = FI_TRANSMIT | FI_INJECT;
    assert_int_equal(fi_control(fid, FI_SETOPSFLAG, &flags), 0);
    flags = FI_TRANSMIT;
    assert_int_equal(fi_control(fid, FI_GETOPSFLAG, &flags), 0);
    assert_int_equal(flags, FI_INJECT);
    flags = FI_TRANSMIT | FI_RECV;
    assert_int_equal(fi_control(fid, FI_GETOPSFLAG, &flags), -FI_EINVAL);
    flags = FI_RECV | FI_INJECT;
    assert_int_equal(fi_control(fid, FI_SETOPSFLAG, &flags), -FI_EINVAL);
    assert_int_equal(fi_control(fid, FI_BACKLOG, &flags), -FI_ENOSYS);
    close_pair(pair);
}

PAIR_TEST(fi_close__with_operations_outstanding)
{
    static uint8_t got[100000];
    const struct iovec parts[] = {{got, 5000}, {got + 5000, 5000}};

    assert_int_equal(fi_trecv(pair->sides[1].ep, got, sizeof got, NULL, FI_ADDR_UNSPEC, 1, 0, NULL),
                     0);
    assert_int_equal(fi_trecvv(pair->sides[1].ep, parts, NULL, 2, FI_ADDR_UNSPEC, 1, 0, NULL), 0);
    assert_int_equal(fi_tinject(pair->sides[1].ep, "a", 1, pair->sides[1].other, 1), 0);
    let_arrive(pair, 1);
}

/** The other side is in this thread, so it would never receive what is closed on. */
TEST(fi_close__no_longer_than_it_may)
{
    struct pair *pair = open_pair_with("FI_BEOWIRE_LINGER", "0");
    static uint8_t sent[300000];

    assert_int_equal(
        fi_tsend(pair->sides[0].ep, sent, sizeof sent, NULL, pair->sides[0].other, 1, NULL), 0);
    let_arrive(pair, 0);
    close_pair(pair);
}

static void *close_endpoint(void *endpoint)
{
    assert_int_equal(fi_close(&((struct fid_ep *)endpoint)->fid), 0);
    return NULL;
}

TEST(fi_close__while_the_other_side_receives)
{
    struct pair *pair = open_default_pair();
    uint8_t *sent = pattern(300000, 1);
    uint8_t *got = calloc(1, 300000);
    pthread_t closing;
    struct fi_cq_tagged_entry entry;
    time_t start = time(NULL);

    assert_non_null(got);
    assert_int_equal(fi_tsend(pair->sides[0].ep, sent, 300000, NULL, pair->sides[0].other, 1, NULL),
                     0);
    let_arrive(pair, 0);
    assert_int_equal(pthread_create(&closing, NULL, close_endpoint, pair->sides[0].ep), 0);
    assert_int_equal(fi_trecv(pair->sides[1].ep, got, 300000, NULL, FI_ADDR_UNSPEC, 1, 0, NULL), 0);
    while (fi_cq_read(pair->sides[1].cq, &entry, 1) == -FI_EAGAIN) {
        assert_false(is_late(start));
    }
    assert_memory_equal(got, sent, 300000);
    assert_int_equal(pthread_join(closing, NULL), 0);
    /* All but the endpoint. */
    assert_int_equal(fi_close(&pair->sides[0].cq->fid), 0);
    assert_int_equal(fi_close(&pair->sides[0].av->fid), 0);
    assert_int_equal(fi_close(&pair->sides[0].domain->fid), 0);
    assert_int_equal(fi_close(&pair->sides[0].fabric->fid), 0);
    fi_freeinfo(pair->sides[0].info);
    close_side(&pair->sides[1]);
    free(pair);
    free(sent);
    free(got);
}

/** What a child of fork() may not do is refused, and its parent goes on. @return all is. */
static bool is_refused(struct side *side, void *got)
{
    const struct fi_rma_iov place = {.len = 1};
    const struct iovec part = {got, 1};
    const struct fi_msg_rma put = {.msg_iov = &part,
                                   .iov_count = 1,
                                   .addr = side->other,
                                   .rma_iov = &place,
                                   .rma_iov_count = 1};
    struct fi_cq_tagged_entry entry;
    struct fid_mr *mr = NULL;

    const ssize_t statuses[] = {
        fi_cq_read(side->cq, &entry, 1),
        fi_cq_sread(side->cq, &entry, 1, NULL, -1),
        fi_cntr_wait(side->sent, 1000, -1),
        fi_tsend(side->ep, got, 1, NULL, side->other, 1, NULL),
        fi_tinject(side->ep, got, 1, side->other, 1),
        fi_send(side->ep, got, 1, NULL, side->other, NULL),
        fi_trecv(side->ep, got, 1, NULL, FI_ADDR_UNSPEC, 1, 0, NULL),
        fi_recv(side->ep, got, 1, NULL, FI_ADDR_UNSPEC, NULL),
        fi_writemsg(side->ep, &put, 0),
        fi_readmsg(side->ep, &put, 0),
        fi_cancel(&side->ep->fid, side),
        fi_mr_reg(side->domain, got, 1, FI_REMOTE_READ, 0, 77, 0, &mr, NULL),
    };
    for (unsigned i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        if (statuses[i] != -ECHILD) {
            print_error("call %u: %zd\n", i, statuses[i]);
            return false;
        }
    }
    return true;
}

TEST(every_function__in_a_child)
{
    struct pair *pair = open_pair(&(struct pair_options){.caps = FI_TAGGED | FI_MSG | FI_RMA,
                                                         .wait = FI_WAIT_FD,
                                                         .counter_wait = FI_WAIT_FD,
                                                         .counters = true});
    static uint8_t sent[300000];
    static uint8_t got[sizeof sent];
    struct side *receiver = &pair->sides[1];
    int status = -1;

    memset(sent, 7, sizeof sent);
    assert_int_equal(fi_trecv(receiver->ep, got, sizeof got, NULL, FI_ADDR_UNSPEC, 1, 0, got), 0);
    for (unsigned i = 0; i < 2; i++) { /* to cancel in vain */
        struct side *side = &pair->sides[i];
        assert_int_equal(fi_trecv(side->ep, NULL, 0, NULL, FI_ADDR_UNSPEC, 2, 0, side), 0);
    }
    assert_int_equal(
        fi_tsend(pair->sides[0].ep, sent, sizeof sent, NULL, pair->sides[0].other, 1, NULL), 0);
    pid_t child = fork();
    if (child == 0) {
        bool is_well = true;
        (void)alarm(PATIENCE_S); /* what does not end would be waited for */
        for (unsigned i = 0; i < 100; i++) {
            is_well = is_well && is_refused(&pair->sides[i % 2], got);
        }
        if (is_well) {
            close_pair(pair);
        }
        _exit(is_well ? 0 : 1);
    }
    assert_ptr_equal(completed(pair, 1).buf, got);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_memory_equal(got, sent, sizeof sent);
    close_pair(pair);
}

/** A process without any privilege is told once what it has to do without. */
TEST(fi_enable__lanes_that_are_missing)
{
    char said[SAID_BYTES];
    struct side side = {0};
    int status = -1;

    pid_t child = fork();
    if (child == 0) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {{0}, {0}};
        bool is_well = syscall(SYS_capset, &header, none) == 0;
        said_begin();
        open_side(&side, "end0", &(struct pair_options){0});
        said_end(said);
        close_side(&side);
        const char *line = strstr(said, "no permission for Ethernet frames (lane packet)");
        _exit(is_well && line != NULL && strstr(line + 1, "no permission") == NULL ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct pair *pairs[9];
    for (unsigned i = 0; i < 9; i++) {
        said_begin();
        pairs[i] = open_default_pair();
        said_end(said);
        const char *line = strstr(said, "without the lane tso/end0: ");
        /* Eight endpoints of an interface have it, and each is on both. */
        assert_true((line != NULL) == (i == 4));
    }
    for (unsigned i = 0; i < 9; i++) {
        close_pair(pairs[i]);
    }
}

/** Two sides with these job keys, of which NULL is none, that know each other. */
static struct pair *open_jobs(const char *first, const char *second)
{
    const struct pair_options options = {0};
    const char *const keys[] = {first, second};
    struct pair *pair = calloc(1, sizeof *pair);

    assert_non_null(pair);
    for (unsigned i = 0; i < 2; i++) {
        if (keys[i] != NULL) {
            assert_int_equal(setenv("FI_BEOWIRE_JOB_KEY", keys[i], 1), 0);
        }
        open_side(&pair->sides[i], i == 0 ? "end0" : "end1", &options);
        assert_int_equal(unsetenv("FI_BEOWIRE_JOB_KEY"), 0);
    }
    introduce(&pair->sides[0], &pair->sides[1]);
    introduce(&pair->sides[1], &pair->sides[0]);
    return pair;
}

TEST(fi_tsend__to_another_job_is_refused)
{
    static const char *const keys[][2] = {{"4711", "4712"}, {"red", NULL}, {NULL, "red"}};

    for (unsigned i = 0; i < 3; i++) {
        struct pair *pair = open_jobs(keys[i][0], keys[i][1]);
        assert_int_equal(fi_tsend(pair->sides[0].ep, "a", 1, NULL, pair->sides[0].other, 1, pair),
                         0);
        struct fi_cq_err_entry error = failed(pair, 0);
        assert_int_equal(error.err, FI_EKEYREJECTED);
        assert_ptr_equal(error.op_context, pair);
        assert_non_null(strstr(error.err_data, "another job"));
        assert_int_equal(fi_tinject(pair->sides[0].ep, "a", 1, pair->sides[0].other, 1),
                         -FI_EKEYREJECTED);
        close_pair(pair);
    }
}

TEST(fi_tsend__within_a_job)
{
    static const char *const keys[][2] = {{"4711", "4711"}, {"", NULL}};

    for (unsigned i = 0; i < 2; i++) {
        struct pair *pair = open_jobs(keys[i][0], keys[i][1]);
        let_arrive(pair, 0);
        close_pair(pair);
    }
}

/** Where in a name the number is that no other endpoint has (PROTOCOL.md). */
enum { INCARNATION = 8, MANY = 1000 };

/** Sends to peers that there are not, and that nobody has announced. @return to how many. */
static unsigned send_to_many(struct side *side)
{
    uint8_t name[FI_NAME_MAX];
    size_t bytes = sizeof name;
    unsigned sent = 0;

    assert_int_equal(fi_getname(&side->ep->fid, name, &bytes), 0);
    for (unsigned i = 0; i < MANY; i++) {
        fi_addr_t address = FI_ADDR_NOTAVAIL;
        memcpy(name + INCARNATION, &i, sizeof i);
        assert_int_equal(fi_av_insert(side->av, name, 1, &address, 0, NULL), 1);
        sent += fi_tsend(side->ep, "a", 1, NULL, address, 1, NULL) == 0;
    }
    return sent;
}

/* Nobody waits at the end for peers that there are not. */
TEST(fi_tsend__to_many_that_were_not_announced)
{
    struct pair *pair = open_pair_with("FI_BEOWIRE_LINGER", "0");
    assert_int_equal(send_to_many(&pair->sides[0]), MANY);
    close_pair(pair);
}

TEST(fi_tsend__to_more_than_there_is_room_for)
{
    char said[SAID_BYTES];

    assert_int_equal(setenv("FI_BEOWIRE_LINGER", "0", 1), 0);
    struct pair *pair = open_pair_with("FI_BEOWIRE_PEERS", "100");
    assert_int_equal(unsetenv("FI_BEOWIRE_LINGER"), 0);
    said_begin();
    assert_int_equal(send_to_many(&pair->sides[0]), 100);
    said_end(said);
    assert_non_null(strstr(said, "more than 100 that were not announced, raise FI_BEOWIRE_PEERS"));
    assert_string_equal(strchr(said, '\n'), "\n"); /* once */
    close_pair(pair);
}
