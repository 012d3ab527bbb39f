/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * openmpi.h - what Open MPI before 5 forgets to send.
 *
 * Its mtl/ofi makes a synchronous send of two messages: the data, whose tag has one bit more, and
 * an empty one that comes back, whose tag has another bit in its place. MPI_Recv sends that answer;
 * MPI_Mrecv of a message that MPI_Mprobe took aside does not, so MPI_Ssend never ends, with any
 * provider (docs/UPSTREAM.md). Open MPI 5 sends both. So whoever receives a claimed message for an
 * Open MPI that does not answer, answers for it.
 */
#ifndef BEOWIRE_FABRIC_OPENMPI_H
#define BEOWIRE_FABRIC_OPENMPI_H

#include <stdbool.h>
#include <stdint.h>

/** The library that MPI programs of Open MPI 3 to 5 are linked with. */
#define OPENMPI_LIBRARY "libmpi.so.40"

/** Which Open MPI the MPI library of this process is, by what it says of itself: 40104 is 4.1.4. 0:
 *  it is another one, or there is none. */
uint32_t openmpi_version(void);

/** Is the MPI library of this process an Open MPI before 5, by what it says of itself? */
bool openmpi_is_before_5(void);

/** Is a message with this tag, which came with immediate data, a synchronous send of mtl/ofi?
 *  Without such data it has another layout of tags, for which nobody has a reason here.
 *  `answer` then gets the tag of the message that ends it. */
bool openmpi_wants_answer(uint64_t tag, uint64_t *answer);

#endif /* BEOWIRE_FABRIC_OPENMPI_H */
