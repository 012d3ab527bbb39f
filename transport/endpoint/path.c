/* SPDX-License-Identifier: BSD-3-Clause */
#include "path.h"

void paths_find(struct paths *paths, const struct path_lanes *lanes,
                const struct address_layout *address)
{
    bool memory = false;

    *paths = (struct paths){.fast = PATH_NONE};
    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->lanes[i];
        if (!memory || lane->kind == LANE_SHM) {
            struct path *path = &paths->at[i];
            path->reachable = lane->operations->reach(lane, address, &path->to) == 0;
            memory = memory || (path->reachable && lane->kind == LANE_SHM);
        }
    }
    for (unsigned i = 0; memory && i < lanes->count; i++) {
        if (lanes->lanes[i]->kind != LANE_SHM) {
            paths->at[i].reachable = false;
        }
    }
    paths_choose(paths, lanes);
}

void paths_choose(struct paths *paths, const struct path_lanes *lanes)
{
    paths->fast = PATH_NONE;
    for (unsigned i = 0; i < lanes->count; i++) {
        if (paths_is_usable(paths, lanes, i)) {
            paths->fast = (uint8_t)i;
            return;
        }
    }
    for (unsigned i = 0; i < lanes->count; i++) {
        if (paths->at[i].reachable) {
            paths->fast = (uint8_t)i;
            return;
        }
    }
}

bool paths_next(struct paths *paths, const struct path_lanes *lanes)
{
    for (unsigned step = 1; paths->fast != PATH_NONE && step < lanes->count; step++) {
        unsigned lane = (paths->fast + step) % lanes->count;
        if (paths_is_usable(paths, lanes, lane)) {
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
        if (lane->kind != LANE_SHM && lane->rail >= address->rails) {
            address->rails = (uint8_t)(lane->rail + 1);
        }
        lane->operations->publish(lane, address);
    }
}

uint32_t paths_frame_bytes(const struct paths *paths, const struct path_lanes *lanes)
{
    uint32_t bytes = 0;

    for (unsigned i = 0; i < lanes->count; i++) {
        if (paths->at[i].reachable && (bytes == 0 || lanes->lanes[i]->frame_bytes < bytes)) {
            bytes = lanes->lanes[i]->frame_bytes;
        }
    }
    return bytes;
}
