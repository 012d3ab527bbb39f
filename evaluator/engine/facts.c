/* SPDX-License-Identifier: BSD-3-Clause */
#include "facts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Removes white space and quotes at both ends, and replaces each run of white space by one
 * space. */
static void tidy(char *text)
{
    char *to = text;
    bool gap = false;
    for (const char *from = text; *from != '\0'; from++) {
        if (isspace((unsigned char)*from)) {
            gap = true;
            continue;
        }
        if (gap && to != text) {
            *to++ = ' ';
        }
        gap = false;
        *to++ = *from;
    }
    *to = '\0';
    size_t length = (size_t)(to - text);
    if (length >= 2 && text[0] == '"' && text[length - 1] == '"') {
        text[length - 1] = '\0';
        memmove(text, text + 1, length - 1);
    }
}

bool facts_read(const char *path, char *text, size_t text_bytes)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    bool found = fgets(text, (int)text_bytes, file) != NULL;
    (void)fclose(file);
    if (found) {
        tidy(text);
    }
    return found && text[0] != '\0';
}

void facts_text(struct json *json, const char *key, const char *path)
{
    char text[2048];
    if (facts_read(path, text, sizeof text)) {
        json_text(json, key, text);
    } else {
        json_null(json, key);
    }
}

void facts_value(struct json *json, const char *key, const char *path)
{
    char text[2048];
    if (!facts_read(path, text, sizeof text)) {
        json_null(json, key);
        return;
    }
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno == 0 && *end == '\0') {
        json_signed(json, key, number);
    } else {
        json_text(json, key, text);
    }
}

void facts_choice(struct json *json, const char *key, const char *path)
{
    char text[256];
    char *open = NULL;
    char *close = NULL;
    if (facts_read(path, text, sizeof text)) {
        open = strchr(text, '[');
        close = open == NULL ? NULL : strchr(open, ']');
    }
    if (close == NULL) {
        json_null(json, key);
        return;
    }
    *close = '\0';
    json_text(json, key, open + 1);
}

bool facts_find(const char *path, const char *name, char *text, size_t text_bytes)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    while (!found && getline(&line, &capacity, file) > 0) {
        char *separator = strpbrk(line, ":=");
        if (separator == NULL) {
            continue;
        }
        *separator = '\0';
        tidy(line);
        if (strcmp(line, name) == 0) {
            (void)snprintf(text, text_bytes, "%s", separator + 1);
            tidy(text);
            found = true;
        }
    }
    free(line);
    (void)fclose(file);
    return found;
}
