/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * advice.h - what to do when this process cannot become a task. libpvm3's error is PvmSysErr
 * whatever the reason is, and what it says of it itself is for those who know its source.
 */
#ifndef BEOWIRE_PVM_ADVICE_H
#define BEOWIRE_PVM_ADVICE_H

#include "stock.h"

/** Does nobody listen where the daemon was last? libpvm3 would try for four seconds in each call.
 */
bool advice_daemon_is_gone(const struct stock *stock);

/** Says so on the standard error, in one line, once a process: if errors are to be said at all
 *  (PvmAutoErr). */
void advice_say(const struct stock *stock);

#endif
