/* fail_malloc.c -- preloaded, so that a chosen request for memory fails, or all from one on.
 *
 * Counted are requests by the objects that a test names (watch), directly or through the C++
 * library, which nobody else in the process uses much: malloc and its kin, operator new, mmap,
 * mprotect and new threads. What they hold is counted too: a call that fails must give it back. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_NAMES = 8, PAGES = 1 << 12, LIVE = 1 << 20 };

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

static char names[MOST_NAMES][64];
static atomic_int watched; /* of the names */
static _Atomic uintptr_t
    pages[PAGES];                  /* of callers: the page's number, times 2, plus: counted */
static _Atomic(void *) live[LIVE]; /* blocks that they hold; by hash, (void *)1: was one */
static atomic_long held, asked, failed; /* blocks; requests and failures since arm() */
static atomic_long fails_at;            /* which request; 0: none */
static atomic_int lasting;              /* and all after it */

void
watch(const char *part_of_file_name)
{
    const int at = atomic_load(&watched);
    if (at == MOST_NAMES) abort();
    strncpy(names[at], part_of_file_name, sizeof names[at] - 1);
    atomic_store(&watched, at + 1);
    for (int i = 0; i < PAGES; i++) atomic_store(&pages[i], 0);
}

void
arm(long request, int and_all_after)
{
    atomic_store(&asked, 0);
    atomic_store(&failed, 0);
    atomic_store(&lasting, and_all_after);
    atomic_store(&fails_at, request);
}

/* How many requests have failed. */
long
disarm(void)
{
    atomic_store(&fails_at, 0);
    return atomic_load(&failed);
}

/* Since arm(). */
long
requests(void)
{
    return atomic_load(&asked);
}

long
blocks_held(void)
{
    return atomic_load(&held);
}

static int
is_watched(uintptr_t caller)
{
    const int count = atomic_load(&watched);
    if (count == 0) return 0;
    const uintptr_t page = caller >> 12;
    _Atomic uintptr_t *known = &pages[page % PAGES];
    const uintptr_t word = atomic_load(known);
    if (word >> 1 == page) return (int)(word & 1);
    Dl_info in;
    int yes = 0;
    if (dladdr((void *)caller, &in) == 0 || in.dli_fname == NULL) return 0;
    for (int i = 0; i < count; i++) yes |= strstr(in.dli_fname, names[i]) != NULL;
    atomic_store(known, page << 1 | (uintptr_t)yes);
    return yes;
}

/* Is this request to fail? */
static int
fails(int counted)
{
    const long at = atomic_load(&fails_at);
    if (!counted || at == 0) return 0;
    const long n = atomic_fetch_add(&asked, 1) + 1;
    if (n != at && !(n > at && atomic_load(&lasting))) return 0;
    atomic_fetch_add(&failed, 1);
    errno = ENOMEM;
    return 1;
}

static size_t
place_of(const void *block)
{
    return (size_t)(((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u >> 44) % LIVE;
}

static void *
note(void *block, int counted)
{
    if (!counted || block == NULL) return block;
    for (size_t i = place_of(block), n = 0; n < LIVE; i = (i + 1) % LIVE, n++) {
        void *there = atomic_load(&live[i]);
        if (there > (void *)1 || !atomic_compare_exchange_strong(&live[i], &there, block))
            continue;
        atomic_fetch_add(&held, 1);
        return block;
    }
    abort();
}

static void
forget(void *block)
{
    if (block == NULL || atomic_load(&held) == 0) return;
    for (size_t i = place_of(block), n = 0; n < LIVE; i = (i + 1) % LIVE, n++) {
        void *there = atomic_load(&live[i]);
        if (there == NULL) return;
        if (there != block) continue;
        atomic_store(&live[i], (void *)1);
        atomic_fetch_sub(&held, 1);
        return;
    }
}

#define COUNTED is_watched((uintptr_t)__builtin_return_address(0))

void *
malloc(size_t size)
{
    const int counted = COUNTED;
    return fails(counted) ? NULL : note(__libc_malloc(size), counted);
}

void *
calloc(size_t count, size_t size)
{
    const int counted = COUNTED;
    return fails(counted) ? NULL : note(__libc_calloc(count, size), counted);
}

void *
realloc(void *block, size_t size)
{
    const int counted = COUNTED;
    if (fails(counted)) return NULL;
    forget(block);
    return note(__libc_realloc(block, size), counted);
}

void *
aligned_alloc(size_t alignment, size_t size)
{
    const int counted = COUNTED;
    return fails(counted) ? NULL : note(__libc_memalign(alignment, size), counted);
}

int
posix_memalign(void **block, size_t alignment, size_t size)
{
    const int counted = COUNTED;
    if (fails(counted)) return ENOMEM;
    *block = note(__libc_memalign(alignment, size), counted);
    return *block ? 0 : ENOMEM;
}

void
free(void *block)
{
    forget(block);
    __libc_free(block);
}

void *
mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    static void *(*next)(void *, size_t, int, int, int, off_t);
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "mmap");
    return fails(COUNTED) ? MAP_FAILED : next(at, size, protection, flags, file, offset);
}

int
mprotect(void *at, size_t size, int protection)
{
    static int (*next)(void *, size_t, int);
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "mprotect");
    return fails(COUNTED) ? -1 : next(at, size, protection);
}

int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
               void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return fails(COUNTED) ? EAGAIN : next(thread, attributes, start, argument);
}
