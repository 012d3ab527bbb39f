/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_meet.h"

#include "lane/shm_segment.h"
#include "lane/shm_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 64
#define ROUNDS_OF_EVENTS 8

/** The kind of an event, in its data above the index. */
enum event_of { EVENT_LISTENER, EVENT_INBOUND, EVENT_OUTBOUND };

static uint64_t event_data(enum event_of of, uint32_t index)
{
    return (uint64_t)of << 32 | index;
}

static int watch(const struct shm_lane *shm, int operation, int socket, enum event_of of,
                 uint32_t index)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = event_data(of, index)};

    return epoll_ctl(shm->events, operation, socket, &event) == 0 ? 0 : -errno;
}

int shm_meet_watch(struct shm_lane *shm)
{
    return watch(shm, EPOLL_CTL_ADD, shm->listener, EVENT_LISTENER, 0);
}

/* ---- sending to a peer --------------------------------------------------------------------- */

/** @return 0 also if there is no such process: then the peer has ended. */
static int connect_peer(struct shm_lane *shm, struct shm_peer *peer)
{
    int connection = shm_socket_connect(peer->incarnation, &peer->process);

    if (connection == -ECONNREFUSED) {
        shm_peers_end(shm, peer);
        return 0;
    }
    if (connection < 0) {
        return connection;
    }
    if (watch(shm, EPOLL_CTL_ADD, connection, EVENT_OUTBOUND, peer->index) != 0) {
        close(connection);
        return -ENOMEM;
    }
    peer->outbound = connection;
    return 0;
}

int shm_meet_reach(struct shm_lane *shm, uint64_t incarnation, struct shm_peer **found)
{
    struct shm_peer *peer = shm_peers_find(shm, incarnation);

    if (peer == NULL) {
        int status = shm_peers_add(shm, incarnation, &peer);
        if (status != 0) {
            return status;
        }
    }
    peer->wanted = true;
    if (peer->ended_is_told) { /* not to a new process */
        peer->ended_is_told = false;
        shm->ended_count++;
    }
    if (peer->outbound < 0 && !peer->ended) {
        int status = connect_peer(shm, peer);
        if (status != 0 && status != -EAGAIN) {
            peer->wanted = false;
            shm->untidy = true;
            return -EHOSTUNREACH;
        }
    }
    *found = peer;
    return 0;
}

int shm_meet_prepare(struct shm_lane *shm, struct shm_peer *peer)
{
    void *memory = NULL;
    int file = -1;

    int status = peer->outbound < 0 ? connect_peer(shm, peer) : 0;
    if (status == -EPERM) {
        shm_peers_end(shm, peer); /* another process has its name now */
    } else if (status != 0) {
        return -EAGAIN;
    }
    if (peer->ended) {
        return -ECONNRESET;
    }
    struct shm_producer *producer = calloc(1, sizeof *producer);
    if (producer == NULL ||
        shm_segment_make("beowire-ring", sizeof *producer->ring, &memory, &file) != 0) {
        free(producer);
        return -EAGAIN;
    }
    producer->ring = memory;
    peer->producer = producer;
    struct shm_message hello = {.kind = SHM_HELLO, .incarnation = shm->incarnation};
    status = shm_socket_send(peer->outbound, hello, file);
    close(file);
    if (status != 0) {
        shm_peers_end(shm, peer);
        return -ECONNRESET;
    }
    return 0;
}

/** Receives the peer's reply, if it has arrived. If there is no room for its bell in this process
 *  (a file, an address), the peer is woken only by its socket. */
static void receive_reply(struct shm_lane *shm, struct shm_peer *peer)
{
    struct shm_message reply;
    void *memory = NULL;
    int file = -1;
    int status = shm_socket_receive(peer->outbound, SHM_REPLY, &reply, &file);

    if (status == -EAGAIN) {
        return;
    }
    if (status == 0) {
        status = shm_segment_map(file, sizeof *peer->bell, &memory);
        status = status == -EINVAL ? -EPROTO : status;
        close(file);
    }
    if (status == -EPROTO || status == -ECONNRESET) {
        shm_peers_end(shm, peer);
        return;
    }
    peer->replied = true;
    peer->bell = memory;
    peer->bell_number = reply.bell;
}

void shm_meet_wake(struct shm_lane *shm, struct shm_peer *peer, uint32_t attention)
{
    if (peer->rung == attention) {
        return;
    }
    if (!peer->replied) {
        receive_reply(shm, peer); /* sent before the ring was first quiet, so it is there */
    }
    if (!peer->replied) {
        return;
    }
    peer->rung = attention;
    if (peer->bell != NULL) {
        shm_bell_ring(peer->bell, peer->bell_number);
    }
    shm->lane.sent_calls++;
    if (shm_socket_ring(peer->outbound) != 0) {
        shm_peers_end(shm, peer);
    }
}

/* ---- hearing from peers -------------------------------------------------------------------- */

/** This process has no room for who waits, who would wait for ever: all who do are refused now, and
 *  take another lane. Who comes later finds a listener of the same name. */
static void refuse_who_wait(struct shm_lane *shm)
{
    /* A child of fork() may have it open, so closing alone would not remove it. */
    (void)epoll_ctl(shm->events, EPOLL_CTL_DEL, shm->listener, NULL);
    close(shm->listener);
    shm->listener = shm_socket_listen(shm->incarnation);
    if (shm->listener >= 0 && shm_meet_watch(shm) != 0) {
        close(shm->listener);
        shm->listener = -1;
    }
}

/** @return false: none is waiting. */
static bool accept_peer(struct shm_lane *shm)
{
    struct shm_peer *peer = NULL;
    int accepted = shm_socket_accept(shm->listener);

    if (accepted == -EMFILE || accepted == -ENFILE || accepted == -ENOMEM || accepted == -ENOBUFS) {
        refuse_who_wait(shm);
    }
    if (accepted < 0) {
        return accepted == -EPERM;
    }
    if (shm_peers_add(shm, 0, &peer) != 0) {
        close(accepted);
        return true;
    }
    peer->inbound = accepted;
    if (watch(shm, EPOLL_CTL_ADD, accepted, EVENT_INBOUND, peer->index) != 0) {
        shm_peers_close_inbound(shm, peer);
    }
    return true;
}

/** The peer for HELLO from this incarnation: itself, or a known peer of that name, which takes over
 *  the connection. @return NULL: the known one has a connection already. */
static struct shm_peer *named(struct shm_lane *shm, struct shm_peer *nameless, uint64_t incarnation)
{
    struct shm_peer *known = shm_peers_find(shm, incarnation);

    if (known == NULL) {
        shm_peers_name(nameless, incarnation);
        return nameless;
    }
    if (known->inbound >= 0 || known->consumer.ring != NULL || known->ended_is_told ||
        watch(shm, EPOLL_CTL_MOD, nameless->inbound, EVENT_INBOUND, known->index) != 0) {
        return NULL;
    }
    known->inbound = nameless->inbound;
    nameless->inbound = -1;
    shm->untidy = true;
    return known;
}

static void receive_hello(struct shm_lane *shm, struct shm_peer *nameless)
{
    struct shm_message hello;
    void *memory = NULL;
    int file = -1;
    int status = shm_socket_receive(nameless->inbound, SHM_HELLO, &hello, &file);

    if (status == -EAGAIN) {
        return;
    }
    if (status == 0) {
        status = shm_segment_map(file, sizeof(struct shm_ring), &memory);
        close(file);
    }
    if (status == 0 && hello.incarnation == 0) {
        status = -EPROTO;
    }
    struct shm_peer *peer = status == 0 ? named(shm, nameless, hello.incarnation) : NULL;
    if (peer == NULL) {
        shm_segment_unmap(memory, sizeof(struct shm_ring));
        shm_peers_close_inbound(shm, nameless);
        return;
    }
    peer->consumer.ring = memory;
    shm_peers_poll_new(shm, peer);
    struct shm_message reply = {.kind = SHM_REPLY, .bell = peer->index % SHM_BELLS};
    if (shm_socket_send(peer->inbound, reply, shm->bell_file) != 0) {
        shm_peers_close_inbound(shm, peer);
    }
}

static void heed_inbound(struct shm_lane *shm, struct shm_peer *peer)
{
    if (peer->inbound < 0) {
        return;
    }
    if (peer->consumer.ring == NULL) {
        receive_hello(shm, peer);
        return;
    }
    int wakes = shm_socket_drain(peer->inbound);
    if (wakes < 0) {
        shm_peers_close_inbound(shm, peer);
    } else if (wakes > 0) {
        shm_peers_poll(shm, peer);
    }
}

static void heed_outbound(struct shm_lane *shm, struct shm_peer *peer)
{
    if (peer->outbound < 0) {
        return;
    }
    if (!peer->replied) {
        receive_reply(shm, peer);
    } else if (shm_socket_drain(peer->outbound) < 0) {
        shm_peers_end(shm, peer);
    }
}

void shm_meet_keep_house(struct shm_lane *shm)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    bool more = true;

    /* A new connection is read before the end of the old one is believed: in rounds, because a
     * connection accepted in one round has its events in the next. */
    for (int round = 0; more && round < ROUNDS_OF_EVENTS; round++) {
        int count = epoll_wait(shm->events, events, EVENTS_AT_ONCE, 0);
        more = count == EVENTS_AT_ONCE;
        for (int i = 0; i < count; i++) {
            enum event_of of = (enum event_of)(events[i].data.u64 >> 32);
            uint32_t index = (uint32_t)events[i].data.u64;
            if (of == EVENT_LISTENER) {
                for (int j = 0; j < EVENTS_AT_ONCE && accept_peer(shm); j++) {
                    more = true;
                }
            } else if (index < shm->peers_end && shm->peers[index] != NULL) {
                (of == EVENT_INBOUND ? heed_inbound : heed_outbound)(shm, shm->peers[index]);
            }
        }
    }
}
