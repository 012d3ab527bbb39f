/* SPDX-License-Identifier: BSD-3-Clause */
/* capture.h - what a function under test writes to standard output, as text. */
#ifndef BEOWIRE_TEST_CAPTURE_H
#define BEOWIRE_TEST_CAPTURE_H

#include "command.h"

/** Between these two, standard output goes into a pipe: at most 64 KiB may be written. */
void capture_start(void);
/** The text, in static storage that the next call overwrites. */
const char *capture_end(void);

/** Fails the test unless `text` has `part`. */
void expect_part(const char *text, const char *part);

/** A command line, parsed; in static storage that the next call overwrites. */
struct command *command_of(const char *line);

#endif
