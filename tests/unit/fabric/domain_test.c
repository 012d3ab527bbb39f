/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <pthread.h>
#include <rdma/fi_rma.h>
#include <stdatomic.h>

#define KEY 42

PAIR_TEST(fi_close__what_is_in_use)
{
    assert_int_equal(fi_close(&pair->sides[0].domain->fid), -FI_EBUSY);
    assert_int_equal(fi_close(&pair->sides[0].fabric->fid), -FI_EBUSY);
}

TEST(fi_domain__needs_the_name_of_an_interface)
{
    struct fi_info *info = get_info("end0", &(struct pair_options){0});
    struct fid_fabric *fabric = NULL;
    struct fid_domain *domain = NULL;

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
PAIR_TEST(calls__that_are_not_supported_say_so)
{
    struct side *side = &pair->sides[0];
    struct fid_ep *ep = NULL;
    struct fid_stx *stx = NULL;
    struct fid_pep *pep = NULL;
    struct fid_wait *wait = NULL;
    struct fi_wait_attr wait_attributes = {0};
    void *ops = NULL;

    assert_int_equal(fi_scalable_ep(side->domain, side->info, &ep, NULL), -FI_ENOSYS);
    assert_int_equal(fi_stx_context(side->domain, NULL, &stx, NULL), -FI_ENOSYS);
    assert_int_equal(fi_srx_context(side->domain, NULL, &ep, NULL), -FI_ENOSYS);
    assert_int_equal(fi_passive_ep(side->fabric, side->info, &pep, NULL), -FI_ENOSYS);
    assert_int_equal(fi_wait_open(side->fabric, &wait_attributes, &wait), -FI_ENOSYS);
    assert_int_equal(fi_connect(side->ep, "", NULL, 0), -FI_ENOSYS);
    assert_int_equal(fi_tx_context(side->ep, 0, NULL, &ep, NULL), -FI_ENOSYS);
    assert_int_equal(fi_domain_bind(side->domain, &side->cq->fid, 0), -FI_ENOSYS);
    assert_int_equal(fi_open_ops(&side->domain->fid, "", 0, &ops, NULL), -FI_ENOSYS);
}

TEST(fi_trywait__only_while_there_is_nothing)
{
    struct pair *pair = open_pair(&(struct pair_options){.wait = FI_WAIT_UNSPEC});
    struct side *receiver = &pair->sides[1];
    struct fid *fids[] = {&receiver->cq->fid};
    char got = 0;

    assert_int_equal(fi_trywait(receiver->fabric, fids, 1), 0);
    assert_int_equal(fi_trecv(receiver->ep, &got, 1, NULL, FI_ADDR_UNSPEC, 1, 0, &got), 0);
    assert_int_equal(fi_cancel(&receiver->ep->fid, &got), 0);
    assert_int_equal(fi_trywait(receiver->fabric, fids, 1), -FI_EAGAIN);
    close_pair(pair);
}

/* ---- threads that share what each threading model lets them: every byte is right ------------- */

enum {
    ROUNDS = 150,
    BYTES_MAX = 100000,
    ENDPOINTS_MAX = 2, /**< of a side */
    THREADS_MAX = 2,   /**< of an endpoint */
    SLOTS = ENDPOINTS_MAX * THREADS_MAX,
};

struct model {
    enum fi_threading threading;
    unsigned endpoints; /**< of each side, in one domain */
    unsigned threads;   /**< of each endpoint */
};

/** A node: all that is in one domain. */
struct node {
    struct side sides[ENDPOINTS_MAX];
    struct fid_mr *region;
    uint8_t *memory; /**< of peers: BYTES_MAX for each of their threads */
};

struct worker {
    const struct side *side;
    uint64_t number; /**< the partner's is the same: it tags messages, and names a slot of memory */
    _Atomic unsigned *finished; /**< workers */
    unsigned workers;
    unsigned failures;
    uint8_t *out;
    uint8_t *in;
};

/** Completions are everybody's who shares the queue: who finds one says so in its context. */
typedef _Atomic bool operation;

static void look(struct worker *worker)
{
    struct fi_cq_tagged_entry entry;
    ssize_t count = fi_cq_read(worker->side->cq, &entry, 1);

    if (count == 1) {
        atomic_store((operation *)entry.op_context, true);
    } else if (count != -FI_EAGAIN) {
        worker->failures++;
    }
}

/** Repeats a call until it is taken. */
#define TAKEN(worker, start, call)                                                                 \
    do {                                                                                           \
        ssize_t status_ = 0;                                                                       \
        while ((status_ = (call)) == -FI_EAGAIN && (worker)->failures == 0) {                      \
            look(worker);                                                                          \
            (worker)->failures += is_late(start);                                                  \
        }                                                                                          \
        (worker)->failures += status_ != 0;                                                        \
    } while (false)

static void await(struct worker *worker, time_t start, operation *done)
{
    while (!atomic_load(done) && worker->failures == 0) {
        look(worker);
        worker->failures += is_late(start);
    }
}

/** A message each way at the same time. */
static void swap_messages(struct worker *worker, time_t start, size_t bytes, unsigned seed)
{
    const struct side *side = worker->side;
    operation sent = false;
    operation received = false;

    fill(worker->out, bytes, seed);
    memset(worker->in, 0, bytes);
    TAKEN(worker, start,
          fi_trecv(side->ep, worker->in, bytes, NULL, FI_ADDR_UNSPEC, worker->number, 0,
                   (void *)&received));
    if (seed % 2 == 0 && bytes <= side->info->tx_attr->inject_size) {
        TAKEN(worker, start, fi_tinject(side->ep, worker->out, bytes, side->other, worker->number));
        memset(worker->out, 0, bytes);
        sent = true;
    } else {
        TAKEN(worker, start,
              fi_tsend(side->ep, worker->out, bytes, NULL, side->other, worker->number,
                       (void *)&sent));
    }
    await(worker, start, &sent);
    await(worker, start, &received);
    fill(worker->out, bytes, seed);
    worker->failures += memcmp(worker->in, worker->out, bytes) != 0;
}

/** What has been put into the partner's memory is got back. */
static void put_and_get(struct worker *worker, time_t start, size_t bytes, unsigned seed)
{
    const struct side *side = worker->side;
    uint64_t place = worker->number * BYTES_MAX;
    operation put = false;
    operation got = false;

    fill(worker->out, bytes, seed);
    memset(worker->in, 0, bytes);
    TAKEN(worker, start,
          fi_write(side->ep, worker->out, bytes, NULL, side->other, place, KEY, (void *)&put));
    await(worker, start, &put);
    TAKEN(worker, start,
          fi_read(side->ep, worker->in, bytes, NULL, side->other, place, KEY, (void *)&got));
    await(worker, start, &got);
    fill(worker->out, bytes, seed);
    worker->failures += memcmp(worker->in, worker->out, bytes) != 0;
}

static void *work(void *argument)
{
    static const size_t sizes[] = {0, 1, 8, 200, 1437, 4000, 16384, 30000, 40000, BYTES_MAX};
    struct worker *worker = argument;

    for (uint32_t i = 0; i < ROUNDS && worker->failures == 0; i++) {
        time_t start = time(NULL);
        size_t bytes = sizes[i % (sizeof sizes / sizeof *sizes)];
        swap_messages(worker, start, bytes, i);
        if (i % 3 == 0) {
            put_and_get(worker, start, bytes, i + 1);
        }
    }
    time_t start = time(NULL);
    atomic_fetch_add(worker->finished, 1);
    while (atomic_load(worker->finished) < worker->workers && !is_late(start)) {
        look(worker); /* for the others */
    }
    return NULL;
}

static void open_node(struct node *node, const char *interface, const struct model *model)
{
    struct pair_options options = {.caps = FI_TAGGED | FI_MSG | FI_RMA,
                                   .threading = model->threading};

    open_domain(&node->sides[0], interface, &options);
    for (unsigned i = 0; i < model->endpoints; i++) {
        node->sides[i] = node->sides[0]; /* the domain; what follows is each one's own */
        open_endpoint(&node->sides[i], &options);
    }
    node->memory = calloc(SLOTS, BYTES_MAX);
    assert_non_null(node->memory);
    assert_int_equal(fi_mr_reg(node->sides[0].domain, node->memory, (size_t)SLOTS * BYTES_MAX,
                               FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &node->region, NULL),
                     0);
}

static void close_node(struct node *node, const struct model *model)
{
    assert_int_equal(fi_close(&node->region->fid), 0);
    for (unsigned i = 1; i < model->endpoints; i++) {
        assert_int_equal(fi_close(&node->sides[i].ep->fid), 0);
        assert_int_equal(fi_close(&node->sides[i].cq->fid), 0);
        assert_int_equal(fi_close(&node->sides[i].av->fid), 0);
    }
    close_side(&node->sides[0]);
    free(node->memory);
}

/** The threads of both nodes, partners at the same time. */
static void run_workers(struct node *nodes, const struct model *model)
{
    struct worker workers[2 * SLOTS];
    pthread_t threads[2 * SLOTS];
    _Atomic unsigned finished = 0;
    unsigned slots = model->endpoints * model->threads;

    for (unsigned i = 0; i < 2 * slots; i++) {
        unsigned slot = i / 2;
        workers[i] = (struct worker){.side = &nodes[i % 2].sides[slot / model->threads],
                                     .number = slot,
                                     .finished = &finished,
                                     .workers = 2 * slots,
                                     .out = malloc(BYTES_MAX),
                                     .in = malloc(BYTES_MAX)};
        assert_non_null(workers[i].out);
        assert_non_null(workers[i].in);
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < 2 * slots; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (unsigned i = 0; i < 2 * slots; i++) {
        assert_int_equal(workers[i].failures, 0);
        free(workers[i].out);
        free(workers[i].in);
    }
}

static void work_under(const struct model *model)
{
    struct node nodes[2] = {0};

    open_node(&nodes[0], "end0", model);
    open_node(&nodes[1], "end1", model);
    for (unsigned i = 0; i < model->endpoints; i++) {
        introduce(&nodes[0].sides[i], &nodes[1].sides[i]);
        introduce(&nodes[1].sides[i], &nodes[0].sides[i]);
    }
    run_workers(nodes, model);
    close_node(&nodes[0], model);
    close_node(&nodes[1], model);
}

TEST(thread_safe__all_share_an_endpoint)
{
    work_under(&(struct model){.threading = FI_THREAD_SAFE, .endpoints = 1, .threads = 2});
}

TEST(thread_safe__two_endpoints_with_two_threads_each)
{
    work_under(&(struct model){.threading = FI_THREAD_SAFE, .endpoints = 2, .threads = 2});
}

TEST(thread_fid__each_has_objects_of_its_own_in_a_domain)
{
    work_under(&(struct model){.threading = FI_THREAD_FID, .endpoints = 2, .threads = 1});
}

TEST(thread_endpoint__each_has_an_endpoint_in_a_domain)
{
    work_under(&(struct model){.threading = FI_THREAD_ENDPOINT, .endpoints = 2, .threads = 1});
}

TEST(thread_completion__each_has_a_queue_in_a_domain)
{
    work_under(&(struct model){.threading = FI_THREAD_COMPLETION, .endpoints = 2, .threads = 1});
}

TEST(thread_domain__each_has_a_domain)
{
    work_under(&(struct model){.threading = FI_THREAD_DOMAIN, .endpoints = 1, .threads = 1});
}
