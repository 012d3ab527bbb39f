/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * number.h - the endpoint's number: 16 bits, not 0, that no other endpoint of this network
 * namespace has for the same EtherType. It is held by binding an abstract unix socket of that name:
 * such names are local to the network namespace, and vanish with the process.
 */
#ifndef BEOWIRE_ENDPOINT_NUMBER_H
#define BEOWIRE_ENDPOINT_NUMBER_H

#include <stdint.h>

/** Reserves `number`, or any that is free if it is 0. `holder` gets a descriptor: the number is
 *  free again when it is closed.
 *  @return 0; -EADDRINUSE: it is taken (or all are); another negative errno. */
int number_reserve(uint16_t ethertype, uint16_t *number, int *holder);

#endif /* BEOWIRE_ENDPOINT_NUMBER_H */
