/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane/xdp/xdp_program.h"

#include "frame/frame.h"
#include "lane/bpf.h"
#include "lane/packet/packet_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUEUE 0

/** The prefix of our programs' names; their process follows. */
#define NAME "beowire_"

/* ---- the program ---------------------------------------------------------------------------- */

/** A jump to where the frame is passed on; finish() sets its distance. */
#define PASS_IF_GREATER(REGISTER, OTHER)                                                           \
    INSTRUCTION(BPF_JMP | BPF_JGT | BPF_X, REGISTER, OTHER, TO_PASS, 0)
#define PASS_IF_NOT_GREATER(REGISTER, OTHER)                                                       \
    INSTRUCTION(BPF_JMP | BPF_JLE | BPF_X, REGISTER, OTHER, TO_PASS, 0)
#define PASS_UNLESS(REGISTER, VALUE)                                                               \
    INSTRUCTION(BPF_JMP32 | BPF_JNE | BPF_K, REGISTER, 0, TO_PASS, (int32_t)(VALUE))

#define TO_PASS INT16_MAX
#define CODE_MAX 32

/** Sets the passing jumps of `code` to its last two instructions. */
static void finish(struct bpf_insn *code, unsigned count)
{
    for (unsigned at = 0; at < count; at++) {
        if (code[at].off == TO_PASS) {
            code[at].off = (int16_t)(count - 2 - (at + 1));
        }
    }
}

static unsigned write_code(struct bpf_insn code[CODE_MAX], const struct xdp_filter *filter, int map)
{
    enum { RESULT, FIRST, SECOND, THIRD, FRAME, PART, CONTEXT };
    uint32_t mac_start;
    uint16_t mac_rest;
    memcpy(&mac_start, filter->mac, sizeof mac_start);
    memcpy(&mac_rest, filter->mac + sizeof mac_start, sizeof mac_rest);

    const struct bpf_insn lines[] = {
        MOVE(CONTEXT, FIRST),
        LOAD(BPF_W, FRAME, CONTEXT, offsetof(struct xdp_md, data)),
        LOAD(BPF_W, THIRD, CONTEXT, offsetof(struct xdp_md, data_end)),
        MOVE(PART, FRAME),
        ADD(PART, XDP_ENDPOINT_AT + (int)sizeof(le16)),
        PASS_IF_GREATER(PART, THIRD), /* it is too short for what is read below */
        LOAD(BPF_H, PART, FRAME, PACKET_TYPE_AT),
        PASS_UNLESS(PART, htons(filter->ethertype)),
        LOAD(BPF_H, PART, FRAME, XDP_ENDPOINT_AT),
        PASS_UNLESS(PART, htole16(filter->endpoint)),
        LOAD(BPF_W, PART, FRAME, 0),
        PASS_UNLESS(PART, mac_start),
        LOAD(BPF_H, PART, FRAME, sizeof mac_start),
        PASS_UNLESS(PART, mac_rest),
        ADD(FRAME, (int32_t)filter->bytes_max + 1),
        PASS_IF_NOT_GREATER(FRAME, THIRD), /* it is longer than that */
        INSTRUCTION(BPF_LD | BPF_DW | BPF_IMM, FIRST, BPF_PSEUDO_MAP_FD, 0, map),
        INSTRUCTION(0, 0, 0, 0, 0), /* the second half of the instruction above */
        LOAD(BPF_W, SECOND, CONTEXT, offsetof(struct xdp_md, rx_queue_index)),
        SET(THIRD, XDP_PASS), /* unless there is a socket for this queue */
        CALL(BPF_FUNC_redirect_map),
        RETURN(),
        SET(RESULT, XDP_PASS),
        RETURN(),
    };
    unsigned count = sizeof lines / sizeof *lines;
    static_assert(sizeof lines / sizeof *lines <= CODE_MAX, "all of it");
    static_assert(XDP_ENDPOINT_AT ==
                      PACKET_ENVELOPE_BYTES + offsetof(struct frame_header, destination),
                  "docs/PROTOCOL.md");
    memcpy(code, lines, sizeof lines);
    finish(code, count);
    return count;
}

static int new_map(void)
{
    union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_XSKMAP,
                                 .key_size = sizeof(uint32_t),
                                 .value_size = sizeof(uint32_t),
                                 .max_entries = QUEUE + 1};

    return bpf(BPF_MAP_CREATE, &attributes);
}

int xdp_program_load(struct xdp_program *program, const struct xdp_filter *filter)
{
    struct bpf_insn code[CODE_MAX];

    *program = (struct xdp_program){.map = new_map(), .code = -1, .link = -1};
    if (program->map < 0) {
        return -errno;
    }
    union bpf_attr attributes = {.prog_type = BPF_PROG_TYPE_XDP,
                                 .insns = (uint64_t)(uintptr_t)code,
                                 .insn_cnt = write_code(code, filter, program->map),
                                 .license = (uint64_t)(uintptr_t) "BSD"};
    (void)snprintf(attributes.prog_name, sizeof attributes.prog_name, NAME "%d", (int)getpid());
    program->code = bpf(BPF_PROG_LOAD, &attributes);
    if (program->code < 0) {
        int status = -errno;
        xdp_program_close(program);
        return status;
    }
    return 0;
}

int xdp_program_attach(struct xdp_program *program, int interface, int socket, bool of_driver)
{
    const uint32_t key = QUEUE;
    union bpf_attr entry = {.map_fd = (uint32_t)program->map,
                            .key = (uint64_t)(uintptr_t)&key,
                            .value = (uint64_t)(uintptr_t)&socket};

    if (bpf(BPF_MAP_UPDATE_ELEM, &entry) != 0) {
        return -errno;
    }
    union bpf_attr link = {
        .link_create = {.prog_fd = (uint32_t)program->code,
                        .target_ifindex = (uint32_t)interface,
                        .attach_type = BPF_XDP,
                        .flags = of_driver ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE}};
    program->link = bpf(BPF_LINK_CREATE, &link);
    return program->link < 0 ? -errno : 0;
}

void xdp_program_close(struct xdp_program *program)
{
    int *const descriptors[] = {&program->link, &program->code, &program->map};

    for (unsigned i = 0; i < sizeof descriptors / sizeof *descriptors; i++) {
        if (*descriptors[i] >= 0) {
            (void)close(*descriptors[i]);
        }
        *descriptors[i] = -1;
    }
}

/* ---- the owner of a hook -------------------------------------------------------------------- */

/** The attribute with this number among these bytes. @return NULL: none. */
static const struct rtattr *find_attribute(const void *attributes, size_t bytes, unsigned number)
{
    const uint8_t *start = attributes;

    for (size_t at = 0; at < bytes && bytes - at >= sizeof(struct rtattr);) {
        const struct rtattr *attribute = (const void *)(start + at);
        if (attribute->rta_len < sizeof *attribute || attribute->rta_len > bytes - at) {
            break;
        }
        if ((attribute->rta_type & NLA_TYPE_MASK) == number) {
            return attribute;
        }
        at += RTA_ALIGN(attribute->rta_len);
    }
    return NULL;
}

/** Asks the kernel about the interface. @return bytes of its answer; 0: none. */
static size_t ask_about(int interface, void *answer, size_t bytes)
{
    struct {
        struct nlmsghdr head;
        struct ifinfomsg body;
    } question = {
        .head = {.nlmsg_len = sizeof question,
                 .nlmsg_type = RTM_GETLINK,
                 .nlmsg_flags = NLM_F_REQUEST},
        .body = {.ifi_index = interface},
    };
    ssize_t got = -1;
    int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (kernel < 0) {
        return 0;
    }
    if (send(kernel, &question, sizeof question, 0) == (ssize_t)sizeof question) {
        got = recv(kernel, answer, bytes, 0);
    }
    (void)close(kernel);
    return got < 0 ? 0 : (size_t)got;
}

/** The number of the interface's program. @return 0: none. */
static uint32_t program_of(int interface)
{
    _Alignas(struct nlmsghdr) uint8_t answer[16384];
    size_t bytes = ask_about(interface, answer, sizeof answer);
    const struct nlmsghdr *head = (const void *)answer;
    uint32_t number = 0;

    if (!NLMSG_OK(head, (uint32_t)bytes) || head->nlmsg_type != RTM_NEWLINK) {
        return 0;
    }
    const struct ifinfomsg *body = NLMSG_DATA(head);
    const struct rtattr *xdp = find_attribute(IFLA_RTA(body), IFLA_PAYLOAD(head), IFLA_XDP);
    if (xdp != NULL) {
        const struct rtattr *of = find_attribute(RTA_DATA(xdp), RTA_PAYLOAD(xdp), IFLA_XDP_PROG_ID);
        if (of != NULL && RTA_PAYLOAD(of) == sizeof number) {
            memcpy(&number, RTA_DATA(of), sizeof number);
        }
    }
    return number;
}

bool xdp_program_is_on(int interface)
{
    return program_of(interface) != 0;
}

/** @return false: not permitted, or the program is gone. */
static bool read_name(uint32_t number, char name[XDP_NAME_BYTES])
{
    union bpf_attr which = {.prog_id = number};
    struct bpf_prog_info about = {0};
    int code = bpf(BPF_PROG_GET_FD_BY_ID, &which);

    if (code < 0) {
        return false;
    }
    union bpf_attr question = {.info = {.bpf_fd = (uint32_t)code,
                                        .info_len = sizeof about,
                                        .info = (uint64_t)(uintptr_t)&about}};
    bool told = bpf(BPF_OBJ_GET_INFO_BY_FD, &question) == 0;
    (void)close(code);
    static_assert(sizeof about.name == XDP_NAME_BYTES, "the kernel's");
    memcpy(name, about.name, sizeof about.name);
    name[XDP_NAME_BYTES - 1] = '\0';
    return told;
}

uint32_t xdp_program_holder(int interface, char name[XDP_NAME_BYTES])
{
    uint32_t number = program_of(interface);

    name[0] = '\0';
    if (number == 0 || !read_name(number, name) || strncmp(name, NAME, sizeof NAME - 1) != 0) {
        return 0;
    }
    return (uint32_t)strtoul(name + sizeof NAME - 1, NULL, 10);
}
