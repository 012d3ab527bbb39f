/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.h - the engine's answers: one JSON object a line, on standard output or another
 * descriptor.
 *
 * An answer is built in memory and written whole, so a reader sees half of one only if the engine
 * dies. Keys are constants and not escaped. Values are escaped, and bytes that are not valid UTF-8
 * become '?'.
 *
 *      struct json json;
 *      output_begin(&json, "hello");
 *      json_text(&json, "version", BEOWIRE_VERSION);
 *      output_send(&json);
 */
#ifndef BEOWIRE_ENGINE_OUTPUT_H
#define BEOWIRE_ENGINE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
    char *text; /**< owned; freed by output_send() */
    size_t length;
    size_t capacity;
    bool comma;  /**< the next member or element needs a comma before it */
    bool failed; /**< out of memory: output_send() sends an error instead */
};

/** `key` is NULL for an element of an array, here and below. */
void json_text(struct json *json, const char *key, const char *value);
void json_unsigned(struct json *json, const char *key, uint64_t value);
void json_signed(struct json *json, const char *key, int64_t value);
/** One digit after the point; null if not finite. */
void json_real(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
/** `opening` is '{' or '['; json_end() takes the matching bracket. */
void json_begin(struct json *json, const char *key, char opening);
void json_end(struct json *json, char closing);

/** Sends all further answers to this descriptor, which stays owned by the caller. The default is
 *  standard output. */
void output_to(int descriptor);

/** Starts an answer: {"event":"EVENT" */
void output_begin(struct json *json, const char *event);

/** Completes the answer, writes it, and frees its memory. Ends the process if the reader is
 *  gone. */
void output_send(struct json *json);

/** An error answer. `error` is an errno of either sign; `fatal`: the session cannot be used
 *  again. */
__attribute__((format(printf, 3, 4))) void output_error(int error, bool fatal, const char *format,
                                                        ...);

#endif
