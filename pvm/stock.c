/* SPDX-License-Identifier: BSD-3-Clause */
#include "stock.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#include <pvm3.h>

/* Bits of a task's number. */
#define NUMBER_NOT_TASK 0xc0000000u
#define NUMBER_HOST 0x3ffc0000u
#define NUMBER_LOCAL 0x3ffffu

static struct stock found;

/* A function or a variable of libpvm3's, by name. */
static bool find(const char *name, void *where)
{
    void *symbol = dlsym(RTLD_NEXT, name);

    if (symbol == NULL) { /* the program has loaded it with local scope */
        void *library = dlopen("libpvm3.so.3", RTLD_LAZY | RTLD_NOLOAD);
        symbol = library != NULL ? dlsym(library, name) : NULL;
    }
    memcpy(where, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* A program that uses a variable has the only copy that counts. */
static bool find_variable(const char *name, int **where)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);

    *where = symbol;
    return symbol != NULL || find(name, where);
}

static bool find_all(void)
{
    const struct {
        const char *name;
        void *where;
    } functions[] = {
        {"mroute", &found.route},
        {"pvmmcast", &found.multicast},
        {"mesg_input", &found.take},
        {"pvmbeatask", &found.enrol},
        {"pvm_exit", &found.leave},
        {"pvm_getfds", &found.descriptors},
        {"midtobuf", &found.message},
        {"umbuf_new", &found.message_new},
        {"umbuf_free", &found.message_free},
        {"pmsg_setenc", &found.message_encoding},
        {"fr_new", &found.fragment_new},
        {"pvm_mkbuf", &found.buffer_new},
        {"pvm_freebuf", &found.buffer_free},
        {"pvm_setsbuf", &found.send_buffer},
        {"pvm_setrbuf", &found.receive_buffer},
        {"pvm_pkbyte", &found.pack},
        {"pvm_upkbyte", &found.unpack},
        {"pvm_putinfo", &found.put},
        {"pvm_recvinfo", &found.look_up},
        {"pvm_pstat", &found.state},
        {"pvmdsockfile", &found.socket_file},
    };

    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (!find(functions[i].name, functions[i].where)) {
            return false;
        }
    }
    return find_variable("pvmmytid", &found.own_task) &&
           find_variable("pvmmyctx", &found.context) && find_variable("pvmmydsig", &found.format) &&
           find_variable("pvmrouteopt", &found.route_option) &&
           find_variable("pvmautoerr", &found.says_errors) &&
           find_variable("pvm_useruid", &found.user);
}

/* Has a message with these values the expected layout? */
static bool is_as_known(struct stock_message *message, int id, const struct pvmminfo *said,
                        const char *data, int bytes)
{
    if (message == NULL || message->id != id || message->context != said->ctx ||
        message->tag != said->tag || message->wait != said->wid || message->source != said->src ||
        message->destination != said->dst || message->encoding != said->enc ||
        message->head == NULL || message->head->buffer != NULL) {
        return false;
    }
    const struct stock_fragment *piece = message->head->next;
    return piece != NULL && piece != message->head && piece->next == message->head &&
           piece->previous == message->head && message->head->previous == piece &&
           piece->buffer != NULL && piece->bytes == bytes && piece->room >= bytes &&
           memcmp(piece->data, data, (size_t)bytes) == 0;
}

static bool try_fragment(void)
{
    enum { ROOM = 4321 };
    struct stock_message *message = found.message_new();
    struct stock_fragment *piece = message != NULL ? found.fragment_new(ROOM) : NULL;
    const bool good = piece != NULL && piece->buffer != NULL && piece->data == piece->buffer &&
                      piece->room == ROOM && piece->bytes == 0 && message->head != NULL &&
                      message->head->next == message->head;

    if (good) { /* the message takes it away */
        piece->next = piece->previous = message->head;
        message->head->next = message->head->previous = piece;
    }
    if (message != NULL) {
        (void)found.message_free(message);
    }
    return good;
}

/* Makes a message and checks its layout. */
static bool try_message(void)
{
    char data[] = "abcdefg";
    struct pvmminfo said = {.ctx = 11, .tag = 12, .wid = 13, .src = 14, .dst = 15};
    const int id = found.buffer_new(PvmDataRaw);
    int (*set)(int, struct pvmminfo *) = NULL;
    int (*get)(int, struct pvmminfo *) = NULL;

    if (id <= 0 || !find("pvm_setminfo", &set) || !find("pvm_getminfo", &get)) {
        return false;
    }
    const int before = found.send_buffer(id);
    bool good = found.pack(data, (int)sizeof data, 1) == 0 && set(id, &said) == 0 &&
                get(id, &said) == 0 && said.len == (int)sizeof data && said.enc == *found.format;
    good = good && is_as_known(found.message(id), id, &said, data, (int)sizeof data);
    (void)found.send_buffer(before);
    (void)found.buffer_free(id);
    return good && try_fragment();
}

const struct stock *stock_find(void)
{
    static enum { UNKNOWN, THERE, MISSING } state;

    if (state == UNKNOWN) {
        state = find_all() ? THERE : MISSING;
    }
    return state == THERE ? &found : NULL;
}

bool stock_is_known(void)
{
    static enum { UNKNOWN, KNOWN, STRANGE } state;

    if (state == UNKNOWN) {
        state = try_message() ? KNOWN : STRANGE;
    }
    return state == KNOWN;
}

bool stock_is_task(int number)
{
    return ((unsigned)number & NUMBER_NOT_TASK) == 0 && ((unsigned)number & NUMBER_LOCAL) != 0;
}

bool stock_same_host(int one, int other)
{
    return (((unsigned)one ^ (unsigned)other) & NUMBER_HOST) == 0;
}

int64_t stock_bytes(const struct stock_message *message)
{
    int64_t bytes = 0;

    for (const struct stock_fragment *piece = message->head->next; piece != message->head;
         piece = piece->next) {
        bytes += piece->bytes;
    }
    return bytes <= INT_MAX ? bytes : -1;
}

void stock_gather(const struct stock_message *message, char *to)
{
    for (const struct stock_fragment *piece = message->head->next; piece != message->head;
         piece = piece->next) {
        memcpy(to, piece->data, (size_t)piece->bytes);
        to += piece->bytes;
    }
}

char *stock_single(const struct stock_message *message)
{
    struct stock_fragment *piece = message->head->next;

    return piece != message->head && piece->next == message->head ? piece->data : NULL;
}

struct stock_message *stock_make(const struct stock *stock, int bytes, char **data)
{
    struct stock_message *message = stock->message_new();
    struct stock_fragment *piece =
        message != NULL ? stock->fragment_new(bytes > 0 ? bytes : 1) : NULL;

    if (piece == NULL) {
        if (message != NULL) {
            (void)stock->message_free(message);
        }
        return NULL;
    }
    piece->bytes = bytes;
    piece->next = piece->previous = message->head;
    message->head->next = message->head->previous = piece;
    message->bytes = bytes;
    *data = piece->data;
    return message;
}
