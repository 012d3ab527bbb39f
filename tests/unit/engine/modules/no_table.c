/* SPDX-License-Identifier: BSD-3-Clause */
/* A shared object that is no driver. */
__attribute__((visibility("default"))) extern const int beowire_is_not_here;
const int beowire_is_not_here = 1;
