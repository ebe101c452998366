// copy / send -- a little of the host's memory to the device, as the arguments of a kernel.
//
// In, out   at most kMostSent bytes of the host, of any kind -> device memory, at any address.
// How       a launch keeps its arguments, and kernels have them in constant memory: a word a thread.
// Why so    a copy of pageable memory goes by way of another engine than kernels, and each waits for
//           the other.
#include "copy/send.cuh"
#include "runtime/launch.cuh"

#include <cstring>

namespace wk
{

namespace
{

constexpr int kFew = 1008; // bytes: a launch copies all of its arguments
constexpr int kThreads = 128;

template <int kBytes>
struct words {
    uint32_t word[kBytes / 4];
};

template <int kBytes>
__global__ void
store_words(const words<kBytes> __grid_constant__ sent, unsigned char *to, int bytes)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), at = 4 * i;
    if (at >= bytes) return;
    const uint32_t w = sent.word[i];
    if (reinterpret_cast<uintptr_t>(to) % 4 == 0 && at + 4 <= bytes) {
        reinterpret_cast<uint32_t *>(to)[i] = w;
        return;
    }
    for (int k = 0; k < 4 && at + k < bytes; k++) to[at + k] = (unsigned char)(w >> 8 * k);
}

template <int kBytes>
wk_status
launch_words(void *to, const void *from, int bytes, cudaStream_t stream, wk_error *error)
{
    words<kBytes> sent;
    memcpy(sent.word, from, (size_t)bytes);
    return launch_on(stream, error, (unsigned)(bytes + 4 * kThreads - 1) / (4 * kThreads),
                     kThreads, 0, store_words<kBytes>, sent, static_cast<unsigned char *>(to),
                     bytes);
}

} // namespace

wk_status
send(void *to, const void *from, int64_t bytes, cudaStream_t stream, wk_error *error)
{
    return bytes <= kFew ? launch_words<kFew>(to, from, (int)bytes, stream, error)
                         : launch_words<kMostSent>(to, from, (int)bytes, stream, error);
}

} // namespace wk
