// planned.cc -- WARPKIT_EMU_FAIL="function:n" makes the n-th call of that function fail, once: for
// tests of what a program does then.
#include "emu/runtime.h"

#include <string.h>

namespace emu
{

namespace
{

std::mutex lock;   // of what follows
unsigned read = 0; // when the plan was: wk_settings::reads
int64_t left = 0;  // calls until the one that fails; 0: it has failed, or none will

} // namespace

cudaError_t
planned_failure(cudaError_t code, const char *function)
{
    const wk_settings *s = wk_settings_now();
    const wk_setting &plan = s->of[WK_SET_EMU_FAIL];
    if (!plan.given) return cudaSuccess;
    std::lock_guard<std::mutex> hold(lock);
    if (read != s->reads) left = plan.value;
    read = s->reads;
    const size_t length = strlen(function);
    const bool named = strncmp(plan.text, function, length) == 0 && plan.text[length] == ':';
    if (left == 0 || !named || --left > 0) return cudaSuccess;
    return code;
}

} // namespace emu
