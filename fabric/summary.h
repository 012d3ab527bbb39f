/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * summary.h - what Beowire has carried for a process, in one line at its end: the proof that a job
 * went over it, and by which lanes (FI_BEOWIRE_REPORT=1).
 */
#ifndef BEOWIRE_FABRIC_SUMMARY_H
#define BEOWIRE_FABRIC_SUMMARY_H

#include "beowire.h"

/** Says it on standard error, before the endpoint is closed; nothing of an endpoint that was never
 *  used, if another of this process has spoken. Any thread that may use the endpoint.
 *
 *  @param interfaces those that it was opened on, for people */
void summary_say(const beowire_endpoint *endpoint, const char *interfaces);

#endif /* BEOWIRE_FABRIC_SUMMARY_H */
