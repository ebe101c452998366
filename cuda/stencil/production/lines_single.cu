// The production stencils of float32 data, float64 sums.
#include "stencil/production/pass.cuh"

template wk_status wk::stencil::launch_pass<wk::stencil::single>(wk_call *, way, job *,
                                                                 const double *);
