/* SPDX-License-Identifier: BSD-3-Clause */
#include "route/trace.h"

void trace_note(struct trace *trace, enum trace_place place, uint64_t detail)
{
    struct trace_point *point = &trace->points[*trace->noted & trace->mask];

    point->ticks = trace->ticks();
    point->place = (uint32_t)place;
    point->detail = detail < UINT32_MAX ? (uint32_t)detail : UINT32_MAX;
    ++*trace->noted;
}
