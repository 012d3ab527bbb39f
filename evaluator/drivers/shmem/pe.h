/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pe.h - shared by the drivers over OpenSHMEM: this process is one of two processing elements that
 * the library's launcher has started; the initiator is PE 0.
 *
 * Messages are in symmetric memory, which the library allocates, so the driver provides the
 * engine's buffers (driver.buffers()), and nothing is copied. Beside them are words that the peer
 * writes:
 *
 *      places    put: room for a message          get: the place of a message
 *      count     put: messages that are complete  get: messages that were taken
 *
 * Each is a 64-bit number that only grows, written by one put; its reader waits until it is large
 * enough.
 *
 * OpenSHMEM can be initialised once in a process, so a process can open one session. Every wait
 * here checks whether the host has asked to stop. Waits inside the library (shmem_init() and
 * shmem_finalize(); a put or a get whose peer does not call the library) can only be interrupted by
 * the end of the process (engine/attach.h). An error inside the library ends the process.
 */
#ifndef BEOWIRE_DRIVERS_SHMEM_PE_H
#define BEOWIRE_DRIVERS_SHMEM_PE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../driver.h"

/** The largest message, because a place has 31 bits. */
#define PE_BYTES_MAX (UINT64_C(1) << 30)

/** The most rooms and messages announced in advance. */
#define PE_WINDOW 64

/** The engine's buffers. */
enum pe_buffer { PE_INCOMING, PE_OUTGOING, PE_BUFFERS };

/** Symmetric, at the same address in both processes; written by the peer. */
struct pe_words {
    uint64_t
        places[PE_WINDOW]; /**< number k is at k % PE_WINDOW: k + 1, and pe_place(), 32 bits each */
    uint64_t count;
    uint64_t greeting;
    uint64_t farewell;
};

/** The first member of each driver's session. */
struct pe {
    const struct driver_host *host;
    struct pe_words *words;
    uint8_t *memory[PE_BUFFERS]; /**< symmetric */
    uint64_t bytes;              /**< of each */
    int peer;
    uint32_t owed; /**< progress calls left for pe_idle() */
};

/** Members of these drivers' tables. */
#define PE_DRIVER                                                                                  \
    .abi = DRIVER_ABI, .placement = DRIVER_PAIR, .reliable = true, .spins = true, .fixed = true,   \
    .min_size = 1, .max_size = PE_BYTES_MAX, .probe = pe_probe, .address = pe_address,             \
    .connect = pe_connect, .flush = pe_flush, .close = pe_close, .idle = pe_idle,                  \
    .buffers = pe_buffers

/** driver.probe(): always succeeds, because nothing is known before the launcher has started both
 *  PEs. */
int pe_probe(const struct driver_options *options, char *reason, size_t reason_bytes);

/** Initialises OpenSHMEM, and allocates a session of this size, zero except its `struct pe`. */
int pe_open(size_t session_bytes, const struct driver_options *options, void **session, char *error,
            size_t error_bytes);

/** driver.buffers(). */
void pe_buffers(void *session, void **outgoing, void **incoming);

/** driver.address(): this library, which must be the same at the other end. */
int pe_address(void *session, char *text, size_t text_bytes);

/** driver.connect(): compares the libraries, and exchanges a word. */
int pe_connect(void *session, const char *peer_address, char *error, size_t error_bytes);

/** driver.flush(): lets the library make progress on queued operations. */
int pe_flush(void *session);

/** driver.idle(): makes progress for a peer whose last puts and gets may need it. */
bool pe_idle(void *session);

/** driver.close(): exchanges farewells with the peer, and finalises the library. */
void pe_close(void *session);

/** The place of a message: its buffer and offset, below 2^32. -EINVAL: it is not within a
 *  buffer. */
int pe_place(const struct pe *pe, const void *data, uint64_t size, uint64_t *place);

/** The address of a place in our memory, which is its symmetric address in the peer's, too. */
void *pe_at(const struct pe *pe, uint64_t place);

/** Sends the place of message `number`, counted from 0, to the peer. */
void pe_say_place(struct pe *pe, uint64_t number, uint64_t place);

/** Waits for the place that the peer sends. 0, or -ECANCELED. */
int pe_hear_place(struct pe *pe, uint64_t number, uint64_t *place);

/** Sends the number of messages so far. */
void pe_say_count(struct pe *pe, uint64_t count);

/** Waits until the peer's number of messages is at least `count`. 0, or -ECANCELED. */
int pe_hear_count(struct pe *pe, uint64_t count);

#endif
