/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket: its address, opening, and sending. */
#include "tipc.h"

#include "frame/address_layout.h"
#include "lane/entropy.h"
#include "lane/lane_type.h"
#include "lane/socket.h"
#include "lane/tipc/tipc_internal.h"
#include "tuning.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static_assert(LANE_TIPC_FRAME_BYTES <= TIPC_MAX_USER_MSG_SIZE, "one message");

/* ---- addresses ------------------------------------------------------------------------------ */

static struct sockaddr_tipc sockaddr_of(uint32_t node, uint32_t number)
{
    struct sockaddr_tipc address = {.family = AF_TIPC, .addrtype = TIPC_SOCKET_ADDR};

    address.addr.id = (struct tipc_socket_addr){.ref = number, .node = node};
    return address;
}

static void tipc_publish(const struct lane *lane, struct address_layout *address)
{
    const struct tipc_lane *tipc = (const struct tipc_lane *)(const void *)lane;
    const struct address_tipc own = {.node = to_le32(tipc->node), .socket = to_le32(tipc->number)};

    /* Behind all interfaces, which were published before. */
    memcpy(&address->rail[address->rails++], &own, sizeof own);
}

static int tipc_reach(struct lane *lane, const struct address_layout *address,
                      struct lane_address *to)
{
    (void)lane;
    for (unsigned i = 0; i < address->rails; i++) {
        if (address_rail_is_tipc(&address->rail[i])) {
            struct address_tipc peer;
            memcpy(&peer, &address->rail[i], sizeof peer);
            struct tipc_place *place = (struct tipc_place *)(void *)to;
            *place =
                (struct tipc_place){.node = from_le32(peer.node), .number = from_le32(peer.socket)};
            return 0;
        }
    }
    return -EHOSTUNREACH;
}

/* ---- frames out ----------------------------------------------------------------------------- */

/** The arguments of one sendmmsg(): one frame per message. */
struct shipment {
    struct sockaddr_tipc to;
    struct mmsghdr messages[FLOW_BATCH_FRAMES];
    struct iovec parts[2 * FLOW_BATCH_FRAMES];
};

static void load(struct shipment *shipment, const struct lane_outgoing *frames, unsigned count)
{
    struct iovec *part = shipment->parts;

    for (unsigned i = 0; i < count; i++) {
        struct msghdr *message = &shipment->messages[i].msg_hdr;
        *message = (struct msghdr){
            .msg_name = &shipment->to, .msg_namelen = sizeof shipment->to, .msg_iov = part};
        *part++ = (struct iovec){frames[i].head, frames[i].head_bytes};
        if (frames[i].payload_bytes > 0) {
            *part++ = (struct iovec){(void *)(uintptr_t)frames[i].payload, frames[i].payload_bytes};
        }
        message->msg_iovlen = (size_t)(part - message->msg_iov);
    }
}

/** @return the number of messages sent, or a negative errno. */
static int ship(struct tipc_lane *tipc, struct shipment *shipment, unsigned count)
{
    tipc->lane.sent_calls++;
    return socket_send_all(tipc->socket, shipment->messages, count);
}

/** The link to that host takes no more at present. */
static bool is_full(int error)
{
    return error == -EAGAIN || error == -ENOBUFS || error == -ENOMEM;
}

static unsigned tipc_send(struct lane *lane, const struct lane_address *to,
                          const struct lane_outgoing *frames, unsigned count)
{
    const struct tipc_place *place = (const struct tipc_place *)(const void *)to;
    struct tipc_lane *tipc = tipc_of(lane);
    struct shipment shipment;
    unsigned taken = 0;

    shipment.to = sockaddr_of(place->node, place->number);
    while (taken < count) {
        unsigned left = count - taken;
        unsigned together = left < FLOW_BATCH_FRAMES ? left : FLOW_BATCH_FRAMES;
        load(&shipment, &frames[taken], together);
        int sent = ship(tipc, &shipment, together);
        if (is_full(sent)) {
            break;
        }
        /* No link leads there now (EHOSTUNREACH), or another error: the frame counts as lost, which
         * the layers above detect. */
        unsigned gone = sent > 0 ? (unsigned)sent : 1;
        for (unsigned i = 0; i < gone; i++) {
            lane->sent_bytes += frames[taken + i].head_bytes + frames[taken + i].payload_bytes;
        }
        taken += gone;
    }
    lane->sent_frames += taken;
    lane->refused_frames += count - taken;
    return taken;
}

struct tipc_question tipc_ask(const struct tipc_lane *tipc, uint32_t node, uint32_t mark)
{
    static_assert(TIPC_SECRET_BYTES == crypto_shorthash_siphash24_KEYBYTES &&
                      sizeof(uint64_t) == crypto_shorthash_siphash24_BYTES,
                  "SipHash-2-4");
    struct tipc_question question = {.mark = to_le32(mark)};
    const uint32_t of[2] = {node, mark};

    (void)crypto_shorthash_siphash24((uint8_t *)&question.secret, (const uint8_t *)of, sizeof of,
                                     tipc->secret);
    return question;
}

static enum lane_host tipc_ask_host(struct lane *lane, const struct lane_address *to, uint32_t mark,
                                    bool vouch)
{
    const struct tipc_place *place = (const struct tipc_place *)(const void *)to;
    const struct tipc_lane *tipc = tipc_of(lane);
    const struct tipc_question question = tipc_ask(tipc, place->node, mark);
    const struct sockaddr_tipc nobody = sockaddr_of(place->node, TIPC_NO_SOCKET);

    (void)vouch; /* messages to unused sockets are always returned */
    (void)sendto(tipc->socket, &question, sizeof question, MSG_DONTWAIT,
                 (const struct sockaddr *)&nobody, sizeof nobody);
    return LANE_HOST_ASKED;
}

/* ---- open and close ------------------------------------------------------------------------- */

static int tipc_status(struct lane *lane)
{
    struct tipc_lane *tipc = tipc_of(lane);
    uint32_t memory[SK_MEMINFO_VARS] = {0};
    socklen_t length = sizeof memory;

    if (getsockopt(tipc->socket, SOL_SOCKET, SO_MEMINFO, memory, &length) == 0) {
        lane->dropped_frames += memory[SK_MEMINFO_DROPS] - tipc->kernel_drops;
        tipc->kernel_drops = memory[SK_MEMINFO_DROPS];
    }
    return 0; /* links come and go, and TIPC does not tell which one it uses */
}

static int tipc_descriptor(const struct lane *lane)
{
    return ((const struct tipc_lane *)(const void *)lane)->socket;
}

static void tipc_close(struct lane *lane)
{
    struct tipc_lane *tipc = tipc_of(lane);

    if (tipc->socket >= 0) {
        close(tipc->socket);
    }
    free(tipc->room);
    free(tipc);
}

static const struct lane_operations tipc_operations = {
    .publish = tipc_publish,
    .reach = tipc_reach,
    .send = tipc_send,
    .receive = tipc_receive,
    .release = tipc_release,
    .expect = tipc_expect,
    .lost = tipc_lost,
    .ask_host = tipc_ask_host,
    .host_answer = tipc_host_answer,
    .status = tipc_status,
    .descriptor = tipc_descriptor,
    .close = tipc_close,
};

/** The kernel's default is large; net.core.rmem_max may be less. */
static uint64_t enlarge_buffer(int socket)
{
    int granted = 0;
    socklen_t length = sizeof granted;

    (void)socket_set(socket, SOL_SOCKET, SO_RCVBUFFORCE, LANE_BULK_BUFFER_BYTES);
    (void)getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &granted, &length);
    return (uint64_t)granted;
}

static int set_up(struct tipc_lane *tipc)
{
    struct sockaddr_tipc own = {0};
    socklen_t length = sizeof own;

    tipc->socket = socket(AF_TIPC, SOCK_RDM | SOCK_CLOEXEC, 0);
    if (tipc->socket < 0) {
        return -errno;
    }
    if (getsockname(tipc->socket, (struct sockaddr *)&own, &length) != 0) {
        return -errno;
    }
    if (own.addr.id.node == 0) {
        return -ENONET;
    }
    tipc->node = own.addr.id.node;
    tipc->number = own.addr.id.ref;
    /* Messages to unused sockets are returned. */
    int status = socket_set(tipc->socket, SOL_TIPC, TIPC_DEST_DROPPABLE, 0);
    if (status != 0) {
        return status;
    }
    tipc->lane.capacity_bytes = enlarge_buffer(tipc->socket) / LANE_BULK_BUFFER_SHARE;
    status = entropy_fill(tipc->secret, sizeof tipc->secret);
    return status != 0 ? status : tipc_receive_open(tipc);
}

int tipc_lane_open(struct lane **lane)
{
    struct tipc_lane *tipc = calloc(1, sizeof *tipc);

    if (tipc == NULL) {
        return -ENOMEM;
    }
    tipc->lane.operations = &tipc_operations;
    tipc->lane.kind = LANE_TIPC;
    tipc->lane.bulk = LANE_BULK_LAST;
    tipc->lane.of_host = true;
    tipc->lane.polling_is_costly = true;
    tipc->lane.needs_checksum = true;
    tipc->lane.frame_bytes = LANE_TIPC_FRAME_BYTES;
    tipc->lane.batch_frames = FLOW_BATCH_FRAMES;
    tipc->socket = -1;

    int status = set_up(tipc);
    if (status != 0) {
        tipc_close(&tipc->lane);
        return status;
    }
    *lane = &tipc->lane;
    return 0;
}

static int tipc_open_for(struct lane_opening *opening, struct lane **lane)
{
    /* An address has room for this many rails of any kind. */
    return opening->rails < ADDRESS_RAILS ? tipc_lane_open(lane) : -EUSERS;
}

/** Only on request: no case is known yet in which it is better. */
const struct lane_type tipc_lane_type = {.open = tipc_open_for, .on_request = true};
