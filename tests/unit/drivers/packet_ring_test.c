/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet_ring.h"

#include <sys/socket.h>

#include "../engine/testing.h"

TEST(request__is_one_that_kernels_of_all_page_sizes_take)
{
    static const size_t HEADERS = sizeof(struct tpacket2_hdr) + sizeof(struct sockaddr_ll);
    /* x86; Raspberry Pi 5, as it comes; others for 64-bit ARM. */
    static const size_t PAGES[] = {4096, 16384, 65536};
    static const size_t FRAMES[] = {64, 1518, 1900, 2048, 9018, 65553};
    for (size_t i = 0; i < sizeof PAGES / sizeof PAGES[0]; i++) {
        for (size_t j = 0; j < sizeof FRAMES / sizeof FRAMES[0]; j++) {
            const struct tpacket_req request = packet_ring_request(FRAMES[j], 300, PAGES[i]);
            /* packet_set_ring() of the kernel's net/packet/af_packet.c. */
            assert_int_equal(request.tp_block_size % PAGES[i], 0);
            assert_int_equal(request.tp_frame_size % TPACKET_ALIGNMENT, 0);
            assert_true(request.tp_frame_size >= HEADERS + FRAMES[j]);
            assert_true(request.tp_block_size / request.tp_frame_size > 0);
            assert_int_equal(request.tp_block_size / request.tp_frame_size * request.tp_block_nr,
                             request.tp_frame_nr);
            /* And ours: slots without gaps. */
            assert_int_equal(request.tp_block_size % request.tp_frame_size, 0);
            assert_int_equal(request.tp_frame_nr, 512);
        }
    }
}
