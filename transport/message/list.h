/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list.h - doubly linked lists through a member of their elements. The head of an empty list points
 * to itself. Removing needs only the element. Not thread-safe.
 */
#ifndef BEOWIRE_MESSAGE_LIST_H
#define BEOWIRE_MESSAGE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next;
    struct list *previous;
};

/** The struct of type `type` whose member `member` is `link`. */
#define LIST_ENTRY(link, type, member)                                                             \
    ((type *)(void *)((unsigned char *)(link)-offsetof(type, member)))

static inline void list_init(struct list *head)
{
    head->next = head;
    head->previous = head;
}

static inline bool list_is_empty(const struct list *head)
{
    return head->next == head;
}

static inline void list_append(struct list *head, struct list *link)
{
    link->next = head;
    link->previous = head->previous;
    head->previous->next = link;
    head->previous = link;
}

/** Adds at the front: what was freed last is reused first, while it is in the cache. */
static inline void list_prepend(struct list *head, struct list *link)
{
    link->previous = head;
    link->next = head->next;
    head->next->previous = link;
    head->next = link;
}

/** Removes an element, and makes it an empty list, so that removing it again is harmless. */
static inline void list_remove(struct list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    list_init(link);
}

#endif /* BEOWIRE_MESSAGE_LIST_H */
