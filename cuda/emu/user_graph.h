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

#define EMU_CALL inline cudaError_t

// ---- the API: graphs ----------------------------------------------------------------------------

EMU_CALL
cudaGraphCreate(cudaGraph_t *graph, unsigned flags)
{
    if (graph == nullptr || flags) return emu::note(cudaErrorInvalidValue);
    *graph = new emu::graph;
    return cudaSuccess;
}

EMU_CALL
cudaGraphDestroy(cudaGraph_t graph)
{
    if (graph == nullptr) return emu::note(cudaErrorInvalidValue);
    delete graph;
    return cudaSuccess;
}

EMU_CALL
cudaGraphClone(cudaGraph_t *made, cudaGraph_t of)
{
    if (made == nullptr || of == nullptr) return emu::note(cudaErrorInvalidValue);
    std::map<const emu::graph_node *, emu::graph_node *> made_of;
    *made = new emu::graph;
    emu::copy_graph(*of, *made, &made_of);
    return cudaSuccess;
}

EMU_CALL
cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                 const cudaGraphEdgeData *, size_t count, cudaGraphNodeParams *params)
{
    return emu::note(emu::add_node(node, graph, after, count, params));
}

// Those that say by their names of what type they are.
#define EMU_NODE(name, params, what, member, ...)                                              \
    EMU_CALL cudaGraphAdd##name(cudaGraphNode_t *node, cudaGraph_t graph,                      \
                                const cudaGraphNode_t *after, size_t count, params)            \
    {                                                                                          \
        cudaGraphNodeParams all = {cudaGraphNodeType##what};                                   \
        all.member = __VA_ARGS__;                                                              \
        return emu::note(emu::add_node(node, graph, after, count, &all));                      \
    }
EMU_NODE(KernelNode, const cudaKernelNodeParams *p, Kernel, kernel, *p)
EMU_NODE(MemcpyNode, const cudaMemcpy3DParms *p, Memcpy, memcpy.copyParams, *p)
EMU_NODE(MemsetNode, const cudaMemsetParams *p, Memset, memset, *p)
EMU_NODE(HostNode, const cudaHostNodeParams *p, Host, host, *p)
EMU_NODE(MemFreeNode, void *p, MemFree, free.dptr, p)
EMU_NODE(ChildGraphNode, cudaGraph_t p, Graph, graph.graph, p)
#undef EMU_NODE

EMU_CALL
cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                      size_t count)
{
    cudaGraphNodeParams all = {cudaGraphNodeTypeEmpty};
    return emu::note(emu::add_node(node, graph, after, count, &all));
}

EMU_CALL
cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                         size_t count, cudaMemAllocNodeParams *params)
{
    cudaGraphNodeParams all = {cudaGraphNodeTypeMemAlloc};
    all.alloc = *params;
    const cudaError_t e = emu::add_node(node, graph, after, count, &all);
    params->dptr = all.alloc.dptr;
    return emu::note(e);
}

EMU_CALL
cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                         size_t count, void *to, const void *from, size_t size,
                         cudaMemcpyKind kind)
{
    cudaGraphNodeParams all = {cudaGraphNodeTypeMemcpy};
    const cudaError_t e = emu::add_node(node, graph, after, count, &all);
    if (e == cudaSuccess)
        (*node)->run = [=](cudaStream_t s) { return cudaMemcpyAsync(to, from, size, kind, s); };
    return emu::note(e);
}

EMU_CALL
cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                         const cudaGraphNode_t *to, const cudaGraphEdgeData *, size_t count)
{
    if (graph == nullptr) return emu::note(cudaErrorInvalidValue);
    for (size_t i = 0; i < count; i++) to[i]->after.push_back(from[i]);
    return cudaSuccess;
}

EMU_CALL
cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                         const cudaGraphNode_t *to, size_t count)
{
    return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}

EMU_CALL
cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    if (graph == nullptr || count == nullptr) return emu::note(cudaErrorInvalidValue);
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = i < graph->nodes.size() ? graph->nodes[i].get() : nullptr;
    if (nodes == nullptr || *count > graph->nodes.size()) *count = graph->nodes.size();
    return cudaSuccess;
}

EMU_CALL
cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType *type)
{
    *type = node->type;
    return cudaSuccess;
}

EMU_CALL
cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph,
                                 unsigned first = 0, unsigned flags = 0)
{
    if (handle == nullptr || graph == nullptr) return emu::note(cudaErrorInvalidValue);
    graph->values.emplace_back(
        new emu::condition_value{first, first, (flags & cudaGraphCondAssignDefault) != 0});
    *handle = reinterpret_cast<cudaGraphConditionalHandle>(graph->values.back().get());
    return cudaSuccess;
}

static inline void
cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value)
{
    reinterpret_cast<emu::condition_value *>(handle)->now = value;
}

// ---- launches -----------------------------------------------------------------------------------

EMU_CALL
cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long = 0)
{
    if (made == nullptr || graph == nullptr) return emu::note(cudaErrorInvalidValue);
    std::vector<const emu::graph_node *> order;
    if (!emu::in_order(*graph, &order)) return emu::note(cudaErrorInvalidValue);
    *made = new emu::graph_exec;
    emu::copy_graph(*graph, &(*made)->all, &(*made)->made_of);
    return cudaSuccess;
}

EMU_CALL
cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, cudaGraphNode_t *, char *,
                     size_t)
{
    return cudaGraphInstantiate(made, graph);
}

EMU_CALL
cudaGraphInstantiateWithFlags(cudaGraphExec_t *made, cudaGraph_t graph,
                              unsigned long long flags = 0)
{
    return cudaGraphInstantiate(made, graph, flags);
}

EMU_CALL
cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    if (exec == nullptr) return emu::note(cudaErrorInvalidValue);
    for (const auto &v : exec->all.values)
        if (v->set_first) v->now = v->first;
    return emu::note(emu::in_stream(stream, cudaGraphNodeTypeGraph, [=](cudaStream_t s) {
        return emu::run_graph(exec->all, s);
    }));
}

EMU_CALL
cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t)
{
    return emu::note(exec ? cudaSuccess : cudaErrorInvalidValue);
}

EMU_CALL
cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    if (exec == nullptr) return emu::note(cudaErrorInvalidValue);
    delete exec;
    return cudaSuccess;
}

EMU_CALL
cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                 const cudaKernelNodeParams *params)
{
    const auto found = exec->made_of.find(node);
    if (found == exec->made_of.end() || found->second->type != cudaGraphNodeTypeKernel)
        return emu::note(cudaErrorInvalidValue);
    return emu::note(emu::kernel_work(*params, &found->second->run));
}

EMU_CALL
cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *,
                    cudaGraphExecUpdateResult *result)
{
    auto &own = exec->all.nodes;
    *result = cudaGraphExecUpdateSuccess;
    if (own.size() != graph->nodes.size()) *result = cudaGraphExecUpdateErrorTopologyChanged;
    for (size_t i = 0; *result == cudaGraphExecUpdateSuccess && i < own.size(); i++) {
        if (own[i]->type != graph->nodes[i]->type)
            *result = cudaGraphExecUpdateErrorNodeTypeChanged;
        else if (own[i]->after.size() != graph->nodes[i]->after.size())
            *result = cudaGraphExecUpdateErrorTopologyChanged;
    }
    if (*result != cudaGraphExecUpdateSuccess)
        return emu::note(cudaErrorGraphExecUpdateFailure);
    for (size_t i = 0; i < own.size(); i++) own[i]->run = graph->nodes[i]->run;
    return cudaSuccess;
}

EMU_CALL
cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                    cudaGraphExecUpdateResultInfo *info)
{
    *info = {};
    return cudaGraphExecUpdate(exec, graph, nullptr, &info->result);
}

EMU_CALL
cudaDeviceGetGraphMemAttribute(int, cudaGraphMemAttributeType, void *value)
{
    size_t all = 0;
    for (const auto &m : emu::graph_memory) all += m.second;
    memcpy(value, &all, sizeof all);
    return cudaSuccess;
}

EMU_CALL
cudaDeviceGraphMemTrim(int)
{
    return cudaSuccess;
}

// ---- capture ------------------------------------------------------------------------------------

EMU_CALL
cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    return emu::begin_capture(stream, new emu::graph, {}, true);
}

EMU_CALL
cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                              const cudaGraphNode_t *after, const cudaGraphEdgeData *,
                              size_t count, cudaStreamCaptureMode)
{
    return emu::begin_capture(stream, graph, {after, after + count}, false);
}

EMU_CALL
cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    const auto found = emu::captures.find(stream);
    if (found == emu::captures.end() || !found->second.origin)
        return emu::note(cudaErrorStreamCaptureUnmatched);
    const emu::capture own = found->second;
    emu::captures.erase(found);
    bool joined = true;
    for (auto c = emu::captures.begin(); c != emu::captures.end();) { // forked from this one
        if (c->second.into != own.into || c->second.origin) {
            ++c;
            continue;
        }
        for (const emu::graph_node *n : c->second.last)
            joined = joined && std::any_of(own.last.begin(), own.last.end(),
                                           [n](auto *l) { return emu::is_behind(l, n); });
        c = emu::captures.erase(c);
    }
    if (graph) *graph = joined ? own.into : nullptr;
    if (!joined && own.own) delete own.into;
    return emu::note(joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
}

EMU_CALL
cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status)
{
    *status =
        emu::capture_of(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

EMU_CALL
cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus *status,
                         unsigned long long *id = nullptr, cudaGraph_t *graph = nullptr,
                         const cudaGraphNode_t **after = nullptr,
                         const cudaGraphEdgeData **edges = nullptr, size_t *count = nullptr)
{
    const emu::capture *c = emu::capture_of(stream);
    *status = c ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    if (c == nullptr) return cudaSuccess;
    if (id) *id = reinterpret_cast<unsigned long long>(c->into);
    if (graph) *graph = c->into;
    if (after) *after = c->last.data();
    if (edges) *edges = nullptr;
    if (count) *count = c->last.size();
    return cudaSuccess;
}

EMU_CALL
cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *after,
                                    const cudaGraphEdgeData *, size_t count, unsigned flags = 0)
{
    emu::capture *c = emu::capture_of(stream);
    if (c == nullptr) return emu::note((cudaError_t)401); // cudaErrorIllegalState
    if (flags == cudaStreamSetCaptureDependencies) c->last.clear();
    c->last.insert(c->last.end(), after, after + count);
    return cudaSuccess;
}

#undef EMU_CALL

namespace emu
{

// ---- a stream's work, done or captured ----------------------------------------------------------

inline cudaError_t
graph_copy(void *to, const void *from, size_t size, cudaMemcpyKind kind,
           cudaStream_t stream = nullptr)
{
    return in_stream(stream, cudaGraphNodeTypeMemcpy,
                     [=](cudaStream_t s) { return cudaMemcpyAsync(to, from, size, kind, s); });
}

inline cudaError_t
graph_copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
              size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr)
{
    return in_stream(stream, cudaGraphNodeTypeMemcpy, [=](cudaStream_t s) {
        return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, s);
    });
}

inline cudaError_t
graph_fill(void *block, int value, size_t size, cudaStream_t stream = nullptr)
{
    return in_stream(stream, cudaGraphNodeTypeMemset,
                     [=](cudaStream_t s) { return cudaMemsetAsync(block, value, size, s); });
}

inline cudaError_t
graph_call(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    return in_stream(stream, cudaGraphNodeTypeHost,
                     [=](cudaStream_t s) { return cudaLaunchHostFunc(s, function, data); });
}

template <typename T>
cudaError_t
graph_malloc(T **block, size_t size, cudaStream_t stream)
{
    capture *c = capture_of(stream);
    if (c == nullptr) return cudaMallocAsync(block, size, stream);
    cudaMemAllocNodeParams p = {};
    p.bytesize = size;
    const cudaError_t e = allocate(c->into, &p);
    *block = static_cast<T *>(p.dptr);
    if (e == cudaSuccess)
        c->last = {add_node(c->into, cudaGraphNodeTypeMemAlloc, nullptr, c->last)};
    return e;
}

inline cudaError_t
graph_free(void *block, cudaStream_t stream)
{
    if (capture *c = capture_of(stream)) {
        c->last = {add_node(c->into, cudaGraphNodeTypeMemFree, nullptr, c->last)};
        return cudaSuccess;
    }
    return graph_memory.count(block) ? cudaSuccess : cudaFreeAsync(block, stream);
}

inline cudaError_t
graph_free(void *block)
{
    return graph_memory.count(block) ? cudaSuccess : release(block);
}

inline cudaError_t // of a stream that is captured nobody waits for
uncaptured(cudaStream_t stream)
{
    return capture_of(stream) ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

inline cudaError_t
wait_uncaptured(cudaStream_t stream)
{
    const cudaError_t e = uncaptured(stream);
    return e ? e : cudaStreamSynchronize(stream);
}

inline cudaError_t
ask_uncaptured(cudaStream_t stream)
{
    const cudaError_t e = uncaptured(stream);
    return e ? e : cudaStreamQuery(stream);
}

} // namespace emu

#undef cudaMemcpyAsync
#undef cudaMemcpy2DAsync
#undef cudaMemsetAsync
#undef cudaMallocAsync
#undef cudaFreeAsync
#undef cudaFree
#undef cudaEventRecord
#undef cudaStreamWaitEvent
#undef cudaStreamSynchronize
#undef cudaStreamQuery
#define cudaMemcpyAsync(...) emu::note(emu::graph_copy(__VA_ARGS__))
#define cudaMemcpy2DAsync(...) emu::note(emu::graph_copy_2d(__VA_ARGS__))
#define cudaMemsetAsync(...) emu::note(emu::graph_fill(__VA_ARGS__))
#define cudaLaunchHostFunc(...) emu::note(emu::graph_call(__VA_ARGS__))
#define cudaMallocAsync(...) emu::note(emu::graph_malloc(__VA_ARGS__))
#define cudaFreeAsync(...) emu::note(emu::graph_free(__VA_ARGS__))
#define cudaFree(...) emu::note(emu::graph_free(__VA_ARGS__))
#define cudaEventRecord(...) emu::note(emu::record(__VA_ARGS__))
#define cudaStreamWaitEvent(...) emu::note(emu::wait_for(__VA_ARGS__))
#define cudaStreamSynchronize(...) emu::note(emu::wait_uncaptured(__VA_ARGS__))
#define cudaStreamQuery(...) emu::note(emu::ask_uncaptured(__VA_ARGS__))
