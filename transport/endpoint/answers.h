/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * answers.h - does the application answer a peer's messages at once?
 *
 * Whoever waits for an acknowledgement asks for it (FRAME_ACK_REQUEST), and to send it by itself
 * takes as long as to send a message. If the application usually sends one to that peer before it
 * looks for completions again, as in a ping-pong, the acknowledgement had better go with it. So the
 * messages in a row are counted that were answered before the next look.
 *
 * Pure. One thread.
 */
#ifndef BEOWIRE_ENDPOINT_ANSWERS_H
#define BEOWIRE_ENDPOINT_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

/** Of one peer; all 0 to begin with. */
struct answers {
    uint32_t asked_at; /**< the look that found the latest message that asks */
    bool asked;        /**< and nothing has been sent to the peer since */
    uint8_t in_a_row;  /**< so many were answered at once, up to ANSWERS_MIN */
};

/** The look of this number has found a message of the peer that asks for an acknowledgement. */
void answers_asked(struct answers *answers, uint32_t look);

/** The application sends to the peer; the latest look was that of this number. */
void answers_sent(struct answers *answers, uint32_t look);

/** Will it answer the next one at once, too? */
bool answers_likely(const struct answers *answers);

#endif /* BEOWIRE_ENDPOINT_ANSWERS_H */
