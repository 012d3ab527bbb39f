/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attach.h - joins an engine that an MPI's launcher has started to its proxy (proxy.h).
 *
 * Standard input and output are the launcher's then: commands come, and answers go, over the
 * connection. A library of somebody else's may hang, in MPI_Finalize for example, and looks at no
 * connection meanwhile: so a thread sleeps on it, and ends the process when it has ended.
 */
#ifndef BEOWIRE_ENGINE_ATTACH_H
#define BEOWIRE_ENGINE_ATTACH_H

/** How long the engine has to end by itself once its proxy has gone, or has no more to say. */
#define ATTACH_PATIENCE_MS 2500

/** Connects to the proxy of this name, and starts the thread. On failure says why on standard
 *  error. @return the descriptor, which stays open until the process ends; or -1. */
int attach(const char *name);

#endif
