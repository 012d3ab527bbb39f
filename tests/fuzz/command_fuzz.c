/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a command line: never a crash, and what is accepted keeps its promises. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct command command;
    if (command_parse(&command, (const char *)data, size) != 0) {
        require(command.reason[0] != '\0' && strchr(command.reason, '\n') == NULL);
        require(strlen(command.reason) < COMMAND_REASON_BYTES);
        return 0;
    }
    require(size <= COMMAND_LINE_BYTES && command.word_count <= COMMAND_WORDS);
    for (size_t i = 0; i < command.word_count; i++) {
        const char *value = command.words[i].value;
        require(value >= command.storage && strlen(value) <= size);
        require(command_text(&command, command.words[i].key, NULL) == value);
        uint64_t number = 7;
        int error = command_number(&command, command.words[i].key, 1, 1000, &number);
        require(error != 0 ? number == 7 : number >= 1 && number <= 1000);
    }
    return 0;
}
