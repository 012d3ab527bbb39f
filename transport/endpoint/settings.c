/* SPDX-License-Identifier: BSD-3-Clause */
#include "settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { NUMBER_32, NUMBER_64, YES_OR_NO, NAMES };

/** All keys. If you add one, describe it in docs/CONFIGURATION.md. */
static const struct setting {
    const char *key;
    size_t offset;
    enum type type;
    uint64_t min;
    uint64_t max;
} table[] = {
    {"eager_bytes", offsetof(struct settings, message.eager_bytes), NUMBER_32, 0, 1 << 20},
    {"eager_cut_frames", offsetof(struct settings, message.eager_cut_frames), NUMBER_32, 1,
     FLOW_WINDOW_FRAMES},
    {"burst_frames", offsetof(struct settings, message.burst_frames), NUMBER_32, 2,
     FLOW_BATCH_FRAMES},
    {"bundle_bytes", offsetof(struct settings, message.bundle_bytes), NUMBER_32, 0, 1024},
    {"hold_posts", offsetof(struct settings, message.hold_posts), NUMBER_32, 1, HOLD_RUN_MAX},
    {"unasked_blocks", offsetof(struct settings, message.unasked_blocks), NUMBER_32, 0,
     PULL_BLOCKS},
    {"read_bytes", offsetof(struct settings, message.read_bytes), NUMBER_32, 0, 1 << 30},
    {"one_sided_bytes", offsetof(struct settings, message.one_sided_bytes), NUMBER_32, 4096,
     UINT32_MAX},
    {"spin_ns", offsetof(struct settings, spin_ns), NUMBER_64, UINT64_C(4) * PATIENCE_SPIN_MIN_NS,
     10000000},
    {"busy_poll_us", offsetof(struct settings, busy_poll_us), NUMBER_32, 0, 10000},
    {"authenticate", offsetof(struct settings, authenticate), YES_OR_NO, 0, 1},
    {"checksums", offsetof(struct settings, checksums), YES_OR_NO, 0, 1},
    {"go_back_n", offsetof(struct settings, go_back_n), YES_OR_NO, 0, 1},
    {"bulk_by_packet", offsetof(struct settings, bulk_by_packet), NAMES, 0, 0},
};

#define SETTINGS (sizeof table / sizeof *table)

void settings_default(struct settings *settings)
{
    *settings = (struct settings){
        .message = MESSAGE_LIMITS_DEFAULT,
        .spin_ns = PATIENCE_SPIN_MAX_NS,
        .busy_poll_us = SETTINGS_AS_HOST,
        .checksums = true,
    };
}

/** Is it printable ASCII, in any locale? */
static bool is_printable(char letter)
{
    return letter >= ' ' && letter <= '~';
}

static int wrong(struct settings_fault *fault, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int wrong(struct settings_fault *fault, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(fault->reason, sizeof fault->reason, format, arguments);
    va_end(arguments);
    /* The message quotes the input, which must not control a terminal. */
    for (char *at = fault->reason; *at != '\0'; at++) {
        if (!is_printable(*at)) {
            *at = '?';
        }
    }
    return -EBADMSG;
}

static int read_number(const struct setting *setting, const char *value, uint64_t *number,
                       struct settings_fault *fault)
{
    char *end = NULL;

    errno = 0;
    *number = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || errno != 0 || *number < setting->min ||
        *number > setting->max) {
        return wrong(fault, "%s is a number from %" PRIu64 " to %" PRIu64, setting->key,
                     setting->min, setting->max);
    }
    return 0;
}

static int set(struct settings *settings, const struct setting *setting, char *value,
               char separator, struct settings_fault *fault)
{
    uint8_t *place = (uint8_t *)settings + setting->offset;
    uint64_t number = 0;
    int status = 0;

    switch (setting->type) {
    case NUMBER_32:
    case NUMBER_64:
        status = read_number(setting, value, &number, fault);
        if (status == 0 && setting->type == NUMBER_32) {
            *(uint32_t *)(void *)place = (uint32_t)number;
        } else if (status == 0) {
            *(uint64_t *)(void *)place = number;
        }
        return status;
    case YES_OR_NO:
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0) {
            return wrong(fault, "%s is true or false", setting->key);
        }
        *(bool *)(void *)place = value[0] == 't';
        return 0;
    case NAMES:
        if (strlen(value) >= SETTINGS_NAMES_BYTES) {
            return wrong(fault, "%s is a list such as eth0,eth1", setting->key);
        }
        for (char *at = value; *at != '\0'; at++) {
            if ((unsigned char)*at <= ' ' || *at == 0x7F || *at == '"') {
                return wrong(fault, "%s is a list such as eth0,eth1", setting->key);
            }
            if (separator == ',' && *at == '+') {
                *at = ',';
            }
        }
        memcpy(place, value, strlen(value) + 1);
        return 0;
    }
    return 0;
}

/** Removes white space at both ends. */
static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL) {
        length--;
    }
    text[length] = '\0';
    return text;
}

static int read_line(struct settings *settings, char *line, char separator, unsigned *seen,
                     struct settings_fault *fault)
{
    line[strcspn(line, "#")] = '\0';
    line = trim(line);
    if (*line == '\0') {
        return 0;
    }
    char *equals = strchr(line, '=');
    if (equals == NULL) {
        return wrong(fault, "this is not \"key = value\": %.60s", line);
    }
    *equals = '\0';
    const char *key = trim(line);
    for (unsigned i = 0; i < SETTINGS; i++) {
        if (strcmp(table[i].key, key) == 0) {
            if ((*seen & 1u << i) != 0) {
                return wrong(fault, "%s is set twice", key);
            }
            *seen |= 1u << i;
            return set(settings, &table[i], trim(equals + 1), separator, fault);
        }
    }
    return wrong(fault, "there is no setting %.60s", key);
}

int settings_parse(struct settings *settings, const char *text, char separator,
                   struct settings_fault *fault)
{
    const char ends[] = {separator, '\0'};
    struct settings read = *settings;
    unsigned seen = 0;

    fault->line = 0;
    while (*text != '\0') {
        char line[512];
        size_t length = strcspn(text, ends);
        fault->line++;
        if (length >= sizeof line) {
            return wrong(fault, "the line is too long");
        }
        memcpy(line, text, length);
        line[length] = '\0';
        int status = read_line(&read, line, separator, &seen, fault);
        if (status != 0) {
            return status;
        }
        text += length + (text[length] != '\0');
    }
    *settings = read;
    return 0;
}

/** Is this name, of `bytes` bytes, in the list? */
static bool is_in(const char *list, const char *name, size_t bytes)
{
    while (*list != '\0') {
        size_t length = strcspn(list, ",");
        if (length == bytes && memcmp(list, name, bytes) == 0) {
            return true;
        }
        list += length + (list[length] == ',');
    }
    return false;
}

uint32_t settings_packet_rails(const struct settings *settings, const char *interfaces)
{
    const char *list = settings->bulk_by_packet;
    uint32_t rails = 0;

    for (unsigned rail = 0; interfaces != NULL && *interfaces != '\0' && rail < 32; rail++) {
        size_t bytes = strcspn(interfaces, ",");
        if (strcmp(list, "all") == 0 || is_in(list, interfaces, bytes)) {
            rails |= 1u << rail;
        }
        interfaces += bytes + (interfaces[bytes] == ',');
    }
    return rails;
}
