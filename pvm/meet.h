/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * meet.h - how two tasks find out that both have this library, and where the other one is.
 *
 * Each puts its address into a mailbox of the virtual machine (pvm_putinfo()) when it enrols; PVM
 * takes it away with the task. Whoever sends to a task for the first time asks there, which takes
 * the daemons, but not the other task: it may compute for hours. If it has an address, it is said
 * hello, and once it has answered over Beowire, which its endpoint does by itself, it is sent a
 * *mark* the stock way, behind all that was sent so before (order.h), and all later messages go
 * over Beowire. Until then they go the stock way, and so they do to a task that has no address, for
 * it has the stock library, or does not answer, for there is no way to it.
 *
 *      mark: context MEET_CONTEXT, raw: number, data format of the sender's machine (32 bits each,
 *      least significant byte first), address of its endpoint
 *
 * The mark holds the address, so that the other one knows it without having asked. An address is a
 * secret of the virtual machine: whoever may ask its daemons is its user.
 */
#ifndef BEOWIRE_PVM_MEET_H
#define BEOWIRE_PVM_MEET_H

#include "port.h"

/** Context of what tasks with this library say to each other: "BEOW". */
#define MEET_CONTEXT 0x42454f57

/** How long a first message waits for the other one's answer, before it goes the stock way. */
#define MEET_PATIENCE_NS UINT64_C(20000000)

/** Puts the address of this task where others find it.
 *  @return 0, or an error of PVM's: nobody will send to it over Beowire. */
int meet_offer(struct port *port);

/** Goes on towards a task, as far as that is possible now.
 *  @return is it open? */
bool meet_reach(struct port *port, struct task *task);

/** Takes in a mark, and frees it. Without memory for what it says it is kept, for all that its
 *  sender has sent over Beowire waits for it, and tried again by the next call, or meet_again(). */
void meet_marked(struct port *port, struct stock_message *message);

/** Takes in marks that were kept, as far as there is memory now. */
void meet_again(struct port *port);

#endif
