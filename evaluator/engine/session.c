/* SPDX-License-Identifier: BSD-3-Clause */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "clock.h"
#include "fill.h"
#include "measure.h"
#include "output.h"
#include "pattern.h"

/* Time limit of open and connect. */
#define SETUP_LIMIT_NS (10 * NS_PER_SECOND)

/* After its deadline a run may finish the current message, so that the session can be used again.
 * The responder waits longer, because its initiator may have started later. */
#define INITIATOR_GRACE_NS (500 * NS_PER_MS)
#define RESPONDER_GRACE_NS (1000 * NS_PER_MS)

#define DEFAULT_DEADLINE_MS 10000
#define DEADLINE_MS_MAX UINT64_C(86400000)
#define DEFAULT_LOSS_TIMEOUT_MS 20
#define LOSS_TIMEOUT_MS_MAX UINT64_C(60000)
#define SOCKET_BUFFER_MAX (UINT64_C(1) << 30)
#define COUNT_MAX (UINT64_C(1) << 40)

#define PAGE_BYTES UINT64_C(4096)
#define OFFSET_MAX (MEASURE_SLACK_BYTES - 1)

#define INTERVAL_NS_MAX (60 * NS_PER_SECOND)

static bool session_interrupted(void *context)
{
    struct session *session = context;
    if (!session->interrupted) {
        session->interrupted = input_interrupts(session->input);
    }
    return session->interrupted;
}

/* driver_host.stopped */
static bool driver_stopped(void *context)
{
    const struct session *session = context;
    return session_interrupted(context) || clock_now_ns() >= session->give_up_at_ns;
}

static void give_up_at(struct session *session, uint64_t when_ns)
{
    session->interrupted = false;
    session->give_up_at_ns = when_ns;
}

void session_init(struct session *session, struct modules *modules, struct input *input)
{
    *session = (struct session){
        .modules = modules,
        .input = input,
        .host = {.stopped = driver_stopped, .context = session},
    };
    static const struct probe_place HERE = {
        .proc = "/proc",
        .sys = "/sys",
        .tracing = "/sys/kernel/tracing",
        .program = "/proc/self/exe",
    };
    probes_open(&session->probes, &HERE);
}

/* Not those of a driver, which it freed with its session. */
static void free_buffers(struct session *session)
{
    if (session->outgoing != NULL && session->driver->buffers == NULL) {
        munmap(session->outgoing, session->buffer_bytes);
    }
    if (session->incoming != NULL && session->driver->buffers == NULL) {
        munmap(session->incoming, session->buffer_bytes);
    }
    session->outgoing = NULL;
    session->incoming = NULL;
    walk_end(&session->walk);
}

void session_drop(struct session *session)
{
    if (session->driver_session != NULL) {
        give_up_at(session, clock_now_ns());
        session->driver->close(session->driver_session);
    }
    session->driver_session = NULL;
    free_buffers(session);
    session->state = SESSION_CLOSED;
}

void session_end(struct session *session)
{
    session_drop(session);
    probes_close(&session->probes);
}

bool session_idle(struct session *session)
{
    return session->driver_session != NULL && session->driver->idle != NULL &&
           session->driver->idle(session->driver_session);
}

void session_close(struct session *session)
{
    session_drop(session);
    struct json json;
    output_begin(&json, "closed");
    output_send(&json);
}

static uint8_t *new_buffer(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void fill_buffers(const struct session *session)
{
    fill_content(session->outgoing, session->buffer_bytes);
    memset(session->incoming, 0, session->buffer_bytes);
}

/* Page-aligned, and every page is written. There is room to begin a message anywhere in the first
 * page, and for a pattern to move it by another page. Collective operations need a message for each
 * end. */
static int make_buffers(struct session *session)
{
    const uint64_t bytes = session->max_size * (session->driver->collective != NULL ? 2 : 1);
    session->buffer_bytes =
        (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES + 2 * MEASURE_SLACK_BYTES;
    session->outgoing = new_buffer(session->buffer_bytes);
    session->incoming = new_buffer(session->buffer_bytes);
    if (session->outgoing == NULL || session->incoming == NULL) {
        return -ENOMEM;
    }
    fill_buffers(session);
    return 0;
}

/* Uses the buffers of the driver. */
static void take_buffers(struct session *session)
{
    void *outgoing = NULL;
    void *incoming = NULL;
    session->driver->buffers(session->driver_session, &outgoing, &incoming);
    session->buffer_bytes = (session->max_size + DRIVER_SLACK_BYTES) / 8 * 8;
    session->outgoing = outgoing;
    session->incoming = incoming;
    fill_buffers(session);
}

static int parse_open(struct session *session, struct command *command,
                      struct driver_options *options)
{
    const char *role = command_text(command, "role", "");
    uint64_t loss_timeout_ms = DEFAULT_LOSS_TIMEOUT_MS;
    uint64_t socket_buffer = 0;
    session->max_size = 0;
    if (command_require(command, "driver") != 0 || command_require(command, "role") != 0 ||
        command_require(command, "max_size") != 0 ||
        command_number(command, "max_size", 1, SESSION_SIZE_MAX, &session->max_size) != 0 ||
        command_number(command, "loss_timeout_ms", 1, LOSS_TIMEOUT_MS_MAX, &loss_timeout_ms) != 0 ||
        command_number(command, "socket_buffer", 0, SOCKET_BUFFER_MAX, &socket_buffer) != 0) {
        output_error(EINVAL, true, "%s", command->reason);
        return -EINVAL;
    }
    if (strcmp(role, "initiator") == 0) {
        session->role = DRIVER_INITIATOR;
    } else if (strcmp(role, "responder") == 0) {
        session->role = DRIVER_RESPONDER;
    } else {
        output_error(EINVAL, true, "role must be initiator or responder");
        return -EINVAL;
    }
    const char *name = command_text(command, "driver", "");
    session->driver = modules_find(session->modules, name);
    if (session->driver == NULL) {
        const char *reason = modules_fault(session->modules, name);
        if (reason != NULL) {
            output_error(ELIBBAD, true, "%.64s: it cannot be loaded: %s", name, reason);
        } else {
            output_error(ENOENT, true, "there is no driver '%.64s': see the list of drivers", name);
        }
        return -ENOENT;
    }
    if (session->max_size > session->driver->max_size) {
        session->max_size = session->driver->max_size;
    }
    *options = (struct driver_options){
        .role = session->role,
        .interface = command_text(command, "interface", ""),
        .local_address = command_text(command, "address", ""),
        .max_size = session->max_size,
        .loss_timeout_ns = loss_timeout_ms * NS_PER_MS,
        .host = &session->host,
        .socket_buffer_bytes = socket_buffer,
    };
    return 0;
}

void session_open(struct session *session, struct command *command)
{
    if (session->state == SESSION_BROKEN) {
        session_drop(session);
    }
    if (session->state != SESSION_CLOSED) {
        output_error(EBUSY, false, "a session is open: close it first");
        return;
    }
    struct driver_options options;
    if (parse_open(session, command, &options) != 0) {
        return;
    }
    if (session->driver->buffers == NULL && make_buffers(session) != 0) {
        free_buffers(session);
        output_error(ENOMEM, true,
                     "no memory for two messages of %llu bytes: ask for a smaller size",
                     (unsigned long long)session->max_size);
        return;
    }
    options.outgoing = session->outgoing;
    options.incoming = session->incoming;
    give_up_at(session, clock_now_ns() + SETUP_LIMIT_NS);
    char text[DRIVER_ADDRESS_BYTES] = "";
    char reason[DRIVER_REASON_BYTES] = "";
    int error = session->driver->open(&options, &session->driver_session, reason, sizeof reason);
    if (error != 0) {
        session->driver_session = NULL;
    } else if (session->driver->buffers != NULL) {
        take_buffers(session);
    }
    if (error == 0 && session->driver->placement != DRIVER_PROCESS) {
        error = session->driver->address(session->driver_session, text, sizeof text);
    }
    if (error != 0) {
        session_drop(session);
        output_error(error, true, "%s: %s", session->driver->name,
                     reason[0] != '\0' ? reason : strerror(-error));
        return;
    }
    session->state = session->driver->placement == DRIVER_PROCESS ? SESSION_READY : SESSION_OPENED;
    session->in_step = true;
    struct json json;
    output_begin(&json, "open");
    json_text(&json, "address", text);
    output_send(&json);
}

void session_connect(struct session *session, struct command *command)
{
    if (session->state != SESSION_OPENED) {
        output_error(EINVAL, session->state != SESSION_READY,
                     session->state == SESSION_READY ? "the session is connected already"
                                                     : "open a session first");
        return;
    }
    if (command_require(command, "peer") != 0) {
        output_error(EINVAL, false, "%s", command->reason);
        return;
    }
    give_up_at(session, clock_now_ns() + SETUP_LIMIT_NS);
    char reason[DRIVER_REASON_BYTES] = "";
    int error = session->driver->connect(session->driver_session, command_text(command, "peer", ""),
                                         reason, sizeof reason);
    if (error != 0) {
        session->state = SESSION_BROKEN;
        if (error == -ECANCELED && !session->interrupted) {
            output_error(ETIMEDOUT, true, "%s: the other end did not answer within %d s%s%s",
                         session->driver->name, (int)(SETUP_LIMIT_NS / NS_PER_SECOND),
                         reason[0] != '\0' ? ": " : "", reason);
            return;
        }
        output_error(error, true, "%s: %s", session->driver->name,
                     reason[0] != '\0' ? reason : strerror(-error));
        return;
    }
    session->state = SESSION_READY;
    struct json json;
    output_begin(&json, "connected");
    output_send(&json);
}

/* NULL after an error answer that lists the patterns. */
static const struct pattern *find_pattern(const char *name)
{
    const struct pattern *pattern = pattern_find(name);
    if (pattern == NULL) {
        char names[512] = "";
        size_t used = 0;
        for (const struct pattern *const *at = pattern_table(); *at != NULL && used < sizeof names;
             at++) {
            int length = snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
                                  (*at)->name);
            used += (size_t)length;
        }
        output_error(EINVAL, false, "pattern must be one of %s", names);
    }
    return pattern;
}

static int parse_run(struct session *session, struct command *command,
                     struct measure_request *request)
{
    uint64_t deadline_ms = DEFAULT_DEADLINE_MS;
    uint64_t send_offset = 0;
    uint64_t receive_offset = 0;
    request->batch = 1;
    if (command_require(command, "pattern") != 0 || command_require(command, "size") != 0 ||
        command_require(command, "count") != 0 ||
        command_number(command, "size", 1, SESSION_SIZE_MAX, &request->size) != 0 ||
        command_number(command, "count", 1, COUNT_MAX, &request->count) != 0 ||
        command_number(command, "skip", 0, COUNT_MAX, &request->skip) != 0 ||
        command_number(command, "batch", 1, COUNT_MAX, &request->batch) != 0 ||
        command_number(command, "serial", 0, UINT64_MAX, &request->serial) != 0 ||
        command_number(command, "send_offset", 0, OFFSET_MAX, &send_offset) != 0 ||
        command_number(command, "receive_offset", 0, OFFSET_MAX, &receive_offset) != 0 ||
        command_number(command, "start_ns", 0, UINT64_MAX, &request->start_ns) != 0 ||
        command_number(command, "interval_ns", 0, INTERVAL_NS_MAX, &request->interval_ns) != 0 ||
        command_number(command, "clock_offset_ns", 0, UINT64_MAX, &request->clock_offset_ns) != 0 ||
        command_number(command, "deadline_ms", 1, DEADLINE_MS_MAX, &deadline_ms) != 0) {
        output_error(EINVAL, false, "%s", command->reason);
        return -EINVAL;
    }
    request->one_clock = command_text(command, "clock_offset_ns", NULL) != NULL;
    request->pattern = find_pattern(command_text(command, "pattern", ""));
    if (request->pattern == NULL) {
        return -EINVAL;
    }
    const struct driver *driver = session->driver;
    if (request->size < driver->min_size || request->size > session->max_size) {
        output_error(EMSGSIZE, false,
                     "%s: %llu bytes: this session carries messages of %llu to %llu bytes",
                     driver->name, (unsigned long long)request->size,
                     (unsigned long long)driver->min_size, (unsigned long long)session->max_size);
        return -EMSGSIZE;
    }
    const char *obstacle = pattern_obstacle(request->pattern, driver);
    if (obstacle != NULL) {
        output_error(EOPNOTSUPP, false, "%s: no pattern %s: %s", driver->name,
                     request->pattern->name, obstacle);
        return -EOPNOTSUPP;
    }
    if (request->size < request->pattern->min_size) {
        output_error(EMSGSIZE, false, "%s: no pattern %s: its messages have %llu bytes at least",
                     driver->name, request->pattern->name,
                     (unsigned long long)request->pattern->min_size);
        return -EMSGSIZE;
    }
    char reason[PROBE_REASON_BYTES];
    if (probes_choose(&session->probes, command_text(command, "probes", ""), reason) != 0) {
        output_error(EINVAL, false, "%s", reason);
        return -EINVAL;
    }
    request->outgoing = session->outgoing + send_offset;
    request->incoming = session->incoming + receive_offset;
    request->deadline_ns = clock_now_ns() + deadline_ms * NS_PER_MS;
    return 0;
}

static void send_result(const struct session *session, const struct measure_request *request,
                        const struct measure_result *result)
{
    struct json json;
    output_begin(&json, "result");
    json_text(&json, "pattern", request->pattern->name);
    json_unsigned(&json, "size", request->size);
    json_unsigned(&json, "count", request->count);
    json_unsigned(&json, "skip", request->skip);
    json_unsigned(&json, "batch", request->batch);
    json_unsigned(&json, "sent", result->sent);
    json_unsigned(&json, "received", result->received);
    json_unsigned(&json, "lost", result->lost);
    json_bool(&json, "stopped", result->stopped);
    json_unsigned(&json, "elapsed_ns", result->elapsed_ns);
    if (result->overlap.alone_ns[0] > 0) {
        json_begin(&json, "overlap", '{');
        json_unsigned(&json, "send_alone_ns", result->overlap.alone_ns[0]);
        json_unsigned(&json, "send_beside_ns", result->overlap.beside_ns[0]);
        json_unsigned(&json, "receive_alone_ns", result->overlap.alone_ns[1]);
        json_unsigned(&json, "receive_beside_ns", result->overlap.beside_ns[1]);
        json_end(&json, '}');
    }
    if (result->clock.known) {
        json_begin(&json, "clock", '{');
        json_signed(&json, "low_ns", result->clock.low_ns);
        json_signed(&json, "high_ns", result->clock.high_ns);
        json_end(&json, '}');
    }
    if (result->finished > 0) {
        json_begin(&json, "finished_ns", '[');
        for (uint64_t i = 0; i < result->finished; i++) {
            json_unsigned(&json, NULL, result->finished_ns[i]);
        }
        json_end(&json, ']');
    }
    if (result->walk_bytes > 0) {
        json_unsigned(&json, "walk_bytes", result->walk_bytes);
        json_unsigned(&json, "cache_bytes", result->cache_bytes);
    }
    json_begin(&json, "histogram", '{');
    json_text(&json, "kind", "log-linear-7");
    json_begin(&json, "buckets", '[');
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (session->samples.counts[i] > 0) {
            json_begin(&json, NULL, '[');
            json_unsigned(&json, NULL, histogram_lower(i));
            json_unsigned(&json, NULL, session->samples.counts[i]);
            json_end(&json, ']');
        }
    }
    json_end(&json, ']');
    json_end(&json, '}');
    if (session->samples.samples > 0) {
        json_unsigned(&json, "min_ns", session->samples.min_ns);
        json_unsigned(&json, "max_ns", session->samples.max_ns);
    } else {
        json_null(&json, "min_ns");
        json_null(&json, "max_ns");
    }
    json_unsigned(&json, "late", result->late);
    json_unsigned(&json, "started_ns", result->started_ns);
    probes_report(&session->probes, &json, &result->before, &result->after);
    output_send(&json);
}

static const char *describe(int error)
{
    switch (error) {
    case -EBADMSG:
        return "an answer came back with other content than was sent";
    case -ECONNRESET:
    case -EPIPE:
        return "the other end is gone";
    case -EOWNERDEAD:
        return "the daemon of this node that carries its messages has ended: if nobody ended it, "
               "the kernel's log (dmesg) may say why; then measure again";
    default:
        return strerror(-error);
    }
}

static bool can_run(const struct session *session)
{
    if (session->state != SESSION_READY) {
        output_error(EINVAL, session->state != SESSION_OPENED,
                     session->state == SESSION_OPENED ? "connect the session first"
                                                      : "open and connect a session first");
        return false;
    }
    if (!session->in_step) {
        output_error(ESTALE, true,
                     "the last run was cut short inside a message: close and open the session");
        return false;
    }
    return true;
}

/* Prepares the pattern and the probes, outside the time of the run. Answers an error. */
static int prepare_run(struct session *session, struct measure_request *request)
{
    const uint64_t begun_ns = clock_now_ns();
    int error = request->pattern->prepare == NULL ? 0 : request->pattern->prepare(request);
    if (error == 0) {
        probes_start(&session->probes);
    }
    request->deadline_ns += clock_now_ns() - begun_ns;
    if (error != 0) {
        output_error(error, false, "no pattern %s for %llu bytes here: %s", request->pattern->name,
                     (unsigned long long)request->size, strerror(-error));
    }
    return error;
}

/* Carries out the run, and answers. */
static void carry_out(struct session *session, const struct measure_request *request)
{
    const struct driver *driver = session->driver;
    int error =
        driver->prepare == NULL ? 0 : driver->prepare(session->driver_session, request->size);
    if (error == -EMSGSIZE) {
        output_error(error, false, "%s: messages of %llu bytes do not fit this link", driver->name,
                     (unsigned long long)request->size);
        return;
    }
    if (error == 0 && request->role == DRIVER_RESPONDER) {
        struct json json;
        output_begin(&json, "ready");
        output_send(&json);
    }
    struct measure_result result = {0};
    histogram_clear(&session->samples);
    if (error == 0) {
        error = measure_run(request, &result, &session->samples);
    }
    if (error != 0) {
        session->state = SESSION_BROKEN;
        output_error(error, true, "%s: %s", driver->name,
                     result.fault[0] != '\0' ? result.fault : describe(error));
        return;
    }
    session->in_step = result.in_step;
    send_result(session, request, &result);
}

void session_run(struct session *session, struct command *command)
{
    const struct driver *driver = session->driver;
    struct measure_request request = {0};
    if (!can_run(session) || parse_run(session, command, &request) != 0) {
        return;
    }
    const bool responds = session->role == DRIVER_RESPONDER && driver->placement != DRIVER_PROCESS;
    request.driver = driver;
    request.session = session->driver_session;
    request.role = responds ? DRIVER_RESPONDER : DRIVER_INITIATOR;
    request.walk = &session->walk;
    request.probes = &session->probes;
    request.interrupted = session_interrupted;
    request.context = session;
    if (prepare_run(session, &request) != 0) {
        return;
    }
    give_up_at(session, request.deadline_ns + (responds ? RESPONDER_GRACE_NS : INITIATOR_GRACE_NS));
    if (responds) {
        request.deadline_ns = session->give_up_at_ns;
    }
    carry_out(session, &request);
    probes_stop(&session->probes);
}

static int parse_check(const struct session *session, struct command *command,
                       struct check_request *request, uint64_t *deadline_ms)
{
    *deadline_ms = DEFAULT_DEADLINE_MS;
    if (command_require(command, "size") != 0 || command_require(command, "count") != 0 ||
        command_number(command, "size", session->driver->min_size, session->max_size,
                       &request->size) != 0 ||
        command_number(command, "count", 1, COUNT_MAX, &request->count) != 0 ||
        command_number(command, "deadline_ms", 1, DEADLINE_MS_MAX, deadline_ms) != 0) {
        output_error(EINVAL, false, "%s", command->reason);
        return -EINVAL;
    }
    return 0;
}

void session_check(struct session *session, struct command *command)
{
    const struct driver *driver = session->driver;
    struct check_request request = {.driver = driver,
                                    .session = session->driver_session,
                                    .role = session->role,
                                    .outgoing = session->outgoing,
                                    .incoming = session->incoming,
                                    .buffer_bytes = session->buffer_bytes,
                                    .interrupted = session_interrupted,
                                    .context = session};
    uint64_t deadline_ms;
    uint64_t arrived = 0;
    char reason[CHECK_REASON_BYTES] = "prepare() does not take this size";
    if (!can_run(session) || parse_check(session, command, &request, &deadline_ms) != 0) {
        return;
    }
    give_up_at(session, clock_now_ns() + deadline_ms * NS_PER_MS);
    int error =
        driver->prepare == NULL ? 0 : driver->prepare(session->driver_session, request.size);
    struct json json;
    if (error == 0 && session->role == DRIVER_RESPONDER && driver->receive != NULL) {
        output_begin(&json, "ready");
        output_send(&json);
    }
    error = error == 0 ? check_run(&request, &arrived, reason) : error;
    if (error == 0 && driver->flush != NULL) {
        (void)snprintf(reason, sizeof reason, "flush() fails");
        error = driver->flush(session->driver_session);
    }
    if (error != 0) {
        session->state = SESSION_BROKEN;
        output_error(error == -ECANCELED ? ETIMEDOUT : error, true, "%s: %s", driver->name, reason);
        return;
    }
    output_begin(&json, "checked");
    json_unsigned(&json, "size", request.size);
    json_unsigned(&json, "arrived", arrived);
    output_send(&json);
}
