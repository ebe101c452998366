// The production stencils of any dtypes, float32 sums.
#include "stencil/pass.cuh"

template wk_status wk::stencil::launch_pass<wk::stencil::any<float>>(wk_call *, way, job *,
                                                                     const float *);
