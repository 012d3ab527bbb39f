/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

/* The object that an answer with one string member consists of. */
static void expect_text(const char *value, const char *quoted)
{
    struct json json = {0};
    json_text(&json, NULL, value);
    assert_int_equal(json.length, strlen(quoted));
    assert_memory_equal(json.text, quoted, json.length);
    free(json.text);
}

TEST(text__escapes)
{
    expect_text("", "\"\"");
    expect_text("a \"b\" \\c", "\"a \\\"b\\\" \\\\c\"");
    expect_text("\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\"");
}

TEST(text__valid_utf8_passes)
{
    expect_text(
        "\xc2\x80 \xc3\xa9 \xe2\x82\xac \xed\x9f\xbf \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf",
        "\"\xc2\x80 \xc3\xa9 \xe2\x82\xac \xed\x9f\xbf \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf\"");
}

TEST(text__invalid_utf8_becomes_question_marks)
{
    expect_text("\xff", "\"?\"");
    expect_text("a\x80z", "\"a?z\"");
    expect_text("\xc3", "\"?\"");
    expect_text("\xe2\x82", "\"??\"");
    expect_text("\xc0\xaf", "\"??\"");           /* overlong */
    expect_text("\xe0\x80\x80", "\"???\"");      /* overlong */
    expect_text("\xed\xa0\x80", "\"???\"");      /* surrogate */
    expect_text("\xf4\x90\x80\x80", "\"????\""); /* above U+10FFFF */
    expect_text("\xf0\x80\x80\x80", "\"????\""); /* overlong */
}

TEST(members__commas_and_nesting)
{
    static const char EXPECTED[] = "{\"a\":1,\"b\":[true,null,[-2,\"x\"],{}],\"c\":1.5,\"d\":null}";
    struct json json = {0};
    json_begin(&json, NULL, '{');
    json_unsigned(&json, "a", 1);
    json_begin(&json, "b", '[');
    json_bool(&json, NULL, true);
    json_null(&json, NULL);
    json_begin(&json, NULL, '[');
    json_signed(&json, NULL, -2);
    json_text(&json, NULL, "x");
    json_end(&json, ']');
    json_begin(&json, NULL, '{');
    json_end(&json, '}');
    json_end(&json, ']');
    json_real(&json, "c", 1.5);
    json_real(&json, "d", NAN);
    json_end(&json, '}');
    assert_int_equal(json.length, sizeof EXPECTED - 1);
    assert_memory_equal(json.text, EXPECTED, json.length);
    free(json.text);
}

TEST(members__largest_numbers)
{
    static const char EXPECTED[] = "[18446744073709551615,-9223372036854775808,null]";
    struct json json = {0};
    json_begin(&json, NULL, '[');
    json_unsigned(&json, NULL, UINT64_MAX);
    json_signed(&json, NULL, INT64_MIN);
    json_real(&json, NULL, INFINITY);
    json_end(&json, ']');
    assert_int_equal(json.length, sizeof EXPECTED - 1);
    assert_memory_equal(json.text, EXPECTED, json.length);
    free(json.text);
}

static int saved_output;
static int reader;

static int capture(void **state)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return -1;
    }
    saved_output = dup(STDOUT_FILENO);
    reader = ends[0];
    if (saved_output < 0 || dup2(ends[1], STDOUT_FILENO) < 0) {
        return -1;
    }
    return close(ends[1]);
}

static int release(void **state)
{
    int result = dup2(saved_output, STDOUT_FILENO) < 0 ? -1 : 0;
    close(saved_output);
    close(reader);
    return result;
}

#define FIXTURE_TEST(name) TEST_AROUND(name, capture, release)

static void expect_output(const char *expected)
{
    char text[4096];
    ssize_t length = read(reader, text, sizeof text);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(text, expected, (size_t)length);
}

FIXTURE_TEST(error__answer)
{
    output_error(-ECONNRESET, true, "the %s", "end");
    expect_output("{\"event\":\"error\",\"code\":\"ECONNRESET\",\"message\":\"the end\","
                  "\"fatal\":true}\n");
    output_error(99999, false, "odd");
    expect_output("{\"event\":\"error\",\"code\":\"EIO\",\"message\":\"odd\",\"fatal\":false}\n");
}

FIXTURE_TEST(send__one_line)
{
    struct json json;
    output_begin(&json, "closed");
    output_send(&json);
    assert_null(json.text);
    expect_output("{\"event\":\"closed\"}\n");
}

FIXTURE_TEST(send__without_memory_says_so)
{
    struct json json;
    output_begin(&json, "closed");
    json.failed = true;
    output_send(&json);
    expect_output("{\"event\":\"error\",\"code\":\"ENOMEM\",\"message\":"
                  "\"no memory for the answer\",\"fatal\":true}\n");
}
