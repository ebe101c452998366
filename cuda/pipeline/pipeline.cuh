// pipeline.cuh -- one GPU's share of a call whose arrays are on the host, and its way over the bus.
//
// Units go in order: gather into a pinned slot, transfer, kernel, transfer back, scatter. All
// threads are alike: each takes a part of a unit that has come back, else of one that may go,
// else looks (one thread at a time) at what the GPU has done. None blocks inside CUDA, so the
// two directions and the kernels overlap.
#pragma once
#include "pieces.h"
#include "runtime/staging.cuh"

#include <atomic>

namespace wk
{

enum class direction {
    both, // a unit is a piece: in, its kernel, and out where it has results
    in,   // a unit is a part of the one piece: it goes in
    out   // likewise: it comes out
};

// What the pipelines of a call share.
struct transfer {
    wk_call *call; // with the arrays on the host
    const wk_cut *cut;
    wk_launch *launch = nullptr;
    direction how = direction::both;
    int64_t unit = 0;  // bytes, where a unit is a part of a piece
    int64_t parts = 1; // of a unit: the most threads that fill it together
    bool pinned_in = false, pinned_out = false; // by whoever made the arrays: no slot is needed
    std::atomic<bool> failed{false};
    std::mutex lock; // of the error in call

    void fail(const wk_error *error);
    void stop(); // it was interrupted
};

class pipeline
{
  public:
    pipeline()
    {
        wk_call_start(&sub, WK_REDUCE, 1);
    }

    // Units first .. first + count - 1 on a GPU. With how == in or out, whole is where the piece
    // lies on the device; else rings are taken from the session.
    wk_status open(transfer *t, gpu *g, session *s, int64_t first, int64_t count, char *whole);

    // To be called by any number of threads; each returns when nothing is left to do.
    void work();

    wk_part part = {};                                // for every kernel: its state
    const wk_array *aux = nullptr, *result = nullptr; // on the device, where they are

  private:
    struct span {
        wk_piece piece;
        int64_t in_from, in_to, out_from, out_to; // bytes of the piece, packed
    };
    bool finished() const;
    bool help(); // does one thing, if there is one
    void find(int64_t unit, span *s) const;
    int64_t out_part_at(const span &s, int64_t part) const;
    bool fill_one();
    bool drain_one();
    bool touch_one(bool ahead);
    void plan_slots();
    void count_pages();
    void step();
    wk_status send(int64_t unit);
    wk_status enter(int64_t unit, const span &s, char *to);
    wk_status kernel(int64_t unit, const span &s);
    wk_status leave(int64_t unit);
    wk_status look();

    int slot(int64_t unit) const
    {
        return (int)(unit % kSlots);
    }
    bool filled(int64_t unit) const;
    bool drained(int64_t unit) const;
    bool vacant(int64_t unit) const;

    transfer *t = nullptr;
    gpu *g = nullptr;
    staging *stage = nullptr;
    int64_t first = 0, count = 0, parts = 1, out_parts = 1;
    int64_t in_stride = 0, out_stride = 0;
    char *ring_in = nullptr, *ring_out = nullptr, *whole = nullptr;
    bool has_in = false, has_out = false, direct_in = false, direct_out = false;
    wk_call sub;

    char *first_page = nullptr; // of new host memory
    int64_t pages = 0;

    std::atomic<int64_t> fill_next{0}, drain_next{0};   // parts taken
    std::atomic<int64_t> touch_next{0};                 // pages taken
    std::atomic<int64_t> came{0}, went{0};              // units transferred in, out
    std::atomic<int64_t> worked{0};                     // units whose kernel is done
    std::atomic<int> to_fill[kSlots], to_drain[kSlots]; // parts of the slot's unit left
    std::mutex gate;                                    // of what follows, and of the streams
    std::atomic<int64_t> sent{0}, leaving{0};           // units put on their streams
};

} // namespace wk
