/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/queue_poll.h"

#include "lane/socket.h"
#include "tuning.h"

#include <sys/socket.h>

/* Of Linux 5.11 and 4.12, whose headers older systems do not have. */
#ifndef SO_INCOMING_NAPI_ID
#define SO_INCOMING_NAPI_ID 56
#endif
#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL 69
#define SO_BUSY_POLL_BUDGET 70
#endif

/** While the kernel does not know the queue, it is asked at the first poll and then once in this
 *  many, because the first frame may arrive late. */
#define LOOKS_PER_QUESTION 64

void queue_poll_allow(int socket, uint32_t time_us)
{
    (void)socket_set(socket, SOL_SOCKET, SO_BUSY_POLL, (int)time_us);
    if (socket_set(socket, SOL_SOCKET, SO_PREFER_BUSY_POLL, time_us > 0) == 0 && time_us > 0) {
        (void)socket_set(socket, SOL_SOCKET, SO_BUSY_POLL_BUDGET, LANE_POLL_FRAMES);
    }
}

void queue_poll_by(struct queue_poll *poll, int socket)
{
    *poll = (struct queue_poll){.socket = socket, .is_wanted = true};
}

void queue_poll_stop(struct queue_poll *poll)
{
    *poll = (struct queue_poll){.socket = -1};
}

bool queue_poll_ask(struct queue_poll *poll)
{
    int number = 0;
    socklen_t length = sizeof number;

    if (poll->unknown++ % LOOKS_PER_QUESTION == 0) {
        poll->is_known =
            getsockopt(poll->socket, SOL_SOCKET, SO_INCOMING_NAPI_ID, &number, &length) == 0 &&
            number != 0;
    }
    return poll->is_known;
}

void queue_poll_look(const struct queue_poll *poll)
{
    char none;

    (void)recv(poll->socket, &none, 0, MSG_PEEK | MSG_DONTWAIT);
}
