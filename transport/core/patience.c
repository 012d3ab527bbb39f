/* SPDX-License-Identifier: BSD-3-Clause */
#include "patience.h"

void patience_disturbed(struct patience *patience)
{
    patience->spin_ns /= 4;
    if (patience->spin_ns < PATIENCE_SPIN_MIN_NS) {
        patience->spin_ns = PATIENCE_SPIN_MIN_NS;
    }
}

void patience_undisturbed(struct patience *patience)
{
    patience->spin_ns += PATIENCE_GROWTH_NS;
    if (patience->spin_ns > patience->max_ns) {
        patience->spin_ns = patience->max_ns;
    }
}
