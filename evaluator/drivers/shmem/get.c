/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * get.c - messages by OpenSHMEM's gets: the sender announces the place of the message, the receiver
 * gets it, and reports that it has it. Nothing is copied here.
 */
#include <shmem.h>
#include <stdatomic.h>

#include "drivers.h"
#include "pe.h"

struct session {
    struct pe pe;
    uint64_t shown;    /* messages announced to the peer */
    uint64_t taken;    /* messages that the peer has taken */
    uint64_t received; /* messages received from the peer */
};

static int get_open(const struct driver_options *options, void **opened, char *error,
                    size_t error_bytes)
{
    return pe_open(sizeof(struct session), options, opened, error, error_bytes);
}

static int get_stream_send(void *opened, const void *data, uint64_t size, uint64_t more)
{
    struct session *session = opened;
    struct pe *pe = &session->pe;
    const uint64_t allowed = more == 0 ? 0 : PE_WINDOW - 1;
    uint64_t place;
    int status = pe_place(pe, data, size, &place);

    if (status != 0) {
        return status;
    }
    /* On one host the peer may read our memory directly: the message must be visible before the
     * word. */
    atomic_thread_fence(memory_order_release);
    pe_say_place(pe, session->shown++, place);
    while (status == 0 && session->shown - session->taken > allowed) {
        status = pe_hear_count(pe, session->taken + 1);
        session->taken += status == 0 ? 1 : 0;
    }
    return status;
}

static int get_send(void *opened, const void *data, uint64_t size)
{
    return get_stream_send(opened, data, size, 0);
}

static int get_receive(void *opened, void *data, uint64_t size)
{
    struct session *session = opened;
    struct pe *pe = &session->pe;
    uint64_t place;
    int status = pe_hear_place(pe, session->received, &place);

    if (status == 0) {
        shmem_getmem(data, pe_at(pe, place), size, pe->peer);
        pe_say_count(pe, ++session->received);
    }
    return status;
}

const struct driver driver_shmem_get = {
    PE_DRIVER,
    .name = "shmem-get",
    .summary = "gets between two PEs of an OpenSHMEM, each asked for by a flag; spins",
    .open = get_open,
    .send = get_send,
    .receive = get_receive,
    .stream_send = get_stream_send,
};
