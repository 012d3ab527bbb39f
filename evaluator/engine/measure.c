/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure.h"

#include <assert.h>
#include <errno.h>

#include "clock.h"
#include "pattern.h"
#include "run.h"
#include "schedule.h"

int measure_run(const struct measure_request *request, struct measure_result *result,
                struct histogram *samples)
{
    assert(request->size > 0);
    *result = (struct measure_result){.in_step = true};
    struct run run = {
        .request = request,
        .result = result,
        .samples = samples,
        .outgoing = request->outgoing,
        .incoming = request->incoming,
        .send_bytes = request->size,
        .receive_bytes = request->size,
        /* From the clock, so that numbers differ from those of earlier runs. */
        .stamp = clock_now_ns(),
        .stamp_bytes = request->size < RUN_STAMP_BYTES ? (size_t)request->size : RUN_STAMP_BYTES,
    };
    const struct pattern *pattern = request->pattern;
    if (request->start_ns > 0 && request->role == DRIVER_INITIATOR) {
        schedule_wait_until(&run, request->start_ns);
    }
    int error =
        request->role == DRIVER_INITIATOR ? pattern->initiate(&run) : pattern->respond(&run);
    if (error == 0 && request->driver->flush != NULL) {
        error = request->driver->flush(request->session);
    }
    if (error == -ECANCELED) {
        result->stopped = true;
        error = 0;
    }
    if (!request->driver->reliable) {
        result->in_step = true; /* prepare() and the numbers discard leftover messages */
    }
    return error;
}
