/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control.h - frames that carry no message: built on the stack, sent at once, never repeated by
 * themselves. If the lane does not take one, its timer or its cause will bring it again.
 */
#ifndef BEOWIRE_CORE_CONTROL_H
#define BEOWIRE_CORE_CONTROL_H

#include "core/core.h"
#include "pull/pull.h"

/** Asks for a connection over the lane with index `by`, of frames that a way of this MTU carries.
 *  CONNECT is as long on the wire as the longest of them, whatever their lane: it arrives only
 * where they do. */
void control_send_connect(struct core *core, struct core_peer *peer, unsigned by, uint32_t mtu);

/** The answer to the peer's CONNECT, likewise as long as the longest frame of the connection.
 *  @param asked_bytes of that CONNECT, on the wire: ACCEPT is no longer, since whoever has asked
 * may not be who it goes to. */
void control_send_accept(struct core *core, struct core_peer *peer, unsigned by,
                         uint32_t asked_bytes);

/** CHALLENGE over the lane with index `by`, as long as the longest frame of the connection: what
 *  answers it proves that such frames arrive. Not if too little has come of a peer that nobody has
 *  named, whose addresses may be others'. */
void control_send_challenge(struct core *core, struct core_peer *peer, unsigned by);

/** What answers a CHALLENGE with this number. */
void control_send_response(struct core *core, struct core_peer *peer, unsigned by, uint64_t number);

/** ACK, or SACK while there is a gap; the same frame `also_by` a lane that is not the usual one, if
 *  that is not PATH_NONE. */
void control_send_ack(struct core *core, struct core_peer *peer, unsigned also_by, uint64_t now_ns);

/** Needs flow_timeout() after it. */
void control_send_probe(struct core *core, struct core_peer *peer);
/** The same over the lane with index `by`. */
void control_send_probe_by(struct core *core, struct core_peer *peer, unsigned by);
/** CLOSE; `asks`: the peer should answer with CLOSE. */
void control_send_close(struct core *core, struct core_peer *peer, bool asks);

/** Asks for segments of a long message. */
void control_send_pull(struct core *core, struct core_peer *peer, const struct pull_ask *ask);

/** Refuses a frame from whoever sent it, unless too many were refused in this second. */
void control_send_reset(struct core *core, const struct frame *refused, const struct arrival *from,
                        enum frame_reset_reason reason, uint64_t now_ns);

#endif /* BEOWIRE_CORE_CONTROL_H */
