/* cpu/backend.c -- host memory is already in place, so every slot is nearly free. */
#define _GNU_SOURCE
#include "context.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static wk_status
cpu_nothing(wk_call *call)
{
    (void)call;
    return WK_OK;
}

static wk_status
cpu_in_place(wk_call *call, wk_array *a)
{
    (void)call;
    a->data = a->host;
    return WK_OK;
}

const wk_backend wk_cpu_backend = {
    .kind = WK_CPU,
    .strided = 1,
    .count = cpu_count,
    .info = cpu_info,
    .trim = cpu_trim,
    .open = cpu_nothing,
    .upload = cpu_in_place,
    .reserve = cpu_in_place,
    .download = cpu_in_place,
    .close = cpu_nothing,
};
