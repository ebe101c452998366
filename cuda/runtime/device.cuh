// device.cuh -- what the runtime keeps per GPU, for the files of this folder.
#pragma once
#include "runtime/launch.cuh"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace wk
{

struct staging; // staging.cuh

struct idle_block {
    cudaStream_t stream; // in whose order it became idle: it may be used again there at once
    size_t bytes;
    void *block;
};

struct zero_block {
    cudaStream_t stream;
    void *block;
    unsigned failures; // when it was zero: a kernel that failed later may have left anything
};

// What is given back when a call ends, which may have failed for want of memory, is kept in room that
// is there already.
constexpr size_t kMostIdle = 64; // blocks: what a loop of a few operations asks for
// Bytes of these, unless less is to be kept, and four times as many as one may have. What the driver gives anew costs the
// device 1 us: H200, transposes of 1000 x 1000 float32, 4.8 us, and to a block that was idle 3.8.
constexpr uint64_t kIdleRoom = 64 << 20;
constexpr size_t kMostZeros = 4; // blocks: of the default stream and of ours
constexpr int kMailboxes = 256;  // slots of a page: results that nobody has dropped yet

// Slots that may be used again, when their last ticket came: the oldest first.
struct mailbox_queue {
    wk_mailbox all[kMailboxes];
    int first = 0, count = 0;

    void push(const wk_mailbox &l)
    {
        all[(first + count++) % kMailboxes] = l;
    }
    wk_mailbox pop()
    {
        const wk_mailbox l = all[first];
        first = (first + 1) % kMailboxes;
        count--;
        return l;
    }
};

struct gpu {
    int device = 0;
    std::mutex lock; // of what follows, for moments
    std::atomic<bool> ready{false};
    int processors = 0;
    int most_shared = 0;          // bytes of shared memory that a block may ask for
    bool bulk_copies = false;     // compute capability 9.0 and newer
    cudaMemPool_t pool = nullptr; // null: the device has none, plain cudaMalloc serves
    uint64_t keep = 0, limit = 0; // bytes
    uint64_t idle_room = 0, idle_bytes = 0;
    std::vector<idle_block> idle;   // of the streams that last, the oldest first
    std::vector<zero_block> zeros;  // of the streams that last
    cudaEvent_t order = nullptr;    // for follow()
    cudaStream_t telling = nullptr; // for tell()
    mailbox_queue mailboxes;
    uint32_t ticket = 0; // the last one given out

    std::atomic<cudaStream_t> work{nullptr}; // the stage's, when it has one
    std::atomic<int64_t> staged{0};          // bytes of its pinned memory

    std::mutex bus; // held by a call with arrays on the host, from its first copy to its last
    std::unique_ptr<staging> stage;

    gpu();
    ~gpu();
};

// The GPU's struct, set up on first use; null with error set. The device must be current.
gpu *ready_gpu(int device, wk_error *error);

// Only the process that counted the devices may use CUDA; a forked child may not.
wk_status check_process(wk_error *error);

// ---- memory.cu: blocks in a stream's order ------------------------------------------------

wk_status take_block(gpu *g, cudaStream_t stream, int64_t bytes, void **block, wk_error *error);
wk_status give_block(gpu *g, cudaStream_t stream, void *block, int64_t bytes, wk_error *error);

// Gives back what is kept for later calls: the device is current, and its lock held.
void drop_kept_blocks(gpu *g);
int64_t kept_bytes(const gpu *g);

// How many CUDA calls have failed in this process.
unsigned failures();

// A session's blocks go back in the stream's order, all but the first `left`; none is left where it ends.
wk_status give_blocks(session *s, int left, wk_error *error);

// What is put on `later` from now on waits for what is on `earlier` now.
wk_status follow(gpu *g, cudaStream_t later, cudaStream_t earlier, wk_error *error);

// Launches with a mailbox for a result of so many bytes (0: none): its slot is null afterwards
// unless the kernel sends it.
wk_status launch_for_mailbox(wk_call *call, gpu *g, int bytes, wk_launch *launch);
void return_mailbox(gpu *g, const wk_mailbox *mailbox);
wk_status read_mailbox(cudaStream_t stream, const wk_mailbox *mailbox, uint64_t *bits,
                       wk_error *error);

// ---- the ways that a call may go ----------------------------------------------------------

bool is_pinned(const void *begin, int64_t bytes);                          // participant.cu
wk_status run_resident(wk_call *call, wk_launch *launch);                  // resident.cu
wk_status run_streamed(wk_call *call, wk_launch *launch, int takes_parts); // streamed.cu
wk_status copy_over_bus(wk_call *call);                                    // whole.cu
wk_status copy_array(wk_call *call);                                       // resident.cu

extern const wk_backend backend;
extern const wk_host *host; // what the core does for us

// Slots of the backend.
int count_devices(wk_error *error);
wk_status device_info(int device, wk_device_info *info, wk_error *error);
wk_status trim_pool(int device, wk_error *error);

} // namespace wk
