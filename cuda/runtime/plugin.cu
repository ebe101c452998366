// plugin.cu -- the one function that a plug-in exports: its backend, and a launcher for every
// CUDA row of the table.
#include "runtime/device.cuh"
#include "runtime/driver.cuh"

#include "settings.h"

#define ROW(op, backend, variant, dtypes, production, teaches) ROW_##backend(op, variant)
#define ROW_cpu(op, variant)
#define ROW_cuda(op, variant) WK_LAUNCHER(op, cuda, variant);
#include "kernels.def"
#undef ROW_cuda

#define ROW_cuda(op, variant) wk_##op##_cuda_##variant,
static wk_launch *launches[] = {
#include "kernels.def"
};

// Of the emulated device: python/warpkit/lab puts a traced one in a row's place for a while.
extern "C" __attribute__((visibility("default"))) wk_launch *
wk_plugin_replace(int row, wk_launch *by)
{
    wk_launch *const before = launches[row];
    launches[row] = by;
    return before;
}

extern "C" __attribute__((visibility("default"))) const wk_plugin *
wk_plugin_open(const wk_host *host)
{
    wk::host = host;
    wk_settings_use(host->settings);
    static const wk_plugin plugin = {WK_CONTRACT, &wk::backend, launches,
                                     sizeof launches / sizeof launches[0], wk::driver_build()};
    return &plugin;
}
