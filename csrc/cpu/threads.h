/* threads.h -- a loop over items, shared by the process's worker threads. */
#ifndef WARPKIT_THREADS_H
#define WARPKIT_THREADS_H

#include "context.h"
#include "interrupt.h"

typedef void wk_task(void *arg, int64_t begin, int64_t end, int thread);

/* Cuts items 0 .. items - 1 into runs of `grain` and calls task on each, in any order, on up to
 * wk_thread_count() threads, the caller's included. thread is below that count, and no two
 * calls at once get the same one. While another call uses the workers, all of it runs in the
 * caller. A call that is to stop (interrupt.h) leaves items out: what reads their results across
 * tasks asks wk_interrupted() before. */
void wk_parallel(wk_context *context, int64_t items, int64_t grain, wk_task *task, void *arg);
/* The same of all that is as much work as so many short tasks, of 2 to 20 us: for few of them no thread is woken, but
 * those that are awake take part. */
void wk_parallel_short(wk_context *context, int64_t items, int64_t grain, int64_t tasks,
                       wk_task *task, void *arg);

/* A grain of so much work, of items of `each`; all of them where they are less than two. */
static inline int64_t
wk_grain_of(int64_t items, int64_t each, int64_t task)
{
    if (items <= 1 || items < 2 * task / each) return items;
    return each < task ? task / each : 1;
}

/* WARPKIT_NUM_THREADS, else the processors this process may run on. */
int wk_thread_count(wk_context *context);

void wk_threads_free(struct wk_threads *threads);

#endif
