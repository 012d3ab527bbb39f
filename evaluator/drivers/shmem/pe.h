/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pe.h - what the drivers over OpenSHMEM share: this process is one of two processing elements that
 * the library's own launcher has started, the initiator is PE 0.
 *
 * Messages lie in symmetric memory, which the library makes: so the engine's buffers are the
 * driver's (driver.buffers()), and nothing is copied. Beside them lie words, which the peer writes:
 *
 *      places    put: here is room for a message     get: here is a message
 *      count     put: so many messages are there     get: so many messages have been taken
 *
 * Each is a number that only grows, of 64 bits, written by one put; who waits for it compares.
 *
 * OpenSHMEM can be initialised once in a process, so one session can be opened in it. Every wait
 * here looks whether the host has asked to stop; those inside the library (shmem_init() and
 * shmem_finalize(); a put or a get whose peer does not call the library) nobody can end but by
 * ending the process (engine/attach.h). An error inside the library ends the process.
 */
#ifndef BEOWIRE_DRIVERS_SHMEM_PE_H
#define BEOWIRE_DRIVERS_SHMEM_PE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../driver.h"

/** The largest message: places have 31 bits. */
#define PE_BYTES_MAX (UINT64_C(1) << 30)

/** Room that is given, and messages that are shown, in advance. */
#define PE_WINDOW 64

/** The engine's buffers. */
enum pe_buffer { PE_INCOMING, PE_OUTGOING, PE_BUFFERS };

/** Symmetric, at the same place in both processes: what the peer has written. */
struct pe_words {
    uint64_t
        places[PE_WINDOW]; /**< the k-th at k % PE_WINDOW: k + 1, and pe_place(), 32 bits each */
    uint64_t count;
    uint64_t greeting;
    uint64_t farewell;
};

/** The first member of each driver's session, so that a session is one, too. */
struct pe {
    const struct driver_host *host;
    struct pe_words *words;
    uint8_t *memory[PE_BUFFERS]; /**< symmetric */
    uint64_t bytes;              /**< of each */
    int peer;
    uint32_t owed; /**< looks at the library that are left to take by pe_idle() */
};

/** What the tables of these drivers have in common. */
#define PE_DRIVER                                                                                  \
    .abi = DRIVER_ABI, .placement = DRIVER_PAIR, .reliable = true, .spins = true, .fixed = true,   \
    .min_size = 1, .max_size = PE_BYTES_MAX, .probe = pe_probe, .address = pe_address,             \
    .connect = pe_connect, .flush = pe_flush, .close = pe_close, .idle = pe_idle,                  \
    .buffers = pe_buffers

/** driver.probe(): there is nothing to say before a launcher has started two of us. */
int pe_probe(const struct driver_options *options, char *reason, size_t reason_bytes);

/** Initialises OpenSHMEM, and makes a session of so many bytes, zero but for its `struct pe`. */
int pe_open(size_t session_bytes, const struct driver_options *options, void **session, char *error,
            size_t error_bytes);

/** driver.buffers(). */
void pe_buffers(void *session, void **outgoing, void **incoming);

/** driver.address(): which library this is, as the other end has to have it. */
int pe_address(void *session, char *text, size_t text_bytes);

/** driver.connect(): compares the libraries, and exchanges a word. */
int pe_connect(void *session, const char *peer_address, char *error, size_t error_bytes);

/** driver.flush(): lets the library make progress for what it has queued. */
int pe_flush(void *session);

/** driver.idle(): makes progress for a peer whose last puts and gets may need it. */
bool pe_idle(void *session);

/** driver.close(): takes leave of the peer, and then of the library. */
void pe_close(void *session);

/** Where in which buffer a message lies, below 2^32. -EINVAL: in none, or not the whole of it. */
int pe_place(const struct pe *pe, const void *data, uint64_t size, uint64_t *place);

/** What is at that place in our memory, and so, by its symmetric address, in the peer's. */
void *pe_at(const struct pe *pe, uint64_t place);

/** Says the place of message `number`, counted from 0, to the peer. */
void pe_say_place(struct pe *pe, uint64_t number, uint64_t place);

/** Waits for that of the peer. 0, or -ECANCELED. */
int pe_hear_place(struct pe *pe, uint64_t number, uint64_t *place);

/** Says how many messages there have been. */
void pe_say_count(struct pe *pe, uint64_t count);

/** Waits until the peer has said that there have been so many. 0, or -ECANCELED. */
int pe_hear_count(struct pe *pe, uint64_t count);

#endif
