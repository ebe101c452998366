// run_length / heads -- heads of runs are counted, then ranked and written.
//
// In, out   in[n] -> values[runs], counts[runs], and how many; any n >= 0.
// Floor     one read of the elements to count heads, one to write them, and one write of the
//           results: where each run ends is known from the head that follows it, so places are
//           kept nowhere. One read would do if blocks waited for those before them.
// Better    than flags and ranks in memory, which cost 9 bytes an element, and a launch.
// Equal     are NaN and NaN, -0.0 and 0.0; results have one NaN, and 0.0.
// Source    D. Merrill, M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back"
//           (2016), on reduce-then-scan.
#include "runtime/layout.cuh"
#include "unique/runs.cuh"

WK_LAUNCHER(run_length, cuda, heads)
{
    return wk::visit_word(call->in.dtype, [&](auto zero) {
        using K = decltype(zero);
        const wk::source<K, false> from = {wk::first_element<K>(&call->in),
                                           wk::key_order<K>(call->in.dtype)};
        return wk::launch_runs(call, from, call->args.runs.n);
    });
}
