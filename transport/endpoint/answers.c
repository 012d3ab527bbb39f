/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/answers.h"

#include "tuning.h"

void answers_asked(struct answers *answers, uint32_t look)
{
    if (answers->asked && answers->asked_at != look) {
        answers->in_a_row = 0;
    }
    answers->asked = true;
    answers->asked_at = look;
}

void answers_sent(struct answers *answers, uint32_t look)
{
    if (!answers->asked) {
        return;
    }
    answers->asked = false;
    if (answers->asked_at != look) {
        answers->in_a_row = 0;
    } else if (answers->in_a_row < ANSWERS_MIN) {
        answers->in_a_row++;
    }
}

bool answers_likely(const struct answers *answers)
{
    return answers->in_a_row >= ANSWERS_MIN;
}
