/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * openmpi.h - an answer that Open MPI before 5 fails to send.
 *
 * Its mtl/ofi implements a synchronous send by two messages: the data, whose tag has one bit more,
 * and an empty answer, whose tag has another bit instead. MPI_Recv sends that answer. MPI_Mrecv of
 * a message that MPI_Mprobe claimed does not, so MPI_Ssend never ends, with any provider
 * (docs/UPSTREAM.md). Open MPI 5 sends both. So for an older Open MPI the provider answers when a
 * claimed message is received.
 */
#ifndef BEOWIRE_FABRIC_OPENMPI_H
#define BEOWIRE_FABRIC_OPENMPI_H

#include <stdbool.h>
#include <stdint.h>

/** The library with which MPI programs of Open MPI 3 to 5 are linked. */
#define OPENMPI_LIBRARY "libmpi.so.40"

/** The version of the Open MPI library of this process: 40104 is 4.1.4. 0: another MPI, or none. */
uint32_t openmpi_version(void);

/** Is the MPI library of this process an Open MPI before 5? */
bool openmpi_is_before_5(void);

/** Is a message with this tag and immediate data a synchronous send of mtl/ofi? Tags without
 *  immediate data have another layout, which is never used here. `answer` then gets the tag of the
 *  answer. */
bool openmpi_wants_answer(uint64_t tag, uint64_t *answer);

#endif /* BEOWIRE_FABRIC_OPENMPI_H */
