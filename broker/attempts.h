/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attempts.h - how often each user may ask the broker. An attempt costs milliseconds of the
 * kernel's one lock for network interfaces, so a user who asks in a loop would keep all others
 * waiting. Pure.
 */
#ifndef BEOWIRE_BROKER_ATTEMPTS_H
#define BEOWIRE_BROKER_ATTEMPTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** Users that are remembered. If more ask within a minute, those with most attempts left are
 *  forgotten. */
#define ATTEMPTS_USERS 256

#define ATTEMPTS_WITHIN_NS UINT64_C(60000000000)

/** Of a user: an attempt moves `spent_until_ns` on by a minute divided by `most`, and none may move
 *  it on to more than a minute from now. (The generic cell rate algorithm, ITU-T I.371.) */
struct attempts_user {
    uid_t user;
    uint64_t spent_until_ns; /**< what is in the past has no effect; 0: no user */
};

struct attempts {
    uint32_t most; /**< of each user in a minute */
    struct attempts_user users[ATTEMPTS_USERS];
};

/** May the user ask now? If so, it counts. @param now_ns of a clock that does not go back */
bool attempts_allow(struct attempts *attempts, uid_t user, uint64_t now_ns);

#endif /* BEOWIRE_BROKER_ATTEMPTS_H */
