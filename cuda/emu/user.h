// user.h -- what users' own CUDA sources see of the emulated devices: launches in CUDA's syntax as
// python/warpkit/_syntax.py rewrites them, and the names of CUDA that this project's kernels do without.
#pragma once
#include "emu/api.h"
#include "emu/atomics.h"
#include "emu/half.h"
#include "emu/later.h"
#include "emu/math.h"
#include "emu/user_abi.h"
#include "emu/user_half.h"
#include "emu/user_math.h"
#include "emu/warp.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <utility>

// By these the headers of CUDA's samples know what they were included after.
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__
#define __VECTOR_TYPES_H__
#define __CUDACC__
#define __NVCC__
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)
#define __CUDA_ARCH__ 800 // functions are for both sides here: what a GPU would run

#define __managed__
#define cudaStreamDefault 0 // a launch's stream too
#undef __grid_constant__    // in any order with const: a copy for each thread
#define __grid_constant__

enum cudaGraphNodeType {
    cudaGraphNodeTypeKernel = 0,
    cudaGraphNodeTypeMemcpy = 1,
    cudaGraphNodeTypeMemset = 2,
    cudaGraphNodeTypeHost = 3,
    cudaGraphNodeTypeGraph = 4,
    cudaGraphNodeTypeEmpty = 5,
    cudaGraphNodeTypeMemAlloc = 10,
    cudaGraphNodeTypeMemFree = 11,
    cudaGraphNodeTypeConditional = 13
};

namespace emu
{

// ---- launches ---------------------------------------------------------------------------------

#ifdef EMU_GRAPHS // user_graph.h: done, or captured
template <typename F>
cudaError_t in_stream(cudaStream_t stream, cudaGraphNodeType type, F run);
#else
template <typename F>
cudaError_t
in_stream(cudaStream_t stream, cudaGraphNodeType, F run)
{
    return run(stream);
}
#endif

// A launch, by the host or in a kernel.
template <typename F>
void
start_in_stream(cudaStream_t stream, F run)
{
    if (!in_kernel()) return launched(in_stream(stream, cudaGraphNodeTypeKernel, run));
    later(
        [](void *what, bool wanted, cudaStream_t s) {
            F *f = static_cast<F *>(what);
            const cudaError_t e = wanted ? (*f)(s) : cudaSuccess;
            delete f;
            return e;
        },
        new F(run));
}

template <typename... P>
struct launcher {
    void (*kernel)(P...);
    const char *name;
    cudaLaunchConfig_t config;
    void operator()(P... arguments) const // what does not match is converted here, as in a call
    {
        start_in_stream(config.stream, [k = kernel, c = config, arguments...](cudaStream_t s) {
            cudaLaunchConfig_t there = c;
            there.stream = s;
            return cudaLaunchKernelEx(&there, k, arguments...);
        });
    }
};

template <typename F>
struct deduced_launcher { // of a template whose arguments are deduced: it has no address
    F kernel;
    const char *name;
    cudaLaunchConfig_t config;
    template <typename... A>
    void operator()(A... arguments) const
    {
        start_in_stream(config.stream,
                        [k = kernel, n = name, c = config, arguments...](cudaStream_t s) {
                            const auto thread = [&] { k(arguments...); };
                            using thread_type = decltype(thread);
                            const void *pointers[sizeof...(A) + 1];
                            int count = 0;
                            (note_pointer<A>(pointers, &count, arguments), ...);
                            void (*const call)(const void *) = [](const void *t) {
                                (*static_cast<thread_type *>(t))();
                            };
                            cudaLaunchConfig_t there = c;
                            there.stream = s;
                            return launch(there, {reinterpret_cast<const void *>(call), call,
                                                  &thread, pointers, count, n});
                        });
    }
};

template <typename... P>
launcher<P...>
start(void (*kernel)(P...), const char *name, dim3 grid, dim3 block, size_t shared = 0,
      cudaStream_t stream = nullptr)
{
    return {kernel, name, {grid, block, shared, stream, nullptr, 0}};
}

template <typename F>
deduced_launcher<F>
start(F kernel, const char *name, dim3 grid, dim3 block, size_t shared = 0,
      cudaStream_t stream = nullptr)
{
    return {kernel, name, {grid, block, shared, stream, nullptr, 0}};
}

// extern __shared__ T name[]; T may itself be an array.
template <typename T>
std::add_pointer_t<T>
dynamic()
{
    return static_cast<std::add_pointer_t<T>>(dynamic_shared());
}

template <typename T> // the same outside of functions
struct dynamic_array {
    operator T *() const
    {
        return static_cast<T *>(dynamic_shared());
    }
};

// ---- what a file has, for those who call it from Python -----------------------------------------

// Of this file: each has its own. The last one comes first.
inline const kernel_entry *kernels = nullptr;
inline const variable_entry *variables = nullptr;

template <typename... P, size_t... I>
void
call_kernel(void (*kernel)(P...), const void *const *arguments, std::index_sequence<I...>)
{
    kernel(*static_cast<const std::remove_reference_t<P> *>(arguments[I])...);
}

// cudaLaunchKernel's way: the kernel by its address, its arguments by theirs.
template <typename... P>
struct listed {
    void (*kernel)(P...);
    const void *const *arguments;
};

template <typename... P>
cudaError_t
launch_listed(void (*kernel)(P...), cudaLaunchConfig_t config, void **arguments)
{
    listed<P...> all = {kernel, arguments};
    void (*const call)(const void *) = [](const void *a) {
        const auto *l = static_cast<const listed<P...> *>(a);
        call_kernel(l->kernel, l->arguments, std::index_sequence_for<P...>());
    };
    return launch(config,
                  {reinterpret_cast<const void *>(kernel), call, &all, nullptr, 0, nullptr});
}

inline cudaError_t
launch_listed(const void *kernel, cudaLaunchConfig_t config, void **arguments)
{
    for (const kernel_entry *e = kernels; e; e = e->next)
        if (e->kernel == kernel)
            return launch(config, {kernel, e->call, arguments, nullptr, 0, nullptr});
    return cudaErrorInvalidDeviceFunction; // an instance of a template, or another file's
}

template <typename K>
cudaError_t
launch_kernel(K kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
              cudaStream_t stream, bool together)
{
    cudaLaunchAttribute cooperative = {cudaLaunchAttributeCooperative, {}};
    cooperative.val.cooperative = together;
    const cudaError_t e =
        launch_listed(kernel, {grid, block, shared, stream, &cooperative, 1}, arguments);
    launched(e);
    return e;
}

template <auto kernel>
struct add_kernel;
template <typename... P, void (*kernel)(P...)>
struct add_kernel<kernel> {
    template <typename... D> // the places of the default arguments
    add_kernel(const char *name, const char *parameters, D... defaults)
    {
        static constexpr type_facts types[sizeof...(P) + 1] = {
            facts_of<std::decay_t<P>>::value...};
        static const void *const all[sizeof...(D) + 1] = {defaults...};
        static kernel_entry entry;
        entry = {kernels,
                 name,
                 parameters,
                 reinterpret_cast<const void *>(kernel),
                 [](const void *arguments) {
                     call_kernel(kernel, static_cast<const void *const *>(arguments),
                                 std::index_sequence_for<P...>());
                 },
                 types,
                 all,
                 sizeof...(P),
                 sizeof...(D)};
        kernels = &entry;
    }
};

template <typename T, size_t... I>
void
set_shape(variable_entry *entry, std::index_sequence<I...>)
{
    ((entry->shape[I] = (int64_t)std::extent<T, I>::value), ...);
}

template <typename T>
struct add_variable {
    variable_entry entry;
    add_variable(const char *name, T &variable)
    {
        using element = std::remove_all_extents_t<T>;
        static_assert(std::rank<T>::value <= 8, "a variable has up to eight dimensions");
        entry = {variables,           name, (void *)&variable, facts_of<element>::value,
                 std::rank<T>::value, {}};
        set_shape<T>(&entry, std::make_index_sequence<std::rank<T>::value>());
        variables = &entry;
    }
    add_variable(const add_variable &) = delete;
};

#ifdef EMU_RACES // 1: of a library; 2: of a whole program
inline const bool is_watched =
    (watch(reinterpret_cast<const void *>(+[] {}), &kernels, &variables, EMU_RACES == 2), true);
#endif

#ifdef EMU_TRACE // likewise
inline const bool is_traced =
    (trace(reinterpret_cast<const void *>(+[] {}), &kernels, EMU_TRACE == 2), true);
#endif

} // namespace emu

extern "C" __attribute__((visibility("default"), used)) inline emu::file_entry
warpkit_file()
{
    return {emu::kernels, emu::variables};
}

#include "emu/user_api.h"
