// planned.cc -- WARPKIT_EMU_FAIL="function:n" makes the n-th call of that function fail, once, and
// WARPKIT_EMU_CALLS=file notes each call there: for tests of what a program does then.
#include "emu/turns.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace emu
{

namespace
{

std::mutex lock;   // of what follows
unsigned read = 0; // when the plan was: wk_settings::reads
int64_t left = 0;  // calls until the one that fails; 0: it has failed, or none will

// The function, and where in this object file it was called from: addr2line knows the source line.
void
note_call(const char *path, const char *function, const void *caller)
{
    Dl_info in;
    if (dladdr(caller, &in) == 0) return;
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return;
    const auto at = static_cast<const char *>(caller) - static_cast<char *>(in.dli_fbase);
    dprintf(file, "%s 0x%zx\n", function, (size_t)at - 1); // within the call
    close(file);
}

} // namespace

void
refuse_in_kernel(const char *what)
{
    if (running && running->now)
        fail(running, "%s within a kernel, which is not emulated; %s", what,
             last_seen(running->now).text);
}

cudaError_t
planned_failure(cudaError_t code, const char *function, const void *caller)
{
    refuse_in_kernel(function);
    const wk_settings *s = wk_settings_now();
    const wk_setting &plan = s->of[WK_SET_EMU_FAIL], &calls = s->of[WK_SET_EMU_CALLS];
    if (calls.given) note_call(calls.text, function, caller);
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
