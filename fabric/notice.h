/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * notice.h - what the user has to be told.
 *
 * libfabric shows no warnings unless FI_LOG_LEVEL asks for them, and an MPI library only says that
 * something failed. So the few things that a person can act on are said on standard error, each
 * once in a process; where warnings are shown, they go there instead.
 */
#ifndef BEOWIRE_FABRIC_NOTICE_H
#define BEOWIRE_FABRIC_NOTICE_H

#include <rdma/providers/fi_log.h>
#include <stdbool.h>

/** Says one line, without its end: "beowire: HOST: ...". Any thread. */
void notice(enum fi_log_subsys subsystem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Writes a line, which has its end, to standard error in one call, so that the lines of a job's
 *  processes are not mixed: stdio may cut them (glibc from 2.37 on after each 128 bytes). Any
 *  thread. */
void notice_write(const char *line);

/** Is this the first process of its MPI job on this host, or of no job? What concerns the host need
 *  not be said by all. */
bool notice_first_of_host(void);

#endif /* BEOWIRE_FABRIC_NOTICE_H */
