/* SPDX-License-Identifier: BSD-3-Clause */
#include "path.h"

#include "frame/frame.h"

void paths_find(struct paths *paths, const struct path_lanes *lanes,
                const struct address_layout *address, bool memory)
{
    struct address_layout matched;
    bool shared = false;

    *paths = (struct paths){.fast = PATH_NONE,
                            .crossing = rails_match(lanes->networks, address, &matched)};
    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        if (lane->shares_memory ? memory : !shared) {
            bool reached = lane->operations->reach(lane, &matched, &paths->to[i]) == 0;
            paths->reachable |= (uint16_t)((reached ? 1u : 0u) << i);
            paths->proven |= (uint16_t)((reached && lane->is_certain ? 1u : 0u) << i);
            shared = shared || (reached && lane->shares_memory);
        }
    }
    paths->crossing = shared ? 0 : paths->crossing;
    for (unsigned i = 0; shared && i < lanes->count; i++) {
        if (!lanes->lanes[i]->shares_memory) {
            paths->reachable &= (uint16_t) ~(1u << i);
            paths->proven &= (uint16_t) ~(1u << i);
        }
    }
    paths_choose(paths, lanes);
}

bool path_leads_to(const struct path_lanes *lanes, unsigned lane,
                   const struct address_layout *address, const struct lane_address *at)
{
    struct address_layout matched;
    struct lane_address to;

    (void)rails_match(lanes->networks, address, &matched);
    return lanes->lanes[lane]->operations->reach(lanes->lanes[lane], &matched, &to) == 0 &&
           memcmp(&to, at, sizeof to) == 0;
}

/** The first lane that may be the fast path and is usable, or at least `proven`, or reachable; or
 *  PATH_NONE. */
static uint8_t first(const struct paths *paths, const struct path_lanes *lanes, bool proven,
                     bool works)
{
    for (unsigned i = 0; i < lanes->count; i++) {
        bool found = proven ? paths_has_proven(paths, i) : paths_reaches(paths, i);
        if (found && paths_is_for_all(lanes, i) && !(works && lanes->down[i])) {
            return (uint8_t)i;
        }
    }
    return PATH_NONE;
}

/** The lane to use if all work. */
static uint8_t preferred(const struct paths *paths, const struct path_lanes *lanes)
{
    bool proven = first(paths, lanes, true, false) != PATH_NONE;
    uint8_t working = first(paths, lanes, proven, true);

    return working != PATH_NONE ? working : first(paths, lanes, proven, false);
}

void paths_choose(struct paths *paths, const struct path_lanes *lanes)
{
    paths->fast = preferred(paths, lanes);
    paths->astray = false;
}

bool paths_prove(struct paths *paths, const struct path_lanes *lanes, unsigned lane)
{
    uint8_t before = paths->fast;
    bool astray = paths->astray && paths_is_proven(paths);

    paths->proven |= (uint16_t)(1u << lane);
    if (!astray) {
        paths_choose(paths, lanes);
    }
    return paths->fast != before;
}

bool paths_follow_status(struct paths *paths, const struct path_lanes *lanes, unsigned lane_index)
{
    unsigned before = paths->fast;
    bool concerned = lanes->down[lane_index]
                         ? before == lane_index
                         : !paths->astray || preferred(paths, lanes) == lane_index;

    if (concerned) {
        paths_choose(paths, lanes);
    }
    return paths->fast != before;
}

/** Records that the preferred lane is left, and for how long. */
static void leave(struct paths *paths, uint64_t now_ns)
{
    bool again = paths->returned_ns != 0 && now_ns - paths->returned_ns < PATH_PROVEN_NS;

    if (paths->astray) {
        return;
    }
    if (!again) {
        paths->wait_ns = PATH_RETURN_NS;
    } else if (paths->wait_ns < PATH_RETURN_MAX_NS) {
        paths->wait_ns *= 2;
    }
    paths->left_ns = now_ns;
    paths->astray = true;
}

void paths_return(struct paths *paths, const struct path_lanes *lanes, uint64_t now_ns)
{
    paths_choose(paths, lanes);
    paths->returned_ns = now_ns;
}

void paths_use(struct paths *paths, const struct path_lanes *lanes, unsigned lane_index,
               uint64_t now_ns)
{
    leave(paths, now_ns);
    paths->fast = (uint8_t)lane_index;
    paths->astray = lane_index != preferred(paths, lanes);
}

bool paths_next(struct paths *paths, const struct path_lanes *lanes, uint64_t now_ns)
{
    for (unsigned step = 1; paths->fast != PATH_NONE && step < lanes->count; step++) {
        unsigned lane = (paths->fast + step) % lanes->count;
        if (paths_is_for_all(lanes, lane) && paths_is_usable(paths, lanes, lane)) {
            leave(paths, now_ns);
            paths->fast = (uint8_t)lane;
            return true;
        }
    }
    return false;
}

void paths_publish(const struct path_lanes *lanes, struct address_layout *address)
{
    for (unsigned i = 0; i < lanes->count; i++) {
        const struct lane *lane = lanes->lanes[i];
        if (!lane->of_host && lane->rail >= address->rails) {
            address->rails = (uint8_t)(lane->rail + 1);
        }
        lane->operations->publish(lane, address);
    }
}

/** @param unseen bytes of a frame's head that are not on the wire if network cards cut. */
static uint32_t longest(const struct paths *paths, const struct path_lanes *lanes, uint32_t mtu,
                        uint32_t unseen)
{
    uint32_t bytes = 0;

    for (unsigned i = 0; i < lanes->count; i++) {
        const struct lane *lane = lanes->lanes[i];
        uint32_t of_lane = path_carries(lane, mtu) + (lane->cuts ? unseen : 0);
        if (paths_reaches(paths, i) && (bytes == 0 || of_lane < bytes)) {
            bytes = of_lane;
        }
    }
    return bytes;
}

uint32_t paths_frame_bytes(const struct paths *paths, const struct path_lanes *lanes, uint32_t mtu)
{
    return longest(paths, lanes, mtu, 0);
}

uint32_t paths_data_bytes(const struct paths *paths, const struct path_lanes *lanes, uint32_t mtu)
{
    return longest(paths, lanes, mtu, sizeof(struct frame_data));
}

uint32_t paths_wire_bytes(const struct paths *paths, const struct path_lanes *lanes,
                          uint32_t data_bytes, uint32_t frame_bytes)
{
    uint32_t most = 0;

    for (unsigned i = 0; i < lanes->count; i++) {
        const struct lane *lane = lanes->lanes[i];
        uint32_t bytes = (lane->cuts ? frame_bytes : data_bytes) + path_below_bytes(lane);
        if (paths_reaches(paths, i) && bytes > most) {
            most = bytes;
        }
    }
    return most;
}

uint32_t paths_lack_bytes(const struct paths *paths, const struct path_lanes *lanes,
                          uint32_t data_bytes, uint32_t frame_bytes)
{
    uint32_t wire_bytes = paths_wire_bytes(paths, lanes, data_bytes, frame_bytes);
    uint32_t most = 0;

    for (unsigned i = 0; i < lanes->count; i++) {
        const struct lane *lane = lanes->lanes[i];
        if (!lane->needs_checksum || !paths_reaches(paths, i)) {
            continue;
        }
        uint32_t room = wire_bytes - path_below_bytes(lane);
        room = room < lane->frame_bytes ? room : lane->frame_bytes;
        uint32_t lacking = data_bytes + (uint32_t)sizeof(le32);
        lacking = lacking > room ? lacking - room : 0;
        most = lacking > most ? lacking : most;
    }
    return most;
}
