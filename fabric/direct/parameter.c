/* SPDX-License-Identifier: BSD-3-Clause */
#include "direct.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Bytes of the name of a variable. */
#define VARIABLE_BYTES 64

struct parameter {
    struct parameter *next;
    struct fi_param shown; /* its name is that of a variable of the environment */
};

/** In the order of their definition, which is while the provider is loaded; constant afterwards. */
static struct parameter *first;
static struct parameter **end = &first;

DIRECT_EXPORTED int fi_param_define(const struct fi_provider *provider, const char *param_name,
                                    enum fi_param_type type, const char *help_string_fmt, ...)
{
    char *help = NULL;
    char *variable = NULL;
    char *text = NULL;
    va_list arguments;

    if (provider == NULL || param_name == NULL || help_string_fmt == NULL ||
        *help_string_fmt == '\0') {
        return -FI_EINVAL;
    }
    struct parameter *parameter = calloc(1, sizeof *parameter);
    va_start(arguments, help_string_fmt);
    bool made = parameter != NULL && vasprintf(&text, help_string_fmt, arguments) >= 0 &&
                asprintf(&help, "%s: %s", provider->name, text) >= 0 &&
                asprintf(&variable, "FI_%s_%s", provider->name, param_name) >= 0;
    va_end(arguments);
    free(text);
    if (!made) { /* the texts, if there are any, are lost: without memory they are undefined */
        free(parameter);
        return -FI_ENOMEM;
    }
    for (char *letter = variable; *letter != '\0'; letter++) {
        *letter = (char)toupper((unsigned char)*letter);
    }
    parameter->shown = (struct fi_param){.name = variable, .type = type, .help_string = help};
    *end = parameter;
    end = &parameter->next;
    return 0;
}

/** @return 0 or 1; -1: neither. */
static int truth(const char *text)
{
    static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};

    for (size_t i = 0; i < COUNT(words); i++) {
        if (strcasecmp(text, words[i]) == 0) {
            return (int)(i % 2);
        }
    }
    return -1;
}

static int read_value(const struct fi_provider *provider, const struct fi_param *parameter,
                      char *text, void *value)
{
    switch (parameter->type) {
    case FI_PARAM_STRING:
        *(char **)value = text;
        break;
    case FI_PARAM_INT:
        *(int *)value = (int)strtol(text, NULL, 0);
        break;
    case FI_PARAM_SIZE_T:
        *(size_t *)value = strtoul(text, NULL, 0);
        break;
    case FI_PARAM_BOOL:
        if (truth(text) < 0) {
            FI_WARN(provider, FI_LOG_CORE, "%s=%s is neither true nor false\n", parameter->name,
                    text);
            return -FI_EINVAL;
        }
        *(int *)value = truth(text);
        break;
    default:
        return -FI_EINVAL;
    }
    FI_INFO(provider, FI_LOG_CORE, "%s=%s\n", parameter->name, text);
    return 0;
}

DIRECT_EXPORTED int fi_param_get(struct fi_provider *provider, const char *param_name, void *value)
{
    char variable[VARIABLE_BYTES];

    if (provider == NULL || param_name == NULL || value == NULL) {
        return -FI_EINVAL;
    }
    (void)snprintf(variable, sizeof variable, "FI_%s_%s", provider->name, param_name);
    for (const struct parameter *one = first; one != NULL; one = one->next) {
        if (strcasecmp(one->shown.name, variable) == 0) {
            char *text = getenv(one->shown.name);
            return text == NULL ? -FI_ENODATA : read_value(provider, &one->shown, text, value);
        }
    }
    return -FI_ENOENT;
}

DIRECT_EXPORTED void fi_freeparams(struct fi_param *params)
{
    for (struct fi_param *one = params; one != NULL && one->name != NULL; one++) {
        free((void *)one->name);
        free((void *)one->help_string);
        free((void *)one->value);
    }
    free(params);
}

DIRECT_EXPORTED int fi_getparams(struct fi_param **params, int *count)
{
    int number = 0;

    (void)direct_provider();
    for (const struct parameter *one = first; one != NULL; one = one->next) {
        number++;
    }
    struct fi_param *found = calloc((size_t)number + 1, sizeof *found);
    if (found == NULL) {
        return -FI_ENOMEM;
    }
    *params = found;
    *count = number;
    for (const struct parameter *one = first; one != NULL; one = one->next, found++) {
        const char *value = getenv(one->shown.name);
        found->name = strdup(one->shown.name);
        found->type = one->shown.type;
        found->help_string = strdup(one->shown.help_string);
        found->value = value == NULL ? NULL : strdup(value);
        if (found->name == NULL || found->help_string == NULL) {
            fi_freeparams(*params);
            return -FI_ENOMEM;
        }
    }
    return 0;
}
