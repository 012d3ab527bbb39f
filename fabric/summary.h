/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * summary.h - a line at the end of a process with its traffic over Beowire, which proves that a job
 * used it, and over which lanes (FI_BEOWIRE_REPORT=1).
 */
#ifndef BEOWIRE_FABRIC_SUMMARY_H
#define BEOWIRE_FABRIC_SUMMARY_H

#include "beowire.h"

/** Prints the line on standard error. Call it before the endpoint is closed. Prints nothing for an
 *  unused endpoint, if another of this process has printed its line. Any thread that may use the
 *  endpoint.
 *
 *  @param interfaces those of the endpoint, to be printed */
void summary_say(const beowire_endpoint *endpoint, const char *interfaces);

#endif /* BEOWIRE_FABRIC_SUMMARY_H */
