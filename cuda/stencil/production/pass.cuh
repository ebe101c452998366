// pass.cuh -- the three kernels of a policy.
#pragma once
#include "stencil/production/columns.cuh"
#include "stencil/production/planes.cuh"
#include "stencil/production/rows.cuh"

namespace wk::stencil
{

template <typename P>
wk_status
launch_pass(wk_call *call, way by, job *j, const typename P::sum *c)
{
    return by == way::rows     ? launch_rows<P>(call, j, c)
           : by == way::planes ? launch_planes<P>(call, j, c)
                               : launch_columns<P>(call, j, c);
}

} // namespace wk::stencil
