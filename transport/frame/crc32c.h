/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crc32c.h - CRC-32C (Castagnoli; RFC 3720, section 12.1, has the polynomial, B.4 test vectors).
 *
 * It detects every burst error of up to 32 bits, any three flipped bits and any odd number of them
 * in a frame of any length, any five in one of up to 655 bytes (P. Koopman, "32-Bit Cyclic
 * Redundancy Codes for Internet Applications", 2002), and other damage with probability 1 - 2^-32.
 * It does not protect against deliberate changes.
 *
 * Processors with instructions for it use those: SSE4.2 and PCLMULQDQ on x86, the extensions CRC
 * and PMULL of ARMv8 (or CRC alone). Others use tables. The library checks the processor when it is
 * loaded. An instruction takes three cycles and one may begin in each, so long pieces are divided
 * into three streams, whose sums are then combined by a carry-less multiplication (V. Gopal and
 * others, "Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction", Intel, 2011). Where
 * a register of 64 bytes can be multiplied at once (AVX-512 with VPCLMULQDQ), pieces of a kilobyte
 * are folded, twice as many bytes a cycle.
 *
 * Pure. Thread-safe.
 */
#ifndef BEOWIRE_FRAME_CRC32C_H
#define BEOWIRE_FRAME_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/** The initial state of a sum. */
#define CRC32C_BEGIN UINT32_MAX

/** Adds bytes to a sum. @param state CRC32C_BEGIN, or the result for the bytes before.
 *  @return the state; its complement is the CRC of all bytes so far */
uint32_t crc32c_add(uint32_t state, const void *data, size_t bytes);

/** The same by tables on any processor: for tests. Its first call is not thread-safe. */
uint32_t crc32c_add_by_table(uint32_t state, const void *data, size_t bytes);

/** The same without folding: for tests. */
uint32_t crc32c_add_by_streams(uint32_t state, const void *data, size_t bytes);

/** What crc32c_add() uses: "avx512", "sse4.2", "armv8", "armv8 without pmull" or "table". */
const char *crc32c_means(void);

#endif /* BEOWIRE_FRAME_CRC32C_H */
