// user_barrier.h -- <cuda/barrier> and <cuda/pipeline>. What is copied asynchronously is there at once;
// whoever does not wait for it is found by a look for races, not by a wrong result.
#pragma once
#include "emu/user_atomic.h"

namespace cuda
{

template <size_t alignment>
struct aligned_size_t {
    static constexpr size_t align = alignment;
    size_t value;
    explicit constexpr aligned_size_t(size_t n) : value(n) {}
    constexpr operator size_t() const
    {
        return value;
    }
};

struct no_completion {
    void operator()() const {}
};

// Like std::barrier. It may lie in shared memory, where init makes it.
template <thread_scope scope, typename Completion = no_completion>
class barrier
{
  public:
    using arrival_token = unsigned;
    barrier() = default;
    barrier(ptrdiff_t count, Completion f = Completion())
    {
        init(this, count, f);
    }
    friend void init(barrier *b, ptrdiff_t count, Completion f = Completion())
    {
        b->expected = (unsigned)count;
        b->completion = f;
        atomicExch(&b->missing, (unsigned)count);
        atomicExch(&b->phase, 0u);
    }
    arrival_token arrive(ptrdiff_t count = 1)
    {
        __threadfence_block();
        const unsigned now = atomicAdd(&phase, 0u);
        if (atomicSub(&missing, (unsigned)count) == (unsigned)count) {
            completion();
            atomicExch(&missing, expected);
            __threadfence_block();
            atomicAdd(&phase, 1u);
        }
        return now;
    }
    void wait(arrival_token token) const
    {
        while (atomicAdd(const_cast<unsigned *>(&phase), 0u) == token) emu::yield();
        __threadfence_block();
    }
    void wait_parity(bool parity) const
    {
        while ((atomicAdd(const_cast<unsigned *>(&phase), 0u) & 1) == (unsigned)parity)
            emu::yield();
        __threadfence_block();
    }
    void arrive_and_wait()
    {
        wait(arrive());
    }
    void arrive_and_drop()
    {
        atomicSub(&expected, 1u);
        arrive();
    }

  private:
    unsigned expected, missing, phase;
    Completion completion;
};

enum class pipeline_role { producer, consumer };

// For each stage: how often all producers have filled it, and all consumers have left it.
template <thread_scope scope, uint8_t stages>
struct pipeline_shared_state {
    barrier<scope> filled[stages], emptied[stages];
};

template <thread_scope scope>
class pipeline // of a thread alone
{
  public:
    void producer_acquire() {}
    void producer_commit() {}
    void consumer_wait() {}
    void consumer_release() {}
    bool quit()
    {
        return true;
    }
};

template <>
class pipeline<thread_scope_block>
{
  public:
    template <uint8_t stages>
    pipeline(pipeline_shared_state<thread_scope_block, stages> *state)
        : filled(state->filled), emptied(state->emptied), count(stages)
    {
    }
    void producer_acquire()
    {
        const unsigned round = head / count;
        if (round > 0) wait_for(emptied[head % count], round);
    }
    void producer_commit()
    {
        filled[head++ % count].arrive();
    }
    void consumer_wait()
    {
        wait_for(filled[tail % count], tail / count + 1);
    }
    void consumer_release()
    {
        emptied[tail++ % count].arrive();
    }
    bool quit()
    {
        return true;
    }

  private:
    static void wait_for(const barrier<thread_scope_block> &b, unsigned times)
    {
        b.wait(times - 1); // nobody is a round ahead
    }
    barrier<thread_scope_block> *filled, *emptied;
    unsigned count, head = 0, tail = 0;
};

inline pipeline<thread_scope_thread>
make_pipeline()
{
    return {};
}

// All threads of the group call it.
template <typename Group, uint8_t stages>
pipeline<thread_scope_block>
make_pipeline(const Group &group, pipeline_shared_state<thread_scope_block, stages> *state,
              pipeline_role role)
{
    const int producers = __syncthreads_count(role == pipeline_role::producer);
    if (group.thread_rank() == 0)
        for (int i = 0; i < stages; i++) {
            init(&state->filled[i], producers);
            init(&state->emptied[i], (ptrdiff_t)group.size() - producers);
        }
    group.sync();
    return {state};
}

template <typename Group, uint8_t stages> // each is both
pipeline<thread_scope_block>
make_pipeline(const Group &group, pipeline_shared_state<thread_scope_block, stages> *state)
{
    if (group.thread_rank() == 0)
        for (int i = 0; i < stages; i++) {
            init(&state->filled[i], (ptrdiff_t)group.size());
            init(&state->emptied[i], (ptrdiff_t)group.size());
        }
    group.sync();
    return {state};
}

template <uint8_t prior>
void
pipeline_consumer_wait_prior(pipeline<thread_scope_thread> &)
{
}

// By this thread; or by a group, of which the first does it.
template <typename Sync>
void
memcpy_async(void *to, const void *from, size_t size, Sync &)
{
    memcpy(to, from, size);
}

template <typename T, typename Sync>
void
memcpy_async(T *to, const T *from, size_t size, Sync &)
{
    memcpy((void *)to, (const void *)from, size);
}

template <typename Group, typename T, typename Sync,
          typename = decltype(::std::declval<const Group &>().thread_rank())>
void
memcpy_async(const Group &group, T *to, const T *from, size_t size, Sync &)
{
    if (group.thread_rank() == 0) memcpy((void *)to, (const void *)from, size);
}

} // namespace cuda
