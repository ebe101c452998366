// transpose / 03 smem_pad -- the same tile with one column more.
//
// In, out   any strides, axes in the output's order (plan.h) -> C-contiguous.
// Better    than 02_smem: rows are 33 words apart, so a column's words lie in 32 banks.
// Still bad 4 bytes a lane are a quarter of what one load can carry; bytes fill a bank's word
//           only to a quarter, and rows of odd length start in the middle of a sector.
// Source    M. Harris, "An Efficient Matrix Transpose in CUDA C/C++" (2013), no bank conflicts.
#include "transpose/tile.cuh"

extern "C" wk_status
wk_transpose_cuda_smem_pad(wk_call *call)
{
    return wk::transpose_tiled<1>(call);
}
