/* SPDX-License-Identifier: BSD-3-Clause */
/* Posts messages, which leave at once or together with more of the same run (hold.h). */
#include "core/core_internal.h"
#include "message/bundle.h"
#include "route/trace.h"

#include <errno.h>

/** How often the lanes are polled: the first call may return only part of what has arrived. */
#define LOOKS 4

/** A post begins: decides whether it may be held back. @return true: another message is held back.
 */
static bool begin(struct core *core, uint64_t now_ns)
{
    bool held = core_has_held(core);

    if (!core->hold.over && !hold_follows(&core->hold, now_ns)) {
        hold_run_ended(&core->hold, held, now_ns); /* nobody has polled since */
    }
    core->messages.may_hold = hold_post(&core->hold, now_ns) && core->options.hold;
    return held;
}

/** A post has ended: sends what is held back if this ends the run, or if it has waited for HOLD_NS.
 *  @param held it was held back before the post, too @return true: it was sent */
static bool send_due(struct core *core, bool held, uint64_t now_ns)
{
    if (!core_has_held(core)) {
        return false;
    }
    if (!held) {
        core->hold.since_ns = now_ns;
        return false;
    }
    if (core->messages.may_hold && !hold_is_over(&core->hold, now_ns)) {
        return false;
    }
    core_send_held(core, now_ns);
    return true;
}

/** Something was posted for the peer: sends it, or holds it back if that saves time.
 *  @return true: it is held back, and nothing was sent */
static bool posted(struct core *core, struct core_peer *peer, bool held, uint64_t now_ns)
{
    const struct flow *flow = &peer->message.flow;
    bool left = core->messages.may_hold && peer->message.ready &&
                convoy_waits(&peer->route.convoy, flow->next - flow->highest,
                             flow_window(flow, flow->first));

    if (left) {
        bundle_gather(&core->messages, &peer->message);
        message_take_back(&core->messages, &peer->message);
    } else {
        core_service(core, peer, now_ns);
    }
    return !send_due(core, held, now_ns) && left;
}

static int push(struct core *core, struct core_peer *peer, const struct core_post *post)
{
    switch (post->how) {
    case CORE_INJECT:
        return message_inject(&core->messages, &peer->message, post->tag, post->immediate,
                              post->data, post->bytes);
    case CORE_SEND:
        return message_send(&core->messages, &peer->message, post->tag, post->immediate, post->data,
                            post->bytes, post->context);
    case CORE_SEND_CONFIRMED:
        return message_send_confirmed(&core->messages, &peer->message, post->tag, post->immediate,
                                      post->data, post->bytes, post->context);
    case CORE_SEND_MATCHED:
        return message_send_matched(&core->messages, &peer->message, post->tag, post->immediate,
                                    post->data, post->bytes, post->context);
    }
    return -EINVAL;
}

/** Is this a message to ourselves that a receive has taken? */
static bool is_handed_over(struct core *core, struct core_peer *peer, const struct core_post *post)
{
    return peer->message.ourselves &&
           message_to_ourselves(&core->messages, &peer->message, post->tag, post->immediate,
                                post->data, post->bytes, post->how == CORE_INJECT, post->context);
}

/** Is there no room for the message, by lack of credit or because too much is in flight? */
static bool is_short(const struct message_peer *peer)
{
    return peer->ready &&
           (!flow_has_credit(&peer->flow) || !flow_has_room(&peer->flow) || message_has_work(peer));
}

/** How much of the message may be sent at once. */
static uint64_t bytes_of(const struct core_post *post)
{
    return post->bytes < POST_LOOK_BYTES ? post->bytes : POST_LOOK_BYTES;
}

/** Takes arrived frames. @return the time afterwards. */
static uint64_t look(struct core *core, uint64_t (*clock_ns)(void *), void *clock, uint64_t now_ns)
{
    unsigned looks = 0;

    core->posted_look_ns = now_ns;
    core_look_in_time(core);
    while (core_receive(core, clock_ns, clock) > 0 && ++looks < LOOKS) {
        /* it came while others were sent */
    }
    return clock_ns(clock);
}

int core_post(struct core *core, struct core_peer *peer, const struct core_post *post,
              uint64_t (*clock_ns)(void *), void *clock)
{
    if (__builtin_expect(is_handed_over(core, peer, post), 0)) {
        return 0;
    }
    trace_here(core->routes.trace, TRACE_POSTED, post->bytes);
    uint64_t now_ns = clock_ns(clock);
    bool much = core->posted_bytes >= POST_LOOK_BYTES;
    if (__builtin_expect(much || is_short(&peer->message), 0) &&
        now_ns - core->posted_look_ns >= (much ? POST_LOOK_MUCH_NS : POST_LOOK_NS)) {
        now_ns = look(core, clock_ns, clock, now_ns);
    }
    core->posted_bytes += bytes_of(post);
    bool held = begin(core, now_ns);
    int status = push(core, peer, post);
    bool left = false;

    if (status == 0) {
        trace_here(core->routes.trace, TRACE_MADE, post->bytes);
        if (post->bytes > message_limits_busy(&core->messages.limits)) {
            core->messages.may_hold = false; /* it is long enough to be sent by itself */
        }
        left = posted(core, peer, held, now_ns);
        if (core_has_bulk(core)) {
            core_bulk(core, now_ns);
            left = false;
            if (core_has_bulk(core)) { /* unasked blocks leave now, whatever follows */
                (void)core_receive(core, clock_ns, clock);
                core_bulk(core, clock_ns(clock));
            }
        }
    } else {
        if (status == -EAGAIN && post->how == CORE_INJECT) {
            core_connect(core, peer, now_ns);
        }
        (void)send_due(core, held, now_ns); /* another peer may have room */
    }
    if (hold_may_run(&core->hold)) {
        hold_posted(&core->hold, status == -EAGAIN, left ? now_ns : clock_ns(clock));
    }
    return status;
}

void core_send_held(struct core *core, uint64_t now_ns)
{
    struct message_peer *message = bundle_first(&core->messages);

    while (message != NULL) {
        struct message_peer *next = bundle_next(&core->messages, message);
        bundle_close(&core->messages, message);
        core_service(core, core->peers[message->index], now_ns);
        message = next;
    }
}

void core_look_held(struct core *core, bool vain, uint64_t now_ns)
{
    bool was_over = core->hold.over;
    bool ended = hold_look(&core->hold, vain, now_ns);

    if (ended && !was_over) {
        hold_run_ended(&core->hold, core_has_held(core), now_ns);
    }
    if (core_has_held(core) && (ended || hold_is_over(&core->hold, now_ns))) {
        core_send_held(core, now_ns);
    }
}
