// graphs.cu -- graphs made of nodes and of captured streams; launches in kernels. Prints what test_kernels.py
// knows.
#include <cstdio>
#include <cuda_runtime.h>

__device__ int total;

__global__ void
add(int *x, int n)
{
    *x += n;
}
__global__ void
times(int *x, int n)
{
    *x *= n;
}
__global__ void
count_down(int *x, cudaGraphConditionalHandle h)
{
    cudaGraphSetConditional(h, --*x > 0);
    total++;
}
__global__ void
parent(int *x, int depth)
{
    *x += 1;
    if (depth > 0) parent<<<1, 1>>>(x, depth - 1);
    if (depth > 0) parent<<<1, 1>>>(x, depth - 1);
}

static int *x;

static int
value()
{
    int v = 0;
    cudaMemcpy(&v, x, sizeof v, cudaMemcpyDeviceToHost);
    return v;
}

static void
set(int v)
{
    cudaMemcpy(x, &v, sizeof v, cudaMemcpyHostToDevice);
}

static cudaKernelNodeParams
node_of(void (*kernel)(int *, int), void **arguments)
{
    cudaKernelNodeParams p = {};
    p.func = (void *)kernel;
    p.gridDim = p.blockDim = dim3(1);
    p.kernelParams = arguments;
    return p;
}

static void
by_nodes()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t fill, first, second;
    cudaGraphCreate(&graph, 0);
    int three = 3, five = 5;
    void *a[] = {&x, &three}, *b[] = {&x, &five};
    cudaKernelNodeParams one = node_of(add, a), two = node_of(times, b);
    cudaMemsetParams zero = {};
    zero.dst = x, zero.elementSize = 4, zero.width = zero.height = 1;
    cudaGraphAddKernelNode(&second, graph, nullptr, 0, &two); // made first, and runs last
    cudaGraphAddKernelNode(&first, graph, nullptr, 0, &one);
    cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero);
    cudaGraphAddDependencies(graph, &fill, &first, 1);
    cudaGraphAddDependencies(graph, &first, &second, 1);
    three = 100; // was copied
    printf("made %s\n", cudaGetErrorName(cudaGraphInstantiate(&exec, graph, 0)));
    set(77);
    cudaGraphLaunch(exec, nullptr);
    int after = value();
    int four = 4;
    void *c[] = {&x, &four};
    one = node_of(add, c);
    cudaGraphExecKernelNodeSetParams(exec, first, &one);
    cudaGraphLaunch(exec, nullptr);
    size_t count = 0;
    cudaGraphGetNodes(graph, nullptr, &count);
    printf("nodes %d %d of %d\n", after, value(), (int)count);
    cudaGraphAddDependencies(graph, &second, &fill, 1);
    printf("circle %s\n", cudaGetErrorName(cudaGraphInstantiate(&exec, graph, 0)));
    cudaGraphDestroy(graph);
}

static void
by_capture()
{
    cudaStream_t s, t;
    cudaEvent_t e, f;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCaptureStatus status;
    cudaStreamCreate(&s);
    cudaStreamCreate(&t);
    cudaEventCreate(&e);
    cudaEventCreate(&f);
    set(1);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    add<<<1, 1, 0, s>>>(x, 2);
    cudaEventRecord(e, s);
    cudaStreamWaitEvent(t, e, 0);
    times<<<1, 1, 0, t>>>(x, 10);
    cudaStreamIsCapturing(t, &status);
    printf("wait %s, %d, ", cudaGetErrorName(cudaStreamSynchronize(s)), (int)status);
    cudaEventRecord(f, t);
    cudaStreamWaitEvent(s, f, 0);
    cudaMemsetAsync(x, 0, 1, s);
    cudaStreamEndCapture(s, &graph);
    printf("nothing has run: %d\n", value());
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    set(30);
    cudaGraphLaunch(exec, s);
    printf("captured %d\n", value()); // (30 + 2) * 10 = 0x140
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaEventRecord(e, s);
    cudaStreamWaitEvent(t, e, 0);
    add<<<1, 1, 0, t>>>(x, 2);
    printf("unjoined %d, ", (int)cudaStreamEndCapture(s, &graph));
    printf("unmatched %d, ", (int)cudaStreamEndCapture(s, &graph));
    printf("legacy %d\n", (int)cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
}

static void
by_condition()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t loop, body;
    cudaGraphConditionalHandle handle;
    cudaGraphCreate(&graph, 0);
    cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault);
    cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
    p.conditional.handle = handle;
    p.conditional.type = cudaGraphCondTypeWhile;
    p.conditional.size = 1;
    cudaGraphAddNode(&loop, graph, nullptr, nullptr, 0, &p);
    cudaGraphNodeParams k = {cudaGraphNodeTypeKernel};
    void *arguments[] = {&x, &handle};
    k.kernel.func = (void *)count_down;
    k.kernel.gridDim = k.kernel.blockDim = dim3(1);
    k.kernel.kernelParams = arguments;
    cudaGraphAddNode(&body, p.conditional.phGraph_out[0], nullptr, nullptr, 0, &k);
    cudaGraphInstantiate(&exec, graph, 0);
    set(7);
    cudaGraphLaunch(exec, nullptr);
    set(2);
    cudaGraphLaunch(exec, nullptr);
    int turns = 0;
    cudaMemcpyFromSymbol(&turns, total, sizeof turns);
    printf("loops %d\n", turns);
}

int
main()
{
    cudaMalloc(&x, sizeof(int));
    by_nodes();
    by_capture();
    by_condition();
    set(0);
    parent<<<1, 1>>>(x, 3);
    printf("parents %d\n", value());
    parent<<<1, 1>>>(x, 40);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
