/* SPDX-License-Identifier: BSD-3-Clause */
/* facts.h - one fact from one file under /proc or /sys, as a member of a JSON object. */
#ifndef BEOWIRE_ENGINE_FACTS_H
#define BEOWIRE_ENGINE_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "output.h"

/** The first line of a file, without white space around it. False when there is none. */
bool facts_read(const char *path, char *text, size_t text_bytes);

/** The first line as a string, or null. */
void facts_text(struct json *json, const char *key, const char *path);

/** The first line as a number, or as a string when it is none, or null. */
void facts_value(struct json *json, const char *key, const char *path);

/** The word in [brackets] of a line such as "always [madvise] never", or null. */
void facts_choice(struct json *json, const char *key, const char *path);

/** The value of "name : value" or "name=value" in a file of many lines, without quotes. False when
 *  no line has that name. */
bool facts_find(const char *path, const char *name, char *text, size_t text_bytes);

#endif
