/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of patterns. */
#include "pattern.h"

#include <string.h>

#include "capture.h"
#include "testing.h"

TEST(table__names_are_found_and_different)
{
    size_t count = 0;
    for (const struct pattern *const *at = pattern_table(); *at != NULL; at++, count++) {
        assert_ptr_equal(pattern_find((*at)->name), *at);
        assert_non_null((*at)->initiate);
        assert_true((*at)->respond != NULL);
        assert_true((*at)->summary[0] != '\0' && strchr((*at)->summary, '\n') == NULL);
    }
    assert_true(count >= 2);
    assert_null(pattern_find("dance"));
    assert_null(pattern_find(""));
}

static int post_send(void *session, const void *data, uint64_t size)
{
    return 0;
}

static int post_receive(void *session, void *data, uint64_t size)
{
    return 0;
}

static int progress(void *session, bool wait, struct driver_ended *ended)
{
    return 0;
}

TEST(obstacle__each_need_that_is_not_met)
{
    struct driver driver = {.placement = DRIVER_PAIR, .reliable = true};
    struct pattern pattern = {.name = "any"};
    assert_null(pattern_obstacle(&pattern, &driver));
    pattern.needs = PATTERN_NEEDS_PEER | PATTERN_NEEDS_RELIABLE | PATTERN_NEEDS_POSTING;
    assert_non_null(strstr(pattern_obstacle(&pattern, &driver), "post"));
    driver.post_send = post_send;
    driver.post_receive = post_receive;
    assert_non_null(strstr(pattern_obstacle(&pattern, &driver), "post"));
    driver.progress = progress;
    assert_null(pattern_obstacle(&pattern, &driver));
    driver.reliable = false;
    assert_non_null(strstr(pattern_obstacle(&pattern, &driver), "lost"));
    driver.placement = DRIVER_PROCESS;
    assert_non_null(strstr(pattern_obstacle(&pattern, &driver), "no other end"));
}

TEST(answer__has_every_row)
{
    capture_start();
    pattern_answer();
    const char *text = capture_end();
    expect_part(text, "{\"event\":\"patterns\",\"patterns\":[{\"name\":\"pingpong\",");
    expect_part(text, "\"reports\":\"times\",\"min_size\":0,\"needs\":[]}");
    expect_part(text, "\"reports\":\"rates\",\"min_size\":0,\"needs\":[\"peer\"]}");
}
