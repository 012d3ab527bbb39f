/* SPDX-License-Identifier: BSD-3-Clause */
/* loops.h - what a compiler has to be told to do several steps of a loop at once. */
#ifndef BEOWIRE_APPS_LOOPS_H
#define BEOWIRE_APPS_LOOPS_H

/** Before a loop none of whose steps needs what another one has written, though the pointers in it
 *  may be the same. */
#if defined(__clang__)
#define LOOP_STEPS_APART _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define LOOP_STEPS_APART _Pragma("GCC ivdep")
#else
#define LOOP_STEPS_APART
#endif

#endif /* BEOWIRE_APPS_LOOPS_H */
