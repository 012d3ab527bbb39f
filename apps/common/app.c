/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/app.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE_BYTES 64
/** Room for one line about what is wrong. */
#define LINE_BYTES 512

int app_rank, app_ranks;

static const char *program_name;
static const struct app_option *program_options;
static double clock_started, own_seconds;

void app_refuse(const char *format, ...)
{
    if (app_rank == 0) {
        char line[LINE_BYTES];
        va_list arguments;

        va_start(arguments, format);
        (void)vsnprintf(line, sizeof line, format, arguments);
        va_end(arguments);
        (void)fprintf(stderr, "%s: %s\n", program_name, line);
        (void)fflush(stderr);
    }
    (void)MPI_Barrier(MPI_COMM_WORLD); /* some launchers end all at the first that exits so */
    (void)MPI_Finalize();
    exit(2);
}

/** The word of this number among "one|two|three", and its length; NULL if there are fewer. */
static const char *word_at(const char *words, long index, size_t *length)
{
    for (;; index--) {
        *length = strcspn(words, "|");
        if (index == 0) {
            return words;
        }
        if (words[*length] == '\0') {
            return NULL;
        }
        words += *length + 1;
    }
}

_Noreturn static void help(const char *summary)
{
    if (app_rank == 0) {
        (void)printf("%s: %s\n\nOptions:\n", program_name, summary);
        for (const struct app_option *option = program_options; option->name != NULL; option++) {
            char left[64], standard[32];
            size_t length = 0;

            (void)snprintf(left, sizeof left, "--%s %s", option->name,
                           option->words != NULL ? option->words : "N");
            if (option->words != NULL) {
                const char *word = word_at(option->words, *option->value, &length);

                (void)snprintf(standard, sizeof standard, "%.*s", (int)length, word);
            } else {
                (void)snprintf(standard, sizeof standard, "%ld", *option->value);
            }
            (void)printf("  %-28s %s", left, option->meaning);
            (void)(option->words == NULL && *option->value < option->minimum
                       ? printf("\n")
                       : printf(" [%s]\n", standard));
        }
        (void)printf("  %-28s this text\n", "--help");
        (void)fflush(stdout);
    }
    (void)MPI_Finalize();
    exit(0);
}

static void read_number(const struct app_option *option, const char *text)
{
    char *end = NULL;
    long number = 0;

    errno = 0;
    number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < option->minimum ||
        number > option->maximum) {
        app_refuse("--%s has to be a whole number from %ld to %ld, not '%.64s'", option->name,
                   option->minimum, option->maximum, text);
    }
    *option->value = number;
}

static void read_word(const struct app_option *option, const char *text)
{
    const char *word = NULL;
    size_t length = 0;

    for (long i = 0; (word = word_at(option->words, i, &length)) != NULL; i++) {
        if (strlen(text) == length && strncmp(text, word, length) == 0) {
            *option->value = i;
            return;
        }
    }
    app_refuse("--%s has to be one of %s, not '%.64s'", option->name, option->words, text);
}

/** Reads `--name VALUE` or `--name=VALUE` at a place of the command line; the next place. */
static int read_option(int argc, char **argv, int at)
{
    const char *name = argv[at] + 2, *text = NULL;
    const struct app_option *option = program_options;
    size_t length = strcspn(name, "=");

    if (strncmp(argv[at], "--", 2) != 0) {
        app_refuse("'%.64s' is no option: see %s --help", argv[at], program_name);
    }
    while (option->name != NULL &&
           (strlen(option->name) != length || strncmp(option->name, name, length) != 0)) {
        option++;
    }
    if (option->name == NULL) {
        app_refuse("there is no option '%.64s': see %s --help", argv[at], program_name);
    }
    if (name[length] == '=') {
        text = name + length + 1;
    } else if (++at < argc) {
        text = argv[at];
    } else {
        app_refuse("--%s needs a value: see %s --help", option->name, program_name);
    }
    if (option->words != NULL) {
        read_word(option, text);
    } else {
        read_number(option, text);
    }
    return at + 1;
}

void app_start(int argc, char **argv, const char *name, const char *summary,
               const struct app_option *options)
{
    program_name = name;
    program_options = options;
    (void)MPI_Init(&argc, &argv);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &app_rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &app_ranks);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            help(summary);
        }
    }
    for (int i = 1; i < argc;) {
        i = read_option(argc, argv, i);
    }
}

/** The word that an option has now, and its length; NULL if the program has no such option. */
static const char *chosen(const char *name, size_t *length)
{
    for (const struct app_option *option = program_options; option->name != NULL; option++) {
        if (strcmp(option->name, name) == 0) {
            return word_at(option->words, *option->value, length);
        }
    }
    return NULL;
}

char app_class(void)
{
    size_t length = 0;
    const char *word = chosen("class", &length);
    char letter = '-';

    if (word != NULL) {
        letter = *word;
    }
    return letter;
}

int app_log2_ranks(int most)
{
    int logarithm = 0;

    while (1 << logarithm < app_ranks && logarithm < 30) {
        logarithm++;
    }
    if (1 << logarithm != app_ranks) {
        app_refuse("runs on 1, 2, 4, 8 or another power of two of ranks, not on %d: choose another "
                   "-n",
                   app_ranks);
    }
    if (app_ranks > most) {
        app_refuse("runs on at most %d ranks, not on %d: choose another -n", most, app_ranks);
    }
    return logarithm;
}

void *app_memory(size_t count, size_t bytes_each)
{
    size_t bytes = (count * bytes_each / CACHE_LINE_BYTES + 1) * CACHE_LINE_BYTES;
    void *memory = count <= (SIZE_MAX - CACHE_LINE_BYTES) / bytes_each
                       ? aligned_alloc(CACHE_LINE_BYTES, bytes)
                       : NULL;

    if (memory == NULL) {
        (void)fprintf(stderr,
                      "%s: rank %d: no memory for %zu bytes: choose a smaller problem or more "
                      "ranks\n",
                      program_name, app_rank, bytes);
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
        abort();
    }
    memset(memory, 0, bytes);
    return memory;
}

void app_start_clock(void)
{
    (void)MPI_Barrier(MPI_COMM_WORLD);
    clock_started = MPI_Wtime();
}

double app_seconds(void)
{
    double slowest = 0.0;

    own_seconds = MPI_Wtime() - clock_started;
    (void)MPI_Allreduce(&own_seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest > 1e-9 ? slowest : 1e-9;
}

double app_share(double seconds_communicating)
{
    double own[2] = {seconds_communicating, own_seconds}, all[2] = {0.0, 0.0};

    (void)MPI_Allreduce(own, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all[1] > 0.0 ? all[0] / all[1] : 0.0;
}

bool app_agrees(double number, double expected, double tolerance)
{
    return fabs(number - expected) <= tolerance * fabs(expected);
}

int app_report(const struct app_result *result)
{
    int verified = result->verified ? 1 : 0;

    if (app_rank == 0) {
        (void)printf("{\"app\":\"%s\",\"class\":\"%c\",\"ranks\":%d,\"seconds\":%.9g,"
                     "\"figure\":%.9g,\"unit\":\"%s\",\"verified\":%s,\"check\":\"%s\"",
                     program_name, app_class(), app_ranks, result->seconds, result->figure,
                     result->unit, verified ? "true" : "false", result->check);
        if (result->communication_share >= 0.0) {
            (void)printf(",\"communication_share\":%.4f", result->communication_share);
        }
        (void)printf("}\n");
        (void)fflush(stdout);
    }
    (void)MPI_Bcast(&verified, 1, MPI_INT, 0, MPI_COMM_WORLD);
    (void)MPI_Finalize();
    return verified ? 0 : 1;
}
