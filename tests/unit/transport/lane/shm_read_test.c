/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_child.h"
#include "shm_pair.h"

#include <errno.h>
#include <sys/mman.h>

/** What a child offers to be read; where there is nothing to be read behind it. */
struct offer {
    uint64_t incarnation;
    uint64_t address;
};

#define OFFERED_BYTES 65536u

static void offer_memory(int end, uint64_t parent)
{
    struct lane *lane = open_shm(1);
    uint8_t *memory = mmap(NULL, (size_t)2 * OFFERED_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (uint32_t i = 0; i < OFFERED_BYTES; i++) {
        memory[i] = (uint8_t)(i * 11);
    }
    (void)munmap(memory + OFFERED_BYTES, OFFERED_BYTES);
    struct offer offer = {.incarnation = inside(lane)->incarnation,
                          .address = (uint64_t)(uintptr_t)memory};
    tell(end, &offer, sizeof offer);
}

TEST(shm_read_memory__of_another_process)
{
    struct lane *a = open_shm(1);
    struct child child = start(offer_memory, 0);
    struct offer offer;
    static uint8_t target[OFFERED_BYTES + 100];

    hear(&child, &offer, sizeof offer);
    struct lane_address from = reach(a, offer.incarnation);
    assert_int_equal(
        a->operations->read_memory(a, &from, offer.address + 100, target, OFFERED_BYTES - 100), 0);
    for (uint32_t i = 0; i < OFFERED_BYTES - 100; i++) {
        assert_int_equal(target[i], (uint8_t)((i + 100) * 11));
    }
    assert_int_equal(a->operations->read_memory(a, &from, offer.address, target, 0), 0);
    /* Where there is nothing, wholly or from some place on. */
    assert_int_equal(a->operations->read_memory(a, &from, offer.address, target, OFFERED_BYTES + 1),
                     -EFAULT);
    assert_int_equal(a->operations->read_memory(a, &from, 0, target, 1), -EFAULT);
    assert_int_equal(a->operations->read_memory(a, &from, UINT64_MAX - 1, target, 100), -EFAULT);
    /* And it still works. */
    assert_int_equal(a->operations->read_memory(a, &from, offer.address, target, 8), 0);
    stop_child(&child);
    assert_int_equal(a->operations->read_memory(a, &from, offer.address, target, 8), -ECONNRESET);
    assert_int_equal(a->operations->read_memory(a, &from, offer.address, target, 8), -ECONNRESET);
    wait_for_loss(a, &from);
    close_shm(a);
}

/** Where the kernel's copy would be slow it takes another way (lane/copy.h). */
TEST(shm_read_memory__to_any_place)
{
    struct lane *a = open_shm(1);
    struct child child = start(offer_memory, 0);
    struct offer offer;
    static uint8_t target[OFFERED_BYTES + 100] __attribute__((aligned(4096)));

    hear(&child, &offer, sizeof offer);
    struct lane_address from = reach(a, offer.incarnation);
    for (uint32_t at = 1; at < 80; at += 6) {
        memset(target, 0xA5, sizeof target);
        assert_int_equal(
            a->operations->read_memory(a, &from, offer.address, target + at, OFFERED_BYTES - 3), 0);
        for (uint32_t i = 0; i < sizeof target; i++) {
            bool read = i >= at && i < at + OFFERED_BYTES - 3;
            assert_int_equal(target[i], read ? (uint8_t)((i - at) * 11) : 0xA5);
        }
    }
    assert_int_equal(
        a->operations->read_memory(a, &from, offer.address, target + 16, OFFERED_BYTES + 1),
        -EFAULT);
    assert_int_equal(a->operations->read_memory(a, &from, offer.address, target + 16, 8192), 0);
    stop_child(&child);
    assert_int_equal(a->operations->read_memory(a, &from, offer.address, target + 16, 8192),
                     -ECONNRESET);
    wait_for_loss(a, &from);
    close_shm(a);
}

TEST(shm_read_memory__of_this_process)
{
    struct lane *a = open_shm(1);
    struct lane *b = open_shm(2);
    struct lane_address from = reach_lane(a, b);
    uint8_t source[100];
    uint8_t target[100] = {0};

    memset(source, 5, sizeof source);
    assert_int_equal(a->operations->read_memory(a, &from, (uint64_t)(uintptr_t)source, target, 100),
                     0);
    assert_memory_equal(source, target, sizeof source);
    close_shm(a);
    close_shm(b);
}

/** Two lanes that have reached each other, and something in memory that one reads of the other. */
struct two {
    struct lane *reader;
    struct lane *owner;
    struct lane_address from; /**< the owner, as the reader reaches it */
    struct lane_address to;   /**< and the other way around */
};

static struct two open_two(void)
{
    struct two two = {.reader = open_shm(1), .owner = open_shm(2)};

    two.from = reach_lane(two.reader, two.owner);
    two.to = reach_lane(two.owner, two.reader);
    return two;
}

static int read_something(const struct two *two)
{
    static const uint8_t source[100] = {5};
    uint8_t target[sizeof source];

    return two->reader->operations->read_memory(two->reader, &two->from,
                                                (uint64_t)(uintptr_t)source, target, sizeof source);
}

/** A sender that has given us up may have its buffer for other things: what is read then is not
 * what it had sent. */
TEST(shm_read_memory__of_whoever_has_given_us_up)
{
    struct two two = open_two();

    /* It has sent us nothing: we know no address. */
    two.owner->operations->withdraw(two.owner, &two.to);
    assert_int_equal(read_something(&two), 0);
    assert_true(send_number(two.owner, &two.to, 7, 100));
    assert_int_equal(receive_number(two.reader, NULL), 7);
    assert_int_equal(read_something(&two), 0);
    two.owner->operations->withdraw(two.owner, &two.to);
    assert_int_equal(read_something(&two), -ECONNRESET);
    close_shm(two.reader);
    close_shm(two.owner);
}

/** Whoever has closed its endpoint, too, though its process lives, and though it has said things
 *  before that have not been looked at. */
TEST(shm_read_memory__of_whoever_has_closed)
{
    struct two two = open_two();

    assert_true(send_number(two.reader, &two.from, 6, 100));
    assert_int_equal(receive_number(two.owner, NULL), 6); /* it has replied to our greeting */
    assert_true(send_number(two.owner, &two.to, 7, 100));
    assert_int_equal(receive_number(two.reader, NULL), 7);
    assert_int_equal(read_something(&two), 0);
    close_shm(two.owner);
    assert_int_equal(read_something(&two), -ECONNRESET);
    close_shm(two.reader);
}

/** A child that fork() has made closes only its copy: the rings are its parent's, too. */
TEST(shm_close__in_a_child_the_parent_goes_on)
{
    struct two two = open_two();
    int status = -1;

    assert_true(send_number(two.owner, &two.to, 7, 100));
    assert_int_equal(receive_number(two.reader, NULL), 7);
    pid_t child = fork();
    if (child == 0) {
        close_shm(two.owner);
        close_shm(two.reader);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read_something(&two), 0);
    assert_true(send_number(two.owner, &two.to, 8, 100));
    assert_int_equal(receive_number(two.reader, NULL), 8);
    assert_true(send_number(two.reader, &two.from, 9, 100));
    assert_int_equal(receive_number(two.owner, NULL), 9);
    close_shm(two.owner);
    assert_int_equal(read_something(&two), -ECONNRESET);
    close_shm(two.reader);
}

/** As an ordinary user: opens a lane, and a child of its own that may not be read. */
static void read_the_unreadable(int end, uint64_t parent)
{
    if (setresuid(NOBODY, NOBODY, NOBODY) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0) {
        _exit(8);
    }
    struct lane *lane = open_shm(1);
    int ends[2];
    if (pipe(ends) != 0) {
        _exit(7);
    }
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_DUMPABLE, 0);
        offer_memory(ends[1], 0);
        for (;;) {
            pause();
        }
    }
    struct offer offer;
    uint8_t target[8];
    if (read(ends[0], &offer, sizeof offer) != sizeof offer) {
        _exit(6);
    }
    struct lane_address from = reach(lane, offer.incarnation);
    int found[3];
    found[0] = lane->operations->read_memory(lane, &from, offer.address, target, 8);
    found[1] = lane->operations->read_memory(lane, &from, offer.address, target, 8);
    found[2] = inside(lane)->peers[0]->no_reading; /* so the kernel is not asked again */
    tell(end, found, sizeof found);
}

TEST(shm_read_memory__not_allowed)
{
    struct child child = start(read_the_unreadable, 0);
    int found[3];

    hear(&child, found, sizeof found);
    assert_int_equal(found[0], -EPERM);
    assert_int_equal(found[1], -EPERM);
    assert_int_equal(found[2], true);
    stop_child(&child);
}
