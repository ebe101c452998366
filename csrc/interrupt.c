/* interrupt.c -- see interrupt.h. */
#define _GNU_SOURCE
#include "interrupt.h"

#include <time.h>

static _Thread_local wk_interrupt *current;
static _Thread_local int helping; /* another thread polls */

static int64_t
now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t); /* a few ns to read, a few ms apart */
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void
wk_interrupt_begin(wk_interrupt *self)
{
    self->next = 0;
    self->asking = 0;
    atomic_init(&self->stopped, 0);
    self->outer = current;
    current = self;
}

void
wk_interrupt_end(wk_interrupt *self)
{
    current = self->outer;
}

static int
ask(wk_interrupt *self)
{
    const int64_t now = now_ns(), later = now + WK_POLL_MS * (int64_t)1000000;
    if (self->next == 0) self->next = later; /* short calls never poll */
    if (now < self->next || self->asking) return 0;
    self->asking = 1;
    const int stop = self->poll(self);
    self->asking = 0;
    self->next = later;
    if (stop) atomic_store(&self->stopped, 1);
    return stop;
}

int
wk_was_interrupted(void)
{
    const wk_interrupt *self = current;
    return self && atomic_load_explicit(&self->stopped, memory_order_relaxed);
}

int
wk_interrupted(void)
{
    wk_interrupt *self = current;
    if (self == NULL) return 0;
    if (atomic_load_explicit(&self->stopped, memory_order_relaxed)) return 1;
    return helping || self->poll == NULL ? 0 : ask(self);
}

void
wk_progress(int64_t more, int64_t done)
{
    int64_t *counts = current ? current->progress : NULL;
    if (counts == NULL) return;
    if (more) __atomic_fetch_add(&counts[1], more, __ATOMIC_RELAXED);
    if (done) __atomic_fetch_add(&counts[0], done, __ATOMIC_RELAXED);
}

wk_interrupt *
wk_interrupt_now(void)
{
    return current;
}

void
wk_interrupt_join(wk_interrupt *of)
{
    current = of;
    helping = 1;
}

int
wk_within_handler(void)
{
    for (const wk_interrupt *i = current; i; i = i->outer)
        if (i->asking) return 1;
    return 0;
}
