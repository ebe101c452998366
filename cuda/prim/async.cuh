// async.cuh -- copies between global and shared memory that go past the registers, each with its
// plain form: cp.async (compute capability 8.0) and the bulk copy engine (9.0).
#pragma once
#include "runtime/cuda.cuh"

#include <cstring>

// A shared address as instructions take it: 32 bits.
#define WK_SHARED(p) static_cast<uint32_t>(__cvta_generic_to_shared(p))

namespace wk
{

// 4, 8 or 16 bytes, both sides aligned to as many. Another thread may read them after await_copies()
// and a barrier. Through the L1 cache: H100, rows that start at any multiple of 32 bytes of a line
// of 128, 99 % of a copy's rate, and 90 % past it (.cg).
template <int kBytes>
__device__ __forceinline__ void
copy_async(void *to, const void *from)
{
    WK_PTX(memcpy(to, from, kBytes),
           "cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(WK_SHARED(to)), "l"(from),
           "n"(kBytes)
           : "memory");
}

// 16 bytes past the L1 cache: for whole lines, which nobody else on the multiprocessor reads soon.
__device__ __forceinline__ void
copy_async_line(void *to, const void *from)
{
    WK_PTX(memcpy(to, from, 16),
           "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(WK_SHARED(to)), "l"(from)
           : "memory");
}

// What this thread has asked for since it said so last is one group.
__device__ __forceinline__ void
commit_copies()
{
    WK_PTX((void)0, "cp.async.commit_group;" ::: "memory");
}

// Waits for all of this thread's groups but the latest ones.
template <int kLatest>
__device__ __forceinline__ void
await_groups_but()
{
    WK_PTX((void)0, "cp.async.wait_group %0;" ::"n"(kLatest) : "memory");
}

// Waits for all of this thread's copies.
__device__ __forceinline__ void
await_copies()
{
    WK_PTX((void)0, "cp.async.wait_all;" ::: "memory");
}

// ---- bulk copies: one thread asks for a range, a barrier in shared memory counts its bytes -----
// Addresses and sizes are multiples of 16. Launchers ask for
// them where bulk_copies() says so.

// By one thread, before a __syncthreads() that comes before any bulk_load.
__device__ __forceinline__ void
bulk_start(uint64_t *arrived)
{
    WK_PTX_90((void)(*arrived = 0),
              "mbarrier.init.shared::cta.b64 [%0], 1;\n"
              "fence.mbarrier_init.release.cluster;" ::"r"(WK_SHARED(arrived))
              : "memory");
}

// By one thread: how many bytes will come, in all.
__device__ __forceinline__ void
bulk_expect(uint64_t *arrived, uint32_t bytes)
{
    WK_PTX_90(
        (void)0,
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(WK_SHARED(arrived)),
        "r"(bytes)
        : "memory");
}

__device__ __forceinline__ void
bulk_load(void *to, const void *from, uint32_t bytes, uint64_t *arrived)
{
    WK_PTX_90(
        memcpy(to, from, bytes),
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
        "[%3];" ::"r"(WK_SHARED(to)),
        "l"(from), "r"(bytes), "r"(WK_SHARED(arrived))
        : "memory");
}

// By every thread of the block, once: all bytes are there.
__device__ __forceinline__ void
bulk_await(uint64_t *arrived)
{
    WK_PTX_90((__syncthreads(), (void)arrived),
              "{\n.reg .pred done;\nAGAIN:\n"
              "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
              "@!done bra AGAIN;\n}" ::"r"(WK_SHARED(arrived))
              : "memory");
}

// By every thread before the barrier behind which one calls bulk_store: what they wrote to shared
// memory is there for the engine.
__device__ __forceinline__ void
bulk_publish()
{
    WK_PTX_90((void)0, "fence.proxy.async.shared::cta;" ::: "memory");
}

// Waits until shared memory was read: it goes with the block.
__device__ __forceinline__ void
bulk_store(void *to, const void *from, uint32_t bytes)
{
    WK_PTX_90(memcpy(to, from, bytes),
              "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
              "cp.async.bulk.commit_group;\n"
              "cp.async.bulk.wait_group.read 0;" ::"l"(to),
              "r"(WK_SHARED(from)), "r"(bytes)
              : "memory");
}

} // namespace wk
