/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_session.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#define BATCH 16
#define WAIT_MS 100

#define KIND_SHIFT 28
#define TAKEN_MASK ((UINT32_C(1) << KIND_SHIFT) - 1)

/* The queue for whose messages this end offers memory, and the queue whose messages it moves. */
static struct verbs_queue *offering(struct verbs_session *session)
{
    return session->link.way == VERBS_READ ? &session->out : &session->in;
}

static struct verbs_queue *moving(struct verbs_session *session)
{
    return session->link.way == VERBS_READ ? &session->in : &session->out;
}

/* The oldest direct message of a queue has moved, or one abandoned in an earlier run. */
static int end_direct(struct verbs_session *session, struct verbs_queue *queue, uint64_t bytes)
{
    if (queue == &session->in && session->left_count > 0) {
        verbs_regions_release(session->left[--session->left_count]);
        return 0;
    }
    const struct verbs_transfer *transfer = verbs_queue_to_end(queue);
    if (transfer == NULL) {
        return -EPROTO;
    }
    if (transfer->size != bytes) {
        return -EBADMSG;
    }
    verbs_regions_release(verbs_queue_end(queue));
    return 0;
}

static uint64_t oldest_bytes(struct verbs_queue *queue)
{
    const struct verbs_transfer *transfer = verbs_queue_to_end(queue);
    return transfer == NULL ? 0 : transfer->size;
}

static int take_offer(struct verbs_session *session, const struct ibv_wc *completion)
{
    struct verbs_offer offer;
    if (completion->byte_len != sizeof offer ||
        session->offers_end - session->offers_first == VERBS_OFFERS) {
        return -EPROTO;
    }
    memcpy(&offer, verbs_link_slot(&session->link, completion->wr_id), sizeof offer);
    session->offers[session->offers_end++ % VERBS_OFFERS] = offer;
    return 0;
}

/* With VERBS_SEND the slot is posted again when the message has been copied out of it. */
static int take_arrival(struct verbs_session *session, const struct ibv_wc *completion)
{
    const bool reads = session->link.way == VERBS_READ;
    struct verbs_offer offer = {.size = completion->byte_len};
    if (reads && completion->byte_len == sizeof offer) {
        memcpy(&offer, verbs_link_slot(&session->link, completion->wr_id), sizeof offer);
    } else if (reads) {
        return -EPROTO;
    }
    if (session->arrived_end - session->arrived_first == VERBS_CREDITS ||
        offer.size > VERBS_COPIED_BYTES) {
        return -EPROTO;
    }
    session->arrived[session->arrived_end++ % VERBS_CREDITS] =
        (struct verbs_arrival){.slot = completion->wr_id, .offer = offer};
    session->arrived_whole += reads ? 0 : 1;
    return 0;
}

static int take_word(struct verbs_session *session, const struct ibv_wc *completion)
{
    const uint32_t word = ntohl(completion->imm_data);
    bool gives_back = true;
    int result = 0;
    if ((completion->wc_flags & IBV_WC_WITH_IMM) == 0) {
        return -EPROTO; /* malformed word */
    }
    session->peer_taken += (word - (uint32_t)session->peer_taken) & TAKEN_MASK;
    if (session->peer_taken > session->link.copied_sent) {
        return -EPROTO;
    }
    switch (word >> KIND_SHIFT) {
    case VERBS_GREETING:
        session->greeted = true;
        break;
    case VERBS_CREDIT:
        break;
    case VERBS_COPIED:
        gives_back = session->link.way != VERBS_SEND;
        result = take_arrival(session, completion);
        break;
    case VERBS_WRITTEN:
        result = end_direct(session, &session->in, completion->byte_len);
        break;
    case VERBS_OFFER:
        result = take_offer(session, completion);
        break;
    case VERBS_ENDED:
        result = end_direct(session, &session->out, oldest_bytes(&session->out));
        break;
    default:
        result = -EPROTO;
    }
    return result == 0 && gives_back ? verbs_link_return(&session->link, completion->wr_id)
                                     : result;
}

/* Handles the completions of sends, writes and reads. Their number, or a failure. */
static int collect_sent(struct verbs_session *session)
{
    struct ibv_wc completions[BATCH];
    const int count = verbs_link_poll(&session->link, session->link.sent, completions, BATCH);
    for (int i = 0; i < count; i++) {
        int result = verbs_link_errno(completions[i].status);
        if (result == 0 && completions[i].wr_id == VERBS_DIRECT) {
            struct verbs_queue *queue = moving(session);
            session->moving--;
            session->ends_owed += session->link.way == VERBS_READ ? 1 : 0;
            result = end_direct(session, queue, oldest_bytes(queue));
        } else if (result == 0 && completions[i].wr_id == VERBS_FETCHED) {
            session->arrived_whole++;
        }
        if (result != 0) {
            return result;
        }
    }
    return count;
}

/* After a connection has failed, all posted operations complete with an error. The cause is that of
 * a send. */
static int find_cause(struct verbs_session *session, int result)
{
    int count = 1;
    while (result == -ECONNRESET && count > 0) {
        count = collect_sent(session);
    }
    return count < 0 ? count : result;
}

static int collect_received(struct verbs_session *session)
{
    struct ibv_wc completions[BATCH];
    const int count = verbs_link_poll(&session->link, session->link.received, completions, BATCH);
    for (int i = 0; i < count; i++) {
        const struct ibv_wc *completion = &completions[i];
        int result = verbs_link_errno(completion->status);
        if (result != 0) {
            return find_cause(session, result);
        }
        result = completion->wr_id == VERBS_DIRECT
                     ? end_direct(session, &session->in, completion->byte_len)
                     : take_word(session, completion);
        if (result != 0) {
            return result;
        }
    }
    return count;
}

int verbs_session_say(struct verbs_session *session, enum verbs_kind kind, const void *data,
                      size_t bytes)
{
    session->told = session->taken;
    return verbs_link_word(&session->link, kind, session->taken, data, bytes);
}

static struct verbs_region *use(struct verbs_session *session,
                                const struct verbs_transfer *transfer)
{
    return verbs_regions_use(&session->regions, transfer->data, transfer->size);
}

/* Offers memory to the other end. */
static int offer(struct verbs_session *session)
{
    struct verbs_queue *queue = offering(session);
    struct verbs_transfer *transfer;
    int result = 0;
    while (result == 0 && (transfer = verbs_queue_to_begin(queue)) != NULL &&
           verbs_link_has_room(&session->link)) {
        struct verbs_region *region = use(session, transfer);
        if (region == NULL) {
            return -errno;
        }
        const struct verbs_offer here = {.address = (uintptr_t)transfer->data,
                                         .size = transfer->size,
                                         .key = region->registered->rkey,
                                         .run = session->run};
        verbs_queue_begin(queue, region);
        result = session->link.way != VERBS_SEND
                     ? 0
                     : verbs_link_expect(&session->link, transfer, region->registered->lkey);
        result = result != 0 ? result : verbs_session_say(session, VERBS_OFFER, &here, sizeof here);
    }
    return result;
}

/* Drops offers of earlier runs. A receive posted for one is used up. */
static int drop_void_offers(struct verbs_session *session)
{
    int result = 0;
    while (result == 0 && session->offers_first != session->offers_end &&
           (int32_t)(session->offers[session->offers_first % VERBS_OFFERS].run - session->run) <
               0) {
        session->offers_first++;
        result = session->link.way == VERBS_SEND ? verbs_link_void(&session->link) : 0;
    }
    return result;
}

/* Moves messages from or to offered memory. */
static int move(struct verbs_session *session)
{
    struct verbs_queue *queue = moving(session);
    struct verbs_transfer *transfer;
    int result = drop_void_offers(session);
    while (result == 0 && session->offers_first != session->offers_end &&
           (transfer = verbs_queue_to_begin(queue)) != NULL &&
           verbs_link_has_room(&session->link)) {
        const struct verbs_offer *there = &session->offers[session->offers_first % VERBS_OFFERS];
        if (there->size != transfer->size) {
            return -EBADMSG;
        }
        struct verbs_region *region = use(session, transfer);
        if (region == NULL) {
            return -errno;
        }
        session->offers_first++;
        session->moving++;
        verbs_queue_begin(queue, region);
        session->told = session->link.way == VERBS_WRITE ? session->taken : session->told;
        result = verbs_link_move(&session->link, transfer, region->registered->lkey, there,
                                 session->taken);
    }
    return result;
}

/* Sends copied messages as far as there is credit. */
static int send_copied(struct verbs_session *session)
{
    struct verbs_transfer *transfer;
    int result = 0;
    while (result == 0 && session->link.copied_sent - session->peer_taken < VERBS_CREDITS &&
           (transfer = verbs_queue_to_copy(&session->out)) != NULL &&
           verbs_link_has_room(&session->link)) {
        verbs_queue_copied(&session->out);
        result = verbs_session_say(session, VERBS_COPIED, transfer->data, transfer->size);
    }
    return result;
}

/* Reads copied messages that wait at the other end. */
static int fetch_copied(struct verbs_session *session)
{
    int result = 0;
    while (session->link.way == VERBS_READ && result == 0 &&
           session->arrived_begun != session->arrived_end && verbs_link_has_room(&session->link)) {
        const uint64_t number = session->arrived_begun++;
        result = verbs_link_fetch(&session->link, number,
                                  &session->arrived[number % VERBS_CREDITS].offer);
    }
    return result;
}

/* Copies messages that have arrived to their buffers. */
static int receive_copied(struct verbs_session *session)
{
    const bool in_slot = session->link.way == VERBS_SEND;
    struct verbs_transfer *transfer;
    while (session->arrived_first != session->arrived_whole &&
           (transfer = verbs_queue_to_copy(&session->in)) != NULL) {
        const uint64_t number = session->arrived_first;
        const struct verbs_arrival *arrival = &session->arrived[number % VERBS_CREDITS];
        if (arrival->offer.size != transfer->size) {
            return -EBADMSG;
        }
        session->arrived_first++;
        memcpy(transfer->data,
               in_slot ? verbs_link_slot(&session->link, arrival->slot)
                       : verbs_link_place(&session->link, number),
               transfer->size);
        session->taken++;
        verbs_queue_copied(&session->in);
        int result = in_slot ? verbs_link_return(&session->link, arrival->slot) : 0;
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

/* Sends words that are due. */
static int say_what_is_due(struct verbs_session *session)
{
    int result = 0;
    while (result == 0 && session->ends_owed > 0 && verbs_link_has_room(&session->link)) {
        session->ends_owed--;
        result = verbs_session_say(session, VERBS_ENDED, NULL, 0);
    }
    if (result == 0 && session->taken - session->told >= VERBS_CREDITS / 2 &&
        verbs_link_has_room(&session->link)) {
        result = verbs_session_say(session, VERBS_CREDIT, NULL, 0);
    }
    return result;
}

int verbs_session_tell(struct verbs_session *session)
{
    const bool is_due = session->link.way == VERBS_READ && session->taken != session->told;
    return is_due && verbs_link_has_room(&session->link)
               ? verbs_session_say(session, VERBS_CREDIT, NULL, 0)
               : 0;
}

/* A failure is permanent; the first one is kept. */
static int keep_failure(struct verbs_session *session, int result)
{
    if (result < 0 && session->failure == 0) {
        session->failure = result;
    }
    return session->failure != 0 ? session->failure : result;
}

int verbs_session_pump(struct verbs_session *session)
{
    if (session->failure != 0) {
        (void)receive_copied(session);
        return session->failure;
    }
    int result = fetch_copied(session);
    result = result != 0 ? result : receive_copied(session);
    result = result != 0 ? result : send_copied(session);
    result = result != 0 ? result : offer(session);
    result = result != 0 ? result : move(session);
    return keep_failure(session, result != 0 ? result : say_what_is_due(session));
}

/* Whether completions of sends matter now. Otherwise they are handled when many are due. */
static bool looks_at_sent(const struct verbs_session *session)
{
    const bool fetches =
        session->link.way == VERBS_READ && session->arrived_whole != session->arrived_begun;
    return session->moving > 0 || fetches || session->flushing ||
           session->link.words_under_way >= VERBS_SLOTS / 2;
}

/* The connection has failed, possibly after the last poll for receives. Messages that arrived
 * before are still delivered. */
static void take_the_rest(struct verbs_session *session)
{
    int count;
    do {
        count = collect_received(session);
    } while (count > 0);
    (void)receive_copied(session);
}

/* Handles completions, and then does what has become possible. Returns whether there were any, or a
 * failure. Messages that arrived before a failure are still delivered, even if both are seen at
 * once. */
int verbs_session_advance(struct verbs_session *session)
{
    if (session->failure != 0) {
        return session->failure;
    }
    int count = collect_received(session);
    if (count >= 0 && looks_at_sent(session)) {
        const int sent = collect_sent(session);
        count = sent < 0 ? sent : count + sent;
    }
    if (count < 0) {
        (void)keep_failure(session, count);
        take_the_rest(session);
        return session->failure;
    }
    const int result = verbs_session_pump(session);
    return result < 0 ? result : count;
}

/* Sleeps until something completes. The event must be requested before the last poll, because
 * earlier completions cause none. */
static int sleep_turn(struct verbs_session *session)
{
    int result = verbs_link_arm(&session->link, looks_at_sent(session));
    result = result != 0 ? result : verbs_session_advance(session);
    if (result != 0) {
        return result < 0 ? result : 0;
    }
    result = verbs_link_sleep(&session->link, WAIT_MS);
    if (result != 0) {
        return result < 0 ? result : 0;
    }
    return session->host->stopped(session->host->context) ? -ECANCELED : 0;
}

/* One turn of a wait: 0, or why the wait ends. */
int verbs_session_turn(struct verbs_session *session, struct spin *spin)
{
    const int count = verbs_session_advance(session);
    if (count != 0) {
        return count < 0 ? count : 0;
    }
    return session->sleeps ? sleep_turn(session) : spin_turn(spin);
}

static bool is_drained(const struct verbs_session *session, bool reads)
{
    return session->link.words_under_way == 0 && session->moving == 0 &&
           (!reads || session->link.way != VERBS_READ ||
            session->peer_taken == session->link.copied_sent);
}

int verbs_session_drain(struct verbs_session *session, bool reads, const struct driver_host *host,
                        uint64_t limit_ns)
{
    struct spin spin = spin_start(host, limit_ns);
    int result = 0;
    session->flushing = true;
    while (result >= 0 && !is_drained(session, reads)) {
        result = verbs_session_advance(session);
        result = result == 0 ? spin_turn(&spin) : result;
    }
    session->flushing = false;
    return result < 0 ? result : 0;
}
