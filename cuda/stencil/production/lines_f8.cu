// The production stencils of float64.
#include "stencil/production/pass.cuh"

template wk_status wk::stencil::launch_pass<wk::stencil::raw<double>>(wk_call *, way, job *,
                                                                      const double *);
