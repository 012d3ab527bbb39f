/* SPDX-License-Identifier: BSD-3-Clause */
#include "fence.h"

#include "frame/frame.h"
#include "lane/bpf.h"
#include "lane/packet/packet_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/pkt_cls.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define AND(TO, VALUE) INSTRUCTION(BPF_ALU64 | BPF_AND | BPF_K, TO, 0, 0, VALUE)
#define RIGHT(TO, BITS) INSTRUCTION(BPF_ALU64 | BPF_RSH | BPF_K, TO, 0, 0, BITS)
#define IN_ORDER(ORDER, TO) INSTRUCTION(BPF_ALU | BPF_END | (ORDER), TO, 0, 0, 16)
#define IF_NOT(REGISTER, VALUE, GO)                                                                \
    INSTRUCTION(BPF_JMP32 | BPF_JNE | BPF_K, REGISTER, 0, GO, (int32_t)(VALUE))
#define IF(REGISTER, VALUE, GO)                                                                    \
    INSTRUCTION(BPF_JMP32 | BPF_JEQ | BPF_K, REGISTER, 0, GO, (int32_t)(VALUE))
#define IF_DIFFERENT(REGISTER, OTHER, GO)                                                          \
    INSTRUCTION(BPF_JMP32 | BPF_JNE | BPF_X, REGISTER, OTHER, GO, 0)
#define IF_GREATER(REGISTER, OTHER, GO)                                                            \
    INSTRUCTION(BPF_JMP | BPF_JGT | BPF_X, REGISTER, OTHER, GO, 0)

#define IF_NOT_GREATER(REGISTER, OTHER, GO)                                                        \
    INSTRUCTION(BPF_JMP | BPF_JLE | BPF_X, REGISTER, OTHER, GO, 0)

/** Targets of jumps: pass the frame, or drop it. finish() replaces them by distances. */
#define TO_PASS INT16_MAX
#define TO_DROP (INT16_MAX - 1)

/** Replaces TO_PASS and TO_DROP. `code` ends with two instructions that pass, and two that drop. */
static void finish(struct bpf_insn *code, unsigned count)
{
    for (unsigned at = 0; at < count; at++) {
        if (code[at].off >= TO_DROP) {
            unsigned back = code[at].off == TO_PASS ? 4 : 2;
            code[at].off = (int16_t)(count - back - (at + 1));
        }
    }
}

static int load(struct bpf_insn *code, unsigned count, enum bpf_prog_type type,
                enum bpf_attach_type attach, const char *name)
{
    union bpf_attr attributes = {.prog_type = type,
                                 .expected_attach_type = attach,
                                 .insns = (uint64_t)(uintptr_t)code,
                                 .insn_cnt = count,
                                 .license = (uint64_t)(uintptr_t) "BSD"};

    finish(code, count);
    (void)snprintf(attributes.prog_name, sizeof attributes.prog_name, "%s", name);
    int program = bpf(BPF_PROG_LOAD, &attributes);
    return program < 0 ? -errno : program;
}

/** The first bytes of the addresses of all endpoints of a card. */
static uint32_t address_start(const uint8_t card[ETH_ALEN])
{
    /* Locally administered and unicast; six bits of the manufacturer; the number of the card. */
    const uint8_t start[sizeof(uint32_t)] = {(uint8_t)(((card[0] ^ card[1] ^ card[2]) & 0xFC) | 2),
                                             card[3], card[4], card[5]};
    uint32_t as_loaded;

    memcpy(&as_loaded, start, sizeof as_loaded);
    return as_loaded;
}

void fence_address(const uint8_t card[ETH_ALEN], uint16_t number, uint8_t address[ETH_ALEN])
{
    uint32_t start = address_start(card);
    uint16_t rest = htons(number);

    memcpy(address, &start, sizeof start);
    memcpy(address + sizeof start, &rest, sizeof rest);
}

int fence_load_egress(const uint8_t card[ETH_ALEN], uint16_t ethertype)
{
    /* A call takes and alters the registers up to PART. */
    enum { RESULT, FIRST, SECOND, PART = 5, CONTEXT, NUMBER, FRAME, END };
    const int header = PACKET_ENVELOPE_BYTES;
    const int source = header + (int)offsetof(struct frame_header, source);
    const int checked = source + (int)sizeof(le16);
    const int32_t start = (int32_t)address_start(card);
    struct bpf_insn code[] = {
        MOVE(CONTEXT, FIRST),
        LOAD(BPF_W, NUMBER, CONTEXT, offsetof(struct __sk_buff, mark)),
        LOAD(BPF_W, FRAME, CONTEXT, offsetof(struct __sk_buff, data)),
        LOAD(BPF_W, END, CONTEXT, offsetof(struct __sk_buff, data_end)),
        MOVE(PART, NUMBER),
        RIGHT(PART, 16),
        IF(PART, FENCE_MARK, 6),
        /* The socket was not granted by a broker. */
        MOVE(PART, FRAME),
        ADD(PART, header),
        IF_GREATER(PART, END, TO_PASS),
        LOAD(BPF_W, PART, FRAME, ETH_ALEN),
        IF(PART, start, TO_DROP),
        IF_NOT(PART, start, TO_PASS),
        /* It was. Checks only what the kernel has copied, up to END: the process could still alter
         * what is in its own memory (PACKET_TX_RING). Of a page and more, only the envelope is
         * before END until the header is pulled there, too. */
        MOVE(PART, FRAME),
        ADD(PART, checked),
        IF_NOT_GREATER(PART, END, 8),
        MOVE(FIRST, CONTEXT),
        SET(SECOND, checked),
        CALL(BPF_FUNC_skb_pull_data),
        LOAD(BPF_W, FRAME, CONTEXT, offsetof(struct __sk_buff, data)),
        LOAD(BPF_W, END, CONTEXT, offsetof(struct __sk_buff, data_end)),
        MOVE(PART, FRAME),
        ADD(PART, checked),
        IF_GREATER(PART, END, TO_DROP),
        /* Is the card to write a checksum into it (PACKET_VNET_HDR), after all that is checked
         * here? Such a frame (CHECKSUM_PARTIAL) does not become one without need of a checksum.
         * One that passes several such programs gets a level from each. */
        MOVE(FIRST, CONTEXT),
        SET(SECOND, BPF_CSUM_LEVEL_INC),
        CALL(BPF_FUNC_csum_level),
        MOVE(FIRST, CONTEXT),
        SET(SECOND, BPF_CSUM_LEVEL_QUERY),
        CALL(BPF_FUNC_csum_level),
        IF(RESULT, -EACCES, TO_DROP),
        LOAD(BPF_W, PART, CONTEXT, offsetof(struct __sk_buff, gso_size)),
        IF_NOT(PART, 0, TO_DROP),
        LOAD(BPF_B, PART, FRAME, 0),
        AND(PART, 1),
        IF_NOT(PART, 0, TO_DROP), /* multicast or broadcast */
        LOAD(BPF_H, PART, FRAME, PACKET_TYPE_AT),
        IF_NOT(PART, htons(ethertype), TO_DROP),
        LOAD(BPF_W, PART, FRAME, ETH_ALEN),
        IF_NOT(PART, start, TO_DROP),
        AND(NUMBER, UINT16_MAX),
        LOAD(BPF_H, PART, FRAME, ETH_ALEN + sizeof start),
        IN_ORDER(BPF_TO_BE, PART),
        IF_DIFFERENT(PART, NUMBER, TO_DROP),
        /* DATA does not name its sender: receivers know it by key and source address. */
        LOAD(BPF_B, PART, FRAME, header + (int)offsetof(struct frame_header, type)),
        IF(PART, FRAME_DATA, TO_PASS),
        LOAD(BPF_H, PART, FRAME, source),
        IN_ORDER(BPF_TO_LE, PART),
        IF_DIFFERENT(PART, NUMBER, TO_DROP),
        SET(RESULT, TC_ACT_UNSPEC),
        RETURN(),
        SET(RESULT, TC_ACT_SHOT),
        RETURN(),
    };

    return load(code, sizeof code / sizeof *code, BPF_PROG_TYPE_SCHED_CLS, 0, "beowire_egress");
}

int fence_close_options(int group)
{
    enum { RESULT, CONTEXT, PART };
    struct bpf_insn code[] = {
        LOAD(BPF_W, PART, CONTEXT, offsetof(struct bpf_sockopt, level)),
        IF_NOT(PART, SOL_PACKET, TO_PASS),
        LOAD(BPF_DW, PART, CONTEXT, offsetof(struct bpf_sockopt, sk)),
        LOAD(BPF_W, PART, PART, offsetof(struct bpf_sock, mark)),
        RIGHT(PART, 16),
        IF(PART, FENCE_MARK, TO_DROP),
        SET(RESULT, 1),
        RETURN(),
        SET(RESULT, 0),
        RETURN(),
    };
    int program = load(code, sizeof code / sizeof *code, BPF_PROG_TYPE_CGROUP_SOCKOPT,
                       BPF_CGROUP_SETSOCKOPT, "beowire_option");
    if (program < 0) {
        return program;
    }
    /* Replaces the program of an earlier broker. */
    union bpf_attr attach = {.target_fd = (uint32_t)group,
                             .attach_bpf_fd = (uint32_t)program,
                             .attach_type = BPF_CGROUP_SETSOCKOPT,
                             .attach_flags = BPF_F_ALLOW_OVERRIDE};
    int status = bpf(BPF_PROG_ATTACH, &attach) != 0 ? -errno : 0;
    (void)close(program);
    return status;
}
