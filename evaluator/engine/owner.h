/* SPDX-License-Identifier: BSD-3-Clause */
/* owner.h - checks who could have written a file. */
#ifndef BEOWIRE_ENGINE_OWNER_H
#define BEOWIRE_ENGINE_OWNER_H

/** Why a file or directory must not be loaded from: a user other than root, this process's user and
 *  the owner of this program could have written it. Follows symbolic links. NULL: nothing against
 *  it, or it cannot be examined. Static storage. */
const char *owner_fault(const char *path);

#endif
