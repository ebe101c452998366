// settings.cc -- what the environment says of the emulated devices.
#include "emu/runtime.h"

#include <string.h>

#include <sched.h>
#include <stdlib.h>

namespace emu
{

namespace
{

constexpr int kMostWorkers = 16; // each maps 2048 ranges of stacks, and Linux allows 65530

bool
number(const char *name, double otherwise, double least, double *value, std::string *why)
{
    *value = otherwise;
    const char *text = getenv(name);
    if (text == nullptr || *text == 0) return true;
    char *end;
    *value = strtod(text, &end);
    if (*end == 0 && *value >= least && *value < 1e9 * 1e9) return true;
    *why = std::string(name) + " is '" + text + "', and must be a number, at least " +
           std::to_string((int)least);
    return false;
}

int
processors_of_process()
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

} // namespace

bool
read_settings(settings *s, std::string *why)
{
    const char *order = getenv("WARPKIT_EMU_SCHEDULE"), *memory = getenv("WARPKIT_EMU_MEMORY");
    const std::string schedule_name = order && *order ? order : "linear";
    const std::string memory_name = memory && *memory ? memory : "strong";
    if (schedule_name == "linear")
        s->order = schedule::linear;
    else if (schedule_name == "reverse")
        s->order = schedule::reverse;
    else if (schedule_name == "random")
        s->order = schedule::random;
    else
        *why = "WARPKIT_EMU_SCHEDULE is '" + schedule_name +
               "', and must be 'linear', 'reverse' or 'random'";
    if (memory_name != "strong" && memory_name != "weak")
        *why = "WARPKIT_EMU_MEMORY is '" + memory_name + "', and must be 'strong' or 'weak'";
    if (!why->empty()) return false;
    s->weak = memory_name == "weak";

    double seed, steps, threads, late;
    // A billion steps are some ten seconds of nothing but switches in one block.
    if (!number("WARPKIT_EMU_SEED", 0, 0, &seed, why) ||
        !number("WARPKIT_EMU_STEPS", 1e9, 1, &steps, why) ||
        !number("WARPKIT_EMU_SECONDS", 30, 0, &s->seconds, why) ||
        !number("WARPKIT_EMU_THREADS", processors_of_process(), 1, &threads, why) ||
        !number("WARPKIT_EMU_LATE", 0, 0, &late, why) || !read_planned_failure(why))
        return false;
    s->seed = (uint64_t)seed;
    s->steps = (uint64_t)steps;
    s->threads = threads < kMostWorkers ? (int)threads : kMostWorkers;
#ifdef EMU_ASAN
    s->threads = 1; // shared arrays are statics there
#endif
    if (s->weak) s->threads = 1; // one block after another
    return true;
}

bool
read_device_count(int *count, std::string *why)
{
    double n;
    *count = 0;
    if (!number("WARPKIT_EMU_DEVICES", 1, 1, &n, why) || n > kMostDevices || n != (int)n) {
        *why = std::string("WARPKIT_EMU_DEVICES is '") + getenv("WARPKIT_EMU_DEVICES") +
               "', and must be a whole number from 1 to " + std::to_string(kMostDevices);
        return false;
    }
    *count = (int)n;
    return true;
}

bool
all_pinned()
{
    const char *text = getenv("WARPKIT_EMU_PINNED");
    return text && *text && strcmp(text, "0") != 0;
}

int
late_queries()
{
    double n;
    std::string why; // which the next launch tells
    return number("WARPKIT_EMU_LATE", 0, 0, &n, &why) && n < 1e9 ? (int)n : 0;
}

} // namespace emu
