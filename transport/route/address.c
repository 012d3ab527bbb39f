/* SPDX-License-Identifier: BSD-3-Clause */
#include "address.h"

#include "route/proof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/** Follows the port of a rail that receives frames cut by network cards. */
#define TSO_MARK '+'

/** In place of a secret that is unknown or left out. */
#define NO_SECRET '-'

static bool all_zero(const uint8_t *bytes, size_t count)
{
    uint8_t any = 0;

    for (size_t i = 0; i < count; i++) {
        any |= bytes[i];
    }
    return any == 0;
}

static bool interface_is_valid(const struct address_rail *rail, bool tso)
{
    bool has_mac = !all_zero(rail->mac, sizeof rail->mac);
    bool has_ip = !all_zero(rail->ip, sizeof rail->ip);

    return (rail->mac[0] & 1) == 0 && (has_mac || !tso) && has_ip == (from_le16(rail->port) != 0) &&
           (has_mac || has_ip);
}

/** Kinds of rails, in their order in an address: several of the first kind, one of each other. */
enum rail_kind {
    RAIL_INTERFACE,
    RAIL_VERBS,
    RAIL_TIPC,
    RAIL_INVALID,
};

static enum rail_kind kind_of(const struct address_rail *rail, bool tso)
{
    if (interface_is_valid(rail, tso)) {
        return RAIL_INTERFACE;
    }
    if (tso) {
        return RAIL_INVALID;
    }
    return address_rail_is_verbs(rail)  ? RAIL_VERBS
           : address_rail_is_tipc(rail) ? RAIL_TIPC
                                        : RAIL_INVALID;
}

static bool rails_are_valid(const struct address_layout *layout)
{
    enum rail_kind before = RAIL_INTERFACE;

    for (unsigned i = 0; i < ADDRESS_RAILS; i++) {
        const struct address_rail *rail = &layout->rail[i];
        if (i >= layout->rails) {
            if (!all_zero((const uint8_t *)rail, sizeof *rail)) {
                return false;
            }
            continue;
        }
        enum rail_kind kind = kind_of(rail, (layout->tso_rails >> i & 1) != 0);
        bool follows = kind > before || (kind == RAIL_INTERFACE && before == RAIL_INTERFACE);
        if (kind == RAIL_INVALID || !follows) {
            return false;
        }
        before = kind;
    }
    return true;
}

bool address_is_valid(const struct beowire_address *address)
{
    const struct address_layout *layout = address_layout(address);

    if (layout->version != ADDRESS_VERSION || layout->rails > ADDRESS_RAILS ||
        from_le16(layout->endpoint) == 0 || from_le16(layout->ethertype) < 0x0600 ||
        from_le64(layout->incarnation) == 0 || layout->tso_rails >> layout->rails != 0 ||
        layout->reserved != 0 || !all_zero(layout->more, sizeof layout->more) ||
        (from_le64(layout->host) == 0) != (from_le32(layout->process) == 0) ||
        !rails_are_valid(layout)) {
        return false;
    }
    if (proof_secret_is_known(layout->secret) &&
        proof_incarnation(layout->secret) != from_le64(layout->incarnation)) {
        return false; /* prevents a secret from being combined with another endpoint's name */
    }
    return layout->rails > 0 || from_le64(layout->host) != 0;
}

/** Appends `count` bytes as hexadecimal digits, and `end`. @return behind it. */
static char *write_hex(char *text, const uint8_t *bytes, unsigned count, char end)
{
    static const char digits[] = "0123456789abcdef";

    for (unsigned i = 0; i < count; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text++ = end;
    return text;
}

/** @param secret include it */
static int format(const struct beowire_address *address, char *text, size_t bytes, bool secret)
{
    if (address == NULL || text == NULL || !address_is_valid(address)) {
        return -EINVAL;
    }
    if (bytes < BEOWIRE_ADDRESS_TEXT_BYTES) {
        return -ENOSPC;
    }
    const struct address_layout *layout = address_layout(address);
    text += snprintf(
        text, bytes, "beowire:%u:%04x:%04x:%016" PRIx64 ":%016" PRIx64 ":%08" PRIx32 ":",
        layout->version, from_le16(layout->ethertype), from_le16(layout->endpoint),
        from_le64(layout->incarnation), from_le64(layout->host), from_le32(layout->process));
    if (secret && proof_secret_is_known(layout->secret)) {
        text = write_hex(text, layout->secret, sizeof layout->secret, '\0') - 1;
    } else {
        *text++ = NO_SECRET;
        *text = '\0';
    }
    for (unsigned i = 0; i < layout->rails; i++) {
        const struct address_rail *rail = &layout->rail[i];
        const uint8_t port[2] = {(uint8_t)(from_le16(rail->port) >> 8),
                                 (uint8_t)from_le16(rail->port)};
        *text++ = ':';
        text = write_hex(text, rail->mac, sizeof rail->mac, '/');
        text = write_hex(text, rail->ip, sizeof rail->ip, '/');
        text = write_hex(text, port, sizeof port, '\0') - 1;
        if ((layout->tso_rails >> i & 1) != 0) {
            *text++ = TSO_MARK;
            *text = '\0';
        }
    }
    return 0;
}

int beowire_address_format(const struct beowire_address *address, char *text, size_t bytes)
{
    return format(address, text, bytes, true);
}

int beowire_address_describe(const struct beowire_address *address, char *text, size_t bytes)
{
    return format(address, text, bytes, false);
}

/** Reads exactly `digits` lower-case hexadecimal digits. @return behind them, or NULL. */
static const char *read_hex(const char *text, unsigned digits, uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < digits; i++, text++) {
        unsigned digit;
        if (*text >= '0' && *text <= '9') {
            digit = (unsigned)(*text - '0');
        } else if (*text >= 'a' && *text <= 'f') {
            digit = (unsigned)(*text - 'a') + 10;
        } else {
            return NULL;
        }
        *value = *value << 4 | digit;
    }
    return text;
}

/** Reads `count` bytes after the character `before`. @return behind them, or NULL. */
static const char *read_bytes(const char *text, char before, unsigned count, uint8_t *bytes)
{
    if (text == NULL || *text++ != before) {
        return NULL;
    }
    for (unsigned i = 0; i < count && text != NULL; i++) {
        uint64_t value = 0;
        text = read_hex(text, 2, &value);
        bytes[i] = (uint8_t)value;
    }
    return text;
}

/** Reads a number of `count` bytes, most significant first, after a colon. */
static const char *read_number(const char *text, unsigned count, uint64_t *number)
{
    return text != NULL && *text == ':' ? read_hex(text + 1, 2 * count, number) : NULL;
}

/** Reads a colon, and a secret or NO_SECRET. */
static const char *read_secret(const char *text, uint8_t secret[ADDRESS_SECRET_BYTES])
{
    if (text != NULL && text[0] == ':' && text[1] == NO_SECRET) {
        return text + 2;
    }
    text = read_bytes(text, ':', ADDRESS_SECRET_BYTES, secret);
    return text != NULL && proof_secret_is_known(secret) ? text : NULL;
}

int beowire_address_parse(const char *text, struct beowire_address *address)
{
    static const char prefix[] = "beowire:3";
    struct address_layout layout = {.version = ADDRESS_VERSION};
    uint64_t ethertype = 0;
    uint64_t endpoint = 0;
    uint64_t incarnation = 0;
    uint64_t host = 0;
    uint64_t process = 0;

    if (text == NULL || address == NULL || strncmp(text, prefix, sizeof prefix - 1) != 0) {
        return -EINVAL;
    }
    text = read_number(text + sizeof prefix - 1, 2, &ethertype);
    text = read_number(text, 2, &endpoint);
    text = read_number(text, 8, &incarnation);
    text = read_number(text, 8, &host);
    text = read_number(text, 4, &process);
    text = read_secret(text, layout.secret);
    layout.endpoint = to_le16((uint16_t)endpoint);
    layout.ethertype = to_le16((uint16_t)ethertype);
    layout.incarnation = to_le64(incarnation);
    layout.host = to_le64(host);
    layout.process = to_le32((uint32_t)process);
    while (text != NULL && *text != '\0' && layout.rails < ADDRESS_RAILS) {
        struct address_rail *rail = &layout.rail[layout.rails];
        uint8_t port[2] = {0};
        text = read_bytes(text, ':', sizeof rail->mac, rail->mac);
        text = read_bytes(text, '/', sizeof rail->ip, rail->ip);
        text = read_bytes(text, '/', sizeof port, port);
        rail->port = to_le16((uint16_t)(port[0] << 8 | port[1]));
        if (text != NULL && *text == TSO_MARK) {
            layout.tso_rails |= (uint8_t)(1u << layout.rails);
            text++;
        }
        layout.rails++;
    }
    struct beowire_address parsed;
    memcpy(parsed.bytes, &layout, sizeof layout);
    if (text == NULL || *text != '\0' || !address_is_valid(&parsed)) {
        return -EINVAL;
    }
    *address = parsed;
    return 0;
}

/** A rail with an IPv4 address, as in addresses with two rails. */
struct short_rail {
    uint8_t mac[6];
    le16 port;
    uint8_t ipv4[4];
};

/** The same for TIPC. A rail with an IPv4 address always has a port. */
struct short_tipc {
    uint8_t none[2]; /**< 0 */
    le32 node;
    le16 no_port; /**< 0 */
    le32 socket;
};

/** The same for an RDMA device. */
struct short_verbs {
    uint8_t mark[2]; /**< SHORT_VERBS_MARK, 0 */
    le32 queue_pair;
    le16 no_port; /**< 0 */
    uint8_t ipv4[4];
};
static_assert(sizeof(struct short_verbs) == sizeof(struct short_tipc), "in place of it");

#define SHORT_VERBS_MARK 1
static_assert(sizeof(struct short_tipc) == sizeof(struct short_rail) &&
                  offsetof(struct short_tipc, no_port) == offsetof(struct short_rail, port),
              "told apart by the port");

#define SHORT_RAILS 2

/** The short form: an address without derivable and unused bytes. */
struct short_form {
    uint8_t begin[offsetof(struct address_layout, incarnation)]; /**< as in the address */
    uint8_t secret[ADDRESS_SECRET_BYTES];                        /**< the incarnation follows */
    le64 host;
    le32 process;
    uint8_t more[4]; /**< 0 */
    union {
        struct address_rail rail;             /**< of an address with one, or none */
        struct short_rail rails[SHORT_RAILS]; /**< of one with two */
    };
};
static_assert(sizeof(struct short_rail) * SHORT_RAILS == sizeof(struct address_rail),
              "as much room for two as for one");
static_assert(sizeof(struct short_form) == BEOWIRE_ADDRESS_SHORT_BYTES, "docs/PROTOCOL.md");

static const uint8_t mapped_prefix[12] = {[10] = 0xFF, [11] = 0xFF};

static bool shorten_rail(const struct address_rail *rail, struct short_rail *brief)
{
    if (address_rail_is_tipc(rail)) {
        struct address_tipc tipc;
        memcpy(&tipc, rail, sizeof tipc);
        const struct short_tipc said = {.node = tipc.node, .socket = tipc.socket};
        memcpy(brief, &said, sizeof said);
        return true;
    }
    if (address_rail_is_verbs(rail)) {
        struct address_verbs verbs;
        memcpy(&verbs, rail, sizeof verbs);
        struct short_verbs said = {.mark = {SHORT_VERBS_MARK}, .queue_pair = verbs.queue_pair};
        memcpy(said.ipv4, verbs.ipv4, sizeof said.ipv4);
        memcpy(brief, &said, sizeof said);
        return true;
    }
    memcpy(brief->mac, rail->mac, sizeof brief->mac);
    brief->port = rail->port;
    memcpy(brief->ipv4, rail->ip + sizeof mapped_prefix, sizeof brief->ipv4);
    return memcmp(rail->ip, mapped_prefix, sizeof mapped_prefix) == 0;
}

/** Two rails fit if each has an IPv4 address, or is TIPC or verbs. @return false: they do not. */
static bool shorten_rails(const struct address_layout *layout, struct short_form *form)
{
    if (layout->rails > SHORT_RAILS) {
        return false;
    }
    for (unsigned i = 0; i < SHORT_RAILS; i++) {
        if (!shorten_rail(&layout->rail[i], &form->rails[i])) {
            return false;
        }
    }
    return true;
}

static void lengthen_rail(const struct short_rail *brief, struct address_rail *rail)
{
    if (from_le16(brief->port) == 0 && brief->mac[0] == SHORT_VERBS_MARK) {
        struct short_verbs said;
        memcpy(&said, brief, sizeof said);
        struct address_verbs verbs = {.queue_pair = said.queue_pair};
        memcpy(verbs.ipv4, said.ipv4, sizeof verbs.ipv4);
        memcpy(rail, &verbs, sizeof verbs);
        return;
    }
    if (from_le16(brief->port) == 0) {
        struct short_tipc said;
        memcpy(&said, brief, sizeof said);
        const struct address_tipc tipc = {.node = said.node, .socket = said.socket};
        memcpy(rail, &tipc, sizeof tipc);
        return;
    }
    memcpy(rail->mac, brief->mac, sizeof rail->mac);
    rail->port = brief->port;
    memcpy(rail->ip, mapped_prefix, sizeof mapped_prefix);
    memcpy(rail->ip + sizeof mapped_prefix, brief->ipv4, sizeof brief->ipv4);
}

static void lengthen_rails(const struct short_form *form, struct address_layout *layout)
{
    for (unsigned i = 0; i < SHORT_RAILS; i++) {
        lengthen_rail(&form->rails[i], &layout->rail[i]);
    }
}

int beowire_address_shorten(const struct beowire_address *address,
                            uint8_t bytes[BEOWIRE_ADDRESS_SHORT_BYTES])
{
    if (address == NULL || bytes == NULL || !address_is_valid(address)) {
        return -EINVAL;
    }
    const struct address_layout *layout = address_layout(address);
    struct short_form form = {
        .host = layout->host, .process = layout->process, .rail = layout->rail[0]};
    if (!proof_secret_is_known(layout->secret)) {
        return -EINVAL;
    }
    if (layout->rails > 1 && !shorten_rails(layout, &form)) {
        return -EMSGSIZE;
    }
    memcpy(form.begin, layout, sizeof form.begin);
    memcpy(form.secret, layout->secret, sizeof form.secret);
    memcpy(bytes, &form, sizeof form);
    return 0;
}

int beowire_address_lengthen(const uint8_t bytes[BEOWIRE_ADDRESS_SHORT_BYTES],
                             struct beowire_address *address)
{
    struct address_layout layout = {0};
    struct beowire_address read;
    struct short_form form;

    if (bytes == NULL || address == NULL) {
        return -EINVAL;
    }
    memcpy(&form, bytes, sizeof form);
    memcpy(&layout, form.begin, sizeof form.begin);
    layout.incarnation = to_le64(proof_incarnation(form.secret));
    layout.host = form.host;
    layout.process = form.process;
    memcpy(layout.more, form.more, sizeof layout.more);
    if (layout.rails == SHORT_RAILS) {
        lengthen_rails(&form, &layout);
    } else {
        layout.rail[0] = form.rail;
    }
    memcpy(layout.secret, form.secret, sizeof layout.secret);
    memcpy(read.bytes, &layout, sizeof layout);
    if (!proof_secret_is_known(form.secret) || !address_is_valid(&read)) {
        return -EINVAL;
    }
    *address = read;
    return 0;
}

bool beowire_address_same(const struct beowire_address *a, const struct beowire_address *b)
{
    return a != NULL && b != NULL && memcmp(a->bytes, b->bytes, FRAME_PLACE_BYTES) == 0;
}
