/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.h - one driver's session in this process, driven by commands: open, connect, run, close.
 *
 *      closed --open--> opened --connect--> ready --run--> ready
 *         ^                                   |  fatal error
 *         +------------- close ---------------+-----> broken (only close and open work)
 *
 * Each function does its command's work and writes the answer. One thread, one session.
 */
#ifndef BEOWIRE_ENGINE_SESSION_H
#define BEOWIRE_ENGINE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "../drivers/driver.h"
#include "command.h"
#include "histogram.h"
#include "input.h"
#include "modules.h"
#include "probe.h"
#include "walk.h"

/** Largest message, whatever the driver supports. */
#define SESSION_SIZE_MAX (UINT64_C(1) << 30)

enum session_state {
    SESSION_CLOSED,
    SESSION_OPENED,
    SESSION_READY,
    SESSION_BROKEN,
};

struct session {
    struct modules *modules;
    struct input *input;
    enum session_state state;
    const struct driver *driver;
    void *driver_session; /* NULL when the driver has none open */
    enum driver_role role;
    uint64_t max_size;
    bool in_step;            /* both ends agree on the next message */
    bool interrupted;        /* the caller wants the current command to end */
    uint64_t give_up_at_ns;  /* when to tell the driver to stop */
    struct driver_host host; /* the driver's view of this session */
    struct walk walk;
    uint8_t *outgoing; /* each max_size bytes and slack, page-aligned */
    uint8_t *incoming;
    uint64_t buffer_bytes;
    struct histogram samples;
    struct probes probes;
};

void session_init(struct session *session, struct modules *modules, struct input *input);

void session_open(struct session *session, struct command *command);
void session_connect(struct session *session, struct command *command);
void session_run(struct session *session, struct command *command);
void session_check(struct session *session, struct command *command);
void session_close(struct session *session);

/** Called between commands: lets the driver make progress. False when it needs no more calls. */
bool session_idle(struct session *session);

/** Closes without an answer. */
void session_drop(struct session *session);

/** The same at the end of the process; frees what session_init() allocated. */
void session_end(struct session *session);

#endif
