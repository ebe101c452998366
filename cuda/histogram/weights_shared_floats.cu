// histogram / weights, floats as elements and as weights; weights_shared.cuh has the kernel.
#include "histogram/weights_shared.cuh"

wk_status
wk::weights::launch_floats(wk_call *call, const weights_task &t, const shared_plan &plan)
{
    return t.in_dtype == WK_F32 ? launch_typed<float>(call, t, plan)
                                : launch_typed<double>(call, t, plan);
}
