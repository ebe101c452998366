/* cpu/backend.c -- host memory is already in place, so every slot is nearly free. */
#define _GNU_SOURCE
#include "context.h"
#include "cpu/gather.h"
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

WK_LAUNCHER(transpose, cpu, blocked);

static int
cpu_count(wk_error *error)
{
    (void)error;
    return 1;
}

static void
cpu_name(char *name, size_t size)
{
    char line[256];
    snprintf(name, size, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL) return;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "model name", 10) != 0) continue;
        const char *text = strchr(line, ':');
        if (text) snprintf(name, size, "%.*s", (int)strcspn(text + 2, "\n"), text + 2);
        break;
    }
    fclose(file);
}

static wk_status
cpu_info(int ordinal, wk_device_info *info, wk_error *error)
{
    (void)ordinal, (void)error;
    const int64_t page = sysconf(_SC_PAGESIZE);
    memset(info, 0, sizeof *info);
    cpu_name(info->name, sizeof info->name);
    info->memory_total = page * sysconf(_SC_PHYS_PAGES);
    info->memory_free = page * sysconf(_SC_AVPHYS_PAGES);
    return WK_OK;
}

static wk_status
cpu_trim(int ordinal, wk_error *error)
{
    (void)ordinal, (void)error;
    return WK_OK;
}

/* Does the kernel read the elements where they lie? */
static int
takes(const wk_call *call, const wk_array *a)
{
    return call->op == WK_HISTOGRAM   ? wk_dense(a) /* in any order */
           : call->op == WK_STENCIL1D ? wk_are_lines(a, &call->args.stencil)
                                      : 1;
}

wk_status
wk_copy_packed(wk_call *call, const wk_array *from, void *to)
{
    wk_call copy = {.op = WK_TRANSPOSE, .context = call->context, .in = *from, .outs = 1};
    wk_plan_transpose(&copy.in, NULL);
    copy.in.data = copy.in.host;
    copy.out[0] = copy.in;
    wk_set_contiguous(&copy.out[0]);
    copy.out[0].host = copy.out[0].data = to;
    copy.out[0].first = 0;
    copy.out[0].bytes = wk_size(from) * wk_itemsize[from->dtype];
    const wk_status status = wk_transpose_cpu_blocked(&copy);
    return status ? wk_fail_as(&call->error, &copy.error) : WK_OK;
}

/* Else gathers the elements into a new C-contiguous block, which the caller frees. */
static wk_status
pack(wk_call *call, wk_array *a, void **packed)
{
    if (takes(call, a)) return WK_OK;
    const int64_t bytes = wk_size(a) * wk_itemsize[a->dtype];
    *packed = malloc((size_t)bytes);
    if (*packed == NULL)
        return WK_FAIL(&call->error, WK_EMEMORY,
                       "cannot allocate %lld bytes to gather a strided array",
                       (long long)bytes);
    if (wk_copy_packed(call, a, *packed)) return call->error.status;
    wk_set_contiguous(a);
    if (call->op == WK_STENCIL1D) wk_set_lines(a, &call->args.stencil);
    a->host = *packed;
    a->first = 0;
    a->bytes = bytes;
    return WK_OK;
}

static wk_status
cpu_run(wk_call *call, wk_launch *launch, int takes_parts)
{
    void *packed = NULL;
    (void)takes_parts;
    wk_status status = pack(call, &call->in, &packed);
    call->in.data = call->in.host;
    call->aux.data = call->aux.host;
    for (int i = 0; i < call->outs; i++) call->out[i].data = call->out[i].host;
    if (status == WK_OK) status = launch(call);
    free(packed);
    if (call->progress) call->progress[0] = call->progress[1];
    return status;
}

const wk_backend wk_cpu_backend = {
    .kind = WK_CPU,
    .count = cpu_count,
    .info = cpu_info,
    .trim = cpu_trim,
    .run = cpu_run,
};
