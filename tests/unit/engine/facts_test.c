/* SPDX-License-Identifier: BSD-3-Clause */
#include "facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

static char path[] = "/tmp/beowire-facts-XXXXXX";

static void write_file(const char *content)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, strlen(content), file), strlen(content));
    assert_int_equal(fclose(file), 0);
}

/* What a function adds to an object, as text. */
static char *written(void (*function)(struct json *, const char *, const char *))
{
    static char text[4096];
    struct json json = {0};
    json_begin(&json, NULL, '{');
    function(&json, "k", path);
    json_end(&json, '}');
    assert_false(json.failed);
    assert_true(json.length < sizeof text);
    memcpy(text, json.text, json.length);
    text[json.length] = '\0';
    free(json.text);
    return text;
}

TEST(text__first_line_tidied)
{
    write_file("  one\t two  \nthree\n");
    assert_string_equal(written(facts_text), "{\"k\":\"one two\"}");
    write_file("\"quoted\"\n");
    assert_string_equal(written(facts_text), "{\"k\":\"quoted\"}");
}

TEST(text__nothing_there)
{
    write_file("");
    assert_string_equal(written(facts_text), "{\"k\":null}");
    write_file("\n");
    assert_string_equal(written(facts_text), "{\"k\":null}");
    assert_int_equal(unlink(path), 0);
    assert_string_equal(written(facts_text), "{\"k\":null}");
    assert_string_equal(written(facts_value), "{\"k\":null}");
    assert_string_equal(written(facts_choice), "{\"k\":null}");
}

TEST(value__number_or_text)
{
    write_file("-17\n");
    assert_string_equal(written(facts_value), "{\"k\":-17}");
    write_file("4096 131072\t33554432\n");
    assert_string_equal(written(facts_value), "{\"k\":\"4096 131072 33554432\"}");
    write_file("99999999999999999999\n");
    assert_string_equal(written(facts_value), "{\"k\":\"99999999999999999999\"}");
}

TEST(choice__in_brackets)
{
    write_file("always [madvise] never\n");
    assert_string_equal(written(facts_choice), "{\"k\":\"madvise\"}");
    write_file("always madvise]\n");
    assert_string_equal(written(facts_choice), "{\"k\":null}");
}

TEST(find__by_exact_name)
{
    char text[16];
    write_file("model\t: 1\nmodel name\t: A  CPU @ 1: 2\nNAME=\"x y\"\nno separator\n");
    assert_true(facts_find(path, "model name", text, sizeof text));
    assert_string_equal(text, "A CPU @ 1: 2");
    assert_true(facts_find(path, "NAME", text, sizeof text));
    assert_string_equal(text, "x y");
    assert_false(facts_find(path, "mode", text, sizeof text));
}

static int make_path(void **state)
{
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    return unlink(path);
}

int main(void)
{
    return run_listed_tests(make_path, remove_path);
}
