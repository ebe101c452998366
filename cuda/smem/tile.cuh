// tile.cuh -- what the layout experiments share: a tile in shared memory, written one way and read another.
//
// In, out   [rows][cols] -> what thread after thread reads; clocks of the stores and of the loads.
// How       thread i has element i. By rows it is at i / cols, i % cols of the tile; by columns at
//           i % rows, i / rows. Accesses are repeated between barriers, many on their way at a time: so
//           the clock sees what the banks can do, and not what one warp waits for.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014), chapter 5,
//           checkSmemSquare and checkSmemRectangle.
#pragma once
#include "prim/again.cuh"
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"
#include "runtime/visit.cuh"

namespace wk::smem
{

constexpr int kStatic = WK_TILE * (1 + WK_MOST_PAD); // elements: of one column each is padded

enum class by { rows, columns };

struct layout {
    int rows, cols, pitch;
    by write, read;
};

__device__ __forceinline__ int
index_of(const layout &t, by way)
{
    const int i = threadIdx.x;
    return way == by::rows ? i / t.cols * t.pitch + i % t.cols
                           : i % t.rows * t.pitch + i / t.rows;
}

template <typename U>
__device__ __forceinline__ void
exchange(U *tile, const layout &t, const U *in, U *out, int repeats, long long *clocks)
{
    const int to = index_of(t, t.write), from = index_of(t, t.read);
    const U own = in[threadIdx.x];

    store_again(&tile[to],
                own); // once before the clock is read: elements and addresses are there
    __syncthreads();  // the tile is full before it is read
    U got = load_again(&tile[from]);
    __syncthreads(); // all have read before it is written
    const long long started = clock64();
#pragma unroll 8
    for (int k = 0; k < repeats; k++) store_again(&tile[to], own);
    __syncthreads(); // the tile is full before it is read
    const long long full = clock64();
#pragma unroll 8
    for (int k = 0; k < repeats; k++) got = load_again(&tile[from]);
    __syncthreads(); // all loads are on their way before the clock is read
    const long long ended = clock64();

    out[threadIdx.x] = got;
    if (threadIdx.x > 0) return;
    clocks[0] = full - started;
    clocks[1] = ended - full;
}

// In an array whose size the compiler knows.
template <typename U>
__global__ void
__launch_bounds__(WK_TILE)
    in_static_tile(layout t, const U *in, U *out, int repeats, long long *clocks)
{
    __shared__ U tile[kStatic];
    exchange(tile, t, in, out, repeats, clocks);
}

// In one whose size the launch says.
template <typename U>
__global__ void
__launch_bounds__(WK_TILE)
    in_dynamic_tile(layout t, const U *in, U *out, int repeats, long long *clocks)
{
    WK_DYNAMIC_SHARED(U, tile);
    exchange(tile, t, in, out, repeats, clocks);
}

template <bool kDynamic>
wk_status
launch_tile(wk_call *call, by write, by read, int pad)
{
    const wk_smem_tile_args &a = call->args.tile;
    const bool turned = write == by::columns;
    layout t = {turned ? a.cols : a.rows, turned ? a.rows : a.cols, 0, write, read};
    t.pitch = t.cols + pad;
    return visit_size(call->in.dtype, [&](auto zero) -> wk_status {
        using U = decltype(zero);
        if constexpr (sizeof(U) != 4 && sizeof(U) != 8) {
            return WK_OK; // the table takes none of these
        } else {
            void (*kernel)(layout, const U *, U *, int, long long *);
            if constexpr (kDynamic)
                kernel = in_dynamic_tile<U>;
            else
                kernel = in_static_tile<U>;
            const size_t bytes = kDynamic ? sizeof(U) * (size_t)(t.rows * t.pitch) : 0;
            return launch(call, 1, (unsigned)(a.rows * a.cols), bytes, kernel, t,
                          first_element<U>(&call->in), static_cast<U *>(call->out[0].data),
                          a.repeats, static_cast<long long *>(call->out[1].data));
        }
    });
}

} // namespace wk::smem
