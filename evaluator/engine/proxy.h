/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * proxy.h - represents an engine that an MPI's launcher starts: `beowire-engine --proxy`.
 *
 *      evaluator --launcher--> beowire-engine --proxy
 *          |                         | link.h
 *          +-----> mpiexec -----> beowire-engine --attach NAME
 *
 * An MPI's launcher starts its ranks itself and redirects their standard streams. So the
 * evaluator's launcher starts this process, which prints the name by which the engine can connect
 * to it, and relays what either sends. The evaluator uses it like the engine.
 */
#ifndef BEOWIRE_ENGINE_PROXY_H
#define BEOWIRE_ENGINE_PROXY_H

/** Prints {"event":"proxy",...} and, when an engine has connected, {"event":"attached",...}, then
 *  relays the engine's answers until it ends. When the input ends, it tells the engine, which then
 *  has PROXY_PATIENCE_MS to end. `input` and `output` stay owned by the caller; events go to
 *  standard output. @return an exit status (exit.h). */
int proxy_serve(int input, int output);

/** How long an engine may take to end after its input has. */
#define PROXY_PATIENCE_MS 4000

#endif
