/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane_type.h - what a kind of lane tells those who open endpoints: how one is opened, and when.
 *
 * Each kind has a `const struct lane_type NAME_lane_type` in its own file, and a row in LANE_KINDS
 * (frame/lane_kinds.h) by which endpoint/lanes.c finds it.
 */
#ifndef BEOWIRE_LANE_LANE_TYPE_H
#define BEOWIRE_LANE_LANE_TYPE_H

#include "lane/lane.h"

#include <stddef.h>

/** What an endpoint is, as far as its lanes have to know, and the interface of the one lane. */
struct lane_opening {
    uint64_t incarnation; /**< of the endpoint, new for each */
    uint32_t peers;       /**< that it may have, named or not */
    uint16_t ethertype;
    uint16_t *number;        /**< of the endpoint; 0: any, and whoever reserves it writes it */
    bool number_is_reserved; /**< by a lane that was opened before, and says so here */
    unsigned rails;          /**< that lanes of it have, 0 .. ADDRESS_RAILS, with those in whose
                                place is a lane of the host that was opened before */
    const char *interface;   /**< of lanes of the host (LANE_OF_HOST): NULL */
    const char *interfaces[ADDRESS_RAILS]; /**< all that were named; NULL: no more */
    uint8_t rail;                          /**< its number; of lanes of the host: 0 */
};

/** A lane whose `kind` is not its own (`opened_as`) has the place of the other one on its rail,
 * which is opened only where it is not there; so it comes before that in LANE_KINDS. */
struct lane_type {
    /** Opens one. @return 0; a negative errno. Of these, EPERM, EACCES, EADDRNOTAVAIL,
     *  EAFNOSUPPORT, ENONET, ENOSYS, ENOENT (no /proc), EUSERS, ENXIO, ELIBBAD, ENOPKG and ENOBUFS
     *  say that this host does not grant or have it; then the endpoint does without. */
    int (*open)(struct lane_opening *opening, struct lane **lane);
    /** Not LANE_NONE: it is of no use without a lane of this kind, which carries to the same
     *  address what this one does not. */
    enum lane_kind beside;
    bool on_request; /**< opened only for those who name it */
    /** Why open() failed just now, in more words than beowire_error() has, in a line. NULL, or
     *  @return false: there are no better ones. */
    bool (*explain)(int status, const struct lane_opening *opening, char *text, size_t bytes);
};

#define LANE_TYPE(capitals, name, number, of) extern const struct lane_type name##_lane_type;
LANE_KINDS(LANE_TYPE)
#undef LANE_TYPE

#endif /* BEOWIRE_LANE_LANE_TYPE_H */
