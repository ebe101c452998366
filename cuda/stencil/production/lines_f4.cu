// The production stencils of float32 data, float32 sums.
#include "stencil/production/pass.cuh"

template wk_status wk::stencil::launch_pass<wk::stencil::raw<float>>(wk_call *, way, job *,
                                                                     const float *);
