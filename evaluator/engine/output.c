/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit.h"
#include "names.h"

enum { FIRST_CAPACITY_BYTES = 4096 };

static void append(struct json *json, const char *bytes, size_t count)
{
    if (json->failed) {
        return;
    }
    if (json->capacity - json->length < count) {
        size_t capacity = json->capacity == 0 ? FIRST_CAPACITY_BYTES : json->capacity;
        while (capacity - json->length < count) {
            capacity *= 2;
        }
        char *text = realloc(json->text, capacity);
        if (text == NULL) {
            json->failed = true;
            return;
        }
        json->text = text;
        json->capacity = capacity;
    }
    memcpy(json->text + json->length, bytes, count);
    json->length += count;
}

static void append_text(struct json *json, const char *text)
{
    append(json, text, strlen(text));
}

/* Length of the valid UTF-8 sequence at `s`, or 0 (Unicode 15, table 3-7: no overlong forms, no
 * surrogates, nothing above U+10FFFF). Does not read beyond the zero byte. */
static size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80) {
        return 1;
    }
    size_t length = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4) {
        return 0;
    }
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    switch (s[0]) {
    case 0xE0:
        low = 0xA0;
        break;
    case 0xED:
        high = 0x9F;
        break;
    case 0xF0:
        low = 0x90;
        break;
    case 0xF4:
        high = 0x8F;
        break;
    default:
        break;
    }
    if (s[1] < low || s[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < length; i++) {
        if (s[i] < 0x80 || s[i] > 0xBF) {
            return 0;
        }
    }
    return length;
}

static void append_quoted(struct json *json, const char *value)
{
    const unsigned char *s = (const unsigned char *)value;
    append(json, "\"", 1);
    while (*s != '\0') {
        size_t length = utf8_length(s);
        if (length == 0) {
            append(json, "?", 1);
            length = 1;
        } else if (*s == '"' || *s == '\\') {
            char escaped[2] = {'\\', (char)*s};
            append(json, escaped, sizeof escaped);
        } else if (*s < 0x20 || *s == 0x7F) {
            char escaped[8];
            (void)snprintf(escaped, sizeof escaped, "\\u%04x", *s);
            append_text(json, escaped);
        } else {
            append(json, (const char *)s, length);
        }
        s += length;
    }
    append(json, "\"", 1);
}

static void append_key(struct json *json, const char *key)
{
    if (json->comma) {
        append(json, ",", 1);
    }
    json->comma = true;
    if (key != NULL) {
        append_quoted(json, key);
        append(json, ":", 1);
    }
}

void json_text(struct json *json, const char *key, const char *value)
{
    append_key(json, key);
    append_quoted(json, value);
}

void json_unsigned(struct json *json, const char *key, uint64_t value)
{
    char number[32];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)value);
    append_key(json, key);
    append_text(json, number);
}

void json_signed(struct json *json, const char *key, int64_t value)
{
    char number[32];
    (void)snprintf(number, sizeof number, "%lld", (long long)value);
    append_key(json, key);
    append_text(json, number);
}

void json_real(struct json *json, const char *key, double value)
{
    if (!isfinite(value) || fabs(value) > 1e15) {
        json_null(json, key);
        return;
    }
    char number[64];
    (void)snprintf(number, sizeof number, "%.1f", value);
    append_key(json, key);
    append_text(json, number);
}

void json_bool(struct json *json, const char *key, bool value)
{
    append_key(json, key);
    append_text(json, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
    append_key(json, key);
    append_text(json, "null");
}

void json_begin(struct json *json, const char *key, char opening)
{
    append_key(json, key);
    append(json, &opening, 1);
    json->comma = false;
}

void json_end(struct json *json, char closing)
{
    append(json, &closing, 1);
    json->comma = true;
}

void output_begin(struct json *json, const char *event)
{
    *json = (struct json){0};
    json_begin(json, NULL, '{');
    json_text(json, "event", event);
}

static int output = STDOUT_FILENO;

void output_to(int descriptor)
{
    output = descriptor;
}

static void write_all(const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(output, bytes, count);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            _exit(EXIT_INPUT_ENDED); /* the evaluator is gone */
        }
        bytes += written;
        count -= (size_t)written;
    }
}

void output_send(struct json *json)
{
    json_end(json, '}');
    append(json, "\n", 1);
    if (json->failed) {
        static const char OUT_OF_MEMORY[] = "{\"event\":\"error\",\"code\":\"ENOMEM\",\"message\":"
                                            "\"no memory for the answer\",\"fatal\":true}\n";
        write_all(OUT_OF_MEMORY, sizeof OUT_OF_MEMORY - 1);
    } else {
        write_all(json->text, json->length);
    }
    free(json->text);
    *json = (struct json){0};
}

void output_error(int error, bool fatal, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const char *code = error_name(error < 0 ? -error : error);

    struct json json;
    output_begin(&json, "error");
    json_text(&json, "code", code == NULL ? "EIO" : code);
    json_text(&json, "message", message);
    json_bool(&json, "fatal", fatal);
    output_send(&json);
}
