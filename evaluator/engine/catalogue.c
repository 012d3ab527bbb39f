/* SPDX-License-Identifier: BSD-3-Clause */
#include "catalogue.h"

#include <string.h>

#include "output.h"
#include "trial.h"

static const char *placement_name(enum driver_placement placement)
{
    switch (placement) {
    case DRIVER_PAIR:
        return "pair";
    case DRIVER_HOST:
        return "host";
    case DRIVER_PROCESS:
        return "process";
    }
    return "pair";
}

struct question {
    const struct driver *driver;
    const struct driver_options *options;
};

static int probe(const void *context, char *reason, size_t reason_bytes)
{
    const struct question *question = context;

    return question->driver->probe(question->options, reason, reason_bytes);
}

static void write_driver(struct json *json, const struct driver *driver,
                         const struct driver_options *options)
{
    char reason[DRIVER_REASON_BYTES] = "";
    const struct question question = {driver, options};
    int error = trial(probe, &question, TRIAL_MS, reason, sizeof reason);
    json_begin(json, NULL, '{');
    json_text(json, "name", driver->name);
    json_text(json, "summary", driver->summary);
    json_text(json, "placement", placement_name(driver->placement));
    json_bool(json, "reliable", driver->reliable);
    json_bool(json, "spins", driver->spins);
    json_bool(json, "posts", driver->progress != NULL);
    json_bool(json, "fixed", driver->fixed);
    json_bool(json, "collective", driver->collective != NULL);
    json_unsigned(json, "min_size", driver->min_size);
    json_unsigned(json, "max_size", driver->max_size);
    json_bool(json, "ready", error == 0);
    json_text(json, "reason", error == 0 ? "" : reason[0] != '\0' ? reason : strerror(-error));
    json_end(json, '}');
}

void catalogue_answer(struct modules *modules, const struct command *command)
{
    struct driver_options options = {
        .interface = command_text(command, "interface", ""),
        .local_address = command_text(command, "address", ""),
        .max_size = 1,
    };
    modules_load_all(modules);
    struct json json;
    output_begin(&json, "drivers");
    json_begin(&json, "drivers", '[');
    for (size_t i = 0; i < modules->driver_count; i++) {
        write_driver(&json, modules->drivers[i], &options);
    }
    json_end(&json, ']');
    json_begin(&json, "broken", '[');
    for (size_t i = 0; i < modules->broken_count; i++) {
        json_begin(&json, NULL, '{');
        json_text(&json, "file", modules->broken[i].file);
        json_text(&json, "reason", modules->broken[i].reason);
        json_end(&json, '}');
    }
    json_end(&json, ']');
    output_send(&json);
}
