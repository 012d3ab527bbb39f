/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_atomic() and related calls. */
#include "atomic.h"

#include "complete.h"
#include "endpoint.h"
#include "remote.h"
#include "remote/atomic.h"

#include <stdlib.h>
#include <string.h>

static_assert((int)FI_MIN == BEOWIRE_ATOMIC_MIN && (int)FI_BXOR == BEOWIRE_ATOMIC_BIT_XOR &&
                  (int)FI_ATOMIC_READ == BEOWIRE_ATOMIC_READ &&
                  (int)FI_CSWAP == BEOWIRE_ATOMIC_SWAP_EQUAL &&
                  (int)FI_CSWAP_GT == BEOWIRE_ATOMIC_SWAP_GREATER &&
                  (int)FI_MSWAP == BEOWIRE_ATOMIC_SWAP_MASKED,
              "operations have libfabric's numbers");
static_assert((int)FI_INT8 == BEOWIRE_INT8 && (int)FI_UINT64 == BEOWIRE_UINT64 &&
                  (int)FI_DOUBLE == BEOWIRE_DOUBLE,
              "and types");

/** An array in parts. */
struct array {
    const struct fi_ioc *parts;
    size_t count;
};

struct operation {
    struct remote remote;
    enum fi_datatype type;
    enum fi_op op;
    struct array operand;
    struct array compare;
    struct array result;
};

static bool compares(enum fi_op op)
{
    return op >= FI_CSWAP && op <= FI_MSWAP;
}

/** Is the operation one of the call: fi_atomic() (0), fetching, or comparing? */
static bool belongs(enum fi_op op, uint64_t call)
{
    if (call == FI_COMPARE_ATOMIC) {
        return compares(op);
    }
    return !compares(op) && (call == FI_FETCH_ATOMIC || op != FI_ATOMIC_READ);
}

static size_t elements(const struct array *array)
{
    size_t count = 0;

    for (size_t i = 0; i < array->count; i++) {
        count += array->parts[i].count;
    }
    return count;
}

/** Copies an array to `to`. @return the end of the copy. */
static uint8_t *flatten(uint8_t *to, const struct array *array, size_t each)
{
    for (size_t i = 0; i < array->count; i++) {
        size_t bytes = array->parts[i].count * each;
        if (bytes > 0) {
            memcpy(to, array->parts[i].addr, bytes);
        }
        to += bytes;
    }
    return to;
}

/** Arrays in one piece each, copied if they are in several, or if they will not stay. Results in
 * several parts come to the copy, and are scattered later. */
static int arrange(const struct operation *operation, size_t count, struct request *request,
                   struct beowire_atomic *atomic)
{
    size_t each = atomic_type_bytes(operation->type);
    bool keep = (operation->remote.flags & FI_INJECT) != 0;
    bool copies = keep || operation->operand.count > 1 || operation->compare.count > 1 ||
                  operation->result.count > 1;

    if (!copies) {
        atomic->operand = operation->operand.count > 0 ? operation->operand.parts[0].addr : NULL;
        atomic->compare = operation->compare.count > 0 ? operation->compare.parts[0].addr : NULL;
        atomic->result = operation->result.count > 0 ? operation->result.parts[0].addr : NULL;
        return 0;
    }
    request->gathered = malloc(sizeof *request->gathered + 3 * count * each);
    if (request->gathered == NULL) {
        return -FI_ENOMEM;
    }
    struct gathered *gathered = request->gathered;
    gathered->count = operation->result.count;
    for (size_t i = 0; i < operation->result.count; i++) {
        gathered->parts[i] = (struct iovec){.iov_base = operation->result.parts[i].addr,
                                            .iov_len = operation->result.parts[i].count * each};
    }
    uint8_t *operand = gathered->data + count * each; /* behind the results */
    uint8_t *compare = flatten(operand, &operation->operand, each);
    (void)flatten(compare, &operation->compare, each);
    atomic->operand = operation->operand.count > 0 ? operand : NULL;
    atomic->compare = operation->compare.count > 0 ? compare : NULL;
    atomic->result = operation->result.count > 0 ? gathered->data : NULL;
    return 0;
}

static int check(const struct operation *operation, uint64_t call, size_t count)
{
    if (!belongs(operation->op, call) || atomic_type_bytes(operation->type) == 0) {
        return -FI_EOPNOTSUPP;
    }
    if (operation->operand.count > INFO_IOV_LIMIT || operation->compare.count > INFO_IOV_LIMIT ||
        operation->result.count > INFO_IOV_LIMIT || count == 0 || count > UINT32_MAX) {
        return -FI_EINVAL;
    }
    bool fits = (operation->op == FI_ATOMIC_READ || elements(&operation->operand) == count) &&
                (call != FI_COMPARE_ATOMIC || elements(&operation->compare) == count) &&
                (call == 0 || elements(&operation->result) == count);
    return fits ? 0 : -FI_EINVAL;
}

static int post(struct endpoint *endpoint, const struct operation *operation, beowire_peer peer,
                size_t count)
{
    const struct beowire_remote place = {.key = operation->remote.key,
                                         .address = operation->remote.address};
    struct beowire_atomic atomic = {
        .operation = (enum beowire_atomic_operation)operation->op,
        .type = (enum beowire_atomic_type)operation->type,
        .count = (uint32_t)count,
    };
    struct request *request = remote_request_take(endpoint, &operation->remote);

    if (request == NULL) {
        return -FI_EAGAIN;
    }
    int status = arrange(operation, count, request, &atomic);
    if (status == 0) {
        status = beowire_atomic(endpoint->transport, peer, &place, &atomic, request);
    }
    if (status != 0) {
        requests_give(&endpoint->requests, request);
    }
    return status;
}

/** Performs it. `call`: 0, FI_FETCH_ATOMIC or FI_COMPARE_ATOMIC. */
static ssize_t carry_out(struct fid_ep *fid, struct operation *operation, uint64_t call)
{
    struct endpoint *endpoint = endpoint_of(fid);
    size_t count = elements(call == 0 ? &operation->operand : &operation->result);
    beowire_peer peer = 0;

    if (operation->op == FI_ATOMIC_READ) {
        operation->operand = (struct array){0}; /* the man page lets it be anything */
    }
    operation->remote.completion = FI_ATOMIC | (call == 0 ? FI_WRITE : FI_READ);
    domain_lock(endpoint->domain);
    int status = check(operation, call, count);
    if (status == 0) {
        status = remote_check(endpoint, &operation->remote, &peer);
    }
    if (status == 0) {
        status = post(endpoint, operation, peer, count);
    }
    return remote_finish(endpoint, status);
}

/** Common arguments of the calls without a message. */
static struct operation described(struct fid_ep *fid, struct array operand, fi_addr_t to,
                                  uint64_t address, uint64_t key, enum fi_datatype type,
                                  enum fi_op op, void *context)
{
    return (struct operation){
        .remote = {.to = to,
                   .address = address,
                   .key = key,
                   .flags = endpoint_of(fid)->tx_flags,
                   .context = context},
        .type = type,
        .op = op,
        .operand = operand,
    };
}

/* ---- fi_atomic() ---------------------------------------------------------------------------- */

static ssize_t atomic_writev(struct fid_ep *fid, const struct fi_ioc *parts, void **desc,
                             size_t count, fi_addr_t to, uint64_t address, uint64_t key,
                             enum fi_datatype type, enum fi_op op, void *context)
{
    struct operation operation =
        described(fid, (struct array){parts, count}, to, address, key, type, op, context);

    (void)desc;
    return carry_out(fid, &operation, 0);
}

static ssize_t atomic_write(struct fid_ep *fid, const void *buffer, size_t count, void *desc,
                            fi_addr_t to, uint64_t address, uint64_t key, enum fi_datatype type,
                            enum fi_op op, void *context)
{
    const struct fi_ioc part = {.addr = (void *)(uintptr_t)buffer, .count = count};

    (void)desc;
    return atomic_writev(fid, &part, NULL, 1, to, address, key, type, op, context);
}

static ssize_t atomic_inject(struct fid_ep *fid, const void *buffer, size_t count, fi_addr_t to,
                             uint64_t address, uint64_t key, enum fi_datatype type, enum fi_op op)
{
    const struct fi_ioc part = {.addr = (void *)(uintptr_t)buffer, .count = count};
    struct operation operation = {
        .remote = {.to = to, .address = address, .key = key, .flags = FI_INJECT, .quiet = true},
        .type = type,
        .op = op,
        .operand = {&part, 1},
    };

    return carry_out(fid, &operation, 0);
}

/** The arguments in a message. @return false: not exactly one place in the peer's memory. */
static bool from_message(const struct fi_msg_atomic *message, uint64_t flags,
                         struct operation *operation)
{
    if (message->rma_iov_count != INFO_RMA_IOV_LIMIT || message->rma_iov == NULL) {
        return false;
    }
    *operation = (struct operation){
        .remote = {.to = message->addr,
                   .address = message->rma_iov[0].addr,
                   .key = message->rma_iov[0].key,
                   .flags = flags,
                   .context = message->context},
        .type = message->datatype,
        .op = message->op,
        .operand = {message->msg_iov, message->iov_count},
    };
    return true;
}

static ssize_t atomic_writemsg(struct fid_ep *fid, const struct fi_msg_atomic *message,
                               uint64_t flags)
{
    struct operation operation;

    return from_message(message, flags, &operation) ? carry_out(fid, &operation, 0) : -FI_EINVAL;
}

/* ---- fi_fetch_atomic() ---------------------------------------------------------------------- */

static ssize_t atomic_readwritev(struct fid_ep *fid, const struct fi_ioc *parts, void **desc,
                                 size_t count, struct fi_ioc *results, void **result_desc,
                                 size_t result_count, fi_addr_t to, uint64_t address, uint64_t key,
                                 enum fi_datatype type, enum fi_op op, void *context)
{
    struct operation operation =
        described(fid, (struct array){parts, count}, to, address, key, type, op, context);

    operation.result = (struct array){results, result_count};

    (void)desc;
    (void)result_desc;
    return carry_out(fid, &operation, FI_FETCH_ATOMIC);
}

static ssize_t atomic_readwrite(struct fid_ep *fid, const void *buffer, size_t count, void *desc,
                                void *result, void *result_desc, fi_addr_t to, uint64_t address,
                                uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
    const struct fi_ioc part = {.addr = (void *)(uintptr_t)buffer, .count = count};
    struct fi_ioc result_part = {.addr = result, .count = count};

    (void)desc;
    (void)result_desc;
    return atomic_readwritev(fid, &part, NULL, 1, &result_part, NULL, 1, to, address, key, type, op,
                             context);
}

static ssize_t atomic_readwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *message,
                                   struct fi_ioc *results, void **result_desc, size_t result_count,
                                   uint64_t flags)
{
    struct operation operation;

    (void)result_desc;
    if (!from_message(message, flags, &operation)) {
        return -FI_EINVAL;
    }
    operation.result = (struct array){results, result_count};
    return carry_out(fid, &operation, FI_FETCH_ATOMIC);
}

/* ---- fi_compare_atomic() -------------------------------------------------------------------- */

static ssize_t atomic_compwritev(struct fid_ep *fid, const struct fi_ioc *parts, void **desc,
                                 size_t count, const struct fi_ioc *compares, void **compare_desc,
                                 size_t compare_count, struct fi_ioc *results, void **result_desc,
                                 size_t result_count, fi_addr_t to, uint64_t address, uint64_t key,
                                 enum fi_datatype type, enum fi_op op, void *context)
{
    struct operation operation =
        described(fid, (struct array){parts, count}, to, address, key, type, op, context);

    operation.compare = (struct array){compares, compare_count};
    operation.result = (struct array){results, result_count};

    (void)desc;
    (void)compare_desc;
    (void)result_desc;
    return carry_out(fid, &operation, FI_COMPARE_ATOMIC);
}

static ssize_t atomic_compwrite(struct fid_ep *fid, const void *buffer, size_t count, void *desc,
                                const void *compare, void *compare_desc, void *result,
                                void *result_desc, fi_addr_t to, uint64_t address, uint64_t key,
                                enum fi_datatype type, enum fi_op op, void *context)
{
    const struct fi_ioc part = {.addr = (void *)(uintptr_t)buffer, .count = count};
    const struct fi_ioc compare_part = {.addr = (void *)(uintptr_t)compare, .count = count};
    struct fi_ioc result_part = {.addr = result, .count = count};

    (void)desc;
    (void)compare_desc;
    (void)result_desc;
    return atomic_compwritev(fid, &part, NULL, 1, &compare_part, NULL, 1, &result_part, NULL, 1, to,
                             address, key, type, op, context);
}

static ssize_t atomic_compwritemsg(struct fid_ep *fid, const struct fi_msg_atomic *message,
                                   const struct fi_ioc *compares, void **compare_desc,
                                   size_t compare_count, struct fi_ioc *results, void **result_desc,
                                   size_t result_count, uint64_t flags)
{
    struct operation operation;

    (void)compare_desc;
    (void)result_desc;
    if (!from_message(message, flags, &operation)) {
        return -FI_EINVAL;
    }
    operation.compare = (struct array){compares, compare_count};
    operation.result = (struct array){results, result_count};
    return carry_out(fid, &operation, FI_COMPARE_ATOMIC);
}

/* ---- queries -------------------------------------------------------------------------------- */

static int valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count,
                 uint64_t call)
{
    const struct endpoint *endpoint = endpoint_of(fid);

    if (endpoint->transport == NULL) {
        return -FI_EOPBADSTATE;
    }
    *count = belongs(op, call)
                 ? beowire_atomic_count(endpoint->transport, (enum beowire_atomic_operation)op,
                                        (enum beowire_atomic_type)type)
                 : 0;
    return *count > 0 ? 0 : -FI_EOPNOTSUPP;
}

static int atomic_writevalid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op,
                             size_t *count)
{
    return valid(fid, type, op, count, 0);
}

static int atomic_readwritevalid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op,
                                 size_t *count)
{
    return valid(fid, type, op, count, FI_FETCH_ATOMIC);
}

static int atomic_compwritevalid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op,
                                 size_t *count)
{
    return valid(fid, type, op, count, FI_COMPARE_ATOMIC);
}

int atomic_query(struct fid_domain *domain, enum fi_datatype type, enum fi_op op,
                 struct fi_atomic_attr *attributes, uint64_t flags)
{
    (void)domain;
    if ((flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC)) != 0 ||
        flags == (FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC)) {
        return -FI_EBADFLAGS;
    }
    if (!atomic_is_supported(op, type) || !belongs(op, flags)) {
        return -FI_EOPNOTSUPP;
    }
    attributes->size = atomic_type_bytes(type);
    attributes->count = atomic_count_max(op, type);
    return 0;
}

struct fi_ops_atomic endpoint_atomic_ops = {
    .size = sizeof(struct fi_ops_atomic),
    .write = atomic_write,
    .writev = atomic_writev,
    .writemsg = atomic_writemsg,
    .inject = atomic_inject,
    .readwrite = atomic_readwrite,
    .readwritev = atomic_readwritev,
    .readwritemsg = atomic_readwritemsg,
    .compwrite = atomic_compwrite,
    .compwritev = atomic_compwritev,
    .compwritemsg = atomic_compwritemsg,
    .writevalid = atomic_writevalid,
    .readwritevalid = atomic_readwritevalid,
    .compwritevalid = atomic_compwritevalid,
};
