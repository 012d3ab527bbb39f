/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * many.h - one message to many tasks, of which each is reached its own way.
 *
 *      count = many_sort(tasks, count, own)
 *      count = many_send(tasks, count, send, context, &error)   tasks: those left to libpvm3
 *
 * If a task cannot be reached, the others are still sent to; then the first error is returned.
 *
 * Pure.
 */
#ifndef BEOWIRE_PVM_MANY_H
#define BEOWIRE_PVM_MANY_H

/** Result of a many_one: libpvm3 has to send to this task. */
#define MANY_STOCK 1

/** Sends to one task. @return 0; MANY_STOCK; an error of PVM's, which is negative */
typedef int many_one(void *context, int task);

/** Sorts tasks, without duplicates and without `own`. @return how many are left */
int many_sort(int *tasks, int count, int own);

/** Sends to each of them.
 *  @param tasks afterwards those that have to be sent to by libpvm3, in the same order
 *  @param error the first one; as it was if there is none
 *  @return how many are left in `tasks`. */
int many_send(int *tasks, int count, many_one *send, void *context, int *error);

#endif
