/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * notice.h - messages to the user.
 *
 * libfabric shows no warnings unless FI_LOG_LEVEL asks for them, and an MPI library only reports
 * that something failed. So the few problems that a user can solve are printed on standard error,
 * each once in a process, or as a warning if warnings are shown.
 */
#ifndef BEOWIRE_FABRIC_NOTICE_H
#define BEOWIRE_FABRIC_NOTICE_H

#include <rdma/providers/fi_log.h>
#include <stdbool.h>

/** Prints one line, given without its newline: "beowire: HOST: ...". Any thread. */
void notice(enum fi_log_subsys subsystem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Writes a line, including its newline, to standard error in one call, so that lines of a job's
 *  processes are not mixed: stdio may split them (glibc since 2.37 after each 128 bytes). Any
 *  thread. */
void notice_write(const char *line);

/** Is this the first process of its MPI job on this host, or of no job? Messages about the host
 *  need not be printed by all. */
bool notice_first_of_host(void);

#endif /* BEOWIRE_FABRIC_NOTICE_H */
