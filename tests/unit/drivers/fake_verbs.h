/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_verbs.h - libibverbs with a device that is none, so that drivers over it are tested where no
 * RDMA device is: what they call is found in the program before it is found in the library.
 *
 * Each connection (reliable, RC) is a datagram socket of this network namespace, by its number; a
 * thread serves it as a card would while the program does other things. It is stricter than a card:
 * a message for which no receive is posted fails at once, and a completion queue that overflows, or
 * memory that is forgotten while it is in use, ends the process.
 *
 * What the program calls is in fake_verbs.c, what goes between connections in fake_verbs_wire.c.
 * One lock for all.
 */
#ifndef BEOWIRE_TEST_FAKE_VERBS_H
#define BEOWIRE_TEST_FAKE_VERBS_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#define CONNECTIONS 8
#define REGIONS 512
#define QUEUE 512
#define READS 64
#define INLINE_BYTES 128
#define MESSAGE_BYTES_MAX (8U << 20)

#define require(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

struct work {
    uint64_t id;
    enum ibv_wr_opcode opcode;
    uint32_t immediate;
    uint32_t key;
    uint64_t address;
    uint8_t *data;
    uint8_t copy[INLINE_BYTES];
    uint32_t bytes;
    uint32_t moved; /* sent; of a read, received */
};

struct queue {
    struct ibv_cq cq;
    struct ibv_wc entries[QUEUE];
    uint64_t first;
    uint64_t end;
    bool armed;
};

struct connection {
    struct ibv_qp qp;
    int fd;
    enum ibv_qp_state state;
    uint32_t peer;
    int access;
    struct work sends[QUEUE];
    uint64_t send_first; /* not completed */
    uint64_t send_next;  /* not sent yet */
    uint64_t send_end;
    uint64_t acknowledged; /* of those that were sent */
    uint64_t waits_since_ns;
    struct work receives[QUEUE];
    uint64_t receive_first;
    uint64_t receive_end;
    struct work reads[QUEUE]; /* of the other end, to be answered */
    uint64_t read_first;
    uint64_t read_end;
    enum ibv_wc_status answers[QUEUE]; /* acknowledgements to be sent */
    uint64_t answer_first;
    uint64_t answer_end;
};

struct fake {
    pthread_mutex_t lock;
    struct connection *connections[CONNECTIONS];
    struct ibv_mr *regions[REGIONS];
    bool running; /* the thread */
};

extern struct fake fake;

/** Does somebody know this memory by this key, with this access? */
bool fake_is_known(uint32_t key, uint64_t address, uint64_t bytes, int access);

/** The name of a connection's socket. Its length. */
socklen_t fake_name(uint32_t number, struct sockaddr_un *name);

/** Completes the oldest send, or receive. */
void fake_end_send(struct connection *connection, enum ibv_wc_status status);
void fake_end_receive(struct connection *connection, struct ibv_wc completion);

/** Sends what can go now. */
void fake_send(struct connection *connection);

/** Receives and sends for all connections. */
void fake_serve(void);

/** The thread: does so until `running` is false. */
void *fake_serve_for_ever(void *unused);

#endif
