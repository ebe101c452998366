// participant.cuh -- one GPU of a call whose input is on the host, for as long as the call has its bus.
#pragma once
#include "pipeline/pipeline.cuh"

#include <optional>

namespace wk
{

constexpr int kMostGpus = 32;

struct participant {
    gpu *g = nullptr;
    session s;
    wk_call call; // for launches outside of pieces; its session is s, its aux is there
    std::optional<pipeline> pipe;
    std::unique_lock<std::mutex> bus;
    bool quiet = false; // the call knows that its work is done
};

// Takes the GPU's bus and streams, and brings aux there. What fails is the call's failure.
wk_status enter_call(participant *at, wk_call *call, int device);

// Waits for all that was put on the GPU's streams, whatever became of the call, and lets go.
wk_status leave_call(participant *at, wk_call *call);

// All threads at the pipelines' work, until that is done.
void drive(wk_call *call, participant *participants, int count, int64_t parts);

// The units of one piece, in or out, by all threads.
wk_status carry(participant *at, wk_call *call, const wk_cut *cut, direction how, void *block,
                int64_t bytes);

int64_t piece_size(int64_t bytes); // of a call of so many
int64_t parts_of(int64_t unit);    // into which threads divide a unit of so many bytes
int64_t out_bytes(const wk_call *call);
void advise_huge(const wk_array *out); // pages of new memory, 2 MiB each

// The ways of a call (streamed.cu chooses): in one slot; as one piece, for what cannot be cut
// finely enough.
wk_status run_small(wk_call *call, wk_launch *launch);
wk_status run_whole(wk_call *call, wk_launch *launch);

} // namespace wk
