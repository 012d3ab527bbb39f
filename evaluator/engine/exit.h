/* SPDX-License-Identifier: BSD-3-Clause */
/* exit.h - the engine's exit statuses (docs/ENGINE.md). */
#ifndef BEOWIRE_ENGINE_EXIT_H
#define BEOWIRE_ENGINE_EXIT_H

enum {
    EXIT_QUIT = 0,         /**< `quit` */
    EXIT_USAGE = 2,        /**< the command line is wrong, or cannot be obeyed */
    EXIT_INPUT_ENDED = 3,  /**< standard input or the parent process is gone */
    EXIT_ENGINE_ENDED = 9, /**< of a proxy: its engine has ended by itself */
};

#endif
