// transpose / 02 smem -- a tile in shared memory, turned there.
//
// In, out   any strides, axes in the output's order (plan.h) -> C-contiguous.
// Better    than 01_naive: reads and writes both coalesce.
// Still bad a column of a 32-wide tile of words lies in one bank, so its 32 reads take 32
//           turns; 03_smem_pad mends that.
// Source    M. Harris, "An Efficient Matrix Transpose in CUDA C/C++" (2013), coalesced version.
#include "transpose/tile.cuh"

extern "C" wk_status
wk_transpose_cuda_smem(wk_call *call)
{
    return wk::transpose_tiled<0>(call);
}
