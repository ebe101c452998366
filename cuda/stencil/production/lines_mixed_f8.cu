// The production stencils of any dtypes, float64 sums.
#include "stencil/production/pass.cuh"

template wk_status wk::stencil::launch_pass<wk::stencil::mixed<double>>(wk_call *, way, job *,
                                                                        const double *);
