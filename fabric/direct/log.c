/* SPDX-License-Identifier: BSD-3-Clause */
#include "direct.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 1024

static const char *const levels[] = {"warn", "trace", "info", "debug"};
static const char *const subsystems[] = {"core", "fabric", "domain", "ep_ctrl", "ep_data",
                                         "av",   "cq",     "eq",     "mr",      "cntr"};

struct fi_provider direct_core = {.name = "core", .version = DIRECT_VERSION};

static int level_shown = -1; /* none */
static const char *providers_shown;
static const char *subsystems_shown;

bool direct_is_chosen(const char *list, const char *name)
{
    if (list == NULL || *list == '\0') {
        return true;
    }
    bool negated = *list == '^';
    bool found = false;
    for (list += negated; *list != '\0';) {
        size_t length = strcspn(list, ",");
        found = found || (length == strlen(name) && strncasecmp(list, name, length) == 0);
        list += length;
        list += *list == ',';
    }
    return found != negated;
}

void direct_log_begin(void)
{
    const char *level = getenv("FI_LOG_LEVEL");

    providers_shown = getenv("FI_LOG_PROV");
    subsystems_shown = getenv("FI_LOG_SUBSYS");
    if (level == NULL) {
        return;
    }
    level_shown = FI_LOG_WARN; /* with any other word, too */
    for (size_t i = 0; i < COUNT(levels); i++) {
        if (strcasecmp(level, levels[i]) == 0) {
            level_shown = (int)i;
        }
    }
}

DIRECT_EXPORTED int fi_log_enabled(const struct fi_provider *prov, enum fi_log_level level,
                                   enum fi_log_subsys subsys)
{
    return (int)level <= level_shown && (size_t)level < COUNT(levels) &&
           (size_t)subsys < COUNT(subsystems) &&
           direct_is_chosen(subsystems_shown, subsystems[subsys]) &&
           (prov == &direct_core || direct_is_chosen(providers_shown, prov->name));
}

DIRECT_EXPORTED void fi_log(const struct fi_provider *prov, enum fi_log_level level,
                            enum fi_log_subsys subsys, const char *func, int line, const char *fmt,
                            ...)
{
    char text[LINE_BYTES];
    va_list arguments;

    va_start(arguments, fmt);
    (void)vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "libfabric:%d:%ld::%s:%s:%s():%d<%s> %s", (int)getpid(), (long)time(NULL),
                  prov->name, subsystems[subsys], func, line, levels[level], text);
}
