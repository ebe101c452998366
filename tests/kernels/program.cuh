// program.cuh -- a kernel of its own in a program of its own, over the library's runtime: for
// the emulated device, and by nvcc for a GPU.
#pragma once
#include "runtime/device.cuh"
#include "runtime/driver.cuh"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

enum { kRight = 0, kWrong = 11, kError = 12 }; // exit statuses

// One stay on the device. What fails ends the program with its text.
class program
{
  public:
    program()
    {
        wk_call_start(&call, WK_TRANSPOSE, 1);
        if (wk::count_devices(&call.error) < 1) fail();
        check(cudaStreamCreateWithFlags(&own.stream, cudaStreamNonBlocking));
        if (wk::ready_gpu(0, &call.error) == nullptr) fail();
        call.session = &own;
    }
    ~program()
    {
        wk::give_blocks(&own, 0, &call.error);
        cudaStreamSynchronize(own.stream);
    }
    template <typename T>
    T *upload(const std::vector<T> &values)
    {
        T *data = room<T>(values.size());
        check(cudaMemcpyAsync(data, values.data(), values.size() * sizeof(T),
                              cudaMemcpyHostToDevice, own.stream));
        return data;
    }
    template <typename T>
    T *room(size_t n) // for results
    {
        void *data = nullptr;
        if (wk::allocate(&call, (int64_t)(n * sizeof(T)), &data) != WK_OK) fail();
        return static_cast<T *>(data);
    }
    template <typename T>
    std::vector<T> download(T *data, size_t n)
    {
        std::vector<T> values(n);
        check(cudaMemcpyAsync(values.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost,
                              own.stream));
        check(cudaStreamSynchronize(own.stream));
        return values;
    }
    template <typename... P, typename... A>
    void launch(void (*kernel)(P...), dim3 grid, dim3 threads, size_t shared, A... arguments)
    {
        if (wk::launch(&call, grid, threads, shared, kernel, arguments...) != WK_OK) fail();
    }
    template <typename T>
    int compare(T *data, const std::vector<T> &want)
    {
        const std::vector<T> got = download(data, want.size());
        for (size_t i = 0; i < want.size(); i++)
            if (!(got[i] == want[i])) {
                fprintf(stderr, "wrong: element %zu is %g instead of %g\n", i, (double)got[i],
                        (double)want[i]);
                return kWrong;
            }
        return kRight;
    }

  private:
    void check(cudaError_t code)
    {
        if (code == cudaSuccess) return;
        wk::failed(&call.error, code, "a copy", __FILE__, __LINE__);
        fail();
    }
    [[noreturn]] void fail()
    {
        fprintf(stderr, "error: %s\n", call.error.text);
        exit(kError);
    }
    wk::session own;
    wk_call call;
};

inline std::vector<int>
counting(int n, int first = 1)
{
    std::vector<int> values(n);
    for (int i = 0; i < n; i++) values[i] = first + i;
    return values;
}
