// user.cc -- what users' own CUDA objects call of the emulator: the last error, printf and assert in
// kernels, and a kernel's launch from Python.
#include "emu/later.h"
#include "emu/races.h"
#include "emu/turns.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <utility>

namespace emu
{

namespace
{

thread_local cudaError_t last = cudaSuccess;
std::atomic<cudaError_t> kernel_failure{cudaSuccess};

} // namespace

bool
in_kernel()
{
    return running && running->now;
}

namespace
{

// A program in which a race was found does not end as if nothing were.
void
fail_at_exit()
{
    static const int once = on_exit(
        [](int status, void *) {
            fflush(nullptr);
            if (status == 0) _exit(1);
        },
        nullptr);
    (void)once;
}

} // namespace

cudaError_t
note(cudaError_t code)
{
    if (const cudaError_t earlier = kernel_failure) code = earlier;
    if (code != cudaSuccess && code != cudaErrorNotReady) last = code;
    return code;
}

namespace
{

// "; it stands at x.cu:12", of a whole program, if addr2line knows; of modules Python asks it.
phrase
line_of(uintptr_t place)
{
    phrase told;
    char text[200];
    if (place == 0) return told;
    snprintf(text, sizeof text, "addr2line -i -e /proc/%d/exe %#zx 2>/dev/null", (int)getpid(),
             (size_t)place);
    FILE *from = popen(text, "r");
    if (from == nullptr) return told;
    std::vector<std::string> frames;
    while (fgets(text, sizeof text, from)) {
        text[strcspn(text, "\n")] = 0;
        frames.push_back(text);
    }
    pclose(from);
    const std::string line = own_line(frames);
    if (!line.empty()) told.add("; it stands at %s", line.c_str());
    return told;
}

} // namespace

void
launched(cudaError_t code)
{
    if (code == cudaErrorLaunchFailure || code == cudaErrorAssert) kernel_failure = code;
    if (code == cudaErrorLaunchFailure && races_watched) fail_at_exit();
    if (code != cudaSuccess) {
        fflush(stdout);
        const bool in_kernel = code == cudaErrorLaunchFailure || code == cudaErrorAssert;
        fprintf(stderr, "warpkit: %s%s\n", cudaGetErrorString(code),
                line_of(in_kernel ? launch_place() : 0).text);
    }
    note(code);
}

void
forget_failure()
{
    kernel_failure = last = cudaSuccess;
}

unsigned long long
nanoseconds()
{
    return (unsigned long long)std::chrono::steady_clock::now().time_since_epoch().count();
}

// ---- printf -------------------------------------------------------------------------------------

namespace
{

constexpr size_t kMostPrinted = 1 << 20; // bytes a launch, as a GPU keeps by default

std::mutex print_lock; // of what follows
lasting<std::string> all_printed;
auto &printed = all_printed.value;
bool cut = false;
thread_local std::string *collector = nullptr; // null: the process's stdout

} // namespace

void
print(const char *format, va_list arguments)
{
    char text[1024];
    const int n = vsnprintf(text, sizeof text, format, arguments);
    try {
        const kernel_lock hold(print_lock);
        if (printed.size() > kMostPrinted)
            cut = true;
        else if (n > 0)
            printed.append(text, std::min((size_t)n, sizeof text - 1));
    } catch (const std::bad_alloc &) {
        cut = true;
    }
    yield(); // a step: a loop that prints for ever is found
}

void
deliver_printed()
{
    std::lock_guard hold(print_lock);
    if (cut) printed += "\n[the kernel printed more than 1 MiB]\n";
    if (collector)
        *collector += printed;
    else
        fwrite(printed.data(), 1, printed.size(), stdout);
    printed.clear();
    cut = false;
}

// ---- launches in kernels ------------------------------------------------------------------------

namespace
{

std::mutex waiting_lock; // of what follows
lasting<std::vector<waiting>> all_waiting;

} // namespace

void
later(cudaError_t (*work)(void *what, bool wanted, cudaStream_t stream), void *what)
{
    try {
        const kernel_lock hold(waiting_lock);
        all_waiting.value.push_back({work, what});
        return;
    } catch (const std::bad_alloc &) {
    }
    fail(running, "no memory for a launch in it");
}

cudaError_t
static_shared(const void *kernel, size_t *bytes)
{
    std::lock_guard hold(device_in_use());
    try {
        kernel_facts facts;
        describe_kernel(kernel, nullptr, &facts);
        *bytes = facts.fixed;
        return cudaSuccess;
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
}

std::vector<waiting>
take_waiting()
{
    std::lock_guard hold(waiting_lock);
    return std::exchange(all_waiting.value, {});
}

// ---- a launch from Python -----------------------------------------------------------------------

namespace
{

cudaError_t
put(const user_argument &a, void **there)
{
    const cudaError_t e = cudaMalloc(there, (size_t)a.bytes);
    return e ? e : cudaMemcpyAsync(*there, a.data, (size_t)a.bytes, cudaMemcpyHostToDevice);
}

cudaError_t
run(const user_call &c, void **copies)
{
    std::vector<const void *> values, pointers;
    for (int i = 0; i < c.count; i++) {
        const user_argument &a = c.arguments[i];
        const bool copied =
            a.kind == user_argument::copy_in || a.kind == user_argument::copy_both;
        if (copied)
            if (const cudaError_t e = put(a, &copies[i])) return e;
        if (a.kind == user_argument::same) copies[i] = copies[a.bytes];
        values.push_back(copies[i] ? &copies[i] : a.data);
        if (c.kernel->types[i].pointer)
            pointers.push_back(*static_cast<void *const *>(values.back()));
    }
    cudaLaunchAttribute cooperative = {cudaLaunchAttributeCooperative, {}};
    cooperative.val.cooperative = c.cooperative;
    const cudaLaunchConfig_t config = {dim3(c.grid[0], c.grid[1], c.grid[2]),
                                       dim3(c.block[0], c.block[1], c.block[2]),
                                       (size_t)c.shared,
                                       reinterpret_cast<cudaStream_t>(c.stream),
                                       &cooperative,
                                       1};
    kernel_facts facts;
    {
        std::lock_guard hold(device_in_use());
        describe_kernel(c.kernel->kernel, nullptr, &facts);
    }
    if (facts.fixed + config.dynamicSmemBytes > kMostShared) // Python has no other way to ask
        if (const cudaError_t e =
                set_attribute(c.kernel->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              (int)std::min(config.dynamicSmemBytes, kMostSharedOptin)))
            return e;
    if (const cudaError_t e = launch(config, {c.kernel->kernel, c.kernel->call, values.data(),
                                              pointers.data(), (int)pointers.size(), nullptr}))
        return e;
    for (int i = 0; i < c.count; i++)
        if (c.arguments[i].kind == user_argument::copy_both)
            if (const cudaError_t e =
                    cudaMemcpyAsync(c.arguments[i].data, copies[i],
                                    (size_t)c.arguments[i].bytes, cudaMemcpyDeviceToHost))
                return e;
    return cudaSuccess;
}

} // namespace

} // namespace emu

// Gives the code of the error, and what is to be said of it.
extern "C" EMU_EXPORTED int
warpkit_call(emu::user_call *c)
{
    static thread_local std::string text; // until this thread's next call
    text.clear();
    int before = 0;
    cudaError_t code = cudaErrorMemoryAllocation;
    void *copies[256] = {};
    emu::collector = &text;
    try {
        cudaGetDevice(&before);
        code = cudaSetDevice(c->device);
        if (code == cudaSuccess) code = emu::run(*c, copies);
    } catch (const std::bad_alloc &) {
    }
    emu::collector = nullptr;
    for (int i = 0; i < c->count; i++)
        if (c->arguments[i].kind != emu::user_argument::same) cudaFree(copies[i]);
    cudaSetDevice(before);
    c->printed = text.data();
    c->printed_size = (int64_t)text.size();
    c->error = cudaGetErrorString(code);
    c->place = code == cudaErrorLaunchFailure ? emu::launch_place() : 0;
    c->raced = code == cudaErrorLaunchFailure && emu::launch_raced();
    return code;
}

cudaError_t
cudaPeekAtLastError()
{
    return emu::last;
}

cudaError_t
cudaGetLastError()
{
    return std::exchange(emu::last, cudaSuccess);
}
