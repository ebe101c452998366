// The production stencils of any dtypes, float32 sums.
#include "stencil/production/pass.cuh"

template wk_status wk::stencil::launch_pass<wk::stencil::mixed<float>>(wk_call *, way, job *,
                                                                       const float *);
