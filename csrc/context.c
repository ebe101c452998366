/* context.c -- loads the plug-ins that hold the other devices, each on its first use. */
#define _GNU_SOURCE
#include "context.h"
#include "cpu/threads.h"
#include "interrupt.h"
#include "settings.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Counted from the first context on: a handler that is registered while another thread forks does not
 * run in that child, which would take the devices of its parent for its own. */
static volatile int forks;

/* A child that is forked while another thread loads a plug-in finds the loader's and the driver's locks
 * in any state, and nobody is left to let them go: it can load none. (A fork that waits for the load
 * would wait for ever where glibc is older than 2.36: there it holds a lock that the load may ask for.) */
static atomic_int loading;
static int forked_in_load;

static void
count_fork(void)
{
    forks++;
    if (atomic_load(&loading)) forked_in_load = 1;
}

static void
watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

wk_context *
wk_context_new(const char *folder)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    wk_context *context = calloc(1, sizeof *context);
    if (context == NULL) return NULL;
    pthread_once(&once, watch_forks);
    snprintf(context->folder, sizeof context->folder, "%s", folder);
    context->slots[WK_CPU] = (wk_slot){.tried = 1, .count = 1, .backend = &wk_cpu_backend};
    return context;
}

void
wk_context_free(wk_context *context)
{
    /* Plug-ins stay loaded: other threads of the process may still be inside the driver. */
    wk_threads_free(atomic_load(&context->threads));
    free(context);
}

/* Has dlopen failed for want of memory? glibc leaves no errno where a segment finds no room, and adds
 * the reason behind a colon where it is another. */
static int
no_memory(int code, const char *text)
{
    static const char mapping[] = "failed to map segment from shared object";
    const size_t all = strlen(text), own = sizeof mapping - 1;
    return code == ENOMEM || (all >= own && strcmp(text + all - own, mapping) == 0);
}

/* The plug-in's file: beside the core, or where the distribution pywarpkit-cuda13 has it. */
static wk_status
locate(const char *folder, wk_kind kind, char *path, size_t room, wk_error *why)
{
    const char *name = wk_kind_names[kind];
    snprintf(path, room, "%s/_%s.so", folder, name);
    if (access(path, R_OK) == 0) return WK_OK;
    if (kind != WK_CUDA)
        return WK_FAIL(why, WK_EDEVICE, "this build of warpkit has no %s plug-in (no file %s)",
                       name, path);
    snprintf(path, room, "%s/../warpkit_cuda13/_cuda.so", folder);
    if (access(path, R_OK) == 0) return WK_OK;
    return WK_FAIL(why, WK_EDEVICE,
                   "this build of warpkit has no cuda plug-in; pip install pywarpkit[cuda13] "
                   "adds it (no file %s/_cuda.so)",
                   folder);
}

static void
load(wk_context *context, wk_kind kind)
{
    wk_slot *slot = &context->slots[kind];
    char path[sizeof context->folder + 32];
    slot->why.status = WK_OK;
    if (locate(context->folder, kind, path, sizeof path, &slot->why) != WK_OK) return;
    errno = 0;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const int code = errno;
        const char *text = dlerror();
        WK_FAIL(&slot->why, no_memory(code, text) ? WK_EMEMORY : WK_EDEVICE,
                "cannot load the %s plug-in: %s", wk_kind_names[kind], text);
        return;
    }
    wk_plugin_open_fn *open = (wk_plugin_open_fn *)dlsym(handle, "wk_plugin_open");
    static wk_host host = {wk_thread_count, wk_parallel, wk_interrupted, NULL, &forks};
    host.settings = wk_settings_now();
    const wk_plugin *plugin = open ? open(&host) : NULL;
    if (plugin == NULL || !wk_plugin_fits(plugin)) {
        WK_FAIL(&slot->why, WK_EDEVICE,
                "the plug-in %s is of another version of warpkit; install warpkit again", path);
        dlclose(handle);
        return;
    }
    slot->plugin = plugin;
    slot->count = plugin->backend->count(&slot->why);
    slot->backend = plugin->backend;
}

static void
give_up(wk_slot *slot, wk_kind kind)
{
    slot->count = 0;
    slot->backend = NULL;
    slot->plugin = NULL;
    slot->why.status = WK_OK;
    WK_FAIL(&slot->why, WK_EDEVICE,
            "this process was forked while another thread began to use device '%s'; start it "
            "with multiprocessing's 'spawn' method, or use the device once before",
            wk_kind_names[kind]);
}

/* No lock: a fork could leave it held. The thread that sets the loader loads, the others wait. */
const wk_slot *
wk_slot_of(wk_context *context, wk_kind kind)
{
    wk_slot *slot = &context->slots[kind];
    while (!atomic_load(&slot->tried)) {
        const int own = (int)getpid();
        int loader = atomic_load(&slot->loader);
        if (loader == own || !atomic_compare_exchange_strong(&slot->loader, &loader, own)) {
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
            continue;
        }
        if (loader == 0 && !forked_in_load) {
            atomic_fetch_add(&loading, 1);
            load(context, kind);
            atomic_fetch_sub(&loading, 1);
        } else {
            give_up(slot, kind);
        }
        if (slot->why.status == WK_EMEMORY) { /* which may be had again */
            atomic_store(&slot->loader, 0);
            return slot;
        }
        atomic_store(&slot->tried, 1);
    }
    return slot;
}

const wk_slot *
wk_find_device(wk_context *context, wk_kind kind, int ordinal, wk_error *error)
{
    const wk_slot *slot = wk_slot_of(context, kind);
    if (ordinal < slot->count) return slot;
    if (slot->why.status == WK_EMEMORY)
        wk_fail_as(error, &slot->why);
    else if (slot->count == 0)
        WK_FAIL(error, WK_EDEVICE, "no device '%s': %s", wk_kind_names[kind], slot->why.text);
    else
        WK_FAIL(error, WK_EDEVICE, "no device '%s:%d': there are %d", wk_kind_names[kind],
                ordinal, slot->count);
    return NULL;
}
