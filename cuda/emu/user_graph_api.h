// user_graph_api.h -- the functions of CUDA's graphs and of the capture of streams, over user_graph.h.
#pragma once
#include "emu/user_graph.h"

#define EMU_CALL inline cudaError_t

// ---- graphs --------------------------------------------------------------------------------------

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
