/* SPDX-License-Identifier: BSD-3-Clause */
#include "crc32c.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <arm_neon.h>
#include <sys/auxv.h>
#endif

/** The polynomial, bits reversed. */
#define POLYNOMIAL UINT32_C(0x82F63B78)

#define WORD sizeof(uint64_t)

static uint64_t word_at(const uint8_t *data)
{
    uint64_t word;

    memcpy(&word, data, sizeof word);
    return word;
}

/* ---- by tables: eight bytes at a time -------------------------------------------------------- */

static uint32_t tables[WORD][256];

static void fill_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t state = byte;
        for (unsigned bit = 0; bit < 8; bit++) {
            state = state >> 1 ^ ((state & 1) != 0 ? POLYNOMIAL : 0);
        }
        tables[0][byte] = state;
    }
    for (unsigned behind = 1; behind < WORD; behind++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            uint32_t state = tables[behind - 1][byte];
            tables[behind][byte] = state >> 8 ^ tables[0][state & 0xFF];
        }
    }
}

static uint32_t add_by_table(uint32_t state, const uint8_t *data, size_t bytes)
{
    for (; bytes >= WORD; bytes -= WORD, data += WORD) {
        uint64_t word = le64toh(word_at(data)) ^ state;
        state = 0;
        for (unsigned i = 0; i < WORD; i++) {
            state ^= tables[WORD - 1 - i][word >> 8 * i & 0xFF];
        }
    }
    for (; bytes > 0; bytes--, data++) {
        state = state >> 8 ^ tables[0][(state ^ *data) & 0xFF];
    }
    return state;
}

uint32_t crc32c_add_by_table(uint32_t state, const void *data, size_t bytes)
{
    if (tables[0][1] == 0) {
        fill_tables();
    }
    return add_by_table(state, data, bytes);
}

/* ---- by instructions ------------------------------------------------------------------------- */

#if defined(__x86_64__)

#define WITH_INSTRUCTIONS __attribute__((target("sse4.2,pclmul")))
#define MEANS "sse4.2"
#define STEP(state, word) _mm_crc32_u64(state, word)
#define STEP_FOUR(state, four) _mm_crc32_u32(state, four)
#define STEP_TWO(state, two) _mm_crc32_u16(state, two)
#define STEP_ONE(state, one) _mm_crc32_u8(state, one)

WITH_INSTRUCTIONS static inline uint64_t multiply(uint32_t a, uint32_t b)
{
    return (uint64_t)_mm_cvtsi128_si64(
        _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)a), _mm_cvtsi32_si128((int)b), 0));
}

static bool has_instructions(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

#elif defined(__aarch64__)

#define WITH_INSTRUCTIONS __attribute__((target("+crc+crypto")))
#define MEANS "armv8"
#define STEP(state, word) __crc32cd(state, word)
#define STEP_FOUR(state, four) __crc32cw(state, four)
#define STEP_TWO(state, two) __crc32ch(state, two)
#define STEP_ONE(state, one) __crc32cb(state, one)

/** Bits of AT_HWCAP (the kernel's arch/arm64/include/uapi/asm/hwcap.h). */
#define HAS_PMULL (1ul << 4)
#define HAS_CRC32 (1ul << 7)

WITH_INSTRUCTIONS static inline uint64_t multiply(uint32_t a, uint32_t b)
{
    return (uint64_t)vmull_p64((poly64_t)a, (poly64_t)b);
}

static bool has_instructions(void)
{
    unsigned long has = getauxval(AT_HWCAP);

    return (has & HAS_CRC32) != 0 && (has & HAS_PMULL) != 0;
}

#endif

#if defined(WITH_INSTRUCTIONS)

/** Longest of the three streams, in words: the three are longer than a jumbo frame. */
#define STREAM_WORDS_MAX 512

/** Shorter pieces are added word by word: combining takes as long as about ten words. */
#define STREAMS_BYTES_MIN 96

/** Factors that move a state by that many words: x^(64 words - 33), bits reversed.
 *  The product of two reversed numbers is one bit short, and the instruction that reduces it
 *  multiplies by x^32. */
static uint32_t powers[2 * STREAM_WORDS_MAX + 1];

WITH_INSTRUCTIONS static void fill_powers(void)
{
    powers[1] = 1; /* x^31 */
    for (unsigned words = 2; words <= 2 * STREAM_WORDS_MAX; words++) {
        powers[words] = (uint32_t)STEP(powers[words - 1], 0);
    }
}

/** Three consecutive pieces of that many words each. A function of its own, so that short pieces do
 *  not save its registers. */
WITH_INSTRUCTIONS __attribute__((noinline)) static uint32_t
add_streams(uint32_t state, const uint8_t *data, size_t words)
{
    const uint8_t *second = data + words * WORD;
    const uint8_t *third = second + words * WORD;
    uint64_t sums[3] = {state, 0, 0};

    for (size_t at = 0; at < words * WORD; at += WORD) {
        sums[0] = STEP((uint32_t)sums[0], word_at(data + at));
        sums[1] = STEP((uint32_t)sums[1], word_at(second + at));
        sums[2] = STEP((uint32_t)sums[2], word_at(third + at));
    }
    uint64_t moved =
        multiply((uint32_t)sums[0], powers[2 * words]) ^ multiply((uint32_t)sums[1], powers[words]);
    return (uint32_t)(STEP(0, moved) ^ sums[2]);
}

WITH_INSTRUCTIONS static uint32_t add_by_instructions(uint32_t state, const uint8_t *data,
                                                      size_t bytes)
{
    while (bytes >= STREAMS_BYTES_MIN) {
        size_t words = bytes / (3 * WORD);
        words = words < STREAM_WORDS_MAX ? words : STREAM_WORDS_MAX;
        state = add_streams(state, data, words);
        data += 3 * words * WORD;
        bytes -= 3 * words * WORD;
    }
    for (; bytes >= WORD; bytes -= WORD, data += WORD) {
        state = (uint32_t)STEP(state, word_at(data));
    }
    if ((bytes & 4) != 0) {
        uint32_t four;
        memcpy(&four, data, sizeof four);
        state = STEP_FOUR(state, four);
        data += sizeof four;
    }
    if ((bytes & 2) != 0) {
        uint16_t two;
        memcpy(&two, data, sizeof two);
        state = STEP_TWO(state, two);
        data += sizeof two;
    }
    return (bytes & 1) != 0 ? STEP_ONE(state, *data) : state;
}

#endif

#if defined(__x86_64__)

/** Shorter pieces are added as fast by streams, without the widest registers. */
#define FOLDED_BYTES_MIN 1024

/** Bytes folded in one step: four registers. */
#define FOLDED_WORDS 32
#define REGISTERS 4

#define WITH_WIDE_INSTRUCTIONS __attribute__((target("sse4.2,pclmul,avx512f,vpclmulqdq")))

/** The factors that move the first and the second word of a piece by that many words. */
WITH_WIDE_INSTRUCTIONS static inline __m512i move_by(unsigned words)
{
    return _mm512_broadcast_i32x4(_mm_set_epi64x(powers[words], powers[words + 1]));
}

/** Moves each 16 bytes of a piece, and adds the data there. */
WITH_WIDE_INSTRUCTIONS static inline __m512i fold(__m512i piece, __m512i by, __m512i there)
{
    return _mm512_xor_si512(_mm512_xor_si512(_mm512_clmulepi64_epi128(piece, by, 0x00),
                                             _mm512_clmulepi64_epi128(piece, by, 0x11)),
                            there);
}

/** Folds four registers of data over the four behind them, until they are the last; the remainder
 * of what is left is that of all of it (Gopal and others, "Fast CRC Computation for Generic
 *  Polynomials Using PCLMULQDQ Instruction", Intel, 2009). */
WITH_WIDE_INSTRUCTIONS __attribute__((noinline)) static uint32_t
add_folded(uint32_t state, const uint8_t *data, size_t bytes)
{
    const __m512i by_all = move_by(FOLDED_WORDS);
    const __m512i by_one = move_by(FOLDED_WORDS / REGISTERS);
    const uint8_t *end = data + bytes / (FOLDED_WORDS * WORD) * (FOLDED_WORDS * WORD);
    __m512i pieces[REGISTERS] = {_mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state))};
    uint8_t left[sizeof(__m512i)];

    for (unsigned i = 0; i < REGISTERS; i++) {
        pieces[i] = _mm512_xor_si512(pieces[i], _mm512_loadu_si512(data + i * sizeof left));
    }
    for (data += FOLDED_WORDS * WORD; data < end; data += FOLDED_WORDS * WORD) {
        for (unsigned i = 0; i < REGISTERS; i++) {
            pieces[i] = fold(pieces[i], by_all, _mm512_loadu_si512(data + i * sizeof left));
        }
    }
    for (unsigned i = 1; i < REGISTERS; i++) {
        pieces[i] = fold(pieces[i - 1], by_one, pieces[i]);
    }
    _mm512_storeu_si512(left, pieces[REGISTERS - 1]);
    _mm256_zeroupper(); /* so that the kernel need not save the upper halves */
    state = add_by_instructions(0, left, sizeof left);
    return add_by_instructions(state, data, bytes % (FOLDED_WORDS * WORD));
}

WITH_INSTRUCTIONS static uint32_t add_by_folding(uint32_t state, const uint8_t *data, size_t bytes)
{
    return bytes >= FOLDED_BYTES_MIN ? add_folded(state, data, bytes)
                                     : add_by_instructions(state, data, bytes);
}

#endif

#if defined(__aarch64__)

/** Of processors without PMULL (Cortex-A72 of the Raspberry Pi 4): one stream. */
__attribute__((target("+crc"))) static uint32_t add_by_crc_alone(uint32_t state,
                                                                 const uint8_t *data, size_t bytes)
{
    for (; bytes >= WORD; bytes -= WORD, data += WORD) {
        state = STEP(state, word_at(data));
    }
    for (; bytes > 0; bytes--, data++) {
        state = STEP_ONE(state, *data);
    }
    return state;
}

#endif

/* ---- which of them ----------------------------------------------------------------------------
 */

static uint32_t (*add)(uint32_t state, const uint8_t *data, size_t bytes) = add_by_table;
static uint32_t (*add_without_width)(uint32_t state, const uint8_t *data,
                                     size_t bytes) = add_by_table;
static const char *means = "table";

/** Runs once, when the library is loaded, so that no call has to check. */
__attribute__((constructor)) static void choose(void)
{
#if defined(WITH_INSTRUCTIONS)
    if (has_instructions()) {
        fill_powers();
        add = add_without_width = add_by_instructions;
        means = MEANS;
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq")) {
            add = add_by_folding;
            means = "avx512";
        }
#endif
        return;
    }
#endif
#if defined(__aarch64__)
    if ((getauxval(AT_HWCAP) & HAS_CRC32) != 0) {
        add = add_without_width = add_by_crc_alone;
        means = "armv8 without pmull";
        return;
    }
#endif
    fill_tables();
}

uint32_t crc32c_add(uint32_t state, const void *data, size_t bytes)
{
    return add(state, data, bytes);
}

uint32_t crc32c_add_by_streams(uint32_t state, const void *data, size_t bytes)
{
    return add_without_width(state, data, bytes);
}

const char *crc32c_means(void)
{
    return means;
}
