/* threads.c -- the worker threads: made at the first large call, asleep some time after each.
 *
 * A forked child inherits the struct and none of the threads, so a pool remembers the process
 * that made it, and a child makes its own. Nothing here takes a lock that a fork could leave
 * held: `busy` belongs to one pool, and a new pool has a new one. */
#define _GNU_SOURCE
#include "cpu/threads.h"
#include "settings.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_THREADS = 256,
    WATCH = 100000, /* ns: see watch()                          */
    SHORT = 8,      /* short tasks that pay for waking a thread */
    OPEN = 1 << 30  /* of `working`: whoever is awake may join  */
};

typedef struct worker {
    struct wk_threads *pool;
    pthread_t id;
    sem_t wake;
    atomic_int called;   /* and not yet awake */
    atomic_int watching; /* awake             */
    int number;
} worker;

struct wk_threads {
    pid_t owner;
    atomic_int count; /* the caller's thread included */
    int started;
    int watches; /* there is a processor for each */
    atomic_flag busy;
    atomic_int stop;
    atomic_int working; /* OPEN, and how many have joined       */
    sem_t done;         /* by the last that was in when it closed */
    wk_task *task;
    void *arg;
    wk_interrupt *interrupt; /* the caller's */
    int64_t items, grain;
    int64_t ended; /* the call before, at that time */
    atomic_llong next;
    worker workers[MAX_THREADS];
};

/* The pool of a process that could not have one: its calls run alone from then on. A call asks for the
 * number of threads, makes room for so many, and then has them work: both answers must agree. */
static struct wk_threads none = {.count = 1};

static void
take_tasks(struct wk_threads *pool, int thread)
{
    while (!wk_interrupted()) {
        const int64_t begin = atomic_fetch_add(&pool->next, pool->grain);
        if (begin >= pool->items) return;
        const int64_t left = pool->items - begin;
        pool->task(pool->arg, begin, begin + (left < pool->grain ? left : pool->grain), thread);
        wk_progress(0, 1);
    }
}

static int64_t
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

static void
relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Stays awake for a while: calls follow each other, and threads end at about the same time. 2 threads of a virtual
 * machine, us without and so: sums of 10^6 float32 128 82, dots of 191,821 float64 88 34, transposes of 577 x 349 uint64
 * 124 81, counts of 250,000 int64 235 178; after 3 ms of sleep, the same. False: nothing has come. */
static int
watch(const struct wk_threads *pool, sem_t *semaphore)
{
    if (!pool->watches) return 0;
    const int64_t end = now() + WATCH;
    do {
        for (int i = 0; i < 32; i++) {
            if (sem_trywait(semaphore) == 0) return 1;
            relax();
        }
    } while (now() < end);
    return 0;
}

static void
wait_for_call(worker *w)
{
    atomic_store(&w->watching, 1);
    const int called = watch(w->pool, &w->wake);
    atomic_store(&w->watching, 0);
    while (!called && sem_wait(&w->wake) != 0)
        continue; /* interrupted by a signal: wait again */
}

/* The caller, meanwhile, looks whether it is to stop. */
static void
wait_and_look(const struct wk_threads *pool, sem_t *semaphore)
{
    struct timespec until;
    if (watch(pool, semaphore)) return;
    do {
        wk_interrupted();
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WK_POLL_MS * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
    } while (sem_timedwait(semaphore, &until) != 0);
}

/* Who wakes when all is done joins nothing, and is not waited for: a processor that is virtual takes 50 us to
 * wake, as long as a run. */
static int
join(struct wk_threads *pool)
{
    int now = atomic_load(&pool->working);
    while (now & OPEN)
        if (atomic_compare_exchange_weak(&pool->working, &now, now + 1)) return 1;
    return 0;
}

static void *
work(void *self)
{
    worker *w = self;
    for (;;) {
        wait_for_call(w);
        atomic_store(&w->called, 0);
        if (atomic_load(&w->pool->stop)) return NULL;
        if (!join(w->pool)) continue;
        wk_interrupt_join(w->pool->interrupt);
        take_tasks(w->pool, w->number);
        if (atomic_fetch_sub(&w->pool->working, 1) == 1) sem_post(&w->pool->done);
    }
}

static void
count_threads(struct wk_threads *pool)
{
    cpu_set_t set;
    const int there = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    const int64_t n = wk_setting_value(WK_SET_NUM_THREADS, there);
    pool->count = n > MAX_THREADS ? MAX_THREADS : (int)n;
    pool->watches = n <= there;
}

static struct wk_threads *
pool_new(void)
{
    struct wk_threads *pool = calloc(1, sizeof *pool);
    if (pool == NULL) {
        none.owner = getpid();
        return &none;
    }
    pool->owner = getpid();
    count_threads(pool);
    sem_init(&pool->done, 0, 0);
    return pool;
}

/* Threads start at the first job, so that asking for the count costs none. */
static void
start(struct wk_threads *pool)
{
    for (; pool->started < pool->count - 1; pool->started++) {
        worker *w = &pool->workers[pool->started];
        w->pool = pool;
        w->number = pool->started + 1;
        sem_init(&w->wake, 0, 0);
        if (pthread_create(&w->id, NULL, work, w) != 0) {
            pool->count = pool->started + 1; /* the system allows no more */
            return;
        }
    }
}

void
wk_threads_free(struct wk_threads *pool)
{
    if (pool == NULL || pool == &none) return;
    if (pool->owner == getpid()) {
        atomic_store(&pool->stop, 1);
        for (int i = 0; i < pool->started; i++) sem_post(&pool->workers[i].wake);
        for (int i = 0; i < pool->started; i++) pthread_join(pool->workers[i].id, NULL);
    }
    free(pool);
}

static struct wk_threads *
pool_of(wk_context *context)
{
    struct wk_threads *pool = atomic_load(&context->threads);
    if (pool != NULL && pool->owner == getpid()) return pool;

    struct wk_threads *fresh = pool_new();
    if (atomic_compare_exchange_strong(&context->threads, &pool, fresh))
        return fresh; /* a parent's pool is left alone: its semaphores may be in any state */
    wk_threads_free(fresh);
    return pool;
}

int
wk_thread_count(wk_context *context)
{
    struct wk_threads *pool = pool_of(context);
    return pool->count;
}

/* Calls so many workers for the other tasks; of those that sleep at most `wakes`. */
static void
call_workers(struct wk_threads *pool, int64_t others, int64_t wakes)
{
    for (int i = 0; i < pool->started && others > 0; i++) {
        worker *w = &pool->workers[i];
        if (!atomic_load(&w->watching) && wakes-- <= 0) continue;
        others--;
        if (!atomic_exchange(&w->called, 1)) sem_post(&w->wake);
    }
}

static void
run(wk_context *context, int64_t items, int64_t grain, int64_t wakes, wk_task *task, void *arg)
{
    if (items <= 0) return;
    wk_progress((items + grain - 1) / grain, 0);
    struct wk_threads *pool = items > grain ? pool_of(context) : NULL;
    if (pool == NULL || pool->count == 1 || atomic_flag_test_and_set(&pool->busy)) {
        if (wk_was_interrupted()) return;
        for (int64_t begin = 0; begin < items; begin += grain) {
            if (begin > 0 && wk_interrupted()) return;
            task(arg, begin, items - begin < grain ? items : begin + grain, 0);
            wk_progress(0, 1);
        }
        return;
    }
    start(pool);
    pool->task = task;
    pool->arg = arg;
    pool->interrupt = wk_interrupt_now();
    pool->items = items;
    pool->grain = grain;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->working, OPEN);
    if (pool->watches && now() - pool->ended < WATCH)
        wakes = items; /* for the calls that follow */
    call_workers(pool, (items - 1) / grain, wakes);
    take_tasks(pool, 0);
    if (atomic_fetch_and(&pool->working, ~OPEN) != OPEN) wait_and_look(pool, &pool->done);
    pool->ended = now();
    atomic_flag_clear(&pool->busy);
}

void
wk_parallel(wk_context *context, int64_t items, int64_t grain, wk_task *task, void *arg)
{
    run(context, items, grain, items, task, arg);
}

void
wk_parallel_short(wk_context *context, int64_t items, int64_t grain, int64_t tasks,
                  wk_task *task, void *arg)
{
    run(context, items, grain, tasks / SHORT, task, arg);
}
