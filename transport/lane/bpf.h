/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bpf.h - bpf(2), and the instructions of which our BPF programs are made (lane/xdp/xdp_program.c,
 * broker/fence.c), so that no compiler for BPF is needed.
 */
#ifndef BEOWIRE_LANE_BPF_H
#define BEOWIRE_LANE_BPF_H

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

/** @return as bpf(2): -1, with errno set, on failure. */
static inline int bpf(enum bpf_cmd command, union bpf_attr *attributes)
{
    return (int)syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

#define INSTRUCTION(CODE, TO, FROM, OFFSET, VALUE)                                                 \
    ((struct bpf_insn){                                                                            \
        .code = (CODE), .dst_reg = (TO), .src_reg = (FROM), .off = (OFFSET), .imm = (VALUE)})
#define LOAD(SIZE, TO, FROM, OFFSET) INSTRUCTION(BPF_LDX | BPF_MEM | (SIZE), TO, FROM, OFFSET, 0)
#define MOVE(TO, FROM) INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, TO, FROM, 0, 0)
#define SET(TO, VALUE) INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_K, TO, 0, 0, VALUE)
#define ADD(TO, VALUE) INSTRUCTION(BPF_ALU64 | BPF_ADD | BPF_K, TO, 0, 0, VALUE)
#define CALL(FUNCTION) INSTRUCTION(BPF_JMP | BPF_CALL, 0, 0, 0, FUNCTION)
#define RETURN() INSTRUCTION(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

#endif /* BEOWIRE_LANE_BPF_H */
