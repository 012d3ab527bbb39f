/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pvm.c - messages between two tasks of a virtual machine of PVM:
 *
 *   pvm         through the daemons of both nodes, PVM's default
 *   pvm-direct  over a connection between the tasks (PvmRouteDirect)
 *   pvm-beowire over Beowire (pvm/, which is linked into this driver before libpvm3)
 *
 * Messages are packed in place (PvmDataInPlace), so any copies are PVM's. Receiving blocks in
 * pvm_trecv(); over Beowire it polls for 0.1 ms first.
 *
 * The virtual machine belongs to the session (pvm_daemon.h). The two ends have a TCP connection
 * (connection.h) over which they exchange the data of daemons and tasks. If it closes while an end
 * waits for messages, the other process has ended.
 *
 *      initiator                              responder
 *      master --- how to start -------------> daemon   (if its address is not the master's)
 *             <-- its address ---------------
 *             --- "here" DIRECTORY ---------> the same daemon  (if the addresses are equal)
 *      task   <-- task's number, both ways -> task
 *
 * A process can be a task of PVM only once, because the library keeps state.
 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "connection.h"
#include "driver.h"
#include "local.h"
#include "pvm_daemon.h"
#include "text.h"

#define TAG 7

/* For the messages by which both tasks check that they can use Beowire. */
#define MEET_TAG 8
#define MEET_TRIES 100
#define MEET_S 5

/* Lengths are `int` in PVM, and headers are added. */
#define BYTES_MAX (UINT64_C(1) << 30)

#define SLICE_MS 100

/* Time between two attempts to become a task. */
#define TRY_MS 10

/* A peer's send completes only when this end takes its message, so after an interrupted run this
 * end polls this often, a millisecond apart. That is longer than the evaluator waits for an
 * answer. */
#define IDLE_LOOKS 3000

static const char HERE[] = "here ";

struct session {
    struct connection link; /* first: it is a connection's session as well */
    struct pvm_daemon daemon;
    int task;                    /* the other end's; 0: unknown */
    char interface[IF_NAMESIZE]; /* for Beowire; "": PVM's own routes */
    bool direct;
    bool enrolled;
    unsigned owed; /* polls left for pvm_idle() */
};

/* pvm/interpose.c: the number of messages sent over Beowire. */
unsigned long beowire_pvm_carried(void);

/* This process is, or was, a task. */
static bool enrolled;

static const struct connection_kind LINK = {
    .protocol = IPPROTO_TCP,
    .after = connection_no_delay,
};

static int pvm_probe_here(const struct driver_options *options, char *reason, size_t reason_bytes)
{
    if (pvm_daemon_program() == NULL) {
        (void)snprintf(reason, reason_bytes,
                       "there is no PVM daemon here: install it (Debian: pvm)");
        return -ENOENT;
    }
    return connection_probe(&LINK, options, "this kernel has no TCP", reason, reason_bytes);
}

static int open_any(bool direct, bool beowire, const struct driver_options *options, void **opened,
                    char *error, size_t error_bytes)
{
    if (enrolled) {
        (void)snprintf(error, error_bytes, "PVM can be started only once in a process");
        return -EBUSY;
    }
    if (pvm_daemon_program() == NULL) {
        return pvm_probe_here(options, error, error_bytes);
    }
    char interface[IF_NAMESIZE] = "";
    int status = beowire ? local_interface(options, interface, error, error_bytes) : 0;
    if (status == 0) {
        status =
            connection_open(&LINK, sizeof(struct session), options, opened, error, error_bytes);
    }
    if (status == 0) {
        struct session *session = *opened;
        pvm_daemon_init(&session->daemon);
        session->direct = direct;
        memcpy(session->interface, interface, sizeof interface);
    }
    return status;
}

static int daemons_open(const struct driver_options *options, void **opened, char *error,
                        size_t error_bytes)
{
    return open_any(false, false, options, opened, error, error_bytes);
}

static int direct_open(const struct driver_options *options, void **opened, char *error,
                       size_t error_bytes)
{
    return open_any(true, false, options, opened, error, error_bytes);
}

static int over_beowire_open(const struct driver_options *options, void **opened, char *error,
                             size_t error_bytes)
{
    return open_any(true, true, options, opened, error, error_bytes);
}

/* The address without a port, as PVM needs it. */
static int name_of(const struct sockaddr_storage *address, char *name, size_t name_bytes,
                   char *error, size_t error_bytes)
{
    if (address->ss_family != AF_INET) {
        (void)snprintf(error, error_bytes, "PVM supports IPv4 only: give this end an IPv4 address");
        return -EAFNOSUPPORT;
    }
    int status = local_write(address, name, name_bytes);
    char *port = strchr(name, ':');
    if (status == 0 && port != NULL) {
        *port = '\0';
    }
    return status;
}

static int tell(struct session *session, const char *line)
{
    char whole[PVM_LINE_BYTES] = "";
    (void)snprintf(whole, sizeof whole, "%s", line);
    return connection_send(session, whole, sizeof whole);
}

static int hear(struct session *session, char line[PVM_LINE_BYTES])
{
    int status = connection_receive(session, line, PVM_LINE_BYTES);
    line[PVM_LINE_BYTES - 1] = '\0';
    return status;
}

/* The initiator's part of starting a virtual machine of two nodes. */
static int add_other(struct session *session, char *error, size_t error_bytes)
{
    const struct driver_host *host = session->link.host;
    char line[PVM_LINE_BYTES];
    int status = pvm_daemon_hear(&session->daemon, host, "pvmd ", line, error, error_bytes);
    if (status == 0) {
        status = tell(session, line);
    }
    if (status == 0) {
        status = hear(session, line);
    }
    return status == 0 ? pvm_daemon_say(&session->daemon, line, error, error_bytes) : status;
}

static int start_master(struct session *session, char *error, size_t error_bytes)
{
    struct sockaddr_storage there = {0};
    socklen_t bytes = sizeof there;
    char own[LOCAL_TEXT_BYTES];
    char other[LOCAL_TEXT_BYTES];
    struct sockaddr_storage here = {0};
    socklen_t here_bytes = sizeof here;

    if (getpeername(session->link.fd, (struct sockaddr *)&there, &bytes) != 0 ||
        getsockname(session->link.fd, (struct sockaddr *)&here, &here_bytes) != 0) {
        return -errno;
    }
    int status = name_of(&here, own, sizeof own, error, error_bytes);
    if (status == 0) {
        status = name_of(&there, other, sizeof other, error, error_bytes);
    }
    if (status != 0) {
        return status;
    }
    const bool same = strcmp(own, other) == 0;
    status = pvm_daemon_master(&session->daemon, own, same ? "" : other, error, error_bytes);
    if (status != 0) {
        return status;
    }
    if (!same) {
        return add_other(session, error, error_bytes);
    }
    char line[PVM_LINE_BYTES];
    (void)snprintf(line, sizeof line, "%s%s", HERE, session->daemon.directory);
    return tell(session, line);
}

/* The responder's part: starts its own daemon, or uses the initiator's. */
static int join(struct session *session, char directory[PVM_LINE_BYTES], char *error,
                size_t error_bytes)
{
    char line[PVM_LINE_BYTES];
    int status = hear(session, line);
    if (status != 0) {
        return status;
    }
    if (strncmp(line, HERE, sizeof HERE - 1) == 0) {
        (void)snprintf(directory, PVM_LINE_BYTES, "%s", line + sizeof HERE - 1);
        return 0;
    }
    status = pvm_daemon_slave(&session->daemon, line, error, error_bytes);
    if (status == 0) {
        status = pvm_daemon_hear(&session->daemon, session->link.host, "ddpro", line, error,
                                 error_bytes);
    }
    (void)snprintf(directory, PVM_LINE_BYTES, "%s", session->daemon.directory);
    return status == 0 ? tell(session, line) : status;
}

/* Becomes a task as soon as the daemon accepts it. */
static int enrol(struct session *session, const char *directory, char *error, size_t error_bytes)
{
    const struct timespec pause = {.tv_nsec = TRY_MS * 1000000};
    int own;
    (void)setenv("PVM_TMP", directory, 1);
    (void)setenv("PVM_ALLOW_ROOT", "1", 1);
    (void)unsetenv("PVM_VMID");
    (void)unsetenv("PVMSOCK");
    (void)setenv("BEOWIRE_PVM", session->interface[0] != '\0' ? "on" : "off", 1);
    if (session->interface[0] != '\0') {
        (void)setenv("BEOWIRE_INTERFACE", session->interface, 1);
    }
    (void)pvm_setopt(PvmAutoErr, 0);
    while ((own = pvm_mytid()) < 0) {
        if (connection_stopped(&session->link)) {
            (void)snprintf(error, error_bytes, "PVM's daemon accepts no task");
            return -ECANCELED;
        }
        (void)nanosleep(&pause, NULL);
    }
    session->enrolled = enrolled = true;
    (void)pvm_setopt(PvmRoute, session->direct ? PvmRouteDirect : PvmDontRoute);
    char line[PVM_LINE_BYTES];
    (void)snprintf(line, sizeof line, "%d", own);
    int status = tell(session, line);
    if (status == 0) {
        status = hear(session, line);
    }
    const char *at = line;
    uint64_t task = 0;
    if (status == 0 && (!text_number(&at, 10, '\0', INT32_MAX, &task) || task == 0)) {
        status = -EPROTO;
    }
    session->task = (int)task;
    return status;
}

/* Has the other end closed the connection? Nothing is sent on it while messages are awaited. */
static bool has_gone(const struct session *session)
{
    struct pollfd poller = {.fd = session->link.fd, .events = POLLIN};
    return poll(&poller, 1, 0) > 0;
}

/* Converts PVM's errors. A daemon that both ends use ends with the initiator. */
static int trouble(struct session *session, int code)
{
    switch (code) {
    case PvmNoMem:
        return -ENOMEM;
    case PvmNoTask:
    case PvmNoHost:
        return -ECONNRESET;
    case PvmSysErr: /* the task's daemon is gone: no pvm_exit() */
        session->enrolled = false;
        return has_gone(session) ? -ECONNRESET : -EOWNERDEAD;
    default:
        return -EIO;
    }
}

/* Exchanges messages until they use Beowire: otherwise PVM's own route would be measured. Each end
 * reports whether its messages do, and both stop in the same round, when both do. */
static int go_over(struct session *session, char *error, size_t error_bytes)
{
    for (int tries = 0; tries < MEET_TRIES; tries++) {
        const struct timespec pause = {.tv_nsec = TRY_MS * 1000000};
        struct timeval patience = {.tv_sec = MEET_S};
        int done[2] = {beowire_pvm_carried() > 0, 0};
        int code = pvm_psend(session->task, MEET_TAG, &done[0], 1, PVM_INT);
        code = code < 0 ? code : pvm_trecv(session->task, MEET_TAG, &patience);
        if (code == 0) {
            break;
        }
        code = code < 0 ? code : pvm_upkint(&done[1], 1, 1);
        if (code < 0 || (done[0] != 0 && done[1] != 0)) {
            return code < 0 ? trouble(session, code) : 0;
        }
        (void)nanosleep(&pause, NULL);
    }
    (void)snprintf(error, error_bytes, "PVM's messages do not go over Beowire here");
    return -EHOSTUNREACH;
}

static int pvm_connect(void *opened, const char *peer, char *error, size_t error_bytes)
{
    struct session *session = opened;
    char directory[PVM_LINE_BYTES] = "";
    int status = connection_connect(session, peer, error, error_bytes);
    if (status == 0 && session->link.role == DRIVER_INITIATOR) {
        status = start_master(session, error, error_bytes);
        (void)snprintf(directory, sizeof directory, "%s", session->daemon.directory);
    } else if (status == 0) {
        status = join(session, directory, error, error_bytes);
    }
    if (status == 0) {
        status = enrol(session, directory, error, error_bytes);
    }
    return status == 0 && session->interface[0] != '\0' ? go_over(session, error, error_bytes)
                                                        : status;
}

static int pvm_send_message(void *opened, const void *data, uint64_t size)
{
    struct session *session = opened;
    int code = pvm_initsend(PvmDataInPlace);
    if (code >= 0) {
        /* PVM only reads it. */
        code = pvm_pkbyte((char *)(uintptr_t)data, (int)size, 1);
    }
    if (code >= 0) {
        code = pvm_send(session->task, TAG);
    }
    return code >= 0 ? 0 : trouble(session, code);
}

/* No message for a while: checks whether the host asked to stop or the other end is gone. */
static int look_around(const struct session *session)
{
    if (connection_stopped(&session->link)) {
        return -ECANCELED;
    }
    return has_gone(session) ? -ECONNRESET : 0;
}

static int pvm_receive_message(void *opened, void *data, uint64_t size)
{
    struct session *session = opened;
    int buffer;
    do {
        struct timeval slice = {.tv_usec = SLICE_MS * 1000};
        buffer = pvm_trecv(session->task, TAG, &slice);
        const int status = buffer == 0 ? look_around(session) : 0;
        if (status != 0) {
            session->owed = IDLE_LOOKS;
            return status;
        }
    } while (buffer == 0);
    int bytes = 0;
    int code = buffer < 0 ? buffer : pvm_bufinfo(buffer, &bytes, NULL, NULL);
    if (code >= 0 && (uint64_t)bytes != size) {
        return -EPROTO;
    }
    if (code >= 0) {
        code = pvm_upkbyte(data, (int)size, 1);
    }
    return code >= 0 ? 0 : trouble(session, code);
}

/* Receives what the peer is still sending. */
static bool pvm_idle(void *opened)
{
    struct session *session = opened;
    if (session->owed == 0 || !session->enrolled) {
        return false;
    }
    session->owed--;
    if (pvm_probe(session->task, TAG) == PvmSysErr) {
        session->enrolled = false;
    }
    return true;
}

static void pvm_close(void *opened)
{
    struct session *session = opened;
    if (session->enrolled) {
        (void)pvm_exit();
    }
    (void)shutdown(session->link.fd, SHUT_RDWR); /* before the end of a shared daemon is noticed */
    pvm_daemon_end(&session->daemon);
    connection_close(session);
}

#define PVM_DRIVER                                                                                 \
    .abi = DRIVER_ABI, .placement = DRIVER_PAIR, .reliable = true, .min_size = 1,                  \
    .max_size = BYTES_MAX, .probe = pvm_probe_here, .address = connection_address,                 \
    .connect = pvm_connect, .send = pvm_send_message, .receive = pvm_receive_message,              \
    .close = pvm_close, .idle = pvm_idle

static const struct driver DAEMONS = {
    PVM_DRIVER,
    .name = "pvm",
    .summary = "messages of PVM through its daemons, its default route; blocks",
    .open = daemons_open,
};

static const struct driver DIRECT = {
    PVM_DRIVER,
    .name = "pvm-direct",
    .summary = "messages of PVM over a connection between the tasks (PvmRouteDirect); blocks",
    .open = direct_open,
};

static const struct driver BEOWIRE = {
    PVM_DRIVER,
    .name = "pvm-beowire",
    .summary = "messages of PVM over Beowire, set up by `beowire pvm-env`; spins, then blocks",
    .open = over_beowire_open,
};

const struct driver *const *beowire_driver_table(void)
{
    static const struct driver *const TABLE[] = {&DAEMONS, &DIRECT, &BEOWIRE, NULL};
    return TABLE;
}
