/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * advice.h - advice for users when this process cannot become a task. libpvm3's error is always
 * PvmSysErr, and only readers of its source understand its messages.
 */
#ifndef BEOWIRE_PVM_ADVICE_H
#define BEOWIRE_PVM_ADVICE_H

#include "stock.h"

/** Is the daemon's last address dead? libpvm3 would retry for four seconds in each call. */
bool advice_daemon_is_gone(const struct stock *stock);

/** Writes the advice to standard error, in one line, once per process, unless PvmAutoErr is off. */
void advice_say(const struct stock *stock);

#endif
