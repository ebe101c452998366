// runtime_api -- CUDA's runtime API, call by call: what it gives, and what it refuses and how.
//
// Run as "runtime_api calls|devices|late|failures"; prints what is wrong and exits with 1. What a
// GPU leaves undefined is asked of the emulated device alone.
#include "runtime_api.cuh"
#include "runtime_api_emu.cuh"

namespace
{

void
what_a_device_says()
{
    int value = -1, count = 0;
    OK(cudaGetDeviceCount(&count));
    OK(cudaGetDevice(&value));
    HOLD(value == 0);
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(count));
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(-1));
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrUnifiedAddressing, 0));
    HOLD(value == 1);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrL2CacheSize, 0));
    HOLD(value >= 1 << 20);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlock, 0));
    HOLD(value == 48 * 1024);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    HOLD(value > 48 * 1024);
    EXPECT(cudaErrorInvalidDevice,
           cudaDeviceGetAttribute(&value, cudaDevAttrL2CacheSize, count));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&value, 0, count));
    cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 0));
    EXPECT(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, count));
    cudaGetLastError();
    const std::string name = cudaGetErrorName(cudaErrorIllegalAddress);
    HOLD(name == "cudaErrorIllegalAddress");
    for (const cudaError_t code : {kBadHandle, cudaErrorNotReady, cudaErrorUnknown})
        HOLD(strncmp(cudaGetErrorName(code), "cudaError", 9) == 0 && *cudaGetErrorString(code));
}

void
streams()
{
    const cudaStream_t a = new_stream(), b = new_stream();
    HOLD(a != b && a != nullptr);
    int *data = device_block(), host[kCount] = {};
    for (const cudaStream_t s :
         {a, b, (cudaStream_t)0, cudaStreamLegacy, cudaStreamPerThread}) {
        OK(cudaMemsetAsync(data, 0, kBytes, s));
        OK(launch_add(s, data));
        OK(cudaMemcpyAsync(host, data, kBytes, cudaMemcpyDeviceToHost, s));
        OK(cudaStreamSynchronize(s));
        OK(cudaStreamQuery(s));
        HOLD(host[0] == 1 && host[kCount - 1] == 1);
        host[0] = host[kCount - 1] = 0;
        int device = -1;
        OK(cudaStreamGetDevice(s, &device));
        HOLD(device == 0);
    }
    cudaStream_t bad;
    EXPECT(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&bad, 8));
    cudaGetLastError();
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    if (emulated) {
        const cudaStream_t later = new_stream();
        const cudaEvent_t event = new_event();
        int device = 0;
        void *p = nullptr;
        HOLD(later != a && later != b);
        EXPECT(kBadHandle, cudaStreamDestroy(a));
        EXPECT(kBadHandle, cudaStreamDestroy(nullptr));
        EXPECT(kBadHandle, cudaStreamQuery(a));
        EXPECT(kBadHandle, cudaStreamSynchronize(a));
        EXPECT(kBadHandle, cudaStreamGetDevice(a, &device));
        EXPECT(kBadHandle, cudaStreamWaitEvent(a, event, 0));
        EXPECT(kBadHandle, cudaEventRecord(event, a));
        EXPECT(kBadHandle, launch_add(a, data));
        EXPECT(kBadHandle, cudaMemsetAsync(data, 0, kBytes, a));
        EXPECT(kBadHandle, cudaMemcpyAsync(host, data, kBytes, cudaMemcpyDefault, a));
        EXPECT(kBadHandle, cudaMemcpyPeerAsync(data, 0, data, 0, 4, a));
        EXPECT(kBadHandle, cudaMemcpy2DAsync(host, 8, data, 8, 8, 1, cudaMemcpyDefault, a));
        EXPECT(kBadHandle, cudaMallocFromPoolAsync(&p, 1, nullptr, a));
        EXPECT(kBadHandle, cudaFreeAsync(data, a));
        OK(cudaStreamDestroy(later));
        OK(cudaEventDestroy(event));
    }
    OK(cudaFree(data));
}

void
events()
{
    const cudaStream_t stream = new_stream(), other = new_stream();
    const cudaEvent_t plain = new_event(), begin = new_event(cudaEventDefault),
                      end = new_event(cudaEventDefault);
    HOLD(plain != begin && begin != end);
    OK(cudaEventQuery(plain)); // never recorded
    OK(cudaStreamWaitEvent(stream, plain, 0));
    float ms = -1;
    EXPECT(kBadHandle, cudaEventElapsedTime(&ms, begin, end));
    int *data = device_block();
    OK(cudaEventRecord(begin, stream));
    OK(cudaMemsetAsync(data, 0, kBytes, stream));
    OK(launch_add(stream, data));
    OK(cudaEventRecord(end, stream));
    OK(cudaEventRecord(plain, stream));
    OK(cudaStreamWaitEvent(other, plain, 0));
    OK(cudaEventSynchronize(end));
    OK(cudaEventQuery(end));
    OK(cudaEventElapsedTime(&ms, begin, end));
    HOLD(ms >= 0 && ms < 60000);
    OK(cudaEventSynchronize(plain));
    EXPECT(kBadHandle, cudaEventElapsedTime(&ms, begin, plain));
    cudaGetLastError();
    OK(cudaDeviceSynchronize());
    for (const cudaEvent_t e : {plain, begin, end}) OK(cudaEventDestroy(e));
    if (emulated) {
        EXPECT(kBadHandle, cudaEventDestroy(plain));
        EXPECT(kBadHandle, cudaEventQuery(plain));
        EXPECT(kBadHandle, cudaEventSynchronize(plain));
        EXPECT(kBadHandle, cudaEventRecord(plain, stream));
        EXPECT(kBadHandle, cudaStreamWaitEvent(stream, plain, 0));
    }
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
    OK(cudaFree(data));
}

void
host_memory()
{
    int *pinned = pinned_block(), *data = device_block();
    attributes_are(pinned, cudaMemoryTypeHost, 0, true, true);
    attributes_are(pinned + kCount - 1, cudaMemoryTypeHost, 0, true, true);
    attributes_are(data, cudaMemoryTypeDevice, 0, true, false);
    attributes_are(data + 7, cudaMemoryTypeDevice, 0, true, false);
    if (emulated) HOLD(pinned[0] == (int)0xfff5a5c3u && pinned[kCount - 1] == pinned[0]);

    std::vector<int> plain(kCount, 5);
    cudaPointerAttributes a = {};
    OK(cudaPointerGetAttributes(&a, plain.data()));
    HOLD(a.type == cudaMemoryTypeUnregistered && a.devicePointer == nullptr);
    OK(cudaHostRegister(plain.data(), kBytes, cudaHostRegisterDefault));
    attributes_are(&plain[kCount / 2], cudaMemoryTypeHost, 0, true, true);
    EXPECT(cudaErrorHostMemoryAlreadyRegistered,
           cudaHostRegister(plain.data(), kBytes, cudaHostRegisterDefault));
    if (emulated) {
        EXPECT(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(&plain[9], 4, 0));
        EXPECT(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(pinned + 9, 4, 0));
        EXPECT(cudaErrorInvalidValue, cudaHostRegister(data, 4, 0));
        EXPECT(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(&plain[9]));
        EXPECT(cudaErrorInvalidValue, cudaFreeHost(plain.data()));
        EXPECT(cudaErrorInvalidValue, cudaFree(pinned));
        EXPECT(cudaErrorInvalidValue, cudaFreeHost(data));
    }
    void *there = nullptr;
    OK(cudaHostGetDevicePointer(&there, pinned + 3, 0));
    HOLD(there == pinned + 3);
    for (int i = 0; i < kCount; i++) pinned[i] = i;
    OK(launch_add(nullptr, pinned)); // mapped: the kernel works on the host's memory
    OK(launch_add(nullptr, plain.data()));
    OK(launch(nullptr, 1, 32, 0, add_one, pinned + kCount, 0)); // one past the end
    OK(cudaDeviceSynchronize());
    HOLD(pinned[0] == 1 && pinned[kCount - 1] == kCount && plain[kCount - 1] == 6);
    OK(cudaHostUnregister(plain.data()));
    EXPECT(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(plain.data()));
    EXPECT(cudaErrorInvalidValue, cudaHostGetDevicePointer(&there, plain.data(), 0));
    cudaGetLastError();
    if (emulated) {
        EXPECT(cudaErrorLaunchFailure, launch_add(nullptr, plain.data()));
        HOLD(says("kernel add_one: its pointer number 1 is a host address"));
        EXPECT(cudaErrorMemoryAllocation, cudaHostAlloc(&there, (size_t)1 << 60, 0));
        HOLD(there == nullptr);
    }
    OK(cudaFreeHost(pinned));
    OK(cudaFreeHost(nullptr));
    OK(cudaFree(data));
    if (emulated) attributes_are(data, cudaMemoryTypeUnregistered, -2, false, true);
}

void
copies()
{
    int *a = device_block(), *b = device_block(), *pinned = pinned_block();
    std::vector<int> in(kCount), out(kCount);
    for (int i = 0; i < kCount; i++) in[i] = i * i;
    OK(cudaMemcpyAsync(pinned, in.data(), kBytes, cudaMemcpyHostToHost, 0));
    OK(cudaMemcpyAsync(a, pinned, kBytes, cudaMemcpyDefault, 0));
    OK(cudaMemcpyAsync(b, a, kBytes, cudaMemcpyDeviceToDevice, 0));
    OK(cudaMemsetAsync(a, 0, kBytes, 0));
    OK(cudaMemcpyPeerAsync(a, 0, b, 0, kBytes, 0));
    OK(cudaMemcpyAsync(out.data(), a, kBytes, cudaMemcpyDefault, 0));
    OK(cudaStreamSynchronize(0));
    HOLD(out == in);
    OK(cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyHostToDevice, 0));

    const auto mistaken = cudaErrorInvalidValue;
    if (emulated) {
        const auto up = cudaMemcpyHostToDevice, down = cudaMemcpyDeviceToHost;
        std::vector<int> large(kCount + 1);
        EXPECT(mistaken, cudaMemcpyAsync(a, large.data(), kBytes + 1, up, 0));
        EXPECT(mistaken, cudaMemcpyAsync(a + 1, large.data(), kBytes, cudaMemcpyDefault, 0));
        EXPECT(mistaken, cudaMemcpyAsync(large.data(), b, kBytes + 1, down, 0));
        EXPECT(mistaken, cudaMemcpyAsync(pinned, large.data(), kBytes + 4, (cudaMemcpyKind)0));
        EXPECT(mistaken, cudaMemcpyAsync(pinned + 1, a, kBytes, down, 0));
        EXPECT(mistaken, cudaMemcpyAsync(a, pinned + 1, kBytes, cudaMemcpyDefault, 0));
        EXPECT(mistaken, cudaMemcpyAsync(large.data(), large.data(), 4, down, 0));
        EXPECT(mistaken, cudaMemcpyAsync(b, a, 4, up, 0));
        EXPECT(mistaken, cudaMemcpyAsync(a, nullptr, 4, up, 0));
        EXPECT(mistaken, cudaMemcpyPeerAsync(a, 0, large.data(), 0, 4, 0));
        EXPECT(mistaken, cudaMemsetAsync(large.data(), 0, 4, 0));
        EXPECT(mistaken, cudaMemsetAsync(a, 0, kBytes + 1, 0));
        OK(cudaMemsetAsync(pinned, 0, kBytes, 0));
    }
    EXPECT(cudaErrorInvalidMemcpyDirection,
           cudaMemcpyAsync(a, b, 4, static_cast<cudaMemcpyKind>(7), 0));
    cudaGetLastError();
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaFreeHost(pinned));
}

void
copies_of_rows()
{
    constexpr size_t width = 24, pitch = 40, rows = 25; // 25 rows of 40 are kBytes / 4
    char *data = device_block<char>(pitch * (rows - 1) + width);
    std::vector<char> in(width * rows), out(width * rows + 1, 'x');
    for (size_t i = 0; i < in.size(); i++) in[i] = (char)(i % 91);
    const auto up = cudaMemcpyHostToDevice, down = cudaMemcpyDeviceToHost;
    OK(cudaMemsetAsync(data, 'z', pitch * (rows - 1) + width, 0));
    OK(cudaMemcpy2DAsync(data, pitch, in.data(), width, width, rows, up, 0));
    OK(cudaMemcpy2DAsync(out.data(), width, data, pitch, width, rows, down, 0));
    OK(cudaStreamSynchronize(0));
    HOLD(memcmp(out.data(), in.data(), in.size()) == 0 && out.back() == 'x');
    std::vector<char> all(pitch + 1);
    OK(cudaMemcpyAsync(all.data(), data, pitch, cudaMemcpyDefault, 0));
    OK(cudaStreamSynchronize(0));
    HOLD(all[width] == 'z' && all[pitch - 1] == 'z'); // between the rows nothing is written
    OK(cudaMemcpy2DAsync(data, pitch, in.data(), width, width, 0, up, 0));
    EXPECT(cudaErrorInvalidPitchValue,
           cudaMemcpy2DAsync(data, width - 1, in.data(), width, width, rows, up, 0));
    if (emulated) {
        const auto mistaken = cudaErrorInvalidValue;
        EXPECT(mistaken, cudaMemcpy2DAsync(data, pitch + 1, in.data(), width, width, rows, up));
        EXPECT(mistaken, cudaMemcpy2DAsync(data, pitch, in.data(), width, width, rows + 1,
                                           cudaMemcpyDefault, 0));
        EXPECT(mistaken, cudaMemcpy2DAsync(data, width, in.data(), width, width, SIZE_MAX, up));
        EXPECT(mistaken, cudaMemcpy2DAsync(in.data(), width, data, pitch, width, rows, up, 0));
    }
    cudaGetLastError();
    OK(cudaFree(data));
}

void
pools()
{
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr;
    OK(cudaMemPoolCreate(&pool, &properties));
    uint64_t keep = 1 << 20, used = 0, reserved = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    const cudaStream_t stream = new_stream();
    void *p = nullptr;
    OK(cudaMallocFromPoolAsync(&p, 5000, pool, stream));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    HOLD(used >= 5000);
    OK(cudaFreeAsync(p, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    HOLD(reserved >= 5000);
    OK(cudaMemPoolTrimTo(pool, 0));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    HOLD(reserved == 0);
    if (emulated) {
        properties.location.id = 99;
        EXPECT(cudaErrorInvalidDevice, cudaMemPoolCreate(&pool, &properties));
        EXPECT(cudaErrorInvalidValue, cudaMallocFromPoolAsync(&p, 1, nullptr, stream));
    }
    OK(cudaStreamDestroy(stream));
}

void
much_shared_memory()
{
    constexpr int n = 60 * 1024 / sizeof(int);
    int *data = device_block(), got = 0, most = 0;
    EXPECT(cudaErrorInvalidValue, launch(0, 1, 128, n * sizeof(int), through_shared, data, n));
    cudaGetLastError();
    const auto which = cudaFuncAttributeMaxDynamicSharedMemorySize;
    OK(cudaFuncSetAttribute(through_shared, which, n * (int)sizeof(int)));
    OK(launch(0, 1, 128, n * sizeof(int), through_shared, data, n));
    OK(cudaMemcpyAsync(&got, data, sizeof got, cudaMemcpyDeviceToHost, 0));
    OK(cudaStreamSynchronize(0));
    HOLD(got == n - 1);
    EXPECT(cudaErrorInvalidValue,
           launch(0, 1, 128, n * sizeof(int) + 4, through_shared, data, n));
    OK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    OK(cudaFuncSetAttribute(through_shared, which, most));
    OK(launch(0, 1, 128, (size_t)most, through_shared, data, most / 4));
    EXPECT(cudaErrorInvalidValue, cudaFuncSetAttribute(through_shared, which, most + 1));
    cudaGetLastError();
    for (int percent : {0, 50, 100, -1}) { // a wish: what a block needs, it has
        OK(cudaFuncSetAttribute(through_shared, cudaFuncAttributePreferredSharedMemoryCarveout,
                                percent));
        OK(launch(0, 1, 128, n * sizeof(int), through_shared, data, n));
    }
    OK(cudaDeviceSynchronize());
    OK(cudaFree(data));
}

// Several threads of the host, each with its stream, event and memory.
void
threads_at_once()
{
    const auto work = [](int seed) {
        const cudaStream_t stream = new_stream();
        const cudaEvent_t event = new_event();
        int *data = device_block(), *pinned = pinned_block();
        for (int turn = 0; turn < 10; turn++) {
            for (int i = 0; i < kCount; i++) pinned[i] = seed + i;
            OK(cudaMemcpyAsync(data, pinned, kBytes, cudaMemcpyHostToDevice, stream));
            OK(launch_add(stream, data));
            OK(cudaMemcpyAsync(pinned, data, kBytes, cudaMemcpyDeviceToHost, stream));
            OK(cudaEventRecord(event, stream));
            for (cudaError_t e; (e = cudaEventQuery(event)) != cudaSuccess;) {
                EXPECT(cudaErrorNotReady, e);
                std::this_thread::yield();
            }
            HOLD(pinned[0] == seed + 1 && pinned[kCount - 1] == seed + kCount);
        }
        OK(cudaFree(data));
        OK(cudaFreeHost(pinned));
        OK(cudaEventDestroy(event));
        OK(cudaStreamDestroy(stream));
    };
    std::vector<std::thread> all;
    for (int i = 0; i < 4; i++) all.emplace_back(work, i * 1000000);
    for (auto &t : all) t.join();
}

} // namespace

int
main(int, char **arguments)
{
    const std::string what = arguments[1];
    int count = 0;
    const cudaError_t e = cudaGetDeviceCount(&count);
    if (e != cudaSuccess || count == 0) {
        printf("%d devices, error %d: %s\n", count, (int)e, cudaGetErrorString(e));
        return 2;
    }
    cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 0));
    emulated = strncmp(properties.name, "emulated", 8) == 0;
    if (what == "calls") {
        what_a_device_says();
        streams();
        events();
        host_memory();
        copies();
        copies_of_rows();
        pools();
        much_shared_memory();
        threads_at_once();
    } else if (what == "devices") {
        HOLD(count == 3);
        devices_by_thread();
        memory_by_device();
        handles_by_device();
        kernels_stay_on_their_device();
    } else if (what == "late") {
        late_events();
    } else if (what == "failures") {
        planned_failures();
    }
    if (wrong == 0) printf("%d devices, all is right\n", count);
    return wrong != 0;
}
