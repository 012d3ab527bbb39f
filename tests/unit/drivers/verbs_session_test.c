/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_session.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "../engine/testing.h"

/* What the link says has completed, once, of what was received; and what it is then told. */
static struct ibv_wc arrived[2];
static int arrivals;
static bool late; /* they do only when what was sent has been looked at */
static bool sending_failed;
static unsigned returned;
static uint8_t memory[VERBS_COPIED_BYTES];

int verbs_link_poll(struct verbs_link *link, struct ibv_cq *queue, struct ibv_wc *completions,
                    int count)
{
    const int found = queue == link->received && !late ? arrivals : 0;
    assert_true(count >= found);
    if (queue == link->sent) {
        completions[0] = (struct ibv_wc){.status = IBV_WC_RETRY_EXC_ERR};
        late = false;
        return sending_failed ? 1 : 0;
    }
    memcpy(completions, arrived, (size_t)found * sizeof *completions);
    arrivals -= found;
    return found;
}

int verbs_link_return(struct verbs_link *link, uint64_t slot)
{
    returned++;
    return 0;
}

int verbs_link_errno(enum ibv_wc_status status)
{
    return status == IBV_WC_SUCCESS ? 0 : -EIO;
}

uint8_t *verbs_link_slot(const struct verbs_link *link, uint64_t slot)
{
    return memory;
}

uint8_t *verbs_link_place(const struct verbs_link *link, uint64_t number)
{
    return verbs_link_slot(link, number);
}

/* Nothing is sent here. */
static int not_called(const void *link, ...)
{
    assert_null(link);
    return -EIO;
}

int verbs_link_word(struct verbs_link *link, enum verbs_kind kind, uint64_t taken, const void *data,
                    size_t bytes)
{
    return not_called(link, kind, taken, data, bytes);
}

int verbs_link_move(struct verbs_link *link, const struct verbs_transfer *transfer,
                    uint32_t own_key, const struct verbs_offer *offer, uint64_t taken)
{
    return not_called(link, transfer, own_key, offer, taken);
}

int verbs_link_fetch(struct verbs_link *link, uint64_t number, const struct verbs_offer *offer)
{
    return not_called(link, number, offer);
}

int verbs_link_void(struct verbs_link *link)
{
    return not_called(link);
}

int verbs_link_expect(struct verbs_link *link, const struct verbs_transfer *transfer,
                      uint32_t own_key)
{
    return not_called(link, transfer, own_key);
}

int verbs_link_arm(struct verbs_link *link, bool sends)
{
    return not_called(link, sends);
}

int verbs_link_sleep(struct verbs_link *link, int wait_ms)
{
    return not_called(link, wait_ms);
}

struct verbs_region *verbs_regions_use(struct verbs_regions *regions, void *data, uint64_t bytes)
{
    fail();
    return NULL;
}

void verbs_regions_release(struct verbs_region *region)
{
}

static void begin(struct verbs_session *session)
{
    static struct ibv_cq sent;
    static struct ibv_cq received;

    memset(session, 0, sizeof *session);
    session->link.sent = &sent;
    session->link.received = &received;
    returned = 0;
    late = false;
    sending_failed = false;
}

static struct ibv_wc word(enum verbs_kind kind, unsigned flags, uint32_t bytes)
{
    return (struct ibv_wc){.imm_data = htonl((uint32_t)kind << 28),
                           .wc_flags = flags,
                           .byte_len = bytes,
                           .opcode = IBV_WC_RECV};
}

/** What a session that has just begun makes of a word. */
static int hear(struct verbs_session *session, enum verbs_kind kind, unsigned flags, uint32_t bytes)
{
    begin(session);
    arrivals = 1;
    arrived[0] = word(kind, flags, bytes);
    return verbs_session_advance(session);
}

TEST(advance__a_word_is_heard)
{
    static struct verbs_session session;

    assert_int_equal(hear(&session, VERBS_GREETING, IBV_WC_WITH_IMM, 0), 1);
    assert_true(session.greeted);
    assert_int_equal(returned, 1);
    assert_int_equal(hear(&session, VERBS_COPIED, IBV_WC_WITH_IMM, 100), 1);
    assert_int_equal(session.arrived_end, 1);
}

/** Of what has no immediate data those bytes of the completion are not written. */
TEST(advance__a_message_without_a_word)
{
    static struct verbs_session session;

    assert_int_equal(hear(&session, VERBS_GREETING, 0, 0), -EPROTO);
    assert_false(session.greeted);
    assert_int_equal(hear(&session, VERBS_COPIED, IBV_WC_GRH, 100), -EPROTO);
    assert_int_equal(session.arrived_end, 0);
}

TEST(advance__words_that_are_none)
{
    static struct verbs_session session;

    assert_int_equal(hear(&session, VERBS_KINDS, IBV_WC_WITH_IMM, 0), -EPROTO);
    assert_int_equal(hear(&session, VERBS_COPIED, IBV_WC_WITH_IMM, VERBS_COPIED_BYTES + 1),
                     -EPROTO);
    assert_int_equal(hear(&session, VERBS_OFFER, IBV_WC_WITH_IMM, 3), -EPROTO);
}

/** A process that was kept waiting finds both at once: the last message of an end that has left,
 * and that it has. */
TEST(advance__what_came_before_the_failure_is_there)
{
    static struct verbs_session session;
    uint8_t got[100] = {0};

    begin(&session);
    assert_true(verbs_queue_add(&session.in, got, sizeof got, false));
    memset(memory, 7, sizeof memory);
    arrivals = 2;
    arrived[0] = word(VERBS_COPIED, IBV_WC_WITH_IMM, sizeof got);
    arrived[1] = (struct ibv_wc){.status = IBV_WC_WR_FLUSH_ERR};
    assert_int_equal(verbs_session_advance(&session), -EIO);
    assert_int_equal(verbs_queue_settle(&session.in), 1);
    assert_memory_equal(got, memory, sizeof got);
    /* The queue is told once only that it has failed. */
    assert_int_equal(verbs_session_advance(&session), -EIO);
    assert_int_equal(verbs_queue_settle(&session.in), 0);
}

/** It comes between the looks at what was received and at what was sent, and the latter has failed.
 */
TEST(advance__what_came_before_sending_failed_is_there)
{
    static struct verbs_session session;
    uint8_t got[100] = {0};

    begin(&session);
    session.flushing = true;
    assert_true(verbs_queue_add(&session.in, got, sizeof got, false));
    memset(memory, 8, sizeof memory);
    late = true;
    sending_failed = true;
    arrivals = 1;
    arrived[0] = word(VERBS_COPIED, IBV_WC_WITH_IMM, sizeof got);
    assert_int_equal(verbs_session_advance(&session), -EIO);
    assert_int_equal(verbs_queue_settle(&session.in), 1);
    assert_memory_equal(got, memory, sizeof got);
}

/** A message of another size ends the session, also if it is noticed beside one that is right. */
TEST(pump__a_failure_is_for_good)
{
    static struct verbs_session session;
    uint8_t got[100] = {0};

    begin(&session);
    for (int i = 0; i < 3; i++) {
        assert_true(verbs_queue_add(&session.in, got, sizeof got, false));
    }
    arrivals = 2;
    arrived[0] = word(VERBS_COPIED, IBV_WC_WITH_IMM, sizeof got);
    arrived[1] = word(VERBS_COPIED, IBV_WC_WITH_IMM, sizeof got - 1);
    assert_int_equal(verbs_session_advance(&session), -EBADMSG);
    assert_int_equal(verbs_queue_settle(&session.in), 1);
    arrivals = 1;
    assert_int_equal(verbs_session_pump(&session), -EBADMSG);
    assert_int_equal(verbs_session_advance(&session), -EBADMSG);
    assert_int_equal(verbs_queue_settle(&session.in), 0);
}
