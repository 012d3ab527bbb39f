/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/contention.h"

#include "tuning.h"
#include "unit/test.h"

#include <stddef.h>
#include <unistd.h>

#define WINDOW ((uint64_t)CONTENTION_WINDOW_NS)

/** At the beginning nothing has been waited for. */
static struct contention begun(void)
{
    struct contention contention = {.file = -1, .asked = true, .thread = pthread_self()};

    return contention;
}

/** A thread that waits for its core so long in each so many ns. @return is that thought to be much,
 *  in the end? */
static bool judged(uint64_t waited_ns, uint64_t of_ns)
{
    struct contention contention = begun();
    bool much = false;

    for (uint64_t i = 1; i * of_ns < 10 * WINDOW; i++) {
        much = contention_judge(&contention, (long)i, i * waited_ns, i * of_ns);
    }
    return much;
}

TEST(contention_judge__others_share_the_core)
{
    assert_true(judged(4000000, 8000000));
    assert_true(judged(500000, 5000000));
}

TEST(contention_judge__a_daemon_looks_in)
{
    assert_false(judged(30000, 4000000));
    assert_false(judged(3000000, 200000000)); /* a hog of nice 19 */
}

TEST(contention_judge__not_without_a_switch)
{
    struct contention contention = begun();

    assert_true(contention_judge(&contention, 1, WINDOW, WINDOW));
    assert_false(contention_judge(&contention, 1, 2 * WINDOW, 2 * WINDOW));
}

/** What was waited for long ago does not count. */
TEST(contention_judge__forgets)
{
    struct contention contention = begun();

    assert_true(contention_judge(&contention, 1, WINDOW, WINDOW));
    for (uint64_t i = 2; i < 4; i++) {
        (void)contention_judge(&contention, (long)i, WINDOW, i * WINDOW);
    }
    assert_false(contention_judge(&contention, 4, WINDOW, 4 * WINDOW));
}

TEST(contention_parse__the_second_number)
{
    uint64_t waited_ns = 0;

    assert_true(contention_parse("123 4567890 12\n", &waited_ns));
    assert_int_equal(waited_ns, 4567890);
    assert_true(contention_parse("0 0 0\n", &waited_ns));
    assert_int_equal(waited_ns, 0);
}

TEST(contention_parse__not_what_it_does_not_know)
{
    const char *const lines[] = {"",      "12",   "12 ", "12\n",
                                 "x 1 2", "12 x", " ",   "1 99999999999999999999 1"};
    uint64_t waited_ns = 0;

    for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_false(contention_parse(lines[i], &waited_ns));
    }
}

TEST(contention_look__takes_a_descriptor_and_gives_it_back)
{
    struct contention contention;

    contention_open(&contention);
    assert_false(contention_look(&contention, WINDOW));
    int file = contention.file;
    contention_close(&contention);
    assert_int_equal(contention.file, -1);
    assert_true(file < 0 || close(file) != 0);
}

/** Where the kernel does not tell how long, any switch counts. */
TEST(contention_look__without_the_kernels_help)
{
    struct contention contention;

    contention_open(&contention);
    assert_false(contention_look(&contention, WINDOW));
    contention_close(&contention);
    contention.asked = true;
    contention.thread = pthread_self();
    contention.switches = -1;
    assert_true(contention_look(&contention, 2 * WINDOW));
}

static void *look_once(void *argument)
{
    (void)contention_look(argument, 2 * WINDOW);
    return NULL;
}

TEST(contention_look__begins_anew_for_another_thread)
{
    struct contention contention;
    pthread_t thread;

    contention_open(&contention);
    assert_false(contention_look(&contention, WINDOW));
    assert_int_equal(pthread_create(&thread, NULL, look_once, &contention), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    contention.switches = -1;
    assert_false(contention_look(&contention, 3 * WINDOW));
    contention_close(&contention);
}
