/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deprecated.h - constants of libfabric that programs may still use, and that its newer headers
 * have dropped (FI_PROV_SPECIFIC, in 1.21) or warn of (since 2.0).
 *
 * Their values are part of libfabric's binary interface, so they are the same in each version. They
 * have other names here, because the headers of some versions define these.
 */
#ifndef BEOWIRE_FABRIC_DEPRECATED_H
#define BEOWIRE_FABRIC_DEPRECATED_H

/** FI_MR_UNSPEC, FI_MR_BASIC, FI_MR_SCALABLE: registration modes of before version 1.5, where they
 *  were values and not bits. */
#define OLD_MR_UNSPEC 0
#define OLD_MR_BASIC (1 << 0)
#define OLD_MR_SCALABLE (1 << 1)

/** FI_PROV_SPECIFIC: of values of an enumeration, those that providers choose. */
#define OLD_PROV_SPECIFIC (1U << 31)

#endif /* BEOWIRE_FABRIC_DEPRECATED_H */
