/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deprecated.h - constants of libfabric that programs may still use, but newer headers lack
 * (FI_PROV_SPECIFIC, in 1.21) or warn of (since 2.0).
 *
 * Their values are part of libfabric's binary interface, the same in all versions. They have other
 * names here, because some versions of the headers define them.
 */
#ifndef BEOWIRE_FABRIC_DEPRECATED_H
#define BEOWIRE_FABRIC_DEPRECATED_H

/** FI_MR_UNSPEC, FI_MR_BASIC, FI_MR_SCALABLE: registration modes before version 1.5, which were
 *  values, not bits. */
#define OLD_MR_UNSPEC 0
#define OLD_MR_BASIC (1 << 0)
#define OLD_MR_SCALABLE (1 << 1)

/** FI_PROV_SPECIFIC: marks values of an enumeration that providers define. */
#define OLD_PROV_SPECIFIC (1U << 31)

#endif /* BEOWIRE_FABRIC_DEPRECATED_H */
