/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pvm_tasks.h - a PVM program of two kinds of tasks: a parent, which says what is done and what
 * came of it, and its children. What it says is the same whichever way messages go.
 *
 * A case is a function for each of the two. The parent's prints lines, which say only what PVM
 * promises; the child's does what its parent expects of it.
 */
#ifndef BEOWIRE_TESTS_PVM_TASKS_H
#define BEOWIRE_TESTS_PVM_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHILDREN 3

/** A number that is the same for the same seed and place. */
uint64_t pattern(uint64_t seed, uint64_t at);

/** Fills bytes, or says whether they are as they were filled. */
void fill(void *data, size_t bytes, uint64_t seed);
bool is_filled(const void *data, size_t bytes, uint64_t seed);

/** Ends the task with a line if something is not as it has to be. */
#define CHECK(holds) check((holds), #holds, __FILE__, __LINE__)
void check(bool holds, const char *what, const char *file, int line);

/** The tag of the first message to a child: the number of its case. */
#define TAG_CASE 1

/** The host that the program was told, or NULL; its own file; the number of the case. */
extern char *told_host;
extern char own_program[4096];
extern int own_case;

/** Sends bytes, and takes those of what was received last. */
void send_filled(int task, int tag, int encoding, int bytes, uint64_t seed);
void take_filled(int bytes, uint64_t seed);

void types_parent(const int *children);
void types_child(int parent);
void groups_parent(const int *children);
void groups_child(int parent);
void calls_parent(const int *children);
void calls_child(int parent);
void mailbox_parent(const int *children);
void mailbox_child(int parent);
void hosts_parent(const int *children);
void hosts_child(int parent);
void full_parent(const int *children);
void full_child(int parent);
void memory_parent(const int *children);
void memory_child(int parent);
void cut_parent(const int *children);
void cut_child(int parent);
void lost_parent(const int *children);
void lost_child(int parent);

#endif
