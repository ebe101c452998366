/* context.h -- what lives as long as the module: plug-ins and threads. The core's own. */
#ifndef WARPKIT_CONTEXT_H
#define WARPKIT_CONTEXT_H

#include "warpkit.h"

#include <stdatomic.h>

typedef struct wk_slot { /* one kind of device */
    atomic_int tried;    /* set last: what is below is constant from then on */
    atomic_int loader;   /* the process that loads it, or has; 0: none yet   */
    int count;
    const wk_backend *backend;
    const wk_plugin *plugin; /* NULL for the CPU                                          */
    wk_error why;            /* why there is none                                         */
} wk_slot;

typedef struct wk_context {
    char folder[4096]; /* where the plug-ins lie                                           */
    wk_slot slots[WK_KINDS];
    _Atomic(struct wk_threads *) threads; /* see cpu/threads.c                             */
} wk_context;

wk_context *wk_context_new(const char *folder);
void wk_context_free(wk_context *context);

/* The kind's slot, its plug-in loaded on first use; slot->count is 0 where there is none. */
const wk_slot *wk_slot_of(wk_context *context, wk_kind kind);

/* The slot of a device that is there, or NULL with the reason in error. */
const wk_slot *wk_find_device(wk_context *context, wk_kind kind, int ordinal, wk_error *error);

/* One way through: find the row, check its dtypes, open, upload, launch, download, close. */
wk_status wk_run(wk_call *call, wk_kind kind, const char *variant);

/* The backend's copy, likewise. */
wk_status wk_run_copy(wk_call *call, const wk_backend *backend);

extern const wk_backend wk_cpu_backend;

#endif
