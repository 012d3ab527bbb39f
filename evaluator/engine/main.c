/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * beowire-engine - one end of one driver's session, controlled over standard input and output as
 * docs/ENGINE.md describes.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "attach.h"
#include "call_cost.h"
#include "catalogue.h"
#include "clock.h"
#include "command.h"
#include "environment.h"
#include "exit.h"
#include "input.h"
#include "load.h"
#include "modules.h"
#include "output.h"
#include "pattern.h"
#include "probe.h"
#include "proxy.h"
#include "route.h"
#include "session.h"
#include "soaker.h"

#define PROTOCOL_VERSION 1

/* Polling interval of a driver that must make progress between commands. */
#define IDLE_MS 1

struct engine {
    int cpu; /* to which the process is pinned, or -1 */
    struct modules modules;
    struct input input;
    struct session session;
    struct load load;
    struct command command;
};

/* Static because its buffers are too large for the stack. */
static struct engine engine = {.cpu = -1};

static pid_t parent;

/* The kernel sends this signal when the thread that started this process ends. The parent process
 * has ended only if the parent's id has changed. */
static void parent_thread_ended(int signal_number)
{
    (void)signal_number;
    if (getppid() != parent) {
        _exit(EXIT_INPUT_ENDED);
    }
}

static void die_with_parent(void)
{
    parent = getppid();
    struct sigaction action = {.sa_handler = parent_thread_ended, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR2, &action, NULL);
    prctl(PR_SET_PDEATHSIG, SIGUSR2);
    (void)signal(SIGPIPE, SIG_IGN); /* write() reports that the reader is gone */
}

static int pin(const char *text)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        (void)fprintf(stderr, "beowire-engine: cannot read the CPU affinity: %s\n",
                      strerror(errno));
        return EXIT_USAGE;
    }
    int cpu = -1;
    if (strcmp(text, "auto") == 0) {
        cpu = CPU_SETSIZE - 1;
        while (cpu > 0 && !CPU_ISSET((size_t)cpu, &allowed)) {
            cpu--;
        }
    } else {
        char *end = NULL;
        errno = 0;
        long number = strtol(text, &end, 10);
        if (errno != 0 || end == text || *end != '\0' || number < 0 || number >= CPU_SETSIZE) {
            (void)fprintf(stderr, "beowire-engine: --cpu takes a number or 'auto', not '%s'\n",
                          text);
            return EXIT_USAGE;
        }
        cpu = (int)number;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (!CPU_ISSET((size_t)cpu, &allowed) || sched_setaffinity(0, sizeof one, &one) != 0) {
        (void)fprintf(stderr, "beowire-engine: CPU %d is not one that this process may use\n", cpu);
        return EXIT_USAGE;
    }
    engine.cpu = cpu;
    return 0;
}

static void answer_hello(void)
{
    char hostname[HOST_NAME_MAX + 1] = "";
    (void)gethostname(hostname, sizeof hostname - 1);
    struct clock_cost cost = clock_measure();
    struct json json;
    output_begin(&json, "hello");
    json_text(&json, "version", BEOWIRE_VERSION);
    json_unsigned(&json, "protocol", PROTOCOL_VERSION);
    json_unsigned(&json, "abi", DRIVER_ABI);
    json_unsigned(&json, "pid", (uint64_t)getpid());
    if (engine.cpu >= 0) {
        json_unsigned(&json, "cpu", (uint64_t)engine.cpu);
    } else {
        json_null(&json, "cpu");
    }
    json_text(&json, "hostname", hostname);
    json_begin(&json, "clock", '{');
    json_text(&json, "source", "CLOCK_MONOTONIC");
    json_real(&json, "overhead_ns", cost.overhead_ns);
    json_real(&json, "overhead_p99_ns", cost.overhead_p99_ns);
    json_real(&json, "resolution_ns", cost.resolution_ns);
    json_end(&json, '}');
    output_send(&json);
}

static void answer_clock(void)
{
    struct json json;
    output_begin(&json, "clock");
    json_unsigned(&json, "now_ns", clock_now_ns());
    output_send(&json);
}

static void answer_call_cost(struct command *command)
{
    char reason[256] = "";
    struct call_cost cost;
    uint64_t wanted_ns = 0;
    uint64_t steps = 0;
    if (command_number(command, "ns", 1, CALL_COST_NS_MAX, &wanted_ns) != 0 ||
        command_number(command, "steps", 0, CALL_COST_STEPS_MAX, &steps) != 0) {
        output_error(EINVAL, false, "%s", command->reason);
        return;
    }
    int error = wanted_ns == 0 ? 0 : call_cost_steps(wanted_ns, &steps, reason, sizeof reason);
    if (error == 0) {
        error = call_cost_add(steps, &cost, reason, sizeof reason);
    }
    if (error != 0) {
        output_error(error, false, "%s", reason);
        return;
    }
    struct json json;
    output_begin(&json, "system-call-cost");
    json_unsigned(&json, "steps", steps);
    json_real(&json, "before_ns", cost.before_ns);
    json_real(&json, "added_ns", cost.added_ns);
    output_send(&json);
}

/* Returns false after `quit`. */
static bool obey(struct command *command)
{
    switch (command->verb) {
    case COMMAND_HELLO:
        answer_hello();
        break;
    case COMMAND_DRIVERS:
        catalogue_answer(&engine.modules, command);
        break;
    case COMMAND_CLOCK:
        answer_clock();
        break;
    case COMMAND_PATTERNS:
        pattern_answer();
        break;
    case COMMAND_PROBES:
        probes_answer(&engine.session.probes);
        break;
    case COMMAND_ENVIRONMENT:
        environment_answer(command);
        break;
    case COMMAND_ROUTE:
        route_answer(command);
        break;
    case COMMAND_CALL_COST:
        answer_call_cost(command);
        break;
    case COMMAND_OPEN:
        session_open(&engine.session, command);
        break;
    case COMMAND_CONNECT:
        session_connect(&engine.session, command);
        break;
    case COMMAND_RUN:
        session_run(&engine.session, command);
        break;
    case COMMAND_CHECK:
        session_check(&engine.session, command);
        break;
    case COMMAND_LOAD:
        load_answer(&engine.load, command);
        break;
    case COMMAND_PAUSE:
        load_pause_answer(&engine.load, true);
        break;
    case COMMAND_RESUME:
        load_pause_answer(&engine.load, false);
        break;
    case COMMAND_METER:
        load_meter_answer(&engine.load);
        break;
    case COMMAND_STOP:
        break; /* nothing runs: the run to stop has just ended by itself */
    case COMMAND_CLOSE:
        session_close(&engine.session);
        break;
    case COMMAND_QUIT:
        return false;
    }
    return true;
}

static int serve(void)
{
    char line[COMMAND_LINE_BYTES];
    size_t length = 0;
    for (;;) {
        while (session_idle(&engine.session) && !input_waits(&engine.input, IDLE_MS)) {
        }
        switch (input_next(&engine.input, line, &length)) {
        case INPUT_END:
            return EXIT_INPUT_ENDED;
        case INPUT_TOO_LONG:
            output_error(EMSGSIZE, false, "a command has at most %d bytes", COMMAND_LINE_BYTES);
            break;
        case INPUT_LINE:
            if (command_parse(&engine.command, line, length) != 0) {
                output_error(EINVAL, false, "%s", engine.command.reason);
            } else if (!obey(&engine.command)) {
                return EXIT_QUIT;
            }
            break;
        }
    }
}

/* The directory `drivers/` beside this executable. */
static int default_directory(char *path, size_t bytes)
{
    ssize_t length = readlink("/proc/self/exe", path, bytes - sizeof "/drivers");
    if (length <= 0) {
        return -ENOENT;
    }
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    size_t start = slash == NULL ? 0 : (size_t)(slash - path);
    (void)snprintf(path + start, bytes - start, "/drivers");
    return 0;
}

static int usage(FILE *to, int status)
{
    (void)fprintf(to, "usage: beowire-engine [--drivers DIR[:DIR]] [--cpu N|auto] [--attach NAME]\n"
                      "       beowire-engine --proxy\n"
                      "       beowire-engine " CALL_COST_OPTION " NS COMMAND ...\n"
                      "One end of a measurement; `beowire` starts it and speaks with it.\n");
    return status;
}

struct options {
    char directories[PATH_MAX]; /* empty: the default */
    const char *attach;         /* of the proxy, or NULL */
    bool proxy;
};

/* Parses the command line. @return -1 to continue, or an exit status. */
static int read_options(int argc, char **argv, struct options *options)
{
    static const struct option KNOWN[] = {
        {"attach", required_argument, NULL, 'a'},
        {"drivers", required_argument, NULL, 'd'},
        {"cpu", required_argument, NULL, 'c'},
        {"proxy", no_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {0},
    };
    int status = 0;
    int option;
    while ((option = getopt_long(argc, argv, "", KNOWN, NULL)) != -1) {
        switch (option) {
        case 'a':
            options->attach = optarg;
            break;
        case 'd':
            if (strlen(optarg) >= sizeof options->directories) {
                return usage(stderr, EXIT_USAGE);
            }
            (void)snprintf(options->directories, sizeof options->directories, "%s", optarg);
            break;
        case 'c':
            status = pin(optarg);
            if (status != 0) {
                return status;
            }
            break;
        case 'p':
            options->proxy = true;
            break;
        case 'h':
            return usage(stdout, 0);
        case 'v':
            (void)puts("beowire-engine " BEOWIRE_VERSION);
            return 0;
        default:
            return usage(stderr, EXIT_USAGE);
        }
    }
    return optind < argc || (options->proxy && options->attach != NULL) ? usage(stderr, EXIT_USAGE)
                                                                        : -1;
}

int main(int argc, char **argv)
{
    static struct options options;
    int input = STDIN_FILENO;
    if (argc == 3 && strcmp(argv[1], SOAKER_OPTION) == 0) {
        return soak_main(argv[2]);
    }
    if (argc > 3 && strcmp(argv[1], CALL_COST_OPTION) == 0) {
        return call_cost_main(argv[2], argv + 3);
    }
    int status = read_options(argc, argv, &options);
    if (status >= 0) {
        return status;
    }
    die_with_parent();
    if (options.proxy) {
        return proxy_serve(STDIN_FILENO, STDOUT_FILENO);
    }
    if ((options.directories[0] == '\0' &&
         default_directory(options.directories, sizeof options.directories) != 0) ||
        modules_open(&engine.modules, options.directories) != 0) {
        (void)fprintf(stderr, "beowire-engine: cannot tell where its drivers are: use --drivers\n");
        return EXIT_USAGE;
    }
    if (options.attach != NULL) {
        input = attach(options.attach);
        if (input < 0) {
            return EXIT_USAGE;
        }
        output_to(input);
    }
    input_open(&engine.input, input);
    session_init(&engine.session, &engine.modules, &engine.input);
    status = serve();
    load_end(&engine.load);
    session_end(&engine.session);
    modules_close(&engine.modules);
    return status;
}
