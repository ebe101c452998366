// streams.cu -- two streams use one array. The first argument says what orders them.
#include <cstdio>
#include <cstring>

__global__ void
add(int *x)
{
    x[threadIdx.x]++;
}

int
main(int, char **arguments)
{
    const char *how = arguments[1];
    const bool copies = strchr(arguments[2], 'c'), apart = strchr(arguments[2], 'n');
    int *x, host[32];
    cudaStream_t a, b;
    cudaEvent_t done;
    cudaMalloc(&x, sizeof host);
    cudaMemset(x, 0, sizeof host);
    cudaDeviceSynchronize();
    cudaStreamCreateWithFlags(&a, apart ? cudaStreamNonBlocking : cudaStreamDefault);
    cudaStreamCreate(&b);
    cudaEventCreate(&done);
    add<<<1, 32, 0, a>>>(x);
    if (!strcmp(how, "default")) b = nullptr;
    if (!strcmp(how, "same")) b = a;
    if (!strcmp(how, "host")) cudaStreamSynchronize(a);
    if (!strcmp(how, "device")) cudaDeviceSynchronize();
    cudaEventRecord(done, a);
    if (!strcmp(how, "event")) cudaStreamWaitEvent(b, done, 0);
    if (!strcmp(how, "waited")) cudaEventSynchronize(done);
    if (copies)
        cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, b);
    else
        add<<<1, 32, 0, b>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess;
}
