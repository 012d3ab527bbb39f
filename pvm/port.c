/* SPDX-License-Identifier: BSD-3-Clause */
#include "port.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pvm3.h>

#include "endpoint/nic.h"

/* Intervals at which libpvm3 polls its sockets, two system calls each: usual, and while idle. */
#define LOOK_NS UINT64_C(20000)
#define LOOK_SELDOM_NS UINT64_C(100000)

/* Polls in vain after which the longer interval is used. */
#define LOOKS_OFTEN 100

/* While it is polled (waiting.h), a gap of GAP_NS between two polls is looked into: others may want
 * the core, or a poll moved much. One of WORK_NS may have moved a part of a long message. */
#define GAP_NS UINT64_C(50000)
#define WORK_NS UINT64_C(4000)

/* Longest sleep, in case a wake-up was lost. */
#define SLEEP_MAX_NS UINT64_C(500000000)

/* Limit of copies in flight, and overhead counted for each: without it, short messages to a task
 * that computes could take any amount of memory. */
#define OUTGOING_BYTES_MAX (UINT64_C(64) << 20)
#define OUTGOING_COST_BYTES 512

#define COMPLETIONS 16

/* Turns of receiving before delivery to libpvm3. */
#define TURNS_MAX 64

/* Most descriptors of a sleep: libpvm3's, and the port's. */
#define DESCRIPTORS_MAX 1024

/* The 32 bits beside a message. */
#define CODE_MASK 0xffu
#define MARK_SHIFT 8
enum { CODE_RAW, CODE_XDR, CODE_TRACE, CODE_HELLO };

/* A message that comes. */
struct incoming {
    struct arrival arrival; /* first */
    struct stock_message *message;
    uint32_t peer;
    unsigned code;
    int status;
};

/* A copy that was made to be sent. */
struct parcel {
    unsigned references;
    char data[];
};

/* A message that is sent. */
struct outgoing {
    struct task *task;
    struct parcel *parcel; /* NULL: it is sent from where it is */
    uint64_t bytes;        /* of the copy, and OUTGOING_COST_BYTES; 0: there is none */
    bool kept;             /* its waiter frees it */
    bool done;
    int status; /* when done */
};

uint64_t port_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static const char *given(const char *name)
{
    const char *text = getenv(name);

    return text != NULL && *text != '\0' ? text : NULL;
}

/* The index of a counter; past the last: there is none of that name. */
static unsigned counter_named(const beowire_endpoint *endpoint, const char *wanted)
{
    const char *name = NULL;
    uint64_t value = 0;
    unsigned index = 0;

    while (beowire_counter(endpoint, index, &name, &value) == 0 && strcmp(name, wanted) != 0) {
        index++;
    }
    return index;
}

int port_open(struct port *port, const struct stock *stock, char *reason, size_t reason_bytes)
{
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    struct nic nics[NIC_MAX];

    options.interface = given("BEOWIRE_INTERFACE");
    options.lanes = given("BEOWIRE_LANES");
    if (options.interface == NULL && nic_is_needed(options.lanes)) {
        if (nic_list(nics) > 0 && !nics[0].loopback) {
            options.interface = nics[0].name;
        } else {
            options.lanes = "shm";
        }
    }
    options.operations = BEOWIRE_OPERATIONS_ANY;
    /* A thread that wakes for each frame wakes beside a task that sleeps for it, and where cores
     * are busy that takes several times as long. */
    options.progress = BEOWIRE_PROGRESS_KEEPER;
    const int status = beowire_open(&options, &port->endpoint);
    if (status != 0) {
        port->endpoint = NULL;
        if (beowire_configuration_check(NULL, reason, reason_bytes) == 0) {
            (void)snprintf(reason, reason_bytes, "%.64s: %s",
                           options.interface != NULL ? options.interface : options.lanes,
                           beowire_error(status));
        }
        return status;
    }
    port->stock = stock;
    contention_open(&port->contention);
    port->frames_counter = counter_named(port->endpoint, "lane_received_frames");
    port->descriptor = beowire_descriptor(port->endpoint);
    return 0;
}

void port_let_go(struct port *port, struct parcel *parcel)
{
    if (parcel != NULL && --parcel->references == 0) {
        keep_give(&port->keep, parcel);
    }
}

/* A send has ended; frees it unless it is kept. */
static void sent(struct port *port, struct outgoing *outgoing, int status)
{
    port->outgoing--;
    port->outgoing_bytes -= outgoing->bytes;
    outgoing->task->outgoing--;
    outgoing->done = true;
    outgoing->status = status;
    if (status != 0 && status != -EOWNERDEAD && outgoing->task->state == TASK_OPEN) {
        outgoing->task->state = status == -ECONNRESET ? TASK_GONE : TASK_FAILED;
    }
    port_let_go(port, outgoing->parcel);
}

static void ended(struct port *port, const struct beowire_completion *completion)
{
    struct incoming *incoming = completion->context;

    if (completion->context == NULL) {
        return; /* a hello */
    }
    if (completion->operation == BEOWIRE_SEND) {
        struct outgoing *outgoing = completion->context;
        sent(port, outgoing, completion->status);
        if (!outgoing->kept) {
            free(outgoing);
        }
    } else if (completion->operation == BEOWIRE_RECEIVE) {
        incoming->status = completion->status;
        incoming->arrival.complete = true;
    }
}

static int poll_once(struct port *port)
{
    struct beowire_completion completions[COMPLETIONS];
    const int count = beowire_poll(port->endpoint, completions, COMPLETIONS);

    for (int i = 0; i < count; i++) {
        ended(port, &completions[i]);
    }
    return count;
}

/* Receives a claimed message; 0 bytes: discards it. */
static int receive(struct port *port, beowire_message claimed, void *data, uint64_t bytes,
                   void *context)
{
    int status;

    while ((status = beowire_receive_claimed(port->endpoint, claimed, data, bytes, context)) ==
           -EAGAIN) {
        (void)poll_once(port);
    }
    return status;
}

/* @return NULL: no memory. */
static struct incoming *make_incoming(struct port *port, const struct beowire_completion *found,
                                      char **data)
{
    struct incoming *incoming = calloc(1, sizeof *incoming);
    struct peer *peer = table_peer(&port->table, found->peer);

    if (incoming != NULL && peer != NULL) {
        incoming->message = stock_make(port->stock, (int)found->bytes, data);
    }
    if (incoming == NULL || incoming->message == NULL) {
        free(incoming);
        return NULL;
    }
    incoming->arrival.source = &peer->source;
    incoming->arrival.mark = found->immediate >> MARK_SHIFT;
    incoming->peer = found->peer;
    incoming->code = found->immediate & CODE_MASK;
    incoming->message->context = (int)(uint32_t)(found->tag >> 32);
    incoming->message->tag = (int)(uint32_t)found->tag;
    return incoming;
}

/* Claims the oldest message. @return is there one that may be received now? */
static bool claim(struct port *port)
{
    if (port->held != 0) {
        return port->retry;
    }
    return beowire_claim(port->endpoint, BEOWIRE_ANY_PEER, 0, UINT64_MAX, &port->held_found,
                         &port->held) == 0;
}

/* Begins to receive it. Without memory for it, it stays where it is, and all behind it.
 * @return was there one? */
static bool begin(struct port *port)
{
    const struct beowire_completion *found = &port->held_found;
    char *data = NULL;

    if (!claim(port)) {
        return false;
    }
    const beowire_message claimed = port->held;
    const bool is_message = (found->immediate & CODE_MASK) < CODE_HELLO && found->bytes <= INT_MAX;
    struct incoming *incoming = is_message ? make_incoming(port, found, &data) : NULL;
    if (is_message && incoming == NULL) {
        port->retry = false;
        return false;
    }
    port->held = 0;
    if (!is_message) {
        (void)receive(port, claimed, NULL, 0, NULL);
        return true;
    }
    arrivals_add(&port->arrivals, &incoming->arrival);
    const int status = receive(port, claimed, data, found->bytes, incoming);
    if (status != 0) {
        incoming->status = status;
        incoming->arrival.complete = true;
    }
    return true;
}

static void absorb(struct port *port)
{
    bool more = true;

    for (int turn = 0; more && turn < TURNS_MAX; turn++) {
        more = poll_once(port) > 0;
        while (begin(port)) {
            more = true;
        }
    }
}

/* Delivers a message to libpvm3. @return was it complete? */
static bool hand_over(struct port *port, struct incoming *incoming)
{
    const struct peer *peer = table_peer(&port->table, incoming->peer);
    struct stock_message *message = incoming->message;
    const bool good = incoming->status == 0 && peer != NULL;

    if (!good) { /* its sender has failed */
        (void)port->stock->message_free(message);
    } else {
        message->source = peer->task;
        message->destination = *port->stock->own_task;
        (void)port->stock->message_encoding(message, incoming->code == CODE_XDR     ? STOCK_XDR
                                                     : incoming->code == CODE_TRACE ? STOCK_TRACE
                                                                                    : peer->format);
        (void)port->stock->take(message);
    }
    free(incoming);
    return good;
}

int port_collect(struct port *port)
{
    struct arrival *arrival;
    int count = 0;

    absorb(port);
    if (port->delivering || port->arrivals.first == NULL) {
        return 0;
    }
    port->delivering = true;
    while ((arrival = arrivals_take(&port->arrivals)) != NULL) {
        count += hand_over(port, (struct incoming *)arrival) ? 1 : 0;
    }
    port->delivering = false;
    return count;
}

int port_stock(struct port *port, int id, int number, int tag)
{
    struct timeval none = {0};

    port->inside++;
    const int count = port->stock->route(id, number, tag, &none);
    port->inside--;
    port->looked_ns = port_now_ns();
    port->lost = port->lost || count == PvmSysErr;
    port->often -= port->often > 0 ? 1 : 0;
    port->often = count > 0 ? LOOKS_OFTEN : port->often;
    return count;
}

/* Is it time for libpvm3 to poll its own sockets? */
static bool is_look_due(const struct port *port, uint64_t now_ns)
{
    const bool moves = port->outgoing > 0 || port->arrivals.first != NULL;
    const bool often = port->often > 0 && !moves;

    return now_ns - port->looked_ns >= (often ? LOOK_NS : LOOK_SELDOM_NS);
}

int port_glance(struct port *port)
{
    const int count = port_collect(port);

    if (port->inside > 0 || port->delivering || port->lost || !is_look_due(port, port_now_ns())) {
        return count;
    }
    const int more = port_stock(port, 0, 0, 0);
    return more < 0 ? more : count + more;
}

/* After poll(): libpvm3 has to look at its own sockets, or this poll() was that look. */
static void note_readable(struct port *port, const struct pollfd *pollers, nfds_t count)
{
    bool some = count == 0;

    for (nfds_t i = 0; i < count; i++) {
        some = some || pollers[i].revents != 0;
    }
    port->looked_ns = some ? 0 : port_now_ns();
}

/* Sleeps until something may have come, either way, or until then. */
static void rest(struct port *port, uint64_t until_ns)
{
    struct pollfd pollers[DESCRIPTORS_MAX];
    int *list = NULL;
    nfds_t count = 0;
    /* Within libpvm3 its own are not looked at. */
    const int own = port->inside > 0 || port->delivering ? 0 : port->stock->descriptors(&list);
    const uint64_t now_ns = port_now_ns();
    uint64_t time_ns = until_ns > now_ns ? until_ns - now_ns : 0;

    time_ns = time_ns < SLEEP_MAX_NS ? time_ns : SLEEP_MAX_NS;
    if (port->descriptor < 0 || own < 0 || own >= DESCRIPTORS_MAX) {
        (void)beowire_wait(port->endpoint, time_ns < LOOK_NS * 50 ? time_ns : LOOK_NS * 50);
        return;
    }
    pollers[count++] = (struct pollfd){.fd = port->descriptor, .events = POLLIN};
    for (int i = 0; i < own; i++) {
        pollers[count++] = (struct pollfd){.fd = list[i], .events = POLLIN};
    }
    const struct timespec time = {.tv_sec = (time_t)(time_ns / UINT64_C(1000000000)),
                                  .tv_nsec = (long)(time_ns % UINT64_C(1000000000))};
    if (beowire_arm(port->endpoint) == 0) {
        (void)ppoll(pollers, count, &time, NULL);
        note_readable(port, pollers + 1, count - 1);
    }
}

/* A wait: when it last made progress; the last time read; whether it has slept since then. */
struct polling {
    uint64_t since_ns;
    uint64_t now_ns;
    bool again; /* it was not there at the first look */
    bool sleepy;
    bool slept;
};

static void note_arrival(struct port *port, struct polling *polling)
{
    if (polling->again) {
        waiting_came(&port->waiting, polling->now_ns - polling->since_ns, polling->slept);
    }
    polling->since_ns = polling->now_ns;
    polling->slept = false;
}

/* Have frames come since the last call? */
static bool has_moved(struct port *port)
{
    const char *name = NULL;
    uint64_t frames = port->frames;

    (void)beowire_counter(port->endpoint, port->frames_counter, &name, &frames);
    const bool moved = frames != port->frames;
    port->frames = frames;
    return moved;
}

/* Has a part of a message probably come, but no whole one? A long poll is a sign of it. Before the
 * task sleeps, the counter of frames tells. */
static bool seems_moved(struct port *port, uint64_t gap_ns, uint64_t idle_ns)
{
    return gap_ns >= WORK_NS ||
           (!port->waiting.sleeps && waiting_is_over(&port->waiting, idle_ns) && has_moved(port));
}

/* Between two polls that found nothing: reads the clock, and sleeps when due. */
static void poll_again(struct port *port, struct polling *polling, uint64_t deadline_ns)
{
    const uint64_t before_ns = polling->now_ns;

    polling->again = true;
    if (polling->sleepy) {
        rest(port, deadline_ns);
        polling->now_ns = port_now_ns();
        polling->sleepy = false;
        polling->slept = true;
        return;
    }
    polling->now_ns = port_now_ns();
    const uint64_t gap_ns = polling->now_ns - before_ns;
    if (gap_ns >= GAP_NS && contention_look(&port->contention, polling->now_ns)) {
        waiting_disturbed(&port->waiting);
    } else if (seems_moved(port, gap_ns, polling->now_ns - polling->since_ns)) {
        note_arrival(port, polling);
    }
    polling->sleepy = waiting_is_over(&port->waiting, polling->now_ns - polling->since_ns);
}

static uint64_t deadline_of(uint64_t start_ns, uint64_t patience_ns)
{
    return patience_ns < UINT64_MAX - start_ns ? start_ns + patience_ns : UINT64_MAX;
}

int port_wait(struct port *port, const struct timeval *timeout)
{
    const uint64_t start_ns = port_now_ns();
    const uint64_t patience_ns =
        timeout == NULL
            ? UINT64_MAX
            : (uint64_t)timeout->tv_sec * UINT64_C(1000000000) + (uint64_t)timeout->tv_usec * 1000;
    const uint64_t deadline_ns = deadline_of(start_ns, patience_ns);
    struct polling polling = {.since_ns = start_ns, .now_ns = start_ns};

    port->retry = true;
    for (;;) {
        int count = port_collect(port);
        const bool last = polling.now_ns >= deadline_ns;
        if (is_look_due(port, polling.now_ns) || (count == 0 && last)) {
            const int more = port_stock(port, 0, 0, 0);
            if (more < 0) {
                return more;
            }
            count += more;
        }
        if (count > 0) {
            note_arrival(port, &polling);
            return count;
        }
        if (port->held != 0 || port->marks != NULL) {
            return PvmNoMem; /* a later call receives it */
        }
        if (last) {
            return 0;
        }
        poll_again(port, &polling, deadline_ns);
    }
}

/* Without a daemon, stops waiting, unless libpvm3 is in the midst of something. */
static bool gives_up(const struct port *port)
{
    return port->lost && port->inside == 0 && !port->delivering;
}

bool port_until(struct port *port, port_condition *condition, void *context, uint64_t patience_ns)
{
    const uint64_t start_ns = port_now_ns();
    const uint64_t deadline_ns = deadline_of(start_ns, patience_ns);
    struct polling polling = {.since_ns = start_ns, .now_ns = start_ns};

    while (!condition(port, context)) {
        if (polling.now_ns >= deadline_ns || gives_up(port)) {
            return false;
        }
        if (port_glance(port) != 0) {
            polling.sleepy = false;
        }
        poll_again(port, &polling, deadline_ns);
    }
    note_arrival(port, &polling);
    return true;
}

static bool is_done(struct port *port, void *context)
{
    (void)port;
    return ((const struct outgoing *)context)->done;
}

static bool has_room(struct port *port, void *context)
{
    (void)context;
    return port->outgoing_bytes <= OUTGOING_BYTES_MAX;
}

static int code_of(const struct port *port, int encoding)
{
    return encoding == STOCK_XDR                                            ? CODE_XDR
           : encoding == STOCK_TRACE                                        ? CODE_TRACE
           : encoding == STOCK_IN_PLACE || encoding == *port->stock->format ? CODE_RAW
                                                                            : -1;
}

/* Copies a message, unless that has been done. */
static struct parcel *wrap(struct port *port, const struct stock_message *message, size_t bytes,
                           struct parcel **shared)
{
    if (shared != NULL && *shared != NULL) {
        (*shared)->references++;
        return *shared;
    }
    struct parcel *parcel = keep_take(&port->keep, sizeof *parcel + bytes);
    if (parcel != NULL) {
        stock_gather(message, parcel->data);
        parcel->references = shared != NULL ? 2 : 1;
        if (shared != NULL) {
            *shared = parcel;
        }
    }
    return parcel;
}

struct envelope {
    uint64_t tag;
    uint32_t immediate;
    const void *data;
    uint64_t bytes;
};

static int post(struct port *port, struct outgoing *outgoing, const struct envelope *envelope)
{
    int status;

    port->outgoing++;
    port->outgoing_bytes += outgoing->bytes;
    outgoing->task->outgoing++;
    while ((status = beowire_send(port->endpoint, outgoing->task->peer, envelope->tag,
                                  envelope->immediate, envelope->data, envelope->bytes,
                                  outgoing)) == -EAGAIN) {
        if (gives_up(port)) {
            status = -EOWNERDEAD;
            break;
        }
        if (port_glance(port) == 0) {
            (void)beowire_wait(port->endpoint, LOOK_NS);
        }
    }
    if (status != 0) {
        sent(port, outgoing, status == -EINVAL ? -ECONNRESET : status);
    }
    return status;
}

/* One that takes longer. */
static int send_long(struct port *port, struct task *task, const struct stock_message *message,
                     struct envelope *envelope, struct parcel **shared)
{
    struct outgoing *outgoing = calloc(1, sizeof *outgoing);
    const bool stays =
        shared == NULL && message->encoding == STOCK_IN_PLACE && stock_single(message) != NULL;

    if (outgoing != NULL && !stays) {
        outgoing->parcel = wrap(port, message, envelope->bytes, shared);
    }
    if (outgoing == NULL || (!stays && outgoing->parcel == NULL)) {
        free(outgoing);
        return PORT_STOCK;
    }
    envelope->data = stays ? stock_single(message) : outgoing->parcel->data;
    outgoing->bytes = stays ? 0 : envelope->bytes + OUTGOING_COST_BYTES;
    outgoing->task = task;
    outgoing->kept = true;
    int status = post(port, outgoing, envelope);
    if (status == 0 && stays) {
        status = port_until(port, is_done, outgoing, UINT64_MAX) ? 0 : -EOWNERDEAD;
    } else if (status == 0) {
        if (shared == NULL && task->outgoing == 1) { /* it does not let others wait already */
            (void)port_until(port, is_done, outgoing, PORT_PATIENCE_NS);
        }
        (void)port_until(port, has_room, NULL, UINT64_MAX);
    }
    outgoing->kept = false;
    if (outgoing->done) {
        status = outgoing->status;
        free(outgoing);
    }
    return status;
}

int port_send(struct port *port, struct task *task, struct stock_message *message, int tag,
              struct parcel **shared)
{
    const int64_t bytes = stock_bytes(message);
    const int code = code_of(port, message->encoding);

    if (bytes < 0 || code < 0) {
        return PORT_STOCK;
    }
    struct envelope envelope = {
        .tag = (uint64_t)(uint32_t)message->context << 32 | (uint32_t)tag,
        .immediate = task->mark << MARK_SHIFT | (uint32_t)code,
        .data = bytes == 0 ? "" : stock_single(message),
        .bytes = (uint64_t)bytes,
    };
    int status = -EMSGSIZE;
    if (envelope.data != NULL && envelope.bytes <= beowire_inject_bytes(port->endpoint)) {
        status = beowire_inject(port->endpoint, task->peer, envelope.tag, envelope.immediate,
                                envelope.data, envelope.bytes);
    }
    if (status == -EMSGSIZE || status == -EAGAIN) {
        return send_long(port, task, message, &envelope, shared); /* sent() says what failed */
    }
    if (status != 0 && task->state == TASK_OPEN) {
        task->state = status == -ECONNRESET || status == -EINVAL ? TASK_GONE : TASK_FAILED;
    }
    return status;
}

static bool is_settled(struct port *port, void *context)
{
    (void)context;
    return port->outgoing == 0 && beowire_flush(port->endpoint, LOOK_NS) == 0;
}

bool port_settle(struct port *port, uint64_t patience_ns)
{
    return port_until(port, is_settled, NULL, patience_ns);
}

void port_drop_mark(struct port *port)
{
    struct stock_message *mark = port->marks;

    port->marks = mark->next;
    mark->next = NULL; /* as it came */
    (void)port->stock->message_free(mark);
}

void port_hello(struct port *port, uint32_t peer)
{
    (void)beowire_send(port->endpoint, peer, 0, CODE_HELLO, "", 0, NULL);
}

void port_close(struct port *port)
{
    struct beowire_completion completion;
    struct arrival *arrival;

    /* Ended sends belong to the port alone. */
    while (beowire_poll(port->endpoint, &completion, 1) > 0) {
        ended(port, &completion);
    }
    (void)beowire_close(port->endpoint, 0);
    port->endpoint = NULL;
    contention_close(&port->contention);
    while ((arrival = arrivals_drop(&port->arrivals)) != NULL) {
        (void)port->stock->message_free(((struct incoming *)arrival)->message);
        free(arrival);
    }
    while (port->marks != NULL) {
        port_drop_mark(port);
    }
    table_clear(&port->table);
    port->outgoing = 0; /* copies still in flight are never freed: the task ends */
    port->outgoing_bytes = 0;
    port->watched = false;
    port->lost = false;
    port->held = 0;
    port->looked_ns = 0;
}
