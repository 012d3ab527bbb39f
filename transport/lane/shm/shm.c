/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm.h"

#include "frame/address_layout.h"
#include "lane/clock.h"
#include "lane/host.h"
#include "lane/lane_type.h"
#include "lane/shm_segment.h"
#include "lane/shm_socket.h"
#include "shm_meet.h"
#include "shm_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/** The clock is read at most at each of this many polls, which makes its cost negligible; at each
 *  poll if polls are slow. */
#define POLLS_BETWEEN_LOOKS 64

/** The most connections that have not identified themselves, besides those of peers. */
#define STRANGERS 64

static struct shm_lane *shm_of(struct lane *lane)
{
    return (struct shm_lane *)(void *)lane;
}

/* ---- out ----------------------------------------------------------------------------------- */

static unsigned shm_send(struct lane *lane, const struct lane_address *to,
                         const struct lane_outgoing *frames, unsigned count)
{
    struct shm_lane *shm = shm_of(lane);
    struct shm_peer *peer = shm_peers_at(shm, to);
    unsigned taken = 0;

    if (peer == NULL || peer->ended) {
        return count; /* lost, as on any wire; lost() reports it */
    }
    if (peer->producer == NULL) {
        lane->sent_calls++;
        int status = shm_meet_prepare(shm, peer);
        if (status != 0) {
            lane->refused_frames += status == -EAGAIN ? count : 0;
            shm->is_unready = status == -EAGAIN;
            shm->unready = *to;
            return status == -EAGAIN ? 0 : count;
        }
    }
    while (taken < count && shm_producer_put(peer->producer, &frames[taken])) {
        lane->sent_bytes += frames[taken].head_bytes + frames[taken].payload_bytes;
        taken++;
    }
    lane->sent_frames += taken;
    lane->refused_frames += count - taken;
    if (peer->producer->broken) {
        shm_peers_end(shm, peer);
    } else if (taken > 0) {
        uint32_t attention = shm_producer_attention(peer->producer);
        if (attention != 0) {
            shm_meet_wake(shm, peer, attention);
        }
    }
    return taken;
}

/* ---- in ------------------------------------------------------------------------------------ */

static bool is_silent(const struct shm_lane *shm, const struct shm_peer *peer)
{
    return shm->polls - peer->active_at >= SHM_POLLS_OF_SILENCE;
}

static bool is_any(const struct shm_lane *shm, const struct shm_peer *peer)
{
    (void)shm;
    (void)peer;
    return true;
}

static void keep_house(struct shm_lane *shm)
{
    shm_meet_keep_house(shm);
    if (shm->untidy && shm->held == 0) {
        shm_peers_tidy(shm);
    }
    if (shm->held == 0 && shm->polled_count > SHM_POLLED_RINGS &&
        shm->polls - shm->swept_at >= SHM_POLLS_OF_SILENCE) {
        shm->swept_at = shm->polls;
        (void)shm_peers_quieten(shm, is_silent);
    }
}

/** Does the periodic work if it is due. The number of polls between two reads of the clock adapts
 *  to their rate. */
static void look(struct shm_lane *shm)
{
    uint64_t now_ns = clock_now_ns();

    if (now_ns - shm->looked_ns > SHM_HOUSEKEEPING_NS / 4) {
        shm->polls_between_looks = 1;
    } else if (shm->polls_between_looks < POLLS_BETWEEN_LOOKS) {
        shm->polls_between_looks *= 2;
    }
    shm->polls_to_look = shm->polls_between_looks;
    shm->looked_ns = now_ns;
    if (shm->armed || now_ns - shm->kept_house_ns >= SHM_HOUSEKEEPING_NS) {
        shm->armed = false;
        shm->kept_house_ns = now_ns;
        keep_house(shm);
    }
}

static unsigned take_from(struct shm_lane *shm, struct shm_peer *peer, struct lane_incoming *frames,
                          unsigned count)
{
    unsigned taken = shm_consumer_take(&peer->consumer, frames, &shm->copies[shm->held], count);

    for (unsigned i = 0; i < taken; i++) {
        frames[i].from = peer->address;
        shm->lane.received_bytes += frames[i].bytes;
    }
    shm->held += taken;
    peer->active_at = taken > 0 ? shm->polls : peer->active_at;
    if (peer->consumer.broken) {
        shm->lane.foreign_frames++;
        shm_peers_close_inbound(shm, peer);
    }
    return taken;
}

static unsigned shm_receive(struct lane *lane, struct lane_incoming *frames, unsigned count)
{
    struct shm_lane *shm = shm_of(lane);
    unsigned taken = 0;

    shm->polls++;
    if (--shm->polls_to_look == 0 || shm->armed) {
        look(shm);
    }
    if (shm->quiet_count > 0) {
        (void)shm_peers_heed_bell(shm);
    }
    if (count > SHM_RECEIVE_FRAMES - shm->held) {
        count = SHM_RECEIVE_FRAMES - shm->held;
    }
    uint32_t at = shm->polled_first;
    for (uint32_t i = 0; i < shm->polled_count && taken < count; i++, at++) {
        at = at < shm->polled_count ? at : 0;
        taken += take_from(shm, shm->peers[shm->polled[at]], frames + taken, count - taken);
    }
    shm->polled_first = shm->polled_first + 1 < shm->polled_count ? shm->polled_first + 1 : 0;
    lane->received_frames += taken;
    return taken;
}

static void shm_release(struct lane *lane)
{
    struct shm_lane *shm = shm_of(lane);

    for (uint32_t i = 0; shm->held > 0 && i < shm->polled_count; i++) {
        shm_consumer_release(&shm->peers[shm->polled[i]]->consumer);
    }
    shm->held = 0;
}

static bool shm_arm(struct lane *lane)
{
    struct shm_lane *shm = shm_of(lane);

    if (shm->held > 0 || shm->ended_count > 0) {
        return false; /* rings free their frames only while polled; lost() has reports */
    }
    /* First what was rung for a ring that the sockets had us poll already; and afterwards both,
     * whatever the first says: what has rung is polled again. */
    (void)shm_peers_heed_bell(shm);
    bool all_quiet = shm_peers_quieten(shm, is_any);
    bool rung = shm_peers_heed_bell(shm);
    shm->armed = true;
    return all_quiet && !rung;
}

static int shm_descriptor(const struct lane *lane)
{
    return ((const struct shm_lane *)(const void *)lane)->events;
}

static bool shm_lost(struct lane *lane, struct lane_loss *loss)
{
    struct shm_lane *shm = shm_of(lane);

    if (shm->is_unready) {
        shm->is_unready = false;
        *loss = (struct lane_loss){.address = shm->unready};
        return true;
    }
    *loss = (struct lane_loss){.certain = true};
    return shm->ended_count > 0 && shm_peers_take_ended(shm, &loss->address);
}

/** The host is this one, and the socket of a process closes when it ends, not when it is
 *  stopped. */
static enum lane_host shm_ask_host(struct lane *lane, const struct lane_address *to, uint32_t mark,
                                   bool vouch)
{
    const struct shm_peer *peer = shm_peers_at(shm_of(lane), to);

    (void)mark;
    (void)vouch;
    return peer != NULL && !peer->ended && peer->outbound >= 0 &&
                   shm_socket_check(peer->outbound) == 0
               ? LANE_HOST_VOUCHES
               : LANE_HOST_ASKED;
}

/* ---- the rest ------------------------------------------------------------------------------ */

static void shm_publish(const struct lane *lane, struct address_layout *address)
{
    address->host = to_le64(((const struct shm_lane *)(const void *)lane)->host);
    address->process = to_le32((uint32_t)getpid());
}

static int shm_reach(struct lane *lane, const struct address_layout *address,
                     struct lane_address *to)
{
    struct shm_lane *shm = shm_of(lane);
    struct shm_peer *peer = NULL;

    if (from_le64(address->host) != shm->host ||
        shm_meet_reach(shm, from_le64(address->incarnation), &peer) != 0) {
        return -EHOSTUNREACH;
    }
    *to = peer->address;
    return 0;
}

static void shm_withdraw(struct lane *lane, const struct lane_address *to)
{
    const struct shm_peer *peer = shm_peers_at(shm_of(lane), to);

    /* Without a ring it knows no place in our memory, or was told when the ring was closed. */
    if (peer != NULL && peer->producer != NULL) {
        shm_producer_withdraw(peer->producer);
    }
}

static void shm_leave(struct lane *lane, const struct lane_address *to)
{
    struct shm_lane *shm = shm_of(lane);
    struct shm_peer *peer = shm_peers_at(shm, to);

    if (peer == NULL) {
        return;
    }
    shm_peers_end(shm, peer);
    if (!peer->ended_is_told) {
        peer->ended_is_told = true;
        shm->ended_count--;
    }
    shm_peers_close_inbound(shm, peer);
}

static int shm_status(struct lane *lane)
{
    (void)lane;
    return 0;
}

static void shm_close(struct lane *lane)
{
    struct shm_lane *shm = shm_of(lane);

    shm->forked = shm->process != getpid();
    if (shm->peers != NULL) {
        shm_peers_close(shm);
    }
    if (shm->listener >= 0) {
        close(shm->listener);
    }
    if (shm->events >= 0) {
        close(shm->events);
    }
    if (shm->bell_file >= 0) {
        close(shm->bell_file);
    }
    shm_segment_unmap(shm->bell, sizeof *shm->bell);
    free(shm->peers);
    free(shm->polled);
    free(shm);
}

static const struct lane_operations shm_operations = {
    .publish = shm_publish,
    .reach = shm_reach,
    .send = shm_send,
    .receive = shm_receive,
    .release = shm_release,
    .lost = shm_lost,
    .ask_host = shm_ask_host,
    .read_memory = shm_read_memory,
    .withdraw = shm_withdraw,
    .leave = shm_leave,
    .status = shm_status,
    .arm = shm_arm,
    .descriptor = shm_descriptor,
    .close = shm_close,
};

static int set_up(struct shm_lane *shm)
{
    void *memory = NULL;
    int status = host_identity(&shm->host);

    if (status != 0) {
        return status;
    }
    shm->peers = calloc(shm->peers_max, sizeof(struct shm_peer *));
    shm->polled = calloc(shm->peers_max, sizeof *shm->polled);
    if (shm->peers == NULL || shm->polled == NULL) {
        return -ENOMEM;
    }
    status = shm_segment_make("beowire-bell", sizeof *shm->bell, &memory, &shm->bell_file);
    if (status != 0) {
        return status;
    }
    shm->bell = memory;
    shm->events = epoll_create1(EPOLL_CLOEXEC);
    if (shm->events < 0) {
        return -errno;
    }
    shm->listener = shm_socket_listen(shm->incarnation);
    return shm->listener < 0 ? shm->listener : shm_meet_watch(shm);
}

int shm_lane_open(const struct shm_lane_options *options, struct lane **lane)
{
    struct shm_lane *shm = aligned_alloc(_Alignof(struct shm_lane), sizeof *shm);

    if (shm == NULL) {
        return -ENOMEM;
    }
    *shm = (struct shm_lane){
        .lane =
            {
                .operations = &shm_operations,
                .kind = LANE_SHM,
                .bulk = LANE_BULK_MEMORY,
                .of_host = true,
                .shares_memory = true,
                .is_certain = true,
                .frame_bytes = SHM_FRAME_BYTES,
                .batch_frames = FLOW_BATCH_FRAMES,
                .capacity_bytes = UINT64_MAX,
            },
        .incarnation = options->incarnation,
        .process = getpid(),
        .listener = -1,
        .events = -1,
        .bell_file = -1,
        .peers_max = 2 * options->peers + STRANGERS,
        .polls_to_look = 1,
        .polls_between_looks = 1,
    };
    int status = set_up(shm);
    if (status != 0) {
        shm_close(&shm->lane);
        return status;
    }
    *lane = &shm->lane;
    return 0;
}

static int shm_open_for(struct lane_opening *opening, struct lane **lane)
{
    const struct shm_lane_options options = {
        .incarnation = opening->incarnation,
        .peers = opening->peers,
    };
    return shm_lane_open(&options, lane);
}

static bool shm_explain(int status, const struct lane_opening *opening, char *text, size_t bytes)
{
    (void)opening;
    (void)snprintf(text, bytes, "no memfd_create(), epoll or unix sockets for this process: %s",
                   strerror(-status));
    return true;
}

const struct lane_type shm_lane_type = {.open = shm_open_for, .explain = shm_explain};
