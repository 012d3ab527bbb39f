/* SPDX-License-Identifier: BSD-3-Clause */
#include "pattern.h"

#include <stddef.h>
#include <string.h>

#include "output.h"

static const struct pattern *const TABLE[] = {
#define ROW(name) &PATTERN_##name,
    PATTERN_LIST(ROW) NULL,
#undef ROW
};

/* The message for an unmet requirement, the same as the evaluator's (patterns.py). */
static const struct need {
    enum pattern_needs need;
    const char *name;
    const char *obstacle;
} NEEDS[] = {
    {PATTERN_NEEDS_PEER, "peer", "it has no other end"},
    {PATTERN_NEEDS_RELIABLE, "reliable", "messages get lost on it"},
    {PATTERN_NEEDS_POSTING, "posting", "it cannot post messages and go on (post_send in driver.h)"},
    {PATTERN_NEEDS_ANYWHERE, "anywhere",
     "its messages use buffers chosen in advance (fixed in driver.h)"},
    {PATTERN_NEEDS_COLLECTIVE, "collective",
     "it has no operations of all ends together (collective in driver.h)"},
};

static bool meets(const struct driver *driver, enum pattern_needs need)
{
    switch (need) {
    case PATTERN_NEEDS_PEER:
        return driver->placement != DRIVER_PROCESS;
    case PATTERN_NEEDS_RELIABLE:
        return driver->reliable;
    case PATTERN_NEEDS_POSTING:
        return driver->post_send != NULL && driver->post_receive != NULL &&
               driver->progress != NULL;
    case PATTERN_NEEDS_ANYWHERE:
        return !driver->fixed;
    case PATTERN_NEEDS_COLLECTIVE:
        return driver->collective != NULL;
    }
    return false;
}

const struct pattern *const *pattern_table(void)
{
    return TABLE;
}

const struct pattern *pattern_find(const char *name)
{
    for (const struct pattern *const *at = TABLE; *at != NULL; at++) {
        if (strcmp((*at)->name, name) == 0) {
            return *at;
        }
    }
    return NULL;
}

const char *pattern_obstacle(const struct pattern *pattern, const struct driver *driver)
{
    for (size_t i = 0; i < sizeof NEEDS / sizeof NEEDS[0]; i++) {
        if ((pattern->needs & NEEDS[i].need) != 0 && !meets(driver, NEEDS[i].need)) {
            return NEEDS[i].obstacle;
        }
    }
    return NULL;
}

void pattern_answer(void)
{
    struct json json;
    output_begin(&json, "patterns");
    json_begin(&json, "patterns", '[');
    for (const struct pattern *const *at = TABLE; *at != NULL; at++) {
        json_begin(&json, NULL, '{');
        json_text(&json, "name", (*at)->name);
        json_text(&json, "summary", (*at)->summary);
        json_text(&json, "reports", (*at)->reports == PATTERN_TIMES ? "times" : "rates");
        json_unsigned(&json, "min_size", (*at)->min_size);
        json_begin(&json, "needs", '[');
        for (size_t i = 0; i < sizeof NEEDS / sizeof NEEDS[0]; i++) {
            if (((*at)->needs & NEEDS[i].need) != 0) {
                json_text(&json, NULL, NEEDS[i].name);
            }
        }
        json_end(&json, ']');
        json_end(&json, '}');
    }
    json_end(&json, ']');
    output_send(&json);
}
