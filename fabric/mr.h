/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mr.h - memory regions.
 *
 * The transport takes any memory, so registering changes nothing for a program that only sends and
 * receives; but some register all their buffers, whatever the provider needs.
 */
#ifndef BEOWIRE_FABRIC_MR_H
#define BEOWIRE_FABRIC_MR_H

#include "domain.h"

/** fi_mr_reg() and its variants. */
extern struct fi_ops_mr mr_ops;

#endif /* BEOWIRE_FABRIC_MR_H */
