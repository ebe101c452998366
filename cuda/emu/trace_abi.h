// trace_abi.h -- what the emulator and python/warpkit/lab agree on.
#pragma once
#include <stdint.h>

namespace emu
{

enum class trace_kind : uint8_t { load, store, atomic, block, mark };
enum class trace_space : uint8_t { global, shared, constant, local, none };

struct trace_request {
    uint64_t events;  // counted at most; then the launch goes on untraced
    uint64_t threads; // of a launch: of more, some blocks alone are traced
    uint64_t records; // requests kept with their addresses
    uint64_t l1, l2;  // bytes of the caches' model
};

struct trace_totals {
    uint64_t events, blocks, warps;
    uint64_t l1_sectors, l1_hits, l2_sectors, l2_hits; // of global loads; of all at L2
    uint64_t dram_read, dram_written;                  // sectors
    uint64_t cut;                                      // 1: there were more events
};

struct trace_row { // a place in the code, and what it does there
    uint64_t key;
    uint64_t requests, lanes, bytes;       // bytes: asked for by all lanes
    uint64_t distinct;                     // of those, bytes that a request asks for but once
    uint64_t sectors, ideal_sectors;       // of 32 bytes
    uint64_t wavefronts, ideal_wavefronts; // of shared memory
    uint64_t most;                         // sectors or wavefronts of one request
    uint64_t replays;   // of atomics: lanes that wait for others at their address
    uint64_t divergent; // times that lanes parted behind it
};

struct trace_site { // of a collective, or a barrier
    const char *file;
    int32_t line, what; // enum collective; 100: a barrier
    uint64_t times, lanes;
};

struct trace_record { // a request
    uint64_t address[32];
    uint64_t key;
    uint32_t block, lanes;
    uint16_t warp, sectors, wavefronts, zero;
};

} // namespace emu
