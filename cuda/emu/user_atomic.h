// user_atomic.h -- <cuda/atomic>: objects that threads of all scopes change in one step. Every order is
// the strongest.
#pragma once
#include "emu/user.h"

#include <atomic>

namespace cuda
{

namespace std
{
using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;
} // namespace std
using namespace std;

enum thread_scope {
    thread_scope_system,
    thread_scope_device,
    thread_scope_block,
    thread_scope_thread
};

inline void
atomic_thread_fence(memory_order, thread_scope = thread_scope_system)
{
    if (emu::in_kernel())
        __threadfence();
    else
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

template <typename Self, typename T>
class atomic_methods
{
  public:
    using value_type = T;
    static constexpr bool is_always_lock_free = true;
    T load(memory_order = memory_order_seq_cst) const
    {
        T v;
        __atomic_load(at(), &v, __ATOMIC_SEQ_CST);
        step();
        return v;
    }
    void store(T v, memory_order = memory_order_seq_cst) const
    {
        __atomic_store(at(), &v, __ATOMIC_SEQ_CST);
        step();
    }
    T exchange(T v, memory_order = memory_order_seq_cst) const
    {
        return change([v](T) { return v; });
    }
    bool compare_exchange_strong(T &expected, T desired, memory_order = memory_order_seq_cst,
                                 memory_order = memory_order_seq_cst) const
    {
        const bool done = __atomic_compare_exchange(at(), &expected, &desired, false,
                                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        step();
        return done;
    }
    bool compare_exchange_weak(T &expected, T desired, memory_order = memory_order_seq_cst,
                               memory_order = memory_order_seq_cst) const
    {
        return compare_exchange_strong(expected, desired);
    }
    T fetch_add(T v, memory_order = memory_order_seq_cst) const
    {
        return change([v](T old) { return (T)(old + v); });
    }
    T fetch_sub(T v, memory_order = memory_order_seq_cst) const
    {
        return change([v](T old) { return (T)(old - v); });
    }
    T fetch_and(T v, memory_order = memory_order_seq_cst) const
    {
        return change([v](T old) { return (T)(old & v); });
    }
    T fetch_or(T v, memory_order = memory_order_seq_cst) const
    {
        return change([v](T old) { return (T)(old | v); });
    }
    T fetch_xor(T v, memory_order = memory_order_seq_cst) const
    {
        return change([v](T old) { return (T)(old ^ v); });
    }
    T fetch_min(T v, memory_order = memory_order_seq_cst) const
    {
        return change([v](T old) { return v < old ? v : old; });
    }
    T fetch_max(T v, memory_order = memory_order_seq_cst) const
    {
        return change([v](T old) { return old < v ? v : old; });
    }
    void wait(T old, memory_order = memory_order_seq_cst) const
    {
        while (load() == old)
            if (emu::in_kernel()) emu::yield();
    }
    void notify_one() const {}
    void notify_all() const {}
    operator T() const
    {
        return load();
    }
    T operator=(T v) const
    {
        store(v);
        return v;
    }
    T operator++() const
    {
        return fetch_add(1) + 1;
    }
    T operator++(int) const
    {
        return fetch_add(1);
    }
    T operator--() const
    {
        return fetch_sub(1) - 1;
    }
    T operator--(int) const
    {
        return fetch_sub(1);
    }
    T operator+=(T v) const
    {
        return fetch_add(v) + v;
    }
    T operator-=(T v) const
    {
        return fetch_sub(v) - v;
    }
    T operator&=(T v) const
    {
        return fetch_and(v) & v;
    }
    T operator|=(T v) const
    {
        return fetch_or(v) | v;
    }
    T operator^=(T v) const
    {
        return fetch_xor(v) ^ v;
    }

  private:
    T *at() const
    {
        return static_cast<const Self *>(this)->place();
    }
    void step() const
    {
        if (emu::in_kernel()) emu::updated(at(), sizeof(T));
    }
    template <typename F>
    T change(F f) const
    {
        T old, next;
        __atomic_load(at(), &old, __ATOMIC_RELAXED);
        do next = f(old);
        while (!__atomic_compare_exchange(at(), &old, &next, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
        step();
        return old;
    }
};

template <typename T, thread_scope scope = thread_scope_system>
class atomic_ref : public atomic_methods<atomic_ref<T, scope>, T>
{
  public:
    explicit atomic_ref(T &of) : to(&of) {}
    using atomic_methods<atomic_ref, T>::operator=;
    T *place() const
    {
        return to;
    }

  private:
    T *to;
};

template <typename T, thread_scope scope = thread_scope_system>
class atomic : public atomic_methods<atomic<T, scope>, T>
{
  public:
    atomic() = default;
    constexpr atomic(T v) : own(v) {}
    atomic(const atomic &) = delete;
    using atomic_methods<atomic, T>::operator=;
    T *place() const
    {
        return &own;
    }

  private:
    alignas(sizeof(T)) mutable T own;
};

} // namespace cuda
