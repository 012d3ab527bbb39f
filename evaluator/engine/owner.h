/* SPDX-License-Identifier: BSD-3-Clause */
/* owner.h - who could have put a file where it is. */
#ifndef BEOWIRE_ENGINE_OWNER_H
#define BEOWIRE_ENGINE_OWNER_H

/** Why nothing may be loaded from a file or directory: somebody else could have put it there, who
 *  is neither root, nor this process's user, nor whoever owns this program. Symbolic links are
 *  followed. NULL: there is nothing against it, or it cannot be looked at. Static storage. */
const char *owner_fault(const char *path);

#endif
