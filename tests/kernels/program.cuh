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
        if (wk::count_devices(&call.error) < 1 || wk::backend.open(&call) != WK_OK) fail();
    }
    ~program()
    {
        wk::backend.close(&call);
    }
    template <typename T>
    T *upload(const std::vector<T> &values)
    {
        wk_array a = block(values);
        if (wk::backend.upload(&call, &a) != WK_OK) fail();
        return static_cast<T *>(a.data);
    }
    template <typename T>
    T *room(size_t n) // for results
    {
        wk_array a = block(std::vector<T>(n));
        if (wk::backend.reserve(&call, &a) != WK_OK) fail();
        return static_cast<T *>(a.data);
    }
    template <typename T>
    std::vector<T> download(T *data, size_t n)
    {
        std::vector<T> values(n);
        wk_array a = block(values);
        a.data = data;
        if (wk::backend.download(&call, &a) != WK_OK) fail();
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
    template <typename T>
    static wk_array block(const std::vector<T> &values)
    {
        wk_array a = {};
        a.host = const_cast<T *>(values.data());
        a.bytes = (int64_t)(values.size() * sizeof(T));
        return a;
    }
    [[noreturn]] void fail()
    {
        fprintf(stderr, "error: %s\n", call.error.text);
        exit(kError);
    }
    wk_call call = {};
};

inline std::vector<int>
counting(int n, int first = 1)
{
    std::vector<int> values(n);
    for (int i = 0; i < n; i++) values[i] = first + i;
    return values;
}
