/* interrupt.h -- how a call is stopped from outside, as by Ctrl-C. The core's own.
 *
 * The thread that calls looks now and then whether it is to stop; those that help it see what it
 * found. What they leave behind is unfinished and never read: wk_run fails with WK_EINTERRUPT. */
#ifndef WARPKIT_INTERRUPT_H
#define WARPKIT_INTERRUPT_H

#include "warpkit.h"

#include <stdatomic.h>

typedef struct wk_interrupt {
    int (*poll)(struct wk_interrupt *self); /* not 0: stop. May run handlers of signals */
    void *arg;                              /* the poll's own                         */
    int64_t next;                           /* when to ask again, in ns; 0: not asked yet */
    int asking;                             /* poll is being called                    */
    atomic_int stopped;
    int64_t *progress; /* NULL or two: pieces of work that are done, and of all so far */
    struct wk_interrupt *outer; /* of a call that a signal's handler makes */
} wk_interrupt;

/* Between these two, wk_interrupted() on this thread asks `self`. */
void wk_interrupt_begin(wk_interrupt *self);
void wk_interrupt_end(wk_interrupt *self);

/* Is this thread's call to stop? Loops ask once for every 10 us of work or more; it takes 10 ns. */
int wk_interrupted(void);

/* Has it been told so? Without asking anew: a nanosecond or two. */
int wk_was_interrupted(void);

/* What a helping thread asks from now on; NULL: nothing. */
wk_interrupt *wk_interrupt_now(void);
void wk_interrupt_join(wk_interrupt *of);

/* Does this thread run a handler within another call? That holds its devices. */
int wk_within_handler(void);

/* More work has come up, or is done, of this thread's call. */
void wk_progress(int64_t more, int64_t done);

enum { WK_POLL_MS = 50 };

#endif
