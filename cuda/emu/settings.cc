// settings.cc -- what the environment says of the emulated devices.
#include "emu/schedule.h"

#include <sched.h>

namespace emu
{

namespace
{

constexpr int kMostWorkers = 16; // each maps 2048 ranges of stacks, and Linux allows 65530

int
processors_of_process()
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

} // namespace

bool
settings_are_right(std::string *why)
{
    const wk_error &error = wk_settings_now()->error;
    if (error.status != WK_OK) *why = error.text;
    return error.status == WK_OK;
}

bool
read_settings(settings *s, std::string *why)
{
    if (!settings_are_right(why)) return false;
    const wk_setting *of = wk_settings_now()->of;
    s->order = order_is_given() ? schedule::listed : (schedule)of[WK_SET_EMU_SCHEDULE].value;
    s->weak = of[WK_SET_EMU_MEMORY].value == 1;
    s->seed = (uint64_t)of[WK_SET_EMU_SEED].value;
    // A billion steps are some ten seconds of nothing but switches in one block.
    s->steps = (uint64_t)wk_setting_value(WK_SET_EMU_STEPS, 1000000000);
    s->seconds = of[WK_SET_EMU_SECONDS].given ? of[WK_SET_EMU_SECONDS].real : 30;
    const int64_t threads = wk_setting_value(WK_SET_EMU_THREADS, processors_of_process());
    s->threads = threads < kMostWorkers ? (int)threads : kMostWorkers;
#ifdef EMU_ASAN
    s->threads = 1; // shared arrays are statics there
#endif
    // One block after another.
    if (s->weak || s->order == schedule::listed || order_is_kept()) s->threads = 1;
    return true;
}

} // namespace emu
