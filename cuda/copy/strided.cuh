// strided.cuh -- a copy between two layouts of one shape, on the device.
#pragma once
#include "runtime/cuda.cuh"

namespace wk
{

// a's elements in C order to contiguous memory.
wk_status pack(wk_call *call, const wk_array *a, void *to);

// Between two arrays of one shape and dtype, any strides.
wk_status copy_strided(wk_call *call, const wk_array *from, const wk_array *to);

} // namespace wk
