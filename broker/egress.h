/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * egress.h - puts the fence's program (fence.h) on the egress of a card, where it stays without us:
 * by tcx, which costs less for each frame, or, before Linux 6.6, by clsact and cls_bpf.
 *
 * Whether a program that is attached by tcx is ours, the kernel tells only who has CAP_SYS_ADMIN.
 * So what was attached is in a file for each card, in $RUNTIME_DIRECTORY (of systemd) or
 * /run/beowire. Without that file, clsact is used.
 */
#ifndef BEOWIRE_BROKER_EGRESS_H
#define BEOWIRE_BROKER_EGRESS_H

#include "lane/socket.h"

#include <stdint.h>

/** Puts it there, or sees that it is there. @param kernel from link_open()
 *  @return 0 or a negative errno. */
int egress_put(int kernel, const struct socket_interface *card, uint16_t ethertype);

#endif /* BEOWIRE_BROKER_EGRESS_H */
