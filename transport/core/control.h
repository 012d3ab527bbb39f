/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control.h - frames that carry no message: built on the stack, sent at once, and not
 * retransmitted. If the lane does not take one, its timer or cause sends it again later.
 */
#ifndef BEOWIRE_CORE_CONTROL_H
#define BEOWIRE_CORE_CONTROL_H

#include "core/core.h"
#include "pull/pull.h"

/** Asks for a connection over the lane `lane_index`, with frames that fit this MTU. CONNECT is
 * as long on the wire as the longest of them on any lane, so it arrives only where they do. */
void control_send_connect(struct core *core, struct core_peer *peer, unsigned lane_index,
                          uint32_t mtu);

/** Answers the peer's CONNECT. ACCEPT, too, is as long as the longest frame of the connection.
 *  @param asked_bytes length of that CONNECT on the wire: ACCEPT is not longer, because CONNECT may
 * have a forged source. */
void control_send_accept(struct core *core, struct core_peer *peer, unsigned lane_index,
                         uint32_t asked_bytes);

/** CHALLENGE over the lane `lane_index`, as long as the longest frame of the connection, so that
 *  the answer proves that such frames arrive. Not sent if too few bytes have come from a peer that
 *  the application has not named, whose addresses may be forged. */
void control_send_challenge(struct core *core, struct core_peer *peer, unsigned lane_index);

/** Answers a CHALLENGE with this number. */
void control_send_response(struct core *core, struct core_peer *peer, unsigned lane_index,
                           uint64_t number);

/** ACK, or SACK while there is a gap; also over the lanes `also_by` (bits). */
void control_send_ack(struct core *core, struct core_peer *peer, unsigned also_by, uint64_t now_ns);

/** PROBE; call flow_timeout() afterwards. */
void control_send_probe(struct core *core, struct core_peer *peer);
/** The same over the lane `lane_index`. */
void control_send_probe_by(struct core *core, struct core_peer *peer, unsigned lane_index);
/** Repeats the last PROBE, with its number, over the lane `lane_index`. So the peer neither answers
 *  on that lane nor concludes that another one fails. But if its process has ended, its kernel
 *  refuses the frame. */
void control_repeat_probe_by(struct core *core, struct core_peer *peer, unsigned lane_index);
/** CLOSE; `asks`: the peer is to answer with CLOSE. */
void control_send_close(struct core *core, struct core_peer *peer, bool asks);

/** PULL: requests segments of a long message. @return false: the lane has no room. */
bool control_send_pull(struct core *core, struct core_peer *peer, const struct pull_ask *ask);

/** RESET: refuses a frame, unless too many were refused in this second. */
void control_send_reset(struct core *core, const struct frame *refused, const struct arrival *from,
                        enum frame_reset_reason reason, uint64_t now_ns);

#endif /* BEOWIRE_CORE_CONTROL_H */
