/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * proxy.h - stands for an engine that somebody else starts: `beowire-engine --proxy`.
 *
 *      evaluator --launcher--> beowire-engine --proxy
 *          |                         | link.h
 *          +-----> mpiexec -----> beowire-engine --attach NAME
 *
 * A rank of an MPI is started by that MPI's launcher, which has its own idea of standard streams.
 * So what the evaluator's launcher starts is this process: it says under which name the engine can
 * reach it, and hands on what either says. To the evaluator it then is the engine.
 */
#ifndef BEOWIRE_ENGINE_PROXY_H
#define BEOWIRE_ENGINE_PROXY_H

/** Says {"event":"proxy",...} and, when an engine has come, {"event":"attached",...}; then what
 *  that says, until it ends or the input has (it is then told so, and has PROXY_PATIENCE_MS).
 *  `input` and `output` stay the caller's; events go to standard output.
 *  @return an exit status (exit.h). */
int proxy_serve(int input, int output);

/** How long an engine may take to end when its input has. */
#define PROXY_PATIENCE_MS 4000

#endif
