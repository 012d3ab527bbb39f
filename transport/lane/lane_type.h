/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane_type.h - how and when a lane of each kind is opened.
 *
 * Each kind has a `const struct lane_type NAME_lane_type` in its own file, and a row in LANE_KINDS
 * (frame/lane_kinds.h) by which endpoint/lanes.c finds it.
 */
#ifndef BEOWIRE_LANE_LANE_TYPE_H
#define BEOWIRE_LANE_LANE_TYPE_H

#include "lane/lane.h"

#include <stddef.h>

/** Room for a reason, in one line. */
#define LANE_WHY_BYTES 96

/** What a lane needs to know of the endpoint, and its interface. */
struct lane_opening {
    uint64_t incarnation; /**< of the endpoint, new for each */
    uint32_t peers;       /**< maximum number, named or not */
    uint16_t ethertype;
    uint16_t *number;        /**< of the endpoint; 0: any; the lane that reserves it writes it */
    bool number_is_reserved; /**< set by the lane that has reserved it */
    unsigned rails;          /**< with lanes, 0 .. ADDRESS_RAILS, including those whose place an
                                earlier lane of the host takes */
    const char *interface;   /**< NULL for lanes of the host (LANE_OF_HOST) */
    const char *interfaces[ADDRESS_RAILS]; /**< all named ones; NULL: no more */
    uint8_t rail;                          /**< its number; 0 for lanes of the host */
    uint8_t granted;          /**< bit r: the lane packet of rail r is the broker's (grant.h) */
    char why[LANE_WHY_BYTES]; /**< open() may write here for explain() why it fails */
};

/** A lane with the `kind` of another (see `opened_as`) takes the place of that one on its rail,
 * which is opened only if it was not; so it comes before that in LANE_KINDS. */
struct lane_type {
    /** Opens one. @return 0; a negative errno. Of these, EPERM, EACCES, EADDRNOTAVAIL,
     *  EAFNOSUPPORT, ENONET, ENOSYS, ENOENT (no /proc), EUSERS, ENXIO, ELIBBAD, ENOPKG and ENOBUFS
     *  mean that this host does not permit or have it; then the endpoint does without. */
    int (*open)(struct lane_opening *opening, struct lane **lane);
    /** Not LANE_NONE: it needs a lane of this kind, for frames that it does not carry. */
    enum lane_kind beside;
    bool on_request; /**< opened only if the user names it */
    /** Why open() has just failed, in one line, in more detail than beowire_error(). NULL, or
     *  @return false: nothing more is known. */
    bool (*explain)(int status, const struct lane_opening *opening, char *text, size_t bytes);
};

#define LANE_TYPE(capitals, name, number, of) extern const struct lane_type name##_lane_type;
LANE_KINDS(LANE_TYPE)
#undef LANE_TYPE

#endif /* BEOWIRE_LANE_LANE_TYPE_H */
