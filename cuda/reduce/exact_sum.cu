// reduce / exact, sums and means of floats; teams.cuh has the kernels.
#include "reduce/exact.cuh"
#include "reduce/plain.cuh"

wk_status
wk::reduce_sum(wk_call *call)
{
    return with_floats(call, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (sizeof(T) <= 4)
            if (call->args.reduce.n <= plain_sum<T>::kMost) return reduce<plain_sum<T>>(call);
        return reduce<float_summary<T, true, false, false>>(call);
    });
}
