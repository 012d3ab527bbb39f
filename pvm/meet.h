/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * meet.h - how two tasks find out that both have this library, and where the other one is.
 *
 * Each task puts its address into a mailbox of the virtual machine (pvm_putinfo()) when it enrols;
 * PVM removes it when the task ends. The first send to a task looks up its mailbox, which the
 * daemons answer while the task may compute for hours. If there is an address, the sender connects
 * to the endpoint, which answers by itself. Then it sends a *mark* the stock way, after all earlier
 * messages (order.h), and all later messages over Beowire. Until then messages go the stock way;
 * so do those to a task without an address (it has the stock library) or without an answer.
 *
 *      mark: context MEET_CONTEXT, raw: number, data format of the sender's machine (32 bits each,
 *      least significant byte first), address of its endpoint
 *
 * The mark contains the sender's address, so the receiver need not look it up. An address is a
 * secret of the virtual machine: only its user may ask its daemons.
 */
#ifndef BEOWIRE_PVM_MEET_H
#define BEOWIRE_PVM_MEET_H

#include "port.h"

/** Context of messages between copies of this library: "BEOW". */
#define MEET_CONTEXT 0x42454f57

/** Longest time for which a first message waits for the peer's answer before it goes the stock way.
 */
#define MEET_PATIENCE_NS UINT64_C(20000000)

/** Puts the address of this task into its mailbox.
 *  @return 0, or an error of PVM's: no task will send to it over Beowire. */
int meet_offer(struct port *port);

/** Continues connecting to a task, without blocking. @return is it open? */
bool meet_reach(struct port *port, struct task *task);

/** Handles a mark and frees it. Without memory it is kept for the next call, or meet_again(),
 * because its sender's later messages wait for it. */
void meet_marked(struct port *port, struct stock_message *message);

/** Handles kept marks, as far as there is memory. */
void meet_again(struct port *port);

#endif
