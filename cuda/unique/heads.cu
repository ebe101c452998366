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

namespace
{

// Where all bits count, order does not matter: one kernel for both kinds of integers.
template <typename T>
using same_bits = std::conditional_t<std::is_integral_v<T>, wk::word_of<T>, T>;

} // namespace

WK_LAUNCHER(run_length, cuda, heads)
{
    return wk::visit_real(call->in.dtype, [&](auto zero) {
        using T = same_bits<decltype(zero)>;
        return wk::launch_runs<wk::elements_of<T>>(call, wk::first_element<T>(&call->in),
                                                   call->args.runs.n);
    });
}
