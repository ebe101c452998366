// histogram / weights, integers as elements, with float weights; weights_shared.cuh has the kernel.
#include "histogram/weights_shared.cuh"

wk_status
wk::weights::launch_values(wk_call *call, const weights_task &t, const shared_plan &plan)
{
    return t.in_dtype == WK_I32 ? launch_typed<int32_t>(call, t, plan)
                                : launch_typed<int64_t>(call, t, plan);
}
