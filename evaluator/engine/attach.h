/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attach.h - connects an engine that an MPI's launcher has started to its proxy (proxy.h).
 *
 * The launcher owns standard input and output, so commands and answers use the connection. An MPI
 * library may hang, for example in MPI_Finalize, without reading the connection. So a thread waits
 * for the end of the connection, and then ends the process.
 */
#ifndef BEOWIRE_ENGINE_ATTACH_H
#define BEOWIRE_ENGINE_ATTACH_H

/** Time for the engine to end by itself after its proxy has ended or closed its side. */
#define ATTACH_PATIENCE_MS 2500

/** Connects to the proxy of this name, and starts the thread. Prints the reason of a failure on
 *  standard error. @return the descriptor, open until the process ends; or -1. */
int attach(const char *name);

#endif
