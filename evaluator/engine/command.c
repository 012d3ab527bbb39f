/* SPDX-License-Identifier: BSD-3-Clause */
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct grammar {
    const char *verb;
    const char *keys[COMMAND_WORDS];
};

static const struct grammar GRAMMAR[] = {
    [COMMAND_HELLO] = {"hello", {NULL}},
    [COMMAND_DRIVERS] = {"drivers", {"interface", "address"}},
    [COMMAND_CLOCK] = {"clock", {NULL}},
    [COMMAND_PATTERNS] = {"patterns", {NULL}},
    [COMMAND_PROBES] = {"probes", {NULL}},
    [COMMAND_ENVIRONMENT] = {"environment", {"interface"}},
    [COMMAND_ROUTE] = {"route", {"to"}},
    [COMMAND_CALL_COST] = {"system-call-cost", {"ns", "steps"}},
    [COMMAND_OPEN] = {"open",
                      {"driver", "role", "max_size", "interface", "address", "loss_timeout_ms",
                       "socket_buffer"}},
    [COMMAND_CONNECT] = {"connect", {"peer"}},
    [COMMAND_RUN] = {"run",
                     {"pattern", "size", "count", "skip", "batch", "deadline_ms", "serial",
                      "send_offset", "receive_offset", "start_ns", "interval_ns", "clock_offset_ns",
                      "probes"}},
    [COMMAND_CHECK] = {"check", {"size", "count", "deadline_ms"}},
    [COMMAND_LOAD] = {"load", {"kind", "nice", "percent", "cpus", "seconds"}},
    [COMMAND_PAUSE] = {"pause", {NULL}},
    [COMMAND_RESUME] = {"resume", {NULL}},
    [COMMAND_METER] = {"meter", {NULL}},
    [COMMAND_STOP] = {"stop", {NULL}},
    [COMMAND_CLOSE] = {"close", {NULL}},
    [COMMAND_QUIT] = {"quit", {NULL}},
};

__attribute__((format(printf, 2, 3))) static int refuse(struct command *command, const char *format,
                                                        ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(command->reason, sizeof command->reason, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    if (digit >= 'A' && digit <= 'F') {
        return digit - 'A' + 10;
    }
    return -1;
}

/* Decodes %XX in place. The result is never longer than the input. */
static int decode(struct command *command, const char *key, char *value)
{
    char *to = value;
    for (const char *from = value; *from != '\0'; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        int high = hex_digit(from[1]);
        int low = high < 0 ? -1 : hex_digit(from[2]);
        if (low < 0) {
            return refuse(command, "%s: %% needs two hexadecimal digits after it", key);
        }
        if (high == 0 && low == 0) {
            return refuse(command, "%s: %%00 is not allowed", key);
        }
        *to++ = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return 0;
}

static const char *known_key(const struct grammar *grammar, const char *key)
{
    for (size_t i = 0; i < COMMAND_WORDS && grammar->keys[i] != NULL; i++) {
        if (strcmp(grammar->keys[i], key) == 0) {
            return grammar->keys[i];
        }
    }
    return NULL;
}

static int parse_word(struct command *command, char *word)
{
    const struct grammar *grammar = &GRAMMAR[command->verb];
    char *equals = strchr(word, '=');
    if (equals == NULL) {
        return refuse(command, "'%.40s' is not key=value (one space between words)", word);
    }
    *equals = '\0';
    const char *key = known_key(grammar, word);
    if (key == NULL) {
        return refuse(command, "%s has no key '%.40s'", grammar->verb, word);
    }
    if (command_text(command, key, NULL) != NULL) {
        return refuse(command, "%s is given twice", key);
    }
    int error = decode(command, key, equals + 1);
    if (error != 0) {
        return error;
    }
    command->words[command->word_count].key = key;
    command->words[command->word_count].value = equals + 1;
    command->word_count++;
    return 0;
}

static int parse_verb(struct command *command, const char *verb)
{
    for (size_t i = 0; i < sizeof GRAMMAR / sizeof GRAMMAR[0]; i++) {
        if (strcmp(GRAMMAR[i].verb, verb) == 0) {
            command->verb = (enum command_verb)i;
            return 0;
        }
    }
    return refuse(command, "unknown command '%.40s'", verb);
}

int command_parse(struct command *command, const char *line, size_t length)
{
    command->word_count = 0;
    command->reason[0] = '\0';
    command->storage[0] = '\0';
    if (length > COMMAND_LINE_BYTES) {
        return refuse(command, "a command has at most %d bytes", COMMAND_LINE_BYTES);
    }
    for (size_t i = 0; i < length; i++) {
        if (line[i] < ' ' || line[i] > '~') {
            return refuse(command, "byte %zu is not printable ASCII: encode it as %%%02X", i + 1,
                          (unsigned)(unsigned char)line[i]);
        }
    }
    memcpy(command->storage, line, length);
    command->storage[length] = '\0';

    char *rest = command->storage;
    char *verb = strsep(&rest, " ");
    int error = parse_verb(command, verb);
    while (error == 0 && rest != NULL) {
        error = parse_word(command, strsep(&rest, " "));
    }
    return error;
}

const char *command_text(const struct command *command, const char *key, const char *missing)
{
    for (size_t i = 0; i < command->word_count; i++) {
        if (strcmp(command->words[i].key, key) == 0) {
            return command->words[i].value;
        }
    }
    return missing;
}

int command_number(struct command *command, const char *key, uint64_t low, uint64_t high,
                   uint64_t *value)
{
    const char *text = command_text(command, key, NULL);
    if (text == NULL) {
        return 0;
    }
    uint64_t number = 0;
    bool valid = *text != '\0';
    for (const char *digit = text; valid && *digit != '\0'; digit++) {
        valid = *digit >= '0' && *digit <= '9' &&
                !__builtin_mul_overflow(number, UINT64_C(10), &number) &&
                !__builtin_add_overflow(number, (uint64_t)(*digit - '0'), &number);
    }
    if (!valid || number < low || number > high) {
        return refuse(command, "%s must be a number from %llu to %llu", key,
                      (unsigned long long)low, (unsigned long long)high);
    }
    *value = number;
    return 0;
}

int command_require(struct command *command, const char *key)
{
    if (command_text(command, key, NULL) == NULL) {
        return refuse(command, "%s needs %s=", GRAMMAR[command->verb].verb, key);
    }
    return 0;
}
