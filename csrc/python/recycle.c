/* recycle.c -- the memory of large NumPy results: freed, it waits for the next result.
 *
 * The C library recycles what is smaller. Beyond, each result would be mapped, cleared page by page
 * and unmapped again, which takes as long as the work. A block is one anonymous mapping, its size in
 * front. NumPy is told by a data-memory handler (NEP 49), set for that one allocation; each array
 * holds it, so that free finds its way however late. Blocks wait in slots that are taken by atomic
 * exchange: no lock, so that neither a fork nor a thread leaves one held. */
#define _GNU_SOURCE
#include "glue.h"

#include "settings.h"

#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 8, HEAD = 64, HUGE_PAGE = 2 << 20 };

/* The C library maps every block of more than this anew, and never less than recycles it. */
static const npy_intp LEAST = 32 << 20;

typedef struct block {
    size_t
        size; /* that was asked for: realloc is not told, and free is told the array's present one */
    size_t mapped; /* of the whole mapping */
    int used;      /* it has been an array before: its pages are there */
} block;

struct wk_recycler {
    PyDataMem_Handler handler; /* its ctx is this */
    _Atomic(block *) slots[SLOTS];
    atomic_size_t waiting; /* bytes */
    atomic_uint turn;
};

static block *
block_of(void *data)
{
    return (block *)((char *)data - HEAD);
}

static int64_t
most_waiting(void)
{
    const int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    const int64_t otherwise = all / 8 < (int64_t)4 << 30 ? all / 8 : (int64_t)4 << 30;
    return wk_setting_value(WK_SET_RESULTS_KEEP, otherwise);
}

static block *
map_block(size_t bytes)
{
    if (bytes > SIZE_MAX / 2) return NULL;
    const size_t mapped = (bytes + HEAD + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    block *b = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED) return NULL;
    madvise(b, mapped, MADV_HUGEPAGE); /* may fail: then pages are small */
    *b = (block){.size = bytes, .mapped = mapped};
    return b;
}

static void
unmap(wk_recycler *r, block *b)
{
    atomic_fetch_sub(&r->waiting, b->mapped);
    munmap(b, b->mapped);
}

/* One that waits, and is at most a quarter too large. */
static block *
take(wk_recycler *r, size_t bytes)
{
    for (int i = 0; i < SLOTS; i++) {
        block *b = atomic_exchange(&r->slots[i], NULL), *none = NULL; /* ours while we look */
        if (b == NULL) continue;
        if (b->mapped - HEAD >= bytes && b->mapped - HEAD <= bytes + bytes / 4 + HUGE_PAGE) {
            atomic_fetch_sub(&r->waiting, b->mapped);
            b->size = bytes;
            b->used = 1;
            return b;
        }
        if (!atomic_compare_exchange_strong(&r->slots[i], &none, b)) unmap(r, b);
    }
    return NULL;
}

/* The oldest go until the others fit. */
static void
give(wk_recycler *r, block *b)
{
    const size_t most = (size_t)most_waiting();
    atomic_fetch_add(&r->waiting, b->mapped);
    if (b->mapped > most) {
        unmap(r, b);
        return;
    }
    /* Where memory runs short the system may take whole huge pages of it, but not the head. */
    char *const first = (char *)(((uintptr_t)b + HUGE_PAGE) / HUGE_PAGE * HUGE_PAGE);
    char *const last = (char *)(((uintptr_t)b + b->mapped) / HUGE_PAGE * HUGE_PAGE);
    if (first < last) madvise(first, (size_t)(last - first), MADV_FREE);
    const unsigned at = atomic_fetch_add(&r->turn, 1);
    for (unsigned i = 0; i <= SLOTS; i++) {
        block *old = atomic_exchange(&r->slots[(at + i) % SLOTS], i ? NULL : b);
        if (old) unmap(r, old);
        if (atomic_load(&r->waiting) <= most) break;
    }
}

void
wk_recycler_trim(wk_recycler *r)
{
    for (int i = 0; i < SLOTS; i++) {
        block *b = atomic_exchange(&r->slots[i], NULL);
        if (b) unmap(r, b);
    }
}

int64_t
wk_recycler_waiting(const wk_recycler *r, int64_t *most)
{
    *most = most_waiting();
    return (int64_t)atomic_load(&r->waiting);
}

/* ---- the handler: called with the GIL, or without it in a free-threaded Python -------------- */

static void *
new_data(void *ctx, size_t bytes)
{
    block *b = take(ctx, bytes);
    if (b == NULL) b = map_block(bytes);
    if (b == NULL) { /* what waits may be what is missing */
        wk_recycler_trim(ctx);
        b = map_block(bytes);
    }
    return b ? (char *)b + HEAD : NULL;
}

static void *
new_zeros(void *Py_UNUSED(ctx), size_t n, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes)) return NULL;
    block *b = map_block(bytes); /* new pages are zeros */
    return b ? (char *)b + HEAD : NULL;
}

static void
free_data(void *ctx, void *data, size_t Py_UNUSED(size))
{
    if (data) give(ctx, block_of(data));
}

static void *
resize_data(void *ctx, void *data, size_t bytes)
{
    void *moved = new_data(ctx, bytes);
    if (data == NULL || moved == NULL) return moved;
    const size_t had = block_of(data)->size;
    memcpy(moved, data, had < bytes ? had : bytes);
    give(ctx, block_of(data));
    return moved;
}

/* Every array of ours holds the capsule: when it goes, none is left. */
static void
drop(PyObject *capsule)
{
    PyDataMem_Handler *handler = PyCapsule_GetPointer(capsule, "mem_handler");
    wk_recycler *r = handler->allocator.ctx;
    wk_recycler_trim(r);
    PyMem_RawFree(r);
}

PyObject *
wk_recycler_new(wk_recycler **recycler)
{
    wk_recycler *r = *recycler = PyMem_RawCalloc(1, sizeof *r);
    if (r == NULL) return PyErr_NoMemory();
    r->handler =
        (PyDataMem_Handler){"warpkit", 1, {r, new_data, new_zeros, resize_data, free_data}};
    PyObject *capsule = PyCapsule_New(&r->handler, "mem_handler", drop);
    if (capsule == NULL) PyMem_RawFree(r);
    return capsule;
}

/* ---- results ------------------------------------------------------------------------------ */

/* One block of the recycler's as an array, or NULL with no exception set. */
static PyObject *
recycled_new(wk_state *state, PyArray_Descr *descr, int ndim, const npy_intp *shape)
{
    PyObject *before = PyDataMem_SetHandler(state->recycling), *ours = NULL, *array = NULL;
    if (before) {
        Py_INCREF(descr);
        array = PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, NULL, NULL, 0, NULL);
        if (array == NULL) PyErr_Clear();
        ours = PyDataMem_SetHandler(before);
    }
    if (ours == NULL) PyErr_Clear();
    Py_XDECREF(ours);
    Py_XDECREF(before);
    return array;
}

/* Has nobody set a handler of his own? */
static int
numpys_handler(void)
{
    PyObject *capsule = PyDataMem_GetHandler();
    const PyDataMem_Handler *h = capsule ? PyCapsule_GetPointer(capsule, "mem_handler") : NULL;
    const int plain = h && strcmp(h->name, "default_allocator") == 0;
    if (h == NULL) PyErr_Clear();
    Py_XDECREF(capsule);
    return plain;
}

PyObject *
wk_numpy_new(wk_state *state, wk_dtype dtype, int ndim, const npy_intp *shape, int *fresh)
{
    PyArray_Descr *descr = wk_descr_of(dtype);
    if (descr == NULL) return NULL;
    int64_t bytes = wk_itemsize[dtype];
    for (int d = 0; d < ndim; d++)
        if (__builtin_mul_overflow(bytes, shape[d], &bytes)) bytes = 0; /* NumPy says so */
    PyObject *array = NULL;
    if (bytes >= LEAST && numpys_handler()) array = recycled_new(state, descr, ndim, shape);
    *fresh = array == NULL || !block_of(PyArray_DATA((PyArrayObject *)array))->used;
    if (array) {
        Py_DECREF(descr);
        return array;
    }
    return PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, NULL, NULL, 0, NULL);
}
