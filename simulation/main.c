/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * beowire-simulate: runs seeds one after the other, and prints a JSON object on a line for each.
 * The options are those of `beowire simulate`, which starts it; probabilities are integers per
 * million. Two are for tests: --repeat N runs each N-th seed twice, which must give the same trace.
 * --require-all requires that every kind of fault and of operation on remote memory has happened in
 * some run, and that memory of other processes was read.
 *
 * The exit status is 0 if all runs succeeded, 1 if one failed, 2 for wrong options. A violated
 * invariant ends the process: its line is the last one. SIGALRM ends a run that hangs.
 */
#include "run.h"
#include "scale/scale.h"
#include "scenario.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** A run takes milliseconds; with hundreds of nodes, a second or two. */
#define SECONDS_A_RUN 120

struct program {
    struct run_options options;
    uint64_t seeds;
    uint64_t repeat_every; /**< each n-th seed is run twice; 0: none */
    bool require_all;      /**< every kind of fault must have happened */
    const char *scenario;
    uint64_t happened[FAULT_KINDS];
    struct remote_counters remote;
    uint64_t cut;            /**< segments and frames over lanes that cut */
    uint64_t placed;         /**< of these, received directly into their buffer */
    uint64_t tacit;          /**< of these, tacit */
    uint64_t injected_whole; /**< messages in several frames */
    uint64_t evened;         /**< frames padded to the next one's length, for trains */
    uint64_t messages_read;
    uint64_t blocks_read;
    uint64_t unread;
    uint64_t told;
    uint64_t replayed;
    uint64_t altered;
    uint64_t unsealed;
    uint64_t damaged;
};

static uint64_t current_seed;

static _Noreturn void die(const char *what, const char *word)
{
    (void)fprintf(stderr, "beowire-simulate: %s%s%s\n", what, word != NULL ? ": " : "",
                  word != NULL ? word : "");
    exit(2);
}

/* ---- what is printed ----------------------------------------------------------------------- */

/** Our texts have no control characters. */
static void print_text(const char *text)
{
    (void)putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            (void)putchar('\\');
        }
        (void)putchar(*text);
    }
    (void)putchar('"');
}

static void print_number(const char *name, uint64_t value)
{
    (void)printf(",\"%s\":%" PRIu64, name, value);
}

static void print_faults(const uint64_t *faults)
{
    (void)printf("\"faults\":{");
    for (enum fault_kind kind = 0; kind < FAULT_KINDS; kind++) {
        (void)printf("%s\"%s\":%" PRIu64, kind == 0 ? "" : ",", fault_name(kind), faults[kind]);
    }
    (void)putchar('}');
}

static void print_result(const struct run_options *options, const struct run_result *result)
{
    (void)printf("{\"seed\":%" PRIu64, options->seed);
    print_number("nodes", result->nodes);
    print_number("messages", result->messages);
    print_number("delivered", result->counters.delivered);
    print_number("failed", result->counters.failed);
    print_number("lost", result->verdict.lost);
    print_number("duplicated", result->verdict.duplicated);
    print_number("corrupted", result->verdict.corrupted);
    print_number("hung", result->verdict.hung);
    print_number("disordered", result->verdict.disordered);
    print_number("wrong", result->verdict.wrong);
    print_number("frames", result->frames);
    print_number("retransmitted", result->retransmitted);
    print_number("virtual_ns", result->virtual_ns);
    print_number("chunks_peak", result->chunks_peak);
    print_number("chunks_limit", result->chunks_limit);
    (void)printf(",\"work\":{\"eager\":%" PRIu64, result->kinds.eager);
    print_number("long", result->kinds.long_messages);
    print_number("injected", result->counters.injected);
    print_number("injected_whole", result->counters.injected_whole);
    print_number("confirmed", result->counters.confirmed);
    print_number("bundled", result->kinds.bundled);
    print_number("held", result->kinds.held);
    print_number("computed", result->kinds.computed);
    print_number("kept", result->kinds.kept);
    print_number("unexpected", result->kinds.unexpected);
    print_number("claimed", result->counters.claimed);
    print_number("cancelled", result->counters.cancelled);
    print_number("truncated", result->counters.truncated);
    print_number("puts", result->remote.puts);
    print_number("puts_injected_whole", result->remote.injected);
    print_number("gets", result->remote.gets);
    print_number("atomics", result->remote.atomics);
    print_number("puts_noticed", result->remote.notices);
    print_number("remote_refused", result->remote.refused);
    print_number("unasked_blocks", result->kinds.unasked_blocks);
    print_number("pulls_repeated", result->kinds.pulls_repeated);
    print_number("cut", result->kinds.cut);
    print_number("placed", result->kinds.placed);
    print_number("tacit", result->kinds.tacit);
    print_number("evened", result->kinds.evened);
    print_number("messages_read", result->kinds.messages_read);
    print_number("blocks_read", result->kinds.blocks_read);
    print_number("unread", result->kinds.unread);
    print_number("told", result->kinds.told);
    print_number("replayed", result->kinds.replayed);
    print_number("altered", result->kinds.altered);
    print_number("unsealed", result->kinds.unsealed);
    print_number("damaged", result->kinds.damaged);
    print_number("path_changes", result->kinds.path_changes);
    print_number("peers_failed", result->kinds.peers_failed);
    (void)printf("},");
    print_faults(result->faults);
    (void)printf(",\"trace_hash\":\"%016" PRIx64 "\"", result->hash);
    if (result->verdict.first[0] != '\0') {
        (void)printf(",\"failure\":");
        print_text(result->verdict.first);
    }
    (void)printf("}\n");
}

/** An invariant is violated: ends the run. */
static void broken(const char *what)
{
    (void)printf("{\"seed\":%" PRIu64 ",\"failure\":", current_seed);
    print_text(what);
    (void)printf("}\n");
    exit(1); /* writes the rest of the trace */
}

/* ---- what is asked for --------------------------------------------------------------------- */

static uint64_t number_of(const char *option, const char *text, uint64_t most)
{
    char *end = NULL;

    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > most) {
        (void)fprintf(stderr, "beowire-simulate: %s: not a number from 0 to %" PRIu64 ": %s\n",
                      option, most, text);
        exit(2);
    }
    return value;
}

struct number_option {
    const char *name;
    uint32_t *value;
    uint32_t least;
    uint32_t most;
};

static bool take_number(const struct number_option *options, unsigned count, const char *name,
                        const char *text)
{
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(name, options[i].name) == 0) {
            *options[i].value = (uint32_t)number_of(name, text, options[i].most);
            if (*options[i].value < options[i].least) {
                die("the number is too small", name);
            }
            return true;
        }
    }
    return false;
}

static void take_option(struct program *program, const char *name, const char *text)
{
    struct run_options *options = &program->options;
    const struct number_option numbers[] = {
        {"--nodes", &options->nodes, 2, 1000},
        {"--messages", &options->messages, 1, 100000},
        {"--loss", &options->lost_ppm, 0, 1000000},
        {"--duplicate", &options->doubled_ppm, 0, 1000000},
        {"--reorder", &options->delayed_ppm, 0, 1000000},
        {"--corrupt", &options->corrupted_ppm, 0, 1000000},
        {"--undetected", &options->undetected_ppm, 0, 1000000},
        {"--unchecked", &options->unchecked, 0, 1000},
    };

    if (take_number(numbers, sizeof numbers / sizeof *numbers, name, text)) {
        return;
    }
    if (strcmp(name, "--seed") == 0) {
        options->seed = number_of(name, text, UINT64_MAX / 2);
    } else if (strcmp(name, "--seeds") == 0) {
        program->seeds = number_of(name, text, UINT64_MAX / 2);
    } else if (strcmp(name, "--repeat") == 0) {
        program->repeat_every = number_of(name, text, UINT64_MAX);
    } else if (strcmp(name, "--scenario") == 0) {
        if (!scenario_find(text, &options->kinds)) {
            die("no such scenario (see --list-scenarios)", text);
        }
        program->scenario = text;
    } else if (strcmp(name, "--trace") == 0) {
        options->trace = fopen(text, "we");
        if (options->trace == NULL) {
            die(strerror(errno), text);
        }
    } else {
        die("no such option", name);
    }
}

static void list_scenarios(void)
{
    (void)printf("all\nwire\n");
    for (enum fault_kind kind = 0; kind < FAULT_KINDS; kind++) {
        (void)printf("%s\n", fault_name(kind));
    }
}

static void parse(struct program *program, int count, char **words)
{
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--require-all") == 0) {
            program->require_all = true;
        } else if (strcmp(words[i], "--list-scenarios") == 0) {
            list_scenarios();
            exit(0);
        } else if (i + 1 < count) {
            take_option(program, words[i], words[i + 1]);
            i++;
        } else {
            die("unknown option, or no value after it", words[i]);
        }
    }
}

/* ---- what is done -------------------------------------------------------------------------- */

/** Runs a seed, once or twice. @return true: no errors. */
static bool run_seed(struct program *program, const struct run_options *options)
{
    struct run_result result;
    struct run_result again;

    current_seed = options->seed;
    (void)alarm(SECONDS_A_RUN);
    bool well = run(options, &result);
    if (program->repeat_every != 0 && options->seed % program->repeat_every == 0) {
        struct run_options untraced = *options;
        untraced.trace = NULL;
        (void)run(&untraced, &again);
        if (again.hash != result.hash) {
            well = false;
            (void)snprintf(result.verdict.first, sizeof result.verdict.first,
                           "the same seed gave another trace: %016" PRIx64, again.hash);
        }
    }
    (void)alarm(0);
    print_result(options, &result);
    (void)fflush(stdout);
    for (enum fault_kind kind = 0; kind < FAULT_KINDS; kind++) {
        program->happened[kind] += result.faults[kind];
    }
    program->remote.puts += result.remote.puts;
    program->injected_whole += result.counters.injected_whole;
    program->remote.injected += result.remote.injected;
    program->remote.gets += result.remote.gets;
    program->remote.atomics += result.remote.atomics;
    program->remote.notices += result.remote.notices;
    program->remote.refused += result.remote.refused;
    program->cut += result.kinds.cut;
    program->placed += result.kinds.placed;
    program->tacit += result.kinds.tacit;
    program->evened += result.kinds.evened;
    program->messages_read += result.kinds.messages_read;
    program->blocks_read += result.kinds.blocks_read;
    program->unread += result.kinds.unread;
    program->told += result.kinds.told;
    program->replayed += result.kinds.replayed;
    program->altered += result.kinds.altered;
    program->unsealed += result.kinds.unsealed;
    program->damaged += result.kinds.damaged;
    return well;
}

/** Has every kind of fault, and of operation on remote memory, happened? */
static bool check_happened(const struct program *program)
{
    bool all = true;

    for (enum fault_kind kind = 0; kind < FAULT_KINDS; kind++) {
        if (program->happened[kind] == 0) {
            (void)fprintf(stderr, "beowire-simulate: no seed had the fault \"%s\"\n",
                          fault_name(kind));
            all = false;
        }
    }
    const struct remote_counters *remote = &program->remote;
    if (remote->puts == 0 || remote->gets == 0 || remote->atomics == 0 || remote->notices == 0 ||
        remote->refused == 0) {
        (void)fprintf(stderr,
                      "beowire-simulate: some kind of operation on remote memory never happened\n");
        all = false;
    }
    if (program->placed == 0 || program->placed == program->cut || program->tacit == 0) {
        (void)fprintf(stderr,
                      "beowire-simulate: over lanes that cut, no segment was placed as expected, "
                      "or every one was, or no tacit frame was sent\n");
        all = false;
    }
    if (program->injected_whole == 0 || remote->injected == 0) {
        (void)fprintf(stderr, "beowire-simulate: no message, or no put, of several frames was "
                              "injected\n");
        all = false;
    }
    if (program->evened == 0) {
        (void)fprintf(stderr,
                      "beowire-simulate: no frame was padded to the length of the next one\n");
        all = false;
    }
    if (program->told == 0) {
        (void)fprintf(stderr, "beowire-simulate: no host reported that a process has ended\n");
        all = false;
    }
    if (program->replayed == 0) {
        (void)fprintf(stderr, "beowire-simulate: no stranger repeated a CONNECT or an "
                              "ACCEPT\n");
        all = false;
    }
    if (program->altered == 0 || program->unsealed == 0) {
        (void)fprintf(stderr,
                      "beowire-simulate: no stranger altered a sealed frame, or no altered frame "
                      "was detected\n");
        all = false;
    }
    if (program->damaged == 0) {
        (void)fprintf(stderr, "beowire-simulate: no damaged frame was detected by its checksum\n");
        all = false;
    }
    if (program->messages_read == 0 || program->blocks_read == 0 || program->unread == 0) {
        (void)fprintf(stderr, "beowire-simulate: no message was read from its sender's memory, or "
                              "no block of one, or no such read failed\n");
        all = false;
    }
    return all;
}

int main(int count, char **words)
{
    struct program program = {.options = RUN_OPTIONS_DEFAULT, .seeds = 1, .scenario = "all"};
    bool well = true;

    if (count > 1 && strcmp(words[1], "scale") == 0) {
        return scale_main(count - 2, words + 2);
    }
    parse(&program, count, words);
    cluster_on_failure(broken);
    for (uint64_t i = 0; i < program.seeds; i++) {
        struct run_options options = program.options;
        options.seed += i;
        well = run_seed(&program, &options) && well;
    }
    if (program.require_all) {
        well = check_happened(&program) && well;
    }
    if (program.options.trace != NULL && fclose(program.options.trace) != 0) {
        die("the trace cannot be written", strerror(errno));
    }
    return well ? 0 : 1;
}
