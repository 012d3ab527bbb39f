/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copies.h - several ways to copy memory. The areas must not overlap. On other processors than x86
 * COPIES_ON_X86 is 0, and some functions are missing.
 */
#ifndef BEOWIRE_DRIVERS_COPIES_H
#define BEOWIRE_DRIVERS_COPIES_H

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#define COPIES_ON_X86 1
#include <emmintrin.h>
#else
#define COPIES_ON_X86 0
#endif

/** One byte after the other. */
static inline void copy_bytes(uint8_t *target, const uint8_t *source, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        target[i] = source[i];
        /* Otherwise the compiler replaces the loop by memcpy(). */
        __asm__ volatile("" ::: "memory");
    }
}

#if COPIES_ON_X86
/** The instruction `rep movsb`, which the processor's microcode optimises. */
static inline void copy_movsb(uint8_t *target, const uint8_t *source, uint64_t bytes)
{
    __asm__ volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(bytes) : : "memory");
}

/** Stores that bypass the caches (`movntdq`): the target is not read into them first, and displaces
 *  no other data. Returns when the stores are visible to other cores. */
static inline void copy_nontemporal(uint8_t *target, const uint8_t *source, uint64_t bytes)
{
    /* These stores need aligned units. */
    uint64_t head = -(uintptr_t)target % sizeof(__m128i);
    head = head < bytes ? head : bytes;
    memcpy(target, source, head);
    uint64_t at = head;
    for (; at + sizeof(__m128i) <= bytes; at += sizeof(__m128i)) {
        _mm_stream_si128((__m128i *)(void *)(target + at),
                         _mm_loadu_si128((const __m128i *)(const void *)(source + at)));
    }
    memcpy(target + at, source + at, bytes - at);
    _mm_sfence();
}
#endif

#endif
