/* SPDX-License-Identifier: BSD-3-Clause */
/* The lane's address, opening, and status. */
#include "lane/verbs/verbs.h"

#include "frame/address_layout.h"
#include "lane/lane_type.h"
#include "lane/verbs/verbs_internal.h"
#include "lane/verbs/verbs_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void verbs_publish(const struct lane *lane, struct address_layout *address)
{
    const struct verbs_lane *verbs = (const struct verbs_lane *)(const void *)lane;
    struct address_verbs own = {.queue_pair = to_le32(verbs->pair->qp_num)};

    memcpy(own.ipv4, &verbs->ipv4, sizeof own.ipv4);
    /* Behind all interfaces, which were published before. */
    memcpy(&address->rail[address->rails++], &own, sizeof own);
}

static int verbs_reach(struct lane *lane, const struct address_layout *address,
                       struct lane_address *to)
{
    struct verbs_lane *verbs = verbs_of(lane);

    for (unsigned i = 0; i < address->rails; i++) {
        if (address_rail_is_verbs(&address->rail[i])) {
            struct address_verbs peer;
            struct ibv_ah *host = NULL;
            memcpy(&peer, &address->rail[i], sizeof peer);
            struct verbs_place *place = (struct verbs_place *)(void *)to;
            *place = (struct verbs_place){.queue_pair = from_le32(peer.queue_pair)};
            memcpy(&place->ipv4, peer.ipv4, sizeof place->ipv4);
            /* So that it is known when the first frame is sent. */
            (void)verbs_hosts_find(&verbs->hosts, place->ipv4, false, &host);
            return 0;
        }
    }
    return -EHOSTUNREACH;
}

static int verbs_status(struct lane *lane)
{
    struct verbs_lane *verbs = verbs_of(lane);
    int status = verbs_device_status(verbs);

    if (status == 0 && verbs->broken) {
        /* Not while frames are held. */
        status = verbs->held_count == 0 ? verbs_pair_revive(verbs) : -ENETDOWN;
    }
    return status;
}

static int verbs_descriptor(const struct lane *lane)
{
    return ((const struct verbs_lane *)(const void *)lane)->channel->fd;
}

static void verbs_close(struct lane *lane)
{
    struct verbs_lane *verbs = verbs_of(lane);

    verbs_pair_close(verbs);
    free(verbs);
}

static const struct lane_operations verbs_operations = {
    .publish = verbs_publish,
    .reach = verbs_reach,
    .send = verbs_send,
    .receive = verbs_receive,
    .release = verbs_release,
    .withdraw = verbs_link_withdraw,
    .meet = verbs_link_meet,
    .lend = verbs_lend,
    .take_back = verbs_take_back,
    .begin_read = verbs_begin_read,
    .read_ended = verbs_read_ended,
    .stop_read = verbs_stop_read,
    .status = verbs_status,
    .arm = verbs_arm,
    .descriptor = verbs_descriptor,
    .close = verbs_close,
};

/** Opens the device of the first interface that has one. */
static int open_device(struct verbs_lane *verbs, const char *const interfaces[ADDRESS_RAILS])
{
    int status = verbs_device_open(verbs, interfaces[0]);

    for (unsigned i = 1; status != 0 && i < ADDRESS_RAILS && interfaces[i] != NULL; i++) {
        int other = verbs_device_open(verbs, interfaces[i]);
        status = other == -ENXIO ? status : other;
    }
    return status;
}

int verbs_lane_open(const struct verbs_lane_options *options, struct lane **lane)
{
    const struct verbs_library *library =
        options->library != NULL ? options->library : verbs_library_load();
    struct verbs_lane *verbs = library != NULL ? calloc(1, sizeof *verbs) : NULL;

    if (verbs == NULL) {
        return library != NULL ? -ENOMEM : -ELIBBAD;
    }
    verbs->library = library;
    verbs->lane.operations = &verbs_operations;
    verbs->lane.kind = LANE_VERBS;
    verbs->lane.bulk = LANE_BULK_LAST;
    verbs->lane.of_host = true;
    verbs->lane.batch_frames = FLOW_BATCH_FRAMES;

    int status = open_device(verbs, options->interfaces);
    if (status == 0) {
        verbs->lane.capacity_bytes = (uint64_t)LANE_RING_FRAMES * verbs->lane.frame_bytes;
        status = verbs_pair_open(verbs);
    }
    if (status != 0) {
        verbs_close(&verbs->lane);
        return status;
    }
    *lane = &verbs->lane;
    return 0;
}

static int verbs_open_for(struct lane_opening *opening, struct lane **lane)
{
    struct verbs_lane_options options = {.library = NULL};

    if (opening->rails >= ADDRESS_RAILS) {
        return -EUSERS; /* an address has room for this many rails of any kind */
    }
    memcpy(options.interfaces, opening->interfaces, sizeof options.interfaces);
    int status = verbs_lane_open(&options, lane);
    opening->rails += status == 0 ? 1 : 0;
    return status;
}

/** Only on request: no case is known yet in which it is better. */
const struct lane_type verbs_lane_type = {.open = verbs_open_for, .on_request = true};
