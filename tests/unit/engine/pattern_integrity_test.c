/* SPDX-License-Identifier: BSD-3-Clause */
/* Every lie about a message is found, and named. */
#include "two_ends.h"

#include <errno.h>
#include <string.h>

TWO_ENDS_OF(PATTERN_INTEGRITY)

static const struct {
    enum lie lie;
    const char *text;
} LIES[] = {
    {LIE_FLIP, "byte"},       {LIE_TRUNCATE, "ends after"}, {LIE_SWAP, "in place of"},
    {LIE_DUPLICATE, "again"}, {LIE_REPLAY, "again"},        {LIE_OLD_RUN, "byte"},
};

TEST_AROUND(integrity__truth_is_believed, prepare, NULL)
{
    TWO_ENDS_EACH_SIZE
    {
        asked.serial++;
        two_ends_run();
        two_ends_expect_whole(10, 10);
        assert_int_equal(responder.result.received, 10);
    }
    asked.size = 8;
    asked.count = 1000;
    two_ends_run();
    two_ends_expect_whole(1000, 1000);
}

/* Whose turn it is to find it, and nobody else. */
static void expect_found(const char *text)
{
    const struct end *honest = liar == DRIVER_INITIATOR ? &responder : &initiator;
    const struct end *other = liar == DRIVER_INITIATOR ? &initiator : &responder;
    if (honest->error != -EBADMSG || strstr(honest->result.fault, text) == NULL) {
        fail_msg("lie %d, message %llu, byte %llu of %llu: %d, '%s'", lie,
                 (unsigned long long)lie_at, (unsigned long long)lie_byte,
                 (unsigned long long)asked.size, honest->error, honest->result.fault);
    }
    assert_true(other->error != -EBADMSG);
}

/* In each direction, at each place of a run and of a message. */
TEST_AROUND(integrity__every_lie_is_found_and_named, prepare, NULL)
{
    static const uint64_t LENGTHS[] = {8, 9, 63, 4096};
    for (size_t l = 0; l < sizeof LIES / sizeof LIES[0]; l++) {
        for (size_t i = 0; i < sizeof LENGTHS / sizeof LENGTHS[0]; i++) {
            two_ends_prepare(&PATTERN_INTEGRITY);
            asked.size = LENGTHS[i];
            asked.serial = 100 * l;
            two_ends_run(); /* the run before: what LIE_OLD_RUN brings again */
            two_ends_expect_whole(10, 10);
            lie = LIES[l].lie;
            for (lie_at = 1; lie_at < 12; lie_at += 5) {
                asked.serial++;
                liar = lie_at == 6 ? DRIVER_RESPONDER : DRIVER_INITIATOR;
                lie_byte = lie_at == 1 ? 0 : lie_at == 6 ? asked.size / 2 : asked.size - 1;
                two_ends_run();
                expect_found(LIES[l].text);
            }
        }
    }
}

/* Of a message that is shorter than its number: whatever differs from what was due. */
TEST_AROUND(integrity__short_messages, prepare, NULL)
{
    for (asked.size = 1; asked.size < 8; asked.size++) {
        for (lie = LIE_FLIP; lie <= LIE_REPLAY; lie++) {
            lie_at = 5;
            lie_byte = asked.size - 1;
            two_ends_run();
            expect_found("");
        }
    }
}

TEST_AROUND(integrity__says_which_byte_is_wrong, prepare, NULL)
{
    lie = LIE_FLIP;
    lie_at = 5;
    lie_byte = 77;
    two_ends_run();
    expect_found("byte 77 of message 5 (1000 bytes) is 0x");
    lie = LIE_TRUNCATE;
    asked.serial++;
    two_ends_run();
    expect_found("message 5 ends after 77 of 1000 bytes");
    lie = LIE_DUPLICATE;
    asked.serial++;
    two_ends_run();
    expect_found("message 5 came again in place of message 6");
    lie = LIE_SWAP;
    asked.serial++;
    two_ends_run();
    expect_found("message 6 came in place of message 5");
}

TEST_AROUND(integrity__cut_short_is_out_of_step, prepare, NULL)
{
    stop_at_once = true;
    asked.count = UINT64_C(1) << 40;
    two_ends_run();
    assert_true(initiator.result.stopped);
    assert_false(initiator.result.in_step);
}
