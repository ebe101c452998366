// user_graph.h -- graphs of CUDA's: nodes made one by one, or captured from streams. A launch does the
// nodes' work one after another, each behind those that it depends on.
#pragma once
#include "emu/user.h"

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal = 0,
    cudaStreamCaptureModeThreadLocal = 1,
    cudaStreamCaptureModeRelaxed = 2
};
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone = 0,
    cudaStreamCaptureStatusActive = 1,
    cudaStreamCaptureStatusInvalidated = 2
};
enum cudaGraphExecUpdateResult {
    cudaGraphExecUpdateSuccess = 0,
    cudaGraphExecUpdateError = 1,
    cudaGraphExecUpdateErrorTopologyChanged = 2,
    cudaGraphExecUpdateErrorNodeTypeChanged = 3
};
enum cudaGraphConditionalNodeType {
    cudaGraphCondTypeIf = 0,
    cudaGraphCondTypeWhile = 1,
    cudaGraphCondTypeSwitch = 2
};
enum cudaGraphMemAttributeType {
    cudaGraphMemAttrUsedMemCurrent = 0,
    cudaGraphMemAttrUsedMemHigh = 1,
    cudaGraphMemAttrReservedMemCurrent = 2,
    cudaGraphMemAttrReservedMemHigh = 3
};
enum { cudaGraphCondAssignDefault = 1 };
enum {
    cudaStreamAddCaptureDependencies = 0,
    cudaStreamSetCaptureDependencies = 1,
    cudaGraphInstantiateFlagAutoFreeOnLaunch = 1
};
constexpr cudaError_t cudaErrorStreamCaptureUnsupported = (cudaError_t)900,
                      cudaErrorStreamCaptureUnmatched = (cudaError_t)903,
                      cudaErrorStreamCaptureUnjoined = (cudaError_t)904,
                      cudaErrorGraphExecUpdateFailure = (cudaError_t)910;

namespace emu
{
struct graph;
struct graph_node {
    cudaGraphNodeType type;
    std::function<cudaError_t(cudaStream_t)> run;
    std::vector<graph_node *> after;
    std::vector<std::shared_ptr<graph>> bodies; // a child, or those of a condition
    cudaGraphConditionalNodeType condition = cudaGraphCondTypeIf;
    struct condition_value *value = nullptr;
};
struct condition_value {
    unsigned now, first;
    bool set_first; // to that, at each launch
};
struct graph {
    std::vector<std::unique_ptr<graph_node>> nodes;
    std::vector<std::shared_ptr<condition_value>> values;
    std::vector<std::shared_ptr<void>> memory; // of its nodes that allocate
};
struct graph_exec {
    graph all;
    std::map<const graph_node *, graph_node *> made_of; // by the node that it is a copy of
};
} // namespace emu

typedef emu::graph *cudaGraph_t;
typedef emu::graph_node *cudaGraphNode_t;
typedef emu::graph_exec *cudaGraphExec_t;
typedef unsigned long long cudaGraphConditionalHandle;
struct cudaGraphEdgeData {
    unsigned char from_port, to_port, type, reserved[5];
};

struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
};
typedef cudaKernelNodeParams cudaKernelNodeParamsV2;
struct cudaMemsetParams {
    void *dst;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;
};
struct cudaHostNodeParams {
    cudaHostFn_t fn;
    void *userData;
};
struct cudaMemcpyNodeParams {
    int flags, reserved[3];
    cudaMemcpy3DParms copyParams;
};
struct cudaMemAllocNodeParams {
    cudaMemPoolProps poolProps;
    const void *accessDescs;
    size_t accessDescCount, bytesize;
    void *dptr;
};
struct cudaMemFreeNodeParams {
    void *dptr;
};
struct cudaConditionalNodeParams {
    cudaGraphConditionalHandle handle;
    cudaGraphConditionalNodeType type;
    unsigned size;
    cudaGraph_t *phGraph_out;
};
struct cudaChildGraphNodeParams {
    cudaGraph_t graph;
};
struct cudaGraphNodeParams {
    cudaGraphNodeType type;
    int reserved0[3];
    union {
        char room[232];
        cudaKernelNodeParams kernel;
        cudaMemcpyNodeParams memcpy;
        cudaMemsetParams memset;
        cudaHostNodeParams host;
        cudaChildGraphNodeParams graph;
        cudaMemAllocNodeParams alloc;
        cudaMemFreeNodeParams free;
        cudaConditionalNodeParams conditional;
    };
    cudaGraphNodeParams(cudaGraphNodeType t = cudaGraphNodeTypeKernel)
        : type(t), reserved0(), room()
    {
    }
};
struct cudaGraphExecUpdateResultInfo {
    cudaGraphExecUpdateResult result;
    cudaGraphNode_t errorNode, errorFromNode;
};

namespace emu
{

// ---- capture ------------------------------------------------------------------------------------

struct capture { // of a stream
    graph *into;
    std::vector<graph_node *> last; // what comes next is behind these
    bool origin, own;               // it began here; the graph is new
};
inline std::map<cudaStream_t, capture> captures;
struct captured_event {
    graph *into;
    std::vector<graph_node *> last;
};
inline std::map<cudaEvent_t, captured_event> captured_events;

inline capture *
capture_of(cudaStream_t stream)
{
    if (captures.empty() || in_kernel()) return nullptr;
    const auto found = captures.find(stream);
    return found == captures.end() ? nullptr : &found->second;
}

inline graph_node *
add_node(graph *g, cudaGraphNodeType type, std::function<cudaError_t(cudaStream_t)> run,
         std::vector<graph_node *> after)
{
    g->nodes.emplace_back(new graph_node{type, std::move(run), std::move(after)});
    return g->nodes.back().get();
}

// Work of a stream: a node, if that is captured; else it is done.
template <typename F>
cudaError_t
in_stream(cudaStream_t stream, cudaGraphNodeType type, F run)
{
    capture *c = capture_of(stream);
    if (c == nullptr) return run(stream);
    if (type == cudaGraphNodeTypeKernel) {
        const auto told = [run](cudaStream_t s) {
            const cudaError_t e = run(s);
            launched(e);
            return e;
        };
        c->last = {add_node(c->into, type, told, c->last)};
    } else {
        c->last = {add_node(c->into, type, run, c->last)};
    }
    return cudaSuccess;
}

inline cudaError_t
record(cudaEvent_t event, cudaStream_t stream = nullptr)
{
    captured_events.erase(event);
    capture *c = capture_of(stream);
    if (c == nullptr) return cudaEventRecord(event, stream);
    captured_events[event] = {c->into, c->last};
    return cudaSuccess;
}

inline cudaError_t
wait_for(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0)
{
    const auto found = captured_events.find(event);
    if (found == captured_events.end()) return cudaStreamWaitEvent(stream, event, flags);
    capture &c = captures.try_emplace(stream, capture{found->second.into, {}, false, false})
                     .first->second;
    for (graph_node *n : found->second.last)
        if (std::find(c.last.begin(), c.last.end(), n) == c.last.end()) c.last.push_back(n);
    return cudaSuccess;
}

inline cudaError_t
begin_capture(cudaStream_t stream, graph *into, std::vector<graph_node *> last, bool own)
{
    if (stream == nullptr || stream == cudaStreamLegacy) {
        if (own) delete into;
        return note(cudaErrorStreamCaptureUnsupported);
    }
    if (!captures.emplace(stream, capture{into, std::move(last), true, own}).second) {
        if (own) delete into;
        return note((cudaError_t)401); // cudaErrorIllegalState
    }
    return cudaSuccess;
}

inline bool // is a node behind all of these?
is_behind(const graph_node *n, const graph_node *that)
{
    if (n == that) return true;
    for (const graph_node *before : n->after)
        if (is_behind(before, that)) return true;
    return false;
}

// ---- launches -----------------------------------------------------------------------------------

inline cudaError_t run_graph(const graph &g, cudaStream_t stream);

inline cudaError_t
run_node(const graph_node &n, cudaStream_t stream)
{
    if (n.type == cudaGraphNodeTypeGraph) return run_graph(*n.bodies[0], stream);
    if (n.type != cudaGraphNodeTypeConditional) return n.run ? n.run(stream) : cudaSuccess;
    const unsigned value = n.value->now;
    if (n.condition == cudaGraphCondTypeSwitch)
        return value < n.bodies.size() ? run_graph(*n.bodies[value], stream) : cudaSuccess;
    if (n.condition == cudaGraphCondTypeIf) {
        const size_t which = value ? 0 : 1; // the second is an else
        return which < n.bodies.size() ? run_graph(*n.bodies[which], stream) : cudaSuccess;
    }
    while (n.value->now)
        if (const cudaError_t e = run_graph(*n.bodies[0], stream)) return e;
    return cudaSuccess;
}

// Nodes that all those before have gone to; false: they go round in a circle.
inline bool
in_order(const graph &g, std::vector<const graph_node *> *order)
{
    std::map<const graph_node *, size_t> waits;
    for (const auto &n : g.nodes) waits[n.get()] = n->after.size();
    for (size_t done = 0; order->size() < g.nodes.size(); done = order->size()) {
        for (const auto &n : g.nodes) {
            const auto is_there = [&](const graph_node *b) {
                return std::find(order->begin(), order->end(), b) != order->end();
            };
            if (is_there(n.get())) continue;
            if (std::all_of(n->after.begin(), n->after.end(), is_there))
                order->push_back(n.get());
        }
        if (order->size() == done) return false;
    }
    return true;
}

inline cudaError_t
run_graph(const graph &g, cudaStream_t stream)
{
    std::vector<const graph_node *> order;
    if (!in_order(g, &order)) return cudaErrorInvalidValue;
    for (const graph_node *n : order)
        if (const cudaError_t e = run_node(*n, stream)) return e;
    return cudaSuccess;
}

inline void
copy_graph(const graph &from, graph *to, std::map<const graph_node *, graph_node *> *made_of)
{
    std::map<const graph_node *, graph_node *> own;
    for (const auto &n : from.nodes) {
        to->nodes.emplace_back(new graph_node(*n));
        own[n.get()] = (*made_of)[n.get()] = to->nodes.back().get();
    }
    for (const auto &n : to->nodes) {
        for (graph_node *&before : n->after) before = own[before];
        for (auto &body : n->bodies) {
            auto made = std::make_shared<graph>();
            copy_graph(*body, made.get(), made_of);
            body = made;
        }
    }
    to->values = from.values;
    to->memory = from.memory;
}

// ---- nodes --------------------------------------------------------------------------------------

inline cudaError_t
kernel_work(const cudaKernelNodeParams &p, std::function<cudaError_t(cudaStream_t)> *run)
{
    for (const kernel_entry *e = kernels; e; e = e->next) {
        if (e->kernel != p.func) continue;
        std::vector<std::vector<char>> values;
        for (int i = 0; i < e->count; i++) {
            const size_t size = e->types[i].pointer ? sizeof(void *) : (size_t)e->types[i].size;
            const char *value = static_cast<const char *>(p.kernelParams[i]);
            values.emplace_back(value, value + size);
        }
        *run = [=](cudaStream_t stream) {
            std::vector<const void *> arguments;
            for (const auto &v : values) arguments.push_back(v.data());
            const cudaError_t done =
                launch({p.gridDim, p.blockDim, p.sharedMemBytes, stream, nullptr, 0},
                       {e->kernel, e->call, arguments.data(), nullptr, 0, nullptr});
            launched(done);
            return done;
        };
        return cudaSuccess;
    }
    return cudaErrorInvalidDeviceFunction; // an instance of a template
}

inline cudaError_t
fill(const cudaMemsetParams &p, cudaStream_t stream)
{
    std::vector<char> row(p.width * p.elementSize);
    for (size_t i = 0; i < row.size(); i++) row[i] = (char)(p.value >> 8 * (i % p.elementSize));
    for (size_t y = 0; y < std::max<size_t>(p.height, 1); y++)
        if (const cudaError_t e =
                cudaMemcpyAsync(static_cast<char *>(p.dst) + y * p.pitch, row.data(),
                                row.size(), cudaMemcpyHostToDevice, stream))
            return e;
    return cudaSuccess;
}

inline std::map<void *, size_t> graph_memory; // that nodes have allocated: bytes

inline cudaError_t
allocate(graph *g, cudaMemAllocNodeParams *p)
{
    if (const cudaError_t e = cudaMalloc(&p->dptr, p->bytesize)) return e;
    graph_memory[p->dptr] = p->bytesize;
    g->memory.emplace_back(p->dptr, [](void *memory) {
        graph_memory.erase(memory);
        cudaFree(memory);
    });
    return cudaSuccess;
}

inline cudaError_t
add_node(graph_node **node, graph *g, const graph_node *const *after, size_t count,
         cudaGraphNodeParams *p)
{
    if (node == nullptr || g == nullptr || (count && after == nullptr))
        return cudaErrorInvalidValue;
    std::function<cudaError_t(cudaStream_t)> run;
    std::vector<std::shared_ptr<graph>> bodies;
    cudaError_t e = cudaSuccess;
    switch (p->type) {
    case cudaGraphNodeTypeKernel: e = kernel_work(p->kernel, &run); break;
    case cudaGraphNodeTypeMemcpy:
        run = [all = p->memcpy.copyParams](cudaStream_t s) { return copy_box(all, s); };
        break;
    case cudaGraphNodeTypeMemset:
        run = [all = p->memset](cudaStream_t s) { return fill(all, s); };
        break;
    case cudaGraphNodeTypeHost:
        run = [all = p->host](cudaStream_t) { return all.fn(all.userData), cudaSuccess; };
        break;
    case cudaGraphNodeTypeMemAlloc: e = allocate(g, &p->alloc); break;
    case cudaGraphNodeTypeMemFree: break; // the graph keeps its addresses
    case cudaGraphNodeTypeGraph: {
        std::map<const graph_node *, graph_node *> made_of;
        bodies.push_back(std::make_shared<graph>());
        copy_graph(*p->graph.graph, bodies[0].get(), &made_of);
        break;
    }
    case cudaGraphNodeTypeConditional:
        for (unsigned i = 0; i < p->conditional.size; i++)
            bodies.push_back(std::make_shared<graph>());
        break;
    default: break;
    }
    if (e) return e;
    *node =
        add_node(g, p->type, std::move(run),
                 {const_cast<graph_node **>(after), const_cast<graph_node **>(after) + count});
    (*node)->bodies = std::move(bodies);
    if (p->type != cudaGraphNodeTypeConditional) return e;
    (*node)->condition = p->conditional.type;
    (*node)->value = reinterpret_cast<condition_value *>(p->conditional.handle);
    static std::vector<std::unique_ptr<graph *[]>>
        lists; // as long as the process: whose are they?
    lists.emplace_back(new graph *[(*node)->bodies.size()]);
    for (size_t i = 0; i < (*node)->bodies.size(); i++)
        lists.back()[i] = (*node)->bodies[i].get();
    p->conditional.phGraph_out = lists.back().get();
    return e;
}

} // namespace emu
