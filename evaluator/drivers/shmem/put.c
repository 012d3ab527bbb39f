/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put.c - messages by OpenSHMEM's puts: the receiver announces room, the sender puts the message
 * there, and after shmem_fence() the word for which the receiver waits.
 *
 * Nothing is copied here, unless the message is received into another buffer than was announced.
 */
#include <shmem.h>
#include <string.h>

#include "drivers.h"
#include "pe.h"

struct session {
    struct pe pe;
    uint64_t sent;
    uint64_t given;           /* room for this many messages */
    uint64_t received;        /* messages received */
    uint64_t room[PE_WINDOW]; /* places announced */
};

static int put_open(const struct driver_options *options, void **opened, char *error,
                    size_t error_bytes)
{
    return pe_open(sizeof(struct session), options, opened, error, error_bytes);
}

static int put_send(void *opened, const void *data, uint64_t size)
{
    struct session *session = opened;
    struct pe *pe = &session->pe;
    uint64_t place;
    int status = pe_hear_place(pe, session->sent, &place);

    if (status == 0) {
        shmem_putmem(pe_at(pe, place), data, size, pe->peer);
        shmem_fence();
        pe_say_count(pe, ++session->sent);
    }
    return status;
}

/* Announces room for `wanted` messages, minus what was announced before. */
static int give_room(struct session *session, const void *data, uint64_t size, uint64_t wanted)
{
    uint64_t place;
    int status = pe_place(&session->pe, data, size, &place);

    while (status == 0 && session->given - session->received < wanted) {
        session->room[session->given % PE_WINDOW] = place;
        pe_say_place(&session->pe, session->given++, place);
    }
    return status;
}

static int put_stream_receive(void *opened, void *data, uint64_t size, uint64_t more)
{
    struct session *session = opened;
    int status = give_room(session, data, size, more < PE_WINDOW ? more + 1 : PE_WINDOW);

    if (status == 0) {
        status = pe_hear_count(&session->pe, session->received + 1);
    }
    if (status == 0) {
        const void *there = pe_at(&session->pe, session->room[session->received++ % PE_WINDOW]);
        if (there != data) {
            memmove(data, there, size); /* announced before an interrupted wait */
        }
    }
    return status;
}

static int put_receive(void *opened, void *data, uint64_t size)
{
    return put_stream_receive(opened, data, size, 0);
}

const struct driver driver_shmem_put = {
    PE_DRIVER,
    .name = "shmem-put",
    .summary = "puts between two PEs of an OpenSHMEM, and a flag behind each; spins",
    .open = put_open,
    .send = put_send,
    .receive = put_receive,
    .stream_receive = put_stream_receive,
};
