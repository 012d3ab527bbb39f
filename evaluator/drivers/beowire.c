/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * beowire.c - Beowire's own transport through its public interface, as an application uses it: over
 * all its lanes, and over each alone.
 *
 *   beowire         all available lanes
 *   beowire-wait    the same, waiting by beowire_wait(), which leaves the core to others
 *   beowire-packet  Ethernet frames
 *   beowire-xdp     the same, received over AF_XDP
 *   beowire-tso     segmentation offload (TSO), with Ethernet frames for single messages
 *   beowire-udp     UDP
 *   beowire-tipc    TIPC, if the kernel has it
 *   beowire-verbs   datagrams of an RDMA device, if the interface has one
 *   beowire-shm     shared memory between two processes of one host
 *
 * All messages have one tag, and arrive in order. Those that can be injected are (they have no
 * completion); longer ones are sent from the caller's buffer, and send() waits for their
 * completion. In a stream as many sends are under way as in OSU's message-rate tests, and as many
 * receives are posted in advance.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "beowire.h"
#include "driver.h"
#include "local.h"
#include "spin.h"

#define SESSION_TAG 0x62656F77

/* The other end may be stopped in a debugger for a while. */
#define PEER_TIMEOUT_NS UINT64_C(30000000000)

/* close() is bounded to 1 s in all. */
#define LINGER_NS UINT64_C(500000000)

/* During a flush, how often the host is asked whether to stop. */
#define FLUSH_SLICE_NS UINT64_C(1000000)
#define FLUSH_SLICES 20

/* The most sends, and receives, of a stream that are under way. */
#define STREAM_WINDOW 64

/** The longest wait of a driver that does not spin; then the host is asked whether to stop. */
#define WAIT_NS UINT64_C(1000000)

struct session {
    const struct driver_host *host;
    beowire_endpoint *endpoint;
    beowire_peer peer;
    uint64_t inject_bytes;
    char received;     /* its address is the context of receives */
    char sent;         /* and of sends */
    uint64_t sending;  /* sends not yet completed */
    uint64_t expected; /* receives of a stream not yet completed */
    uint64_t arrived;  /* completed receives not yet returned */
    uint64_t injected; /* posted sends that completed at once, not yet reported */
    bool waits;        /* does not spin */
    bool torn;         /* a cancelled receive has part of its message, and stays posted */
};

/* The lanes of each driver, as in beowire_options. */
static const char *const ALL_LANES = NULL;
static const char *const PACKET_LANE = "packet";
static const char *const XDP_LANES =
    "xdp,packet"; /* packet stays open if xdp is missing, to report why */
static const char *const TSO_LANES = "packet,tso";
static const char *const UDP_LANE = "udp";
static const char *const TIPC_LANE = "tipc";
static const char *const VERBS_LANE = "verbs";
static const char *const SHM_LANE = "shm";

static int explain(int status, const char *interface, char *error, size_t error_bytes)
{
    char reason[512] = "";

    if (beowire_configuration_check(NULL, reason, sizeof reason) != 0) {
        (void)snprintf(error, error_bytes, "%s", reason);
        return status;
    }
    /* The library does not know of labs. */
    (void)snprintf(error, error_bytes, "%s: %s%s", interface, beowire_error(status),
                   status == -EPERM ? ", such as --lab makes" : "");
    return status;
}

/* All named lanes must be open: otherwise other lanes would be measured under this name. */
static int check_lanes(const char *lanes, const beowire_endpoint *endpoint, char *error,
                       size_t error_bytes)
{
    const char *name = NULL;
    int reason = 0;

    for (unsigned i = 0;
         lanes != ALL_LANES && beowire_missing_lane(endpoint, i, &name, &reason) == 0; i++) {
        if (reason != -EOPNOTSUPP) { /* otherwise the lane is open, without a feature */
            (void)snprintf(error, error_bytes, "%s: %s", name,
                           beowire_missing_lane_reason(endpoint, i));
            return reason;
        }
    }
    return 0;
}

static int open_endpoint(const char *lanes, const struct driver_options *driver_options,
                         beowire_endpoint **endpoint, char *error, size_t error_bytes)
{
    char interface[IF_NAMESIZE] = "";
    struct beowire_options options = BEOWIRE_OPTIONS_DEFAULT;
    int status = 0;

    options.lanes = lanes;
    options.peer_timeout_ns = PEER_TIMEOUT_NS;
    if (lanes == SHM_LANE || lanes == TIPC_LANE) { /* lanes of the host, on any interface */
        (void)snprintf(interface, sizeof interface, "%s", lanes);
    } else {
        status = local_interface(driver_options, interface, error, error_bytes);
        options.interface = interface;
    }
    if (status != 0) {
        return status;
    }
    status = beowire_open(&options, endpoint);
    if (status == -EACCES && lanes == PACKET_LANE) {
        /* A broker refuses. An endpoint that opens with another lane knows why. */
        options.lanes = "packet,udp";
        if (beowire_open(&options, endpoint) == 0) {
            int reason = check_lanes(lanes, *endpoint, error, error_bytes);
            (void)beowire_close(*endpoint, 0);
            if (reason != 0) {
                return reason;
            }
        }
    }
    if (status != 0) {
        return explain(status, interface, error, error_bytes);
    }
    status = check_lanes(lanes, *endpoint, error, error_bytes);
    if (status != 0) {
        (void)beowire_close(*endpoint, 0);
    }
    return status;
}

static int probe_over(const char *lanes, const struct driver_options *options, char *reason,
                      size_t reason_bytes)
{
    beowire_endpoint *endpoint = NULL;
    int status = open_endpoint(lanes, options, &endpoint, reason, reason_bytes);

    if (status == 0) {
        (void)beowire_close(endpoint, 0);
    }
    return status;
}

static int open_over(const char *lanes, bool spinning, const struct driver_options *options,
                     void **session, char *error, size_t error_bytes)
{
    struct session *opened = calloc(1, sizeof *opened);

    if (opened == NULL) {
        return -ENOMEM;
    }
    opened->host = options->host;
    opened->waits = !spinning;
    int status = open_endpoint(lanes, options, &opened->endpoint, error, error_bytes);
    if (status != 0) {
        free(opened);
        return status;
    }
    opened->inject_bytes = beowire_inject_bytes(opened->endpoint);
    *session = opened;
    return 0;
}

static int driver_address(void *opened, char *text, size_t text_bytes)
{
    const struct session *session = opened;
    struct beowire_address address;

    beowire_address(session->endpoint, &address);
    return beowire_address_format(&address, text, text_bytes);
}

/** Posts one message. @return as beowire_inject() and beowire_send(). */
static int post(struct session *session, const void *data, uint64_t size, bool inject)
{
    return inject ? beowire_inject(session->endpoint, session->peer, SESSION_TAG, 0, data, size)
                  : beowire_send(session->endpoint, session->peer, SESSION_TAG, 0, data, size,
                                 &session->sent);
}

/** Takes all available completions. @return their number, or the first failure. */
static int collect(struct session *session)
{
    struct beowire_completion completions[STREAM_WINDOW];
    int count = beowire_poll(session->endpoint, completions, STREAM_WINDOW);

    for (int i = 0; i < count; i++) {
        if (completions[i].status != 0) {
            return completions[i].status;
        }
        if (completions[i].context == &session->sent) {
            session->sending--;
        } else if (completions[i].context == &session->received) {
            session->expected--;
            session->arrived++;
        }
    }
    return count;
}

/** To be called after a poll that has found no completion that must come. @return as spin_turn() */
static int turn(const struct session *session, struct spin *spin)
{
    if (!session->waits) {
        return spin_turn(spin);
    }
    int status = beowire_wait(session->endpoint, WAIT_NS);
    return status < 0 && status != -EINTR ? status : spin_look(spin);
}

/** Returns when no send is under way, including those of an interrupted call. */
static int await_sends(struct session *session)
{
    struct spin spin = spin_start(session->host, SPIN_FOREVER);

    while (session->sending > 0) {
        int status = collect(session);
        status = status == 0 ? turn(session, &spin) : status;
        if (status < 0) {
            return status;
        }
    }
    return 0;
}

/** An interrupted run may have left a send, whose completion would be taken for another's. */
static int driver_prepare(void *opened, uint64_t size)
{
    struct session *session = opened;

    (void)size;
    return session->torn ? -ESTALE : await_sends(session);
}

static int driver_send(void *opened, const void *data, uint64_t size)
{
    struct session *session = opened;
    struct spin spin = spin_start(session->host, SPIN_FOREVER);
    bool inject = size <= session->inject_bytes;

    for (;;) {
        int status = post(session, data, size, inject);
        if (status == 0) {
            session->sending += inject ? 0 : 1;
            return inject ? 0 : await_sends(session);
        }
        if (status == -EMSGSIZE && inject) {
            inject = false; /* no room for all of it */
            continue;
        }
        if (status != -EAGAIN) {
            return status;
        }
        status = beowire_poll(session->endpoint, NULL, 0);
        if (status == 0) {
            status = spin_turn(&spin);
        }
        if (status != 0) {
            return status;
        }
    }
}

/** Takes the next completion. @return whether it is that of a receive, or polling failed; then
 *  `status` is set. Completions of sends are counted. */
static bool take_receive(struct session *session, int *status)
{
    struct beowire_completion completion;
    int count = beowire_poll(session->endpoint, &completion, 1);

    if (count == 1 && completion.context == &session->received) {
        *status = completion.status;
        return true;
    }
    if (count == 1 && completion.context == &session->sent) {
        session->sending--; /* of an interrupted call */
    }
    *status = count;
    return count < 0;
}

/** The host asked to stop: cancels the receive. Otherwise it would take the next message, and two
 *  receives would be posted from then on. @return -ECANCELED, or the status with which it has just
 *  completed. */
__attribute__((noinline, cold)) static int take_back(struct session *session)
{
    int status = 0;

    session->torn = beowire_cancel(session->endpoint, &session->received) != 0;
    do {
        if (take_receive(session, &status)) {
            session->torn = false;
            return status;
        }
    } while (status > 0);
    return -ECANCELED;
}

static int driver_receive(void *opened, void *data, uint64_t size)
{
    struct session *session = opened;
    struct spin spin = spin_start(session->host, SPIN_FOREVER);
    int status = beowire_receive(session->endpoint, session->peer, SESSION_TAG, 0, data, size,
                                 &session->received);

    while (status == 0) {
        if (take_receive(session, &status)) {
            return status;
        }
        status = turn(session, &spin);
    }
    return status == -ECANCELED ? take_back(session) : status;
}

static int driver_stream_send(void *opened, const void *data, uint64_t size, uint64_t more)
{
    struct session *session = opened;

    struct spin spin = spin_start(session->host, SPIN_FOREVER);
    const uint64_t allowed = more == 0 ? 0 : STREAM_WINDOW - 1;
    bool inject = size <= session->inject_bytes;
    bool posted = false;
    while (!posted || session->sending > allowed) {
        int status = posted ? -EAGAIN : post(session, data, size, inject);
        if (status == 0) {
            if (inject && session->sending == 0) {
                return 0;
            }
            posted = true;
            session->sending += inject ? 0 : 1;
        } else if (status == -EMSGSIZE && inject) {
            inject = false; /* no room for all of it */
            continue;
        } else if (status != -EAGAIN) {
            return status;
        }
        status = collect(session);
        if (status == 0) {
            status = posted ? turn(session, &spin) : spin_turn(&spin);
        }
        if (status < 0) {
            return status;
        }
    }
    return 0;
}

static int driver_stream_receive(void *opened, void *data, uint64_t size, uint64_t more)
{
    struct session *session = opened;
    struct spin spin = spin_start(session->host, SPIN_FOREVER);
    const uint64_t wanted = more < STREAM_WINDOW ? more + 1 : STREAM_WINDOW;

    while (session->expected + session->arrived < wanted) {
        int status = beowire_receive(session->endpoint, session->peer, SESSION_TAG, 0, data, size,
                                     &session->received);
        if (status == -EAGAIN && session->expected + session->arrived > 0) {
            break;
        }
        if (status != 0) {
            return status;
        }
        session->expected++;
    }
    while (session->arrived == 0) {
        int status = collect(session);
        if (status == 0) {
            status = turn(session, &spin);
        }
        if (status < 0) {
            return status;
        }
    }
    session->arrived--;
    return 0;
}

static int driver_post_send(void *opened, const void *data, uint64_t size)
{
    struct session *session = opened;
    bool inject = size <= session->inject_bytes;
    int status = post(session, data, size, inject);

    if (status == -EMSGSIZE && inject) {
        inject = false; /* no room for all of it */
        status = post(session, data, size, false);
    }
    if (status == 0) {
        session->injected += inject ? 1 : 0;
        session->sending += inject ? 0 : 1;
    }
    return status;
}

static int driver_post_receive(void *opened, void *data, uint64_t size)
{
    struct session *session = opened;
    int status = beowire_receive(session->endpoint, session->peer, SESSION_TAG, 0, data, size,
                                 &session->received);

    session->expected += status == 0 ? 1 : 0;
    return status;
}

static int driver_progress(void *opened, bool wait, struct driver_ended *ended)
{
    struct session *session = opened;
    struct spin spin = spin_start(session->host, SPIN_FOREVER);

    for (;;) {
        const uint64_t sending = session->sending;
        int status = collect(session);
        if (status < 0) {
            return status;
        }
        const uint64_t sends = session->injected + (sending - session->sending);
        const uint64_t receives = session->arrived;
        session->injected = 0;
        session->arrived = 0;
        ended->sends += sends;
        ended->receives += receives;
        if (!wait || sends + receives > 0) {
            return 0;
        }
        status = status == 0 ? turn(session, &spin) : 0;
        if (status < 0) {
            return status;
        }
    }
}

/** Injected messages may have been lost, and are retransmitted only while the library is called, so
 *  not between runs. If the other end has everything and only its last acknowledgement was lost, it
 *  may be gone. So this waits for a limited time; the next run retransmits the rest. */
static int driver_flush(void *opened)
{
    struct session *session = opened;

    for (int slices = 0; slices < FLUSH_SLICES; slices++) {
        int status = beowire_flush(session->endpoint, FLUSH_SLICE_NS);
        if (status != -ETIMEDOUT) {
            return status;
        }
        if (session->host->stopped(session->host->context)) {
            return -ECANCELED;
        }
    }
    return 0;
}

/** Both ends send a greeting, so that the connection exists before anything is measured. */
static int driver_connect(void *opened, const char *peer_address, char *error, size_t error_bytes)
{
    struct session *session = opened;
    struct beowire_address address;
    char greeting = 0;
    int status = beowire_address_parse(peer_address, &address);

    if (status == 0) {
        status = beowire_peer_add(session->endpoint, &address, &session->peer);
    }
    if (status == 0) {
        status = driver_send(session, &greeting, sizeof greeting);
    }
    if (status == 0) {
        status = driver_receive(session, &greeting, sizeof greeting);
    }
    if (status == 0) {
        status = driver_flush(session);
    }
    return status == 0 ? 0 : explain(status, "connecting", error, error_bytes);
}

static void driver_close(void *opened)
{
    struct session *session = opened;

    (void)beowire_close(session->endpoint, LINGER_NS);
    free(session);
}

/* A driver over some lanes. Its functions do not get its name: each driver has its own two. */
#define OVER(own, lanes, at, spinning, called, says)                                               \
    static int own##_probe(const struct driver_options *options, char *reason,                     \
                           size_t reason_bytes)                                                    \
    {                                                                                              \
        return probe_over(lanes, options, reason, reason_bytes);                                   \
    }                                                                                              \
    static int own##_open(const struct driver_options *options, void **session, char *error,       \
                          size_t error_bytes)                                                      \
    {                                                                                              \
        return open_over(lanes, spinning, options, session, error, error_bytes);                   \
    }                                                                                              \
    static const struct driver own = {                                                             \
        .abi = DRIVER_ABI,                                                                         \
        .name = (called),                                                                          \
        .summary = (says),                                                                         \
        .placement = (at),                                                                         \
        .reliable = true,                                                                          \
        .spins = (spinning),                                                                       \
        .min_size = 1,                                                                             \
        .max_size = BEOWIRE_MESSAGE_BYTES_MAX,                                                     \
        .probe = own##_probe,                                                                      \
        .open = own##_open,                                                                        \
        .address = driver_address,                                                                 \
        .connect = driver_connect,                                                                 \
        .prepare = driver_prepare,                                                                 \
        .send = driver_send,                                                                       \
        .receive = driver_receive,                                                                 \
        .stream_send = driver_stream_send,                                                         \
        .stream_receive = driver_stream_receive,                                                   \
        .flush = driver_flush,                                                                     \
        .close = driver_close,                                                                     \
        .post_send = driver_post_send,                                                             \
        .post_receive = driver_post_receive,                                                       \
        .progress = driver_progress,                                                               \
    };

OVER(driver_beowire, ALL_LANES, DRIVER_PAIR, true, "beowire",
     "Beowire's transport over Ethernet frames and UDP: reliable, in order; spins")
OVER(driver_wait, ALL_LANES, DRIVER_PAIR, false, "beowire-wait",
     "Beowire's transport over Ethernet frames and UDP, waiting by beowire_wait(): sleeps")
OVER(driver_packet, PACKET_LANE, DRIVER_PAIR, true, "beowire-packet",
     "Beowire's transport over Ethernet frames alone (lane packet); spins")
OVER(driver_xdp, XDP_LANES, DRIVER_PAIR, true, "beowire-xdp",
     "Beowire's transport over Ethernet frames through AF_XDP (lane xdp); spins")
OVER(driver_tso, TSO_LANES, DRIVER_PAIR, true, "beowire-tso",
     "Beowire's transport over frames, with segmentation offload (lane tso); spins")
OVER(driver_udp, UDP_LANE, DRIVER_PAIR, true, "beowire-udp",
     "Beowire's transport over UDP alone, which needs no privilege (lane udp); spins")
OVER(driver_tipc, TIPC_LANE, DRIVER_PAIR, true, "beowire-tipc",
     "Beowire's transport over TIPC, where the kernel has it (lane tipc); spins")
OVER(driver_verbs, VERBS_LANE, DRIVER_PAIR, true, "beowire-verbs",
     "Beowire's transport over datagrams of an RDMA device (lane verbs); spins")
OVER(driver_shm, SHM_LANE, DRIVER_HOST, true, "beowire-shm",
     "Beowire's transport within a host, through shared memory (lane shm); spins")

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const table[] = {
        &driver_beowire, &driver_wait, &driver_packet, &driver_xdp, &driver_tso,
        &driver_udp,     &driver_tipc, &driver_verbs,  &driver_shm, NULL};

    return table;
}
